#include "op/plugin_loader.h"

#include <gtest/gtest.h>

#include "op/plugin_arguments.h"
#include "palimpsest/operator_library.h"

namespace palimpsest::op {
namespace {

using plugin::ContractError;
using plugin::IndexError;
using plugin::Library;
using plugin::NewTensor;
using PluginTensor = plugin::Tensor;

void Add(PluginTensor x, int64_t n) {
  auto a = x.accessor<float, 1>();
  for (int64_t i = 0; i < x.size(0); ++i) a[i] += static_cast<float>(n);
}
void Twice(const PluginTensor& x, PluginTensor result) {
  auto a = x.accessor<const float, 1>();
  auto r = result.accessor<float, 1>();
  for (int64_t i = 0; i < x.size(0); ++i) r[i] = 2 * a[i];
}
NewTensor TwiceMeta(const PluginTensor& x) {
  plugin::Require(x.dim() == 1, "a vector is expected");
  return NewTensor::Like(x);
}
int64_t CountGiven(std::vector<std::optional<PluginTensor>> xs, std::optional<double> scale) {
  int64_t n = scale ? 100 : 0;
  for (const auto& x : xs) n += x ? 1 : 0;
  return n;
}
void Throw(int64_t kind) {
  if (kind == 0) throw ContractError("not taken");
  if (kind == 1) throw IndexError("slot 7 of 3");
  if (kind == 2) throw std::runtime_error("broken");
  if (kind == 3) throw 3;
}
void WriteReadOnly(PluginTensor x) { *x.data<float>() = 1; }

uint32_t GoodLibrary(PalHost* host) {
  return plugin::Register(host, "t", [](Library& m) {
    m.def("add_(Tensor(a!) x, int n=1) -> ()", Add);
    m.def("twice(Tensor x) -> Tensor", Twice, TwiceMeta);
    m.def("count(Tensor?[] xs, float? scale=None) -> int", CountGiven, {.may_refuse = true});
    m.def("throw(int kind) -> ()", Throw);
    m.def("sneaky(Tensor x) -> ()", WriteReadOnly);
  });
}

Tensor Floats(std::initializer_list<float> values, int64_t stride = 1) {
  auto n = static_cast<int64_t>(values.size());
  View view = ContiguousView(DType::kF32, std::span<const int64_t>(&n, 1));
  view.strides[0] = stride;
  Tensor t = EmptyTensor(view).value();
  for (int64_t i = 0; i < n; ++i) t.data_as<float>()[i * stride] = values.begin()[i];
  return t;
}

class PluginTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(RegisterPlugin(GoodLibrary, "good", table_).ok()); }
  Result<CallResult> Call(std::string_view key, std::vector<Value> args) {
    return CallOp(*table_.Find(key), args, nullptr);
  }
  OpTable table_;
};

TEST_F(PluginTest, WritesStridedArgumentsInPlace) {
  Tensor x = Floats({1, 2, 3}, 2);
  ASSERT_TRUE(Call("t::add_", {x, Value(5)}).ok());
  EXPECT_EQ(x.data_as<float>()[4], 8);
}

TEST_F(PluginTest, FillsNewResultsThatMetaDeclares) {
  auto result = Call("t::twice", {Floats({1, 2}, 3)});
  ASSERT_TRUE(result.ok());
  const Tensor& r = result->returns.at(0).tensor();
  EXPECT_EQ(ToString(r.view()), "f32[2][1]");
  EXPECT_EQ(r.data_as<float>()[1], 4);
}

TEST_F(PluginTest, OptionalsAndHolesReachTheFunction) {
  Value xs(Value::List{Value(), Floats({1}), Floats({2})});
  EXPECT_EQ(Call("t::count", {xs, Value()})->returns.at(0).ToInt(), 2);
  EXPECT_EQ(Call("t::count", {xs, Value(1)})->returns.at(0).ToInt(), 102);
  EXPECT_TRUE(table_.Find("t::count")->traits.may_refuse);
  EXPECT_TRUE(table_.Find("t::count")->traits.custom);
}

TEST_F(PluginTest, MetaRefusesBeforeAnythingRuns) {
  Tensor scalar = EmptyTensor(DType::kF32, {}).value();
  auto result = Call("t::twice", {scalar});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kBadInput);
  EXPECT_EQ(result.error().reason, "operator_contract");
  EXPECT_EQ(result.error().message, "t::twice: a vector is expected");
}

