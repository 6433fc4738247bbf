#include "report/explanation_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "report/json_text.h"

namespace palimpsest::report {
namespace {

TEST(ExplanationJson, NamesEveryBase) {
  Explanation e;
  e.signature = "x: f32[2][1]";
  e.copied_bytes = 8;
  e.least_copied_bytes = 4;
  e.clones = 1;
  e.bases.push_back({"x", 8, "copied", 8, "mul", "add_one", "m.py:3", "m.py:2", "mul is \"late\""});
  EXPECT_EQ(ToJson(e),
            R"({"schema":"palimpsest.explain/1","signature":"x: f32[2][1]","copied_bytes":8,)"
            R"("least_copied_bytes":4,"proven":false,"program_copied_bytes":0,"clones":1,)"
            R"("arena_bytes":0,"arena_lower_bound":0,)"
            R"("bases":[{"name":"x","bytes":8,"verdict":"copied","copied_bytes":8,)"
            R"("reader":"mul","writer":"add_one","reader_at":"m.py:3","writer_at":"m.py:2",)"
            R"("why":"mul is \"late\""}],"remarks":[],"milliseconds":{"functionalize":0.0,)"
            R"("optimize":0.0,"reinplace":0.0,"plan":0.0}})");
}

TEST(JsonText, NumbersThatJsonLacksAreStrings) {
  double inf = std::numeric_limits<double>::infinity();
  JsonText json;
  json.BeginList().Number(0.5).Number(inf).Number(-inf).Number(inf - inf).Truth(true).Null();
  json.EndList();
  EXPECT_EQ(json.Take(), R"([0.5,"inf","-inf","nan",true,null])");
}

}  // namespace
}  // namespace palimpsest::report
