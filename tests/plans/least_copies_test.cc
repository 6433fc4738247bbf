// Which copies are forced and which are not (docs/reinplacing.md), each program run as well: the
// results, and the bytes that planner, checker and executor count, each for itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "palimpsest/program.h"

namespace palimpsest {
namespace {

// Inputs x, y, z: f32[4] (16 bytes each), unless the signature says otherwise.
constexpr char kVectors[] =
    "def forward(self, x: \"f32[4][1]\", y: \"f32[4][1]\", z: \"f32[4][1]\"):\n";
constexpr char kMatrices[] = "def forward(self, x: \"f32[4, 2][2, 1]\", z: \"f32[4, 2][2, 1]\"):\n";

struct Row {
  const char* name;
  const char* signature;
  // One statement a line; `NAME = op(args)` for aten, `op!(args)` for caselib.
  const char* body;
  int64_t copied_bytes;
};

// The `add(...)` of a row as torch.ops...: aten with an overload, caselib by `!`.
std::string Expand(const std::string& line) {
  std::string text = line;
  const size_t open = text.find('(');
  if (text.starts_with("return") || open == std::string::npos) return text;
  size_t begin = text.rfind(' ', open);
  begin = begin == std::string::npos ? 0 : begin + 1;
  const std::string op = text.substr(begin, open - begin);
  static int unique = 0;
  std::string name = begin == 0 ? fmt::format("_{} = ", unique++) : "";
  if (op.ends_with("!")) {
    return text.substr(0, begin) + name + "torch.ops.caselib." + op.substr(0, op.size() - 1) +
           ".default" + text.substr(open);
  }
  return text.substr(0, begin) + name + "torch.ops.aten." + op + text.substr(open);
}

std::string TextOf(const Row& row) {
  std::string text = row.signature, body = row.body;
  for (size_t at = 0; at < body.size();) {
    const size_t end = std::min(body.find('\n', at), body.size());
    const size_t begin = body.find_first_not_of(' ', at);
    if (begin < end) text += "    " + Expand(body.substr(begin, end - begin)) + "\n";
    at = end + 1;
  }
  return text;
}

std::vector<float> Floats(const Value& value) {
  const Tensor& t = value.tensor();
  std::vector<float> all;
  std::vector<int64_t> index(t.dim(), 0);
  for (int64_t i = 0; i < t.numel(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < t.dim(); ++d) at += index[d] * t.strides[d];
    float f;
    std::memcpy(&f, t.data() + at * 4, 4);
    all.push_back(f);
    for (size_t d = t.dim(); d-- > 0 && ++index[d] == t.sizes[d];) index[d] = 0;
  }
  return all;
}

struct Run {
  std::vector<std::vector<float>> values;  // results, then inputs afterwards
  int64_t copied_bytes = 0;
};
Result<Run> RunOn(Session session, std::vector<Value> inputs) {
  Run run;
  PAL_TRY(std::vector<Value> results, session.Run(inputs));
  for (const Value& v : results) run.values.push_back(Floats(v));
  for (const Value& v : inputs) run.values.push_back(Floats(v));
  run.copied_bytes = session.last_run().copied_bytes;
  return run;
}

void Check(const Row& row) {
  SCOPED_TRACE(row.name);
  Operators ops;
  ASSERT_TRUE(ops.LoadLibrary(PAL_CASELIB).ok());
  const std::string text = TextOf(row);
  auto run = [&]() -> Status {
    PAL_TRY(Program program, Program::FromText(text, ops));
    PAL_TRY(Executable executable, program.Compile({}));
    PAL_TRY(Explanation e, executable.Explain());
    EXPECT_EQ(e.copied_bytes, row.copied_bytes) << text;
    EXPECT_EQ(e.checked_copied_bytes, row.copied_bytes);
    PAL_TRY(Session session, executable.NewSession());
    PAL_TRY(Session oracle, program.Interpret());
    PAL_TRY(std::vector<Value> one, program.DefaultInputs(1));
    PAL_TRY(std::vector<Value> same, program.DefaultInputs(1));
    PAL_TRY(Run compiled, RunOn(std::move(session), std::move(one)));
    PAL_TRY(Run eager, RunOn(std::move(oracle), std::move(same)));
    EXPECT_EQ(compiled.values, eager.values) << text;
    EXPECT_EQ(compiled.copied_bytes, row.copied_bytes);
    return {};
  };
  SetPoisonNewMemory(true);
  const Status status = run();
  SetPoisonNewMemory(false);
  EXPECT_TRUE(status.ok()) << status.error().ToString() << "\n" << text;
}

TEST(LeastCopies, ForcedByConsumersAndOutputs) {
  const Row rows[] = {
      {"an input that nobody writes may not be updated", kVectors,
       "a = clone(x)\n add_one!(a)\n return (a,)", 16},
      {"the only consumer takes the value itself", kVectors,
       "t = mul.Tensor(x, y)\n a = clone(t)\n add_one!(a)\n return (a,)", 0},
      {"of two consumers one gets a copy", kVectors,
       "t = mul.Tensor(x, y)\n a = clone(t)\n b = clone(t)\n add_one!(a)\n scale_!(b)\n"
       "return (a, b)",
       16},
      {"of three consumers two get a copy", kVectors,
       "t = mul.Tensor(x, y)\n a = clone(t)\n b = clone(t)\n add_one!(a)\n scale_!(b)\n"
       "add_one!(t)\n return (a, b, t)",
       32},
      {"a fresh result cannot be the input", kVectors, "a = clone(x)\n return (a,)", 16},
      {"a written input and a fresh result of its contents", kVectors,
       "add_one!(x)\n a = clone(x)\n return (a,)", 16},
      {"two fresh results of one value", kVectors,
       "t = mul.Tensor(x, y)\n a = clone(t)\n return (t, a)", 16},
      {"the same tensor twice is one storage", kVectors, "t = mul.Tensor(x, y)\n return (t, t)", 0},
  };
  for (const Row& row : rows) Check(row);
}

TEST(LeastCopies, ReadersAreMovedAndElementwiseTiesNothing) {
  const Row rows[] = {
      {"a late reader of the old value runs first", kVectors,
       "old = clone(x)\n add_one!(x)\n s = take_sum!(old)\n return (s,)", 0},
      {"a reader that needs the new value too cannot", kVectors,
       "old = clone(x)\n add_one!(x)\n s = take_sum!(x)\n t = expand(s, [4])\n"
       "opaque_update!(old, t)\n u = take_sum!(old)\n return (u,)",
       16},
      {"an element-wise update of a clone computes elsewhere", kVectors,
       "a = clone(x)\n b = add_.Tensor(a, 1)\n return (a,)", 0},
      {"fill reads nothing", kVectors, "a = clone(x)\n b = fill_.Scalar(a, 3.0)\n return (a,)", 0},
      {"an operator reads one operand while it writes the other", kVectors,
       "t = mul.Tensor(x, y)\n a = clone(t)\n opaque_update!(a, t)\n return (a,)", 16},
      {"unless the program itself passes the same memory", kVectors,
       "opaque_update!(x, x)\n return ()", 0},
      {"two views of one written input that meet", kVectors,
       "a = slice.Tensor(x, 0, 0, 3)\n b = slice.Tensor(x, 0, 1, 4)\n add_pair!(a, b)\n"
       "return ()",
       0},
  };
  for (const Row& row : rows) Check(row);
}

TEST(LeastCopies, HomesOfWrittenInputs) {
  const Row rows[] = {
      {"swap", kVectors, "t = clone(x)\n copy_(x, y)\n copy_(y, t)\n return ()", 48},
      {"ring of three", kVectors,
       "t = clone(x)\n copy_(x, y)\n copy_(y, z)\n copy_(z, t)\n return ()", 64},
      {"an update of a copy of y that ends in x", kVectors,
       "t = clone(y)\n opaque_update!(t, x)\n copy_(x, t)\n return ()", 32},
      {"what is computed for a home is computed there", kVectors,
       "t = mul.Tensor(y, z)\n copy_(x, t)\n return ()", 0},
      {"updates that begin in their home end there", kVectors,
       "add_one!(x)\n scale_!(x)\n s = take_sum!(x)\n return (s,)", 0},
      {"home filled from another input", kVectors, "copy_(x, y)\n return ()", 16},
  };
  for (const Row& row : rows) Check(row);
}

TEST(LeastCopies, PiecesOfABase) {
  const Row rows[] = {
      {"two rows of one base", kMatrices,
       "a = select.int(x, 0, 0)\n b = select.int(x, 0, 1)\n add_pair!(a, b)\n return ()", 0},
      {"the other rows of a fresh copy are no reason to copy", kMatrices,
       "t = mul.Tensor(x, z)\n a = clone(t)\n r = select.int(a, 0, 1)\n add_one!(r)\n"
       "s = select.int(t, 0, 2)\n u = take_sum!(s)\n return (a, u)",
       0},
      {"only the row that is still wanted is saved", kMatrices,
       "old = clone(x)\n r = select.int(x, 0, 1)\n add_one!(r)\n s = take_sum!(r)\n"
       "o = select.int(old, 0, 1)\n t = expand(s, [2])\n opaque_update!(o, t)\n"
       "u = take_sum!(o)\n return (u,)",
       8},
      {"a shift of rows moves each row once", kMatrices,
       "a = slice.Tensor(x, 0, 0, 3)\n c = clone(a)\n b = slice.Tensor(x, 0, 1, 4)\n"
       "copy_(b, c)\n return ()",
       24},
      {"a row that is copied into a clone is computed there", kMatrices,
       "a = select.int(x, 0, 0)\n b = select.int(z, 0, 1)\n m = mul.Tensor(a, b)\n"
       "r = select.int(x, 0, 2)\n copy_(r, m)\n return ()",
       0},
      {"update of rows from each other's, old rows wanted", kMatrices,
       "c = clone(x)\n old = clone(c)\n c0 = slice.Tensor(c, 0, 0, 1)\n"
       "z0 = slice.Tensor(z, 0, 0, 1)\n opaque_update!(c0, z0)\n opaque_update!(z0, c0)\n"
       "opaque_update!(z, old)\n return ()",
       8},
      // The greedy planner moves two rows; the search finds that one is enough.
      {"the same with a written input: the row goes out and back", kMatrices,
       "old = clone(x)\n c0 = slice.Tensor(x, 0, 0, 1)\n"
       "z0 = slice.Tensor(z, 0, 0, 1)\n opaque_update!(c0, z0)\n opaque_update!(z0, c0)\n"
       "opaque_update!(z, old)\n return ()",
       16},
  };
  for (const Row& row : rows) Check(row);
}

TEST(LeastCopies, OntoItsOwnElements) {
  const Row rows[] = {
      {"itself", kMatrices, "copy_(x, x)\n return ()", 0},
      {"a clone of itself", kMatrices, "c = clone(x)\n copy_(x, c)\n return ()", 0},
      {"through transposes", kMatrices,
       "a = t(x)\n b = t(x)\n c = clone(b)\n copy_(a, c)\n return ()", 0},
      {"a part through two ways", kMatrices,
       "a = slice.Tensor(x, 0, 1, 3)\n b = view(x, [8])\n c = slice.Tensor(b, 0, 2, 6)\n"
       "d = view(c, [2, 2])\n copy_(a, d)\n return ()",
       0},
      {"there and back through another tensor", kMatrices,
       "e = empty_like(x)\n copy_(e, x)\n copy_(x, e)\n return ()", 0},
  };
  for (const Row& row : rows) Check(row);
}

}  // namespace
}  // namespace palimpsest