TEST_F(PluginTest, ExceptionsBecomeErrors) {
  struct Row {
    int kind;
    std::string reason, message;
  };
  for (const Row& row :
       {Row{0, "operator_contract", "t::throw: not taken"},
        Row{1, "index_out_of_range", "t::throw: slot 7 of 3"}, Row{2, "", "t::throw: broken"},
        Row{3, "", "t::throw: an exception that is no std::exception"}}) {
    auto result = Call("t::throw", {Value(row.kind)});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::kRuntime);
    EXPECT_EQ(result.error().reason, row.reason);
    EXPECT_EQ(result.error().message, row.message);
  }
}

TEST_F(PluginTest, ArgumentsThatAreNotDeclaredWrittenCannotBeWritten) {
  auto result = Call("t::sneaky", {Floats({1})});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("does not declare this argument written"),
            std::string::npos);
}

TEST_F(PluginTest, NamesAreRegisteredOnce) {
  Status status = RegisterPlugin(GoodLibrary, "again", table_);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "again: operator t::add_ exists already");
}

// Libraries with a mistake: nothing of them is registered.
template <typename F>
void DefineOne(PalHost* host, const char* schema, F function) {
  Library m(host, "bad");
  m.def("fine(int kind) -> ()", Throw);
  m.def(schema, function);
}

TEST(PluginLoader, RefusesLibrariesWithAMistake) {
  struct Row {
    PalimpsestRegisterFn entry;
    std::string message;  // a part of it
  };
  const Row rows[] = {
      {[](PalHost*) -> uint32_t { return 7; },
       "version 7 of the operator interface, this "
       "palimpsest has version 1"},
      {[](PalHost* host) -> uint32_t {
         DefineOne(host, "f(Tensor(a!) x, float n) -> ()", Add);
         return PALIMPSEST_PLUGIN_ABI;
       },
       "its function takes (Tensor,int), but the schema asks for (Tensor,float)"},
      {[](PalHost* host) -> uint32_t {
         DefineOne(host, "f(Tensor x) -> Tensor", Twice);
         return PALIMPSEST_PLUGIN_ABI;
       },
       "give it a meta function"},
      {[](PalHost* host) -> uint32_t {
         DefineOne(host, "f(Tensor(a) x) -> Tensor(a)", WriteReadOnly);
         return PALIMPSEST_PLUGIN_ABI;
       },
       "cannot return views"},
      {[](PalHost* host) -> uint32_t {
         DefineOne(host, "f(Tensor x", WriteReadOnly);
         return PALIMPSEST_PLUGIN_ABI;
       },
       "lib: "},
      {[](PalHost* host) -> uint32_t {
         return plugin::Register(host, "bad", [](Library&) { throw std::runtime_error("no GPU"); });
       },
       "no GPU"},
  };
  for (const Row& row : rows) {
    OpTable table;
    Status status = RegisterPlugin(row.entry, "lib", table);
    ASSERT_FALSE(status.ok()) << row.message;
    EXPECT_NE(status.error().message.find(row.message), std::string::npos)
        << status.error().message;
    EXPECT_EQ(table.Find("bad::fine"), nullptr);
  }
}

TEST(PluginLoader, SaysWhyAFileCannotBeLoaded) {
  OpTable table;
  Status missing = LoadPlugin("/nowhere/libx.so", table);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::kBadInput);
  Status other = LoadPlugin("libm.so.6", table);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("exports no symbol palimpsest_operators_v1"),
            std::string::npos);
}

TEST(PluginLoader, ElementTypesHaveDLPackCodes) {
  for (int i = 0; i < kNumDTypes; ++i) {
    auto dtype = static_cast<DType>(i);
    PluginDType code = ToPluginDType(dtype);
    EXPECT_EQ(FromPluginDType(code), dtype);
    EXPECT_EQ(code.bits, ItemSize(dtype) * 8);
    EXPECT_EQ(plugin::CodeOf(dtype), (plugin::DTypeCode{code.code, code.bits}));
  }
}

}  // namespace
}  // namespace palimpsest::op
