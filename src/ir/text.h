// Text in and out: the Python-like form in which PyTorch prints graphs (docs/ir.md), the one syntax
// of palimpsest.
//
//   def forward(self, x: "f32[4, 3][3, 1]cpu"):
//       select: "f32[3][1]cpu" = torch.ops.aten.select.int(x, 0, 0)
//       return (select,)
//
// Read: print_readable() with and without strides, TORCH_LOGS=aot_graphs,post_grad_graphs with
// their log prefixes, nested classes for subgraphs, "# File:" comments, and the comment lines of
// ours
// (# schema, # storage, # phase, # write-back, # order, # place). Print then parse is the identity.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "palimpsest/result.h"

namespace palimpsest::ir {

// Errors (kBadInput) carry FILE:LINE:COL and a caret line under the column. Operators that `ops`
// does not know are kept with op == nullptr: what to do about them is the caller's question
// (driver/ names them all at once).
Result<Graph> ParseText(std::string_view text, const op::OpTable& ops, std::string file_name = "");

// All graphs of a text that holds several, such as the log of a compilation.
Result<std::vector<Graph>> ParseAllTexts(std::string_view text, const op::OpTable& ops,
                                         std::string file_name = "");

struct PrintOptions {
  bool places = true;  // "# File:" comments
  bool strides = true;
};
std::string Print(const Graph& graph, const PrintOptions& options = {});
std::string PrintNode(const Graph& graph, const Node& node);
std::string PrintArgument(const Graph& graph, const Argument& argument);
std::string PrintType(const Type& type, bool strides = true);

}  // namespace palimpsest::ir
