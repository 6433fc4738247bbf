// One loaded program called in turn with separate inputs, with the same tensor twice, with
// overlapping views, with a transposed input, and with a view of its own state: each call must give
// what eager PyTorch gives for exactly that sharing.

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "palimpsest/program.h"

namespace palimpsest {
namespace {

constexpr char kProgram[] = R"(
def forward(self, x: "f32[s0, 3]", y: "f32[s0, 3]"):
    mul: "f32[s0, 3]" = torch.ops.aten.mul.Tensor(y, 2)
    add_: "f32[s0, 3]" = torch.ops.aten.add_.Tensor(x, mul)
    add: "f32[s0, 3]" = torch.ops.aten.add.Tensor(y, 1)
    return (add, x)
)";

Tensor NewTensor(int64_t elements, float first) {
  Result<Tensor> tensor = EmptyTensor(DType::kF32, std::vector<int64_t>{elements});
  EXPECT_TRUE(tensor.ok());
  std::iota(tensor->data_as<float>(), tensor->data_as<float>() + elements, first);
  return *tensor;
}

Tensor ViewOf(const Tensor& base, Dims sizes, Dims strides, int64_t offset) {
  return Tensor(View{base.dtype, std::move(sizes), std::move(strides), offset}, base.storage);
}

float& At(const Tensor& t, int64_t i, int64_t j) {
  return t.data_as<float>()[i * t.strides[0] + j * t.strides[1]];
}

std::vector<float> Elements(const Tensor& t) {
  std::vector<float> values;
  for (int64_t i = 0; i < t.sizes[0]; ++i) {
    for (int64_t j = 0; j < t.sizes[1]; ++j) values.push_back(At(t, i, j));
  }
  return values;
}

// What eager does: mul is computed whole, then x is written, then y is read again.
std::vector<float> EagerOnMemory(const Tensor& x, const Tensor& y) {
  std::vector<float> mul;
  for (float v : Elements(y)) mul.push_back(2 * v);
  size_t k = 0;
  for (int64_t i = 0; i < x.sizes[0]; ++i) {
    for (int64_t j = 0; j < 3; ++j) At(x, i, j) += mul[k++];
  }
  std::vector<float> add;
  for (float v : Elements(y)) add.push_back(v + 1);
  return add;
}

struct Sharing {
  const char* name;
  int64_t elements;  // of the storage of x
  bool one_storage;
  View x, y;
};

const Sharing kSharings[] = {
    {"separate", 12, false, {DType::kF32, {4, 3}, {3, 1}, 0}, {DType::kF32, {4, 3}, {3, 1}, 0}},
    {"the same tensor twice",
     12,
     true,
     {DType::kF32, {4, 3}, {3, 1}, 0},
     {DType::kF32, {4, 3}, {3, 1}, 0}},
    {"rows that overlap",
     15,
     true,
     {DType::kF32, {4, 3}, {3, 1}, 0},
     {DType::kF32, {4, 3}, {3, 1}, 3}},
    {"halves that do not overlap",
     24,
     true,
     {DType::kF32, {4, 3}, {3, 1}, 12},
     {DType::kF32, {4, 3}, {3, 1}, 0}},
    {"one transposed", 9, true, {DType::kF32, {3, 3}, {3, 1}, 0}, {DType::kF32, {3, 3}, {1, 3}, 0}},
    {"a transposed input of its own",
     12,
     false,
     {DType::kF32, {4, 3}, {1, 4}, 0},
     {DType::kF32, {4, 3}, {3, 1}, 0}},
    {"an offset", 20, false, {DType::kF32, {4, 3}, {4, 1}, 2}, {DType::kF32, {4, 3}, {3, 1}, 0}},
};

TEST(Signatures, OneProgramEverySharing) {
  Operators ops;
  Result<Program> program = Program::FromText(kProgram, ops);
  ASSERT_TRUE(program.ok()) << program.error().ToString();
  Result<Executable> executable = program->Compile({});
  ASSERT_TRUE(executable.ok()) << executable.error().ToString();
  Result<Session> session = executable->NewSession();
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  for (int round = 0; round < 2; ++round) {  // the second round runs from the cache
    for (const Sharing& sharing : kSharings) {
      SCOPED_TRACE(sharing.name);
      Tensor memory = NewTensor(sharing.elements, 1), other = NewTensor(sharing.elements, 50);
      Tensor expected_memory = NewTensor(sharing.elements, 1);
      Tensor expected_other = NewTensor(sharing.elements, 50);
      const Tensor& y_memory = sharing.one_storage ? memory : other;
      const Tensor& expected_y = sharing.one_storage ? expected_memory : expected_other;
      Tensor x(sharing.x, memory.storage), y(sharing.y, y_memory.storage);
      std::vector<float> add = EagerOnMemory(Tensor(sharing.x, expected_memory.storage),
                                             Tensor(sharing.y, expected_y.storage));
      Result<std::vector<Value>> results = session->Run(std::vector<Value>{x, y});
      ASSERT_TRUE(results.ok()) << results.error().ToString();
      EXPECT_EQ(session->last_run().compiled_now, round == 0);
      EXPECT_EQ(Elements((*results)[0].tensor()), add);
      EXPECT_EQ((*results)[1].tensor().storage, memory.storage) << "x itself is returned";
      EXPECT_EQ((*results)[1].tensor().view(), x.view());
      EXPECT_NE((*results)[0].tensor().storage, memory.storage);
      EXPECT_EQ(std::memcmp(memory.data(), expected_memory.data(),
                            static_cast<size_t>(sharing.elements) * 4),
                0);
      EXPECT_EQ(std::memcmp(other.data(), expected_other.data(),
                            static_cast<size_t>(sharing.elements) * 4),
                0);
    }
  }
}

TEST(Signatures, BareMemoryThatMeetsIsOneStorage) {
  Operators ops;
  Result<Program> program = Program::FromText(kProgram, ops);
  ASSERT_TRUE(program.ok()) << program.error().ToString();
  Result<Session> session = program->Compile({})->NewSession();
  ASSERT_TRUE(session.ok());
  std::vector<float> memory(15), expected(15);
  std::iota(memory.begin(), memory.end(), 1.f);
  std::iota(expected.begin(), expected.end(), 1.f);
  auto lend = [](float* data, int64_t elements) {
    return std::make_shared<Storage>(reinterpret_cast<std::byte*>(data), elements * 4, nullptr);
  };
  View view{DType::kF32, {4, 3}, {3, 1}, 0};
  Tensor x(view, lend(memory.data(), 12)), y(view, lend(memory.data() + 3, 12));
  std::vector<float> add = EagerOnMemory(Tensor(view, lend(expected.data(), 12)),
                                         Tensor(view, lend(expected.data() + 3, 12)));
  Result<std::vector<Value>> results = session->Run(std::vector<Value>{x, y});
  ASSERT_TRUE(results.ok()) << results.error().ToString();
  EXPECT_EQ(Elements((*results)[0].tensor()), add);
  EXPECT_EQ(memory, expected);
}

TEST(Signatures, AFixedSignatureRefusesAnother) {
  Operators ops;
  Result<Program> program = Program::FromText(kProgram, ops);
  ASSERT_TRUE(program.ok());
  Options options;
  options.signatures = Signatures::kFixed;
  Result<Executable> executable = program->Compile(options);
  ASSERT_TRUE(executable.ok()) << executable.error().ToString();
  Result<Session> session = executable->NewSession();
  Tensor x = ViewOf(NewTensor(12, 0), {4, 3}, {3, 1}, 0);
  Result<std::vector<Value>> results = session->Run(std::vector<Value>{x, x});
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().kind, ErrorKind::kBadInput);
  EXPECT_EQ(At(x, 0, 0), 0) << "nothing is written";
}

