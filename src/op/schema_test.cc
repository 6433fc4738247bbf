#include "op/schema.h"

#include <gtest/gtest.h>

namespace palimpsest::op {
namespace {

// Texts that PyTorch's parser takes, and how it is printed.
TEST(Schema, ParsesAndPrints) {
  struct Row {
    const char* text;
    const char* printed;  // null: as given
  };
  const Row rows[] = {
      {"a::b(Tensor(a!) x) -> ()", nullptr},
      {"a::b(Tensor x) -> Tensor", nullptr},
      {"a::b.c(Tensor(a)[] x) -> Tensor y", nullptr},
      {" a::b ( Tensor  x )  ->  ( ) ", "a::b(Tensor x) -> ()"},
      {"a::b(int[2] s=1) -> (Tensor, Tensor b)", "a::b(int[2] s=[1, 1]) -> (Tensor, Tensor b)"},
      {"a::b(int[1]? d=None) -> ()", nullptr},
      {"a::b(Tensor(a!)?[] x) -> ()", nullptr},
      {"a::b(Tensor?(a!)[] x) -> ()", "a::b(Tensor(a!)?[] x) -> ()"},
      {"a::b(Tensor[](a!) x, Tensor(a)[](b!) y, Tensor[](a)? z) -> ()", nullptr},
      {"a::b(Tensor(a!)[]? xs=None, *, int k=1) -> ()", nullptr},
      {"a::b(Tensor(a -> *) x) -> Tensor(a)[]", nullptr},
      {"a::b(Tensor(a|b! -> c|*) x) -> Tensor(*)", nullptr},
      {"a::b(Tensor! x) -> Tensor", nullptr},
      {"a::b(Dict(str, Tensor) x, (int, Tensor) y, Union(int, float) z) -> Future(int)", nullptr},
      {"a::b(__torch__.torch.classes.ns.Cls x) -> ()", nullptr},
      {"a::b(Tensor x, ...) -> ...", nullptr},
      {"a::b(...) -> ()", nullptr},
      {"a::b(*, int n) -> ()", nullptr},
      {"a::b(complex x=1j) -> ()", nullptr},
      {"a::b(float x=1e-5, float y=3, int z=-1) -> ()",
       "a::b(float x=1e-05, float y=3.0, int z=-1) -> ()"},
      {"a::b(str s='a\\'b\\n', str t=\"q\") -> ()", "a::b(str s=\"a'b\\n\", str t='q') -> ()"},
      {"a::b(ScalarType d=float, MemoryFormat m=contiguous_format, Layout l=strided) -> ()",
       "a::b(ScalarType d=float32, MemoryFormat m=contiguous_format, Layout l=strided) -> ()"},
      {"a::b(ScalarType d=4, MemoryFormat m=2, int r=Mean) -> ()",
       "a::b(ScalarType d=int64, MemoryFormat m=channels_last, int r=1) -> ()"},
      {"a::b(Device d='cuda:1', Generator? g=None, bool[2] m=True) -> ()",
       "a::b(Device d='cuda:1', Generator? g=None, bool[2] m=[True, True]) -> ()"},
      {"a::b(Tensor from, Tensor self) -> Tensor?", nullptr},
      {"a::b(SymInt[] size, Scalar[] xs, t y) -> t", nullptr},
      {"a::b(Tensor x=None, int y=None) -> ()", nullptr},
      {"a::b() -> ()", nullptr},
      {"a::b() -> ((Tensor, t)[])", nullptr},
  };
  for (const Row& row : rows) {
    Result<Schema> schema = ParseSchema(row.text);
    ASSERT_TRUE(schema.ok()) << row.text << ": " << schema.error().message;
    std::string printed = schema->ToString();
    EXPECT_EQ(printed, row.printed == nullptr ? row.text : row.printed);
    Result<Schema> again = ParseSchema(printed);
    ASSERT_TRUE(again.ok()) << printed << ": " << again.error().message;
    EXPECT_EQ(again->ToString(), printed);
  }
}

TEST(Schema, RefusesWithTheColumn) {
  struct Row {
    const char* text;
    const char* message;  // its first line
  };
  const Row rows[] = {
      {"", "column 1: expected the operator's name but found the end"},
      {"a::b(Tensor(a)(b) x) -> ()", "column 15: expected the argument's name but found '('"},
      {"a::b(float x=inf) -> ()",
       "column 14: 'inf' is no default value; write a number, a quoted string, True, False, None "
       "or a list"},
      {"a::b(int x) -> (int", "column 20: expected ',' or ')' but found the end"},
      {"a::b(Tensor(a!|b) x) -> ()", "column 15: expected ')' but found '|'"},
      {"a::b(int -x) -> ()", "column 10: expected the argument's name but found '-'"},
      {"a::b.default(int x) -> ()", "column 6: 'default' cannot be the name of an overload"},
      {"a::b.__x() -> ()", "column 6: '__x' cannot be the name of an overload"},
      {"a::b(double x) -> ()", "column 6: the type is called 'float' here, not 'double'"},
      {"a::b(int x, int x) -> ()", "column 17: a second argument 'x'"},
      {"a::b(int a=1, int c) -> ()",
       "column 19: argument 'c' has no default but follows one that has"},
      {"a::b(int[] x=1) -> ()", "column 14: expected a list: only 'T[N]' takes a single value"},
      {"a::b(Tensor x", "column 14: expected ',' or ')' but found the end"},
      {"a::b(Tensor x) > ()", "column 16: expected '->' but found '>'"},
      {"a::b(Tensor x) -> () 1", "column 22: expected the end of the schema but found '1'"},
      {"a::b(int x=99999999999999999999) -> ()", "column 12: the integer does not fit 64 bits"},
      {"a::b(*, int n, *, int m) -> ()", "column 16: a second '*'"},
      {"a::b(ScalarType d=99) -> ()", "column 19: no element type has the number 99"},
  };
  for (const Row& row : rows) {
    Result<Schema> schema = ParseSchema(row.text);
    ASSERT_FALSE(schema.ok()) << row.text;
    const std::string& message = schema.error().message;
    EXPECT_EQ(message.substr(0, message.find('\n')), row.message) << row.text;
  }
}

TEST(Schema, NestedTypesAreLimited) {
  std::string text = "a::b(";
  for (int i = 0; i < 100000; ++i) text += "(";
  EXPECT_FALSE(ParseSchema(text).ok());
  text = "a::b(Tensor";
  for (int i = 0; i < 100000; ++i) text += "[]";
  EXPECT_FALSE(ParseSchema(text).ok());
}

TEST(Schema, NamesOfOperators) {
  Result<Schema> schema = ParseSchema("aten::add.Tensor(Tensor self, Tensor other) -> Tensor");
  ASSERT_TRUE(schema.ok());
  EXPECT_EQ(schema->Key(), "aten::add.Tensor");
  EXPECT_EQ(schema->Target(), "torch.ops.aten.add.Tensor");
  schema = ParseSchema("aten::relu(Tensor self) -> Tensor");
  EXPECT_EQ(schema->Key(), "aten::relu");
  EXPECT_EQ(schema->Target(), "torch.ops.aten.relu.default");
  schema = ParseSchema("_operator::add(Scalar a, Scalar b) -> Scalar");
  EXPECT_EQ(schema->Target(), "_operator.add");
}

TEST(Schema, BindsArguments) {
  Result<Schema> schema = ParseSchema("a::b(int x, int y=2, *, int k, int z=3) -> ()");
  ASSERT_TRUE(schema.ok());
  Result<Binding> binding = BindArguments(*schema, 1, {"k", "y"});
  ASSERT_TRUE(binding.ok());
  EXPECT_EQ(binding->source[0], 0);
  EXPECT_EQ(binding->source[1], -2);
  EXPECT_EQ(binding->source[2], -1);
  EXPECT_FALSE(binding->source[3].has_value());

  struct Row {
    size_t positional;
    std::vector<std::string> keywords;
    const char* message;
  };
  const Row rows[] = {
      {3, {"k"}, "a::b: 3 positional arguments are given, it takes 2"},
      {1, {}, "a::b: argument 'k' is missing"},
      {1, {"k", "x"}, "a::b: argument 'x' is given twice"},
      {1, {"k", "q"}, "a::b: it has no argument 'q'"},
  };
  for (const Row& row : rows) {
    Result<Binding> bad = BindArguments(*schema, row.positional, row.keywords);
    ASSERT_FALSE(bad.ok()) << row.message;
    EXPECT_TRUE(bad.error().message.starts_with(row.message)) << bad.error().message;
  }
}

}  // namespace
}  // namespace palimpsest::op
