// palimpsest operators: every operator that is known, with its schema.
#include <fmt/format.h>

#include "driver/program_impl.h"
#include "report/json_text.h"
#include "tools/verbs.h"

namespace palimpsest::tools {

Result<int> ListOperators(const CommandLine& command) {
  Operators operators;
  for (const std::string& library : command.libraries) PAL_TRY(operators.LoadLibrary(library));
  std::vector<const op::Op*> all = operators.state()->table.All();
  if (!command.json) {
    for (const op::Op* op : all) fmt::print("{}\n", op->schema.ToString());
    return 0;
  }
  report::JsonText json;
  json.BeginObject().Key("schema").Text("palimpsest.operators/1").Key("operators").BeginList();
  for (const op::Op* op : all) {
    json.BeginObject().Key("name").Text(op->schema.Key());
    json.Key("schema").Text(op->schema.ToString());
    json.Key("pointwise").Truth(op->traits.pointwise);
    json.Key("custom").Truth(op->traits.custom).EndObject();
  }
  json.EndList().EndObject();
  fmt::print("{}\n", json.Take());
  return 0;
}

}  // namespace palimpsest::tools