TEST(Signatures, TheMessageNamesInputAndDim) {
  Operators ops;
  Result<Program> program = Program::FromText(kProgram, ops);
  ASSERT_TRUE(program.ok());
  Result<Session> session = program->Compile({})->NewSession();
  Tensor x = ViewOf(NewTensor(12, 0), {4, 3}, {3, 1}, 0);
  Tensor y = ViewOf(NewTensor(12, 0), {3, 3}, {3, 1}, 0);
  Result<std::vector<Value>> results = session->Run(std::vector<Value>{x, y});
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().kind, ErrorKind::kBadInput);
  EXPECT_NE(results.error().message.find("y"), std::string::npos) << results.error().message;
  EXPECT_NE(results.error().message.find("dim 0"), std::string::npos) << results.error().message;
}

// state[:] = cat([state, new])[-8:]; return mean(new..., 0), state[-1]: the second result of one
// call is memory of the state, and comes back as an input of the next.
TEST(Signatures, AViewOfTheProgramsOwnState) {
  Operators ops;
  Result<Program> program =
      Program::Load(PAL_SOURCE_DIR "/tests/cases/pt2/ring_buffer-training-ir-2.14/model.pt2", ops);
  ASSERT_TRUE(program.ok()) << program.error().ToString();
  Result<Executable> executable = program->Compile({});
  ASSERT_TRUE(executable.ok());
  Result<Session> compiled = executable->NewSession();
  Result<Session> oracle = program->Interpret();
  ASSERT_TRUE(compiled.ok() && oracle.ok());
  for (Session* session : {&*compiled, &*oracle}) {
    Tensor fresh = ViewOf(NewTensor(9, 1), {3, 3}, {3, 1}, 0);
    Result<std::vector<Value>> first = session->Run(std::vector<Value>{fresh});
    ASSERT_TRUE(first.ok()) << first.error().ToString();
    Result<Tensor> state = session->State("state");
    ASSERT_TRUE(state.ok());
    EXPECT_EQ((*first)[1].tensor().storage, state->storage) << "a view of the state";
    std::vector<float> before = Elements(*state);
    // Rows 2..4 of the state as the new rows.
    Tensor own = ViewOf((*first)[1].tensor(), {3, 3}, {3, 1}, 6);
    Result<std::vector<Value>> second = session->Run(std::vector<Value>{own});
    ASSERT_TRUE(second.ok()) << second.error().ToString();
    std::vector<float> expected(before.begin() + 9, before.end());
    expected.insert(expected.end(), before.begin() + 6, before.begin() + 15);
    EXPECT_EQ(Elements(*session->State("state")), expected);
    EXPECT_EQ(session->State("state")->storage, state->storage) << "the state keeps its address";
    EXPECT_EQ((*first)[1].tensor().data_as<float>()[0], expected[21]) << "an old view shows it";
  }
}

}  // namespace
}  // namespace palimpsest
