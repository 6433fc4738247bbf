#include "tools/input_options.h"

#include <gtest/gtest.h>

#include "tools/elements.h"

namespace palimpsest::tools {
namespace {

TEST(InputOptions, ReadsTensorsAndNumbers) {
  struct Row {
    const char *text, *expected;
  };
  for (const Row& row : {
           Row{"f32[2,3]:arange", "f32[2, 3][3, 1] 0 1 2 3 4 5"},
           Row{"i64[2, 2][1, 2]:ones", "i64[2, 2][1, 2] 1 1 1 1"},
           Row{"b8[]", "b8[][] False"},
           Row{"f64[0]:rand(3)", "f64[0][1]"},
           Row{"i64[2]:-5", "i64[2][1] -5 -5"},
           Row{"bf16[1]:0.5", "bf16[1][1] 0.5"},
           Row{"3", "3"},
           Row{"-0.5", "-0.5"},
           Row{"True", "True"},
           Row{"None", "None"},
       }) {
    Result<Value> value = ParseInputValue(row.text);
    ASSERT_TRUE(value.ok()) << row.text << ": " << value.error().message;
    EXPECT_EQ(Show(*value), row.expected) << row.text;
  }
}

TEST(InputOptions, RandomValuesAreAFunctionOfTheSeed) {
  auto show = [](const char* text) { return Show(ParseInputValue(text).value()); };
  EXPECT_EQ(show("f32[4]:rand(7)"), show("f32[4]:rand(7)"));
  EXPECT_NE(show("f32[4]:rand(7)"), show("f32[4]:rand(8)"));
}

TEST(InputOptions, SaysWhatItExpected) {
  struct Row {
    const char *text, *expected;
  };
  for (const Row& row : {
           Row{"f33[2]", "an element type"},
           Row{"f32[2", "sizes in brackets"},
           Row{"f32[-2]", "sizes that are numbers"},
           Row{"f32[2][1,1]", "one stride for each size"},
           Row{"f32[2]:noise", "zeros, ones, arange, rand(SEED) or a number"},
           Row{"f32[2]zeros", "':' and a filling"},
           Row{"hello", "@FILE.npy"},
       }) {
    Result<Value> value = ParseInputValue(row.text);
    ASSERT_FALSE(value.ok()) << row.text;
    EXPECT_EQ(value.error().kind, ErrorKind::kUsage);
    EXPECT_NE(value.error().message.find(row.expected), std::string::npos) << value.error().message;
  }
}

TEST(InputOptions, HugeSizesAreErrors) {
  EXPECT_FALSE(ParseInputValue("f32[4611686018427387904,4]").ok());
  EXPECT_FALSE(ParseInputValue("f32[2][9223372036854775807]").ok());
}

TEST(InputOptions, NamesMustBeInputs) {
  CommandLine command;
  command.inputs = {"z=3"};
  auto values = ReadInputOptions(command, {"x", "y"});
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(values.error().message, "--input z=3: there is no input 'z'; the program takes: x, y");
  command.inputs = {"y=3"};
  values = ReadInputOptions(command, {"x", "y"});
  ASSERT_TRUE(values.ok());
  EXPECT_FALSE((*values)[0].has_value());
  EXPECT_EQ((*values)[1]->ToInt(), 3);
}

}  // namespace
}  // namespace palimpsest::tools
