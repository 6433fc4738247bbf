// Our comment lines: what Python has no notation for (docs/ir.md). Part of text.h's reader.
#pragma once

#include <string_view>
#include <vector>

#include "ir/text_scope.h"

namespace palimpsest::ir {

// A comment whose key is one of ours, to be applied when the function has been read.
struct KeyedComment {
  std::string_view key;   // "storage"
  std::string_view text;  // what follows the colon
};

// Is `line` ("# storage: x+2") a comment of ours?
std::optional<KeyedComment> ReadKeyedComment(std::string_view line);

// "# schema:" lines: registers the operators in graph.own_ops. Before the function is read.
Status ApplySchemas(const std::vector<KeyedComment>& comments, const op::OpTable& ops,
                    const LineReader& lines, Graph& graph);
// All others, after it.
Status ApplyComments(const std::vector<KeyedComment>& comments, Scope& scope);

// "# File: model.py:12 in forward, code: y = x + 1"; nullopt for any other comment.
std::optional<SourcePlace> ReadSourcePlace(std::string_view line);

}  // namespace palimpsest::ir
