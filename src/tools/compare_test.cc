#include "tools/compare.h"

#include <gtest/gtest.h>

#include "tools/elements.h"
#include "tools/input_options.h"

namespace palimpsest::tools {
namespace {

Tensor Make(const char* text) { return ParseInputValue(text).value().tensor(); }
// Element `offset` of t's storage and the following, as a vector of two.
Tensor PairAt(const Tensor& t, int64_t offset) {
  View view = ContiguousView(t.dtype, Dims{2});
  view.offset = offset;
  return Tensor(view, t.storage);
}
Observed Observe(std::vector<Value> values) {
  Observed observed;
  for (Value& value : values) {
    observed.items.push_back({"item " + std::to_string(observed.items.size()), std::move(value)});
  }
  return observed;
}

TEST(Compare, EqualValuesWithEqualSharingAreEqual) {
  Tensor a = Make("f32[4]:arange"), b = Make("f32[4]:arange");
  EXPECT_EQ(
      FirstDifference(Observe({a, PairAt(a, 1), Value(3)}), Observe({b, PairAt(b, 1), Value(3)})),
      std::nullopt);
}

TEST(Compare, FindsEachKindOfDifference) {
  Tensor a = Make("f32[4]:arange");
  struct Row {
    Observed actual, expected;
    const char* text;
  };
  std::vector<Row> rows;
  rows.push_back({Observe({Make("f32[2]:ones")}), Observe({Make("f32[2]")}),
                  "item 0 element 0 is 1, interpreted 0"});
  rows.push_back({Observe({Make("f32[2][3]")}), Observe({Make("f32[2]")}),
                  "item 0 is f32[2][3], interpreted f32[2][1]"});
  rows.push_back({Observe({Value(3)}), Observe({Value(4)}), "item 0 is 3, interpreted 4"});
  rows.push_back(
      {Observe({Value()}), Observe({Make("f32[1]")}), "item 0 is None, interpreted f32[1][1] 0"});
  rows.push_back(
      {Observe({a, Make("f32[4]:arange")}), Observe({a, a}),
       "item 0 and item 1 share no memory, interpreted they share memory at distance 0"});
  rows.push_back({Observe({}), Observe({Value(1)}), "another number of results"});
  for (const Row& row : rows) {
    EXPECT_EQ(FirstDifference(row.actual, row.expected), row.text);
  }
}

TEST(Compare, ClonesKeepSharing) {
  Tensor a = Make("f32[4]:arange");
  std::vector<Value> clones = CloneSharing({a, PairAt(a, 2), Value(5)}).value();
  EXPECT_NE(clones[0].tensor().storage, a.storage);
  EXPECT_EQ(clones[0].tensor().storage, clones[1].tensor().storage);
  EXPECT_EQ(Show(clones[1]), "f32[2][1] 2 3");
}

}  // namespace
}  // namespace palimpsest::tools
