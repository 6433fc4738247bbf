// Scope: one function of a text while it is read, and its argument expressions. Part of text.h's
// reader.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ir/text_lexer.h"
#include "palimpsest/result.h"

namespace palimpsest::ir {

// Lists within lists within ...: nothing that PyTorch prints is deeper than this.
inline constexpr int kMaxArgumentDepth = 64;

// The operators that targets name, remembered by text.
class OperatorNames {
 public:
  const op::Op* Find(const op::OpTable& table, std::string_view target);

 private:
  std::unordered_map<std::string_view, const op::Op*> found_;
};

struct Scope {
  Graph* graph = nullptr;
  LineReader* lines = nullptr;
  OperatorNames* operators = nullptr;
  // Names of the values, as views into the text.
  std::unordered_map<std::string_view, NodeId> names;
  // Nested classes that calls name before they are read: an index of Graph::subgraphs each.
  std::unordered_map<std::string_view, int> subgraph_index;
  std::vector<std::string_view> subgraph_names;

  int SubgraphIndex(std::string_view name);
  const op::Op* FindOp(std::string_view target) const;

  // One argument: a name, a constant, a list, a tuple (read as a list), a dict, `device(...)`, a
  // dtype, an operator, a nested class. `depth`: how many brackets are open.
  Result<Argument> ReadArgument(Lexer& lexer, int depth = 0);

 private:
  Result<Argument> ReadName(Lexer& lexer);
  Result<Argument> ReadTorchName(Lexer& lexer, const Token& token);
  Result<Argument> ReadDevice(Lexer& lexer, const Token& token);
  Result<Argument> ReadFloatCall(Lexer& lexer);
  Result<Argument> ReadNumber(Lexer& lexer, const Token& token, bool negative);
  Result<Argument> ReadParenthesis(Lexer& lexer, int depth);
  Result<Argument> ReadItems(Lexer& lexer, Argument::List items, std::string_view close, int depth);
  Result<Argument> ReadDict(Lexer& lexer, int depth);
};

// The text of a string token. Errors: a broken escape.
Result<std::string> StringOf(const Lexer& lexer, const Token& token);

}  // namespace palimpsest::ir
