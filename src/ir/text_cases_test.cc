// Every program text of tests/cases is read, and printing then reading gives the same graph.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/scanner.h"
#include "ir/compare.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace palimpsest::ir {
namespace {

// The value of a string key in one line of JSON. Enough for the keys that are asked here.
std::string StringValue(const std::string& line, const std::string& key) {
  std::string start = fmt::format("\"{}\":\"", key);
  size_t begin = line.find(start);
  if (begin == std::string::npos) return "";
  begin += start.size();
  size_t end = begin;
  while (line[end] != '"') end += line[end] == '\\' ? 2 : 1;
  return UnescapePython(line.substr(begin, end - begin)).value_or("");
}

TEST(TextCases, AllProgramsRoundTrip) {
  std::ifstream file(PAL_SOURCE_DIR "/tests/cases/programs-open.jsonl");
  ASSERT_TRUE(file) << "tests/cases/programs-open.jsonl is missing";
  op::OpTable ops;
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    std::string text = StringValue(line, "program"), id = StringValue(line, "id");
    Result<Graph> graph = ParseText(text, ops, id);
    ASSERT_TRUE(graph.ok()) << graph.error().ToString();
    EXPECT_TRUE(Verify(*graph).ok()) << id;
    std::string printed = Print(*graph);
    Result<Graph> again = ParseText(printed, ops, id);
    ASSERT_TRUE(again.ok()) << again.error().ToString();
    EXPECT_EQ(Difference(*graph, *again), "") << id;
    // The text is the printer's own form but for spaces at the ends.
    std::string wanted = text;
    while (!wanted.empty() && wanted.back() == '\n') wanted.pop_back();
    while (!printed.empty() && printed.back() == '\n') printed.pop_back();
    EXPECT_EQ(printed, wanted) << id;
  }
  EXPECT_EQ(count, 1504);
}

}  // namespace
}  // namespace palimpsest::ir
