// Reads all graphs of a file, prints them, reads that again, and compares: for live_texts.py.
//
//   palimpsest_text SCHEMAS FILE    the graphs as we print them, each after a line "--- graph"
//   palimpsest_text SCHEMAS         the schemas as we print them
//
// SCHEMAS holds one operator schema a line. Exit 1 with a message if anything is refused or
// differs.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "ir/compare.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace palimpsest {
namespace {

Status RegisterSchemas(const std::string& path, bool print, op::OpTable& table) {
  std::ifstream file(path);
  if (!file) return UsageError("cannot read " + path);
  for (std::string line; std::getline(file, line);) {
    Result<op::Schema> schema = op::ParseSchema(line);
    if (!schema.ok()) return BadInput(line + ": " + schema.error().message);
    if (print) {
      fmt::print("{}\n", schema->ToString());
      continue;
    }
    op::Op op;
    op.schema = *std::move(schema);
    PAL_TRY(table.Register(std::move(op)));
  }
  return {};
}

Status CheckGraph(const ir::Graph& graph, const op::OpTable& table) {
  PAL_TRY(ir::Verify(graph));
  std::string text = ir::Print(graph);
  fmt::print("--- graph\n{}", text);
  PAL_TRY(ir::Graph again, ir::ParseText(text, table, "<printed>"));
  PAL_TRY(ir::Verify(again));
  std::string difference = ir::Difference(graph, again);
  if (!difference.empty()) return InternalError("read again, it differs " + difference);
  if (ir::Print(again) != text) return InternalError("printed again, it differs");
  return {};
}

Status Run(int argc, char** argv) {
  if (argc < 2 || argc > 3) return UsageError("palimpsest_text SCHEMAS [FILE]");
  op::OpTable table;
  PAL_TRY(RegisterSchemas(argv[1], argc == 2, table));
  if (argc == 2) return {};
  std::ifstream file(argv[2]);
  if (!file) return UsageError(fmt::format("cannot read {}", argv[2]));
  std::stringstream text;
  text << file.rdbuf();
  std::string content = text.str();
  PAL_TRY(std::vector<ir::Graph> graphs, ir::ParseAllTexts(content, table, argv[2]));
  for (const ir::Graph& graph : graphs) PAL_TRY(CheckGraph(graph, table));
  return {};
}

}  // namespace
}  // namespace palimpsest

int main(int argc, char** argv) {
  palimpsest::Status status = palimpsest::Run(argc, argv);
  if (status.ok()) return 0;
  std::cerr << status.error().ToString() << "\n";
  return 1;
}
