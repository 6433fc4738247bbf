// The JSON of one node, taken apart. Internal to graph_reader.cc, arguments.cc and regions.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/json.h"
#include "palimpsest/result.h"

namespace palimpsest::importing {

struct NodeCall {
  std::string target;
  std::string name;        // of the node; empty before 2.9
  std::string shown_name;  // for errors: of the node or its first result
  std::string_view stack_trace;
  std::vector<std::pair<std::string_view, Json>> inputs;  // name ("" for positional), argument
  std::vector<Json> outputs;
  // Higher-order operators with one result: true for a bare tensor, false for a tuple of one.
  std::optional<bool> bare_result;
  int place = -1;

  static Result<NodeCall> Of(Json node);
};

// An autocast region changes element types: only a switched-off one can be put in place.
Status CheckAutocast(const NodeCall& call);

}  // namespace palimpsest::importing
