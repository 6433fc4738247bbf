// The reader: lines -> functions -> nodes.
//
// Note [Shape of a text]
//   Outside of a function body only lines with `class NAME(torch.nn.Module):`, `def forward(...)`
//   and comments of ours mean anything; all else (titles, metadata, warnings between log lines) is
//   skipped. A body goes from `def forward` to `return`; there every line must be a statement or a
//   comment. A class that follows with a larger indentation is nested: a subgraph. Where the class
//   line has a log prefix, lines without one are other people's output.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "ir/bind.h"
#include "ir/text.h"
#include "ir/text_comments.h"
#include "ir/text_operators.h"
#include "ir/text_scope.h"
#include "ir/text_type.h"

namespace palimpsest::ir {
namespace {

// Classes within classes: deeper than any program.
constexpr size_t kMaxClassDepth = 32;

// ---- statements

// Reads the statements of one function into scope.graph.
class FunctionReader {
 public:
  explicit FunctionReader(Scope& scope) : scope_(scope), graph_(*scope.graph) {}

  // "def forward(self, x: "f32[2]", y):", from "(" on.
  Status Signature(Lexer& lexer, int line) {
    PAL_TRY(lexer.Expect("("));
    bool first = true;
    while (!lexer.Accept(")")) {
      Token name = lexer.Next();
      if (!name.IsName()) return lexer.At(name, "expected the name of an input");
      if (!(first && name.text == "self")) {
        Node node;
        node.kind = Node::Kind::kInput;
        PAL_TRY(Annotation(lexer, node));
        if (lexer.Accept("=")) {  // a default says nothing here
          PAL_TRY(Argument ignored_default, scope_.ReadArgument(lexer));
        }
        PAL_TRY(Define(lexer, name, std::move(node), line));
      }
      first = false;
      if (!lexer.Peek().Is(")") && !lexer.Accept(",")) return lexer.Expected("',' or ')'");
    }
    if (lexer.Accept("->")) {
      while (lexer.Peek().kind != Token::Kind::kEnd && !lexer.Peek().Is(":")) {
        if (lexer.Next().kind == Token::Kind::kBad) break;
      }
    }
    return lexer.Expect(":");
  }

  Status Statement(const Line& line) {
    Lexer lexer(*scope_.lines, line.text);
    Token name = lexer.Next();
    if (!name.IsName() || name.text.find('.') != std::string_view::npos) {
      return lexer.At(name, "expected 'NAME = ...' or 'return ...'");
    }
    if (lexer.Peek().Is(",") && IsInputUnpacking(line.text)) return SkipToEnd(lexer);
    Node node;
    PAL_TRY(Annotation(lexer, node));
    if (lexer.Peek().Is(";")) return InputTypes(lexer, name, std::move(node.type));
    PAL_TRY(lexer.Expect("="));
    if (lexer.Peek().text == "self._guards_fn") return SkipToEnd(lexer);
    PAL_TRY(Expression(lexer, node));
    PAL_TRY(Tail(lexer));
    return Define(lexer, name, std::move(node), line.number);
  }

  Status Return(std::string_view rest) {
    Lexer lexer(*scope_.lines, rest);
    bool unflatten = lexer.Peek().text == "pytree.tree_unflatten";
    if (unflatten) {  // pytree.tree_unflatten((a, b), self._out_spec)
      lexer.Next();
      PAL_TRY(lexer.Expect("("));
    }
    PAL_TRY(Argument value, scope_.ReadArgument(lexer));
    if (unflatten) PAL_TRY(SkipToEnd(lexer));
    if (lexer.Peek().kind != Token::Kind::kEnd) return lexer.Expected("the end of the line");
    graph_.single_output = !value.IsList();
    Flatten(std::move(value));
    return {};
  }

  // `place`: the index in graph.places for the statements that follow, -1 for none.
  void SetPlace(std::optional<SourcePlace> place) {
    if (!place) {
      place_ = -1;
      return;
    }
    if (place_ >= 0 && graph_.places[static_cast<size_t>(place_)] == *place) return;
    place_ = static_cast<int>(graph_.places.size());
    graph_.places.push_back(*std::move(place));
  }

 private:
  // x, y, = fx_pytree.tree_flatten_spec(([x, y], {}), self._in_spec): the inputs are flat already.
  static bool IsInputUnpacking(std::string_view line) {
    return line.find("fx_pytree.tree_flatten_spec(") != std::string_view::npos;
  }

  // x: "f32[4]"; y: "f32[3]";
  Status InputTypes(Lexer& lexer, Token name, Type type) {
    while (true) {
      auto it = scope_.names.find(name.text);
      if (it == scope_.names.end() || graph_.node(it->second).kind != Node::Kind::kInput) {
        return lexer.At(name, "expected the name of an input");
      }
      graph_.node(it->second).type = std::move(type);
      if (!lexer.Accept(";") || lexer.Peek().kind == Token::Kind::kEnd) return {};
      name = lexer.Next();
      Node node;
      PAL_TRY(Annotation(lexer, node));
      type = std::move(node.type);
    }
  }

  static Status SkipToEnd(Lexer& lexer) {
    while (lexer.Peek().kind != Token::Kind::kEnd) {
      if (lexer.Next().kind == Token::Kind::kBad) break;
    }
    return {};
  }

  // [: "type"], or an annotation without quotes, which says nothing.
  static Status Annotation(Lexer& lexer, Node& node) {
    if (!lexer.Accept(":")) return {};
    Token token = lexer.Next();
    if (token.kind == Token::Kind::kString) {
      Result<Type> type = ParseType(token.text.substr(1, token.text.size() - 2));
      if (!type.ok()) return lexer.At(token, std::move(type).error());
      node.type = *std::move(type);
      return {};
    }
    if (!token.IsName()) return lexer.At(token, "expected a type in quotes");
    int depth = 0;
    while (lexer.Peek().kind != Token::Kind::kEnd) {
      const Token& next = lexer.Peek();
      if (depth == 0 && (next.Is("=") || next.Is(",") || next.Is(")"))) break;
      depth += next.Is("[") ? 1 : next.Is("]") ? -1 : 0;
      if (lexer.Next().kind == Token::Kind::kBad) break;
    }
    return {};
  }

  // ";  a = b = None": PyTorch's hints when a value dies. They follow from the uses.
  static Status Tail(Lexer& lexer) {
    if (lexer.Peek().kind == Token::Kind::kEnd) return {};
    if (!lexer.Accept(";")) return lexer.Expected("the end of the line");
    while (lexer.Peek().kind != Token::Kind::kEnd) {
      Token token = lexer.Next();
      if (token.IsName() || token.Is("=") || token.Is(";")) continue;
      return lexer.At(token, "expected 'NAME = None'");
    }
    return {};
  }

  Status Define(const Lexer& lexer, const Token& token, Node node, int line) {
    NodeId id(static_cast<int64_t>(graph_.nodes.size()));
    if (token.text.find('.') != std::string_view::npos) return lexer.At(token, "expected a name");
    if (!scope_.names.emplace(token.text, id).second) {
      return lexer.At(token, fmt::format("a second value '{}'", token.text));
    }
    node.name = token.text;
    node.text_line = line;
    node.place = node.kind == Node::Kind::kInput ? -1 : place_;
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  void Flatten(Argument value) {
    std::vector<Argument> stack;
    stack.push_back(std::move(value));
    while (!stack.empty()) {
      Argument top = std::move(stack.back());
      stack.pop_back();
      if (!top.IsList()) {
        graph_.outputs.push_back(std::move(top));
        continue;
      }
      auto& items = top.As<Argument::List>();
      for (size_t i = items.size(); i-- > 0;) stack.push_back(std::move(items[i]));
    }
  }

  // ---- right-hand sides

  Status Expression(Lexer& lexer, Node& node) {
    const Token first = lexer.Peek();
    if (first.Is("-") || first.Is("~") || first.Is("+")) return Prefix(lexer, node);
    bool is_value = !first.IsName() || IsValue(first.text) || IsConstantWord(first.text);
    if (is_value) return Operand(lexer, node);
    if (first.text.starts_with("self.")) return Attribute(lexer, node);
    lexer.Next();
    if (!lexer.Peek().Is("(")) {
      if (first.text.find('.') != std::string_view::npos) return lexer.Expected("'('");
      return lexer.At(first, fmt::format("'{}' is not the name of an earlier value", first.text));
    }
    return Call(lexer, first, node);
  }

  bool IsValue(std::string_view word) const { return scope_.names.count(word) != 0; }

  static bool IsConstantWord(std::string_view word) {
    return word == "inf" || word == "nan" || word == "True" || word == "False";
  }

  // "-x", "~x"; a negative number is an operand.
  Status Prefix(Lexer& lexer, Node& node) {
    Token sign = lexer.Next();
    const Token& next = lexer.Peek();
    if (next.kind == Token::Kind::kNumber || (IsConstantWord(next.text) && !IsValue(next.text))) {
      PAL_TRY(Argument left, scope_.ReadArgument(lexer));
      if (sign.Is("-") && left.Is<int64_t>()) left = -left.As<int64_t>();
      if (sign.Is("-") && left.Is<double>()) left = -left.As<double>();
      return Infix(lexer, node, std::move(left));
    }
    PAL_TRY(Argument operand, scope_.ReadArgument(lexer));
    node.target = TargetOfPrefix(sign.text);
    return SetArguments(lexer, sign, node, {std::move(operand)}, {});
  }

  // "split[0]", "item >= 0".
  Status Operand(Lexer& lexer, Node& node) {
    PAL_TRY(Argument left, scope_.ReadArgument(lexer));
    if (!lexer.Peek().Is("[")) return Infix(lexer, node, std::move(left));
    if (!left.IsNode()) return lexer.Expected("an operator such as +");
    lexer.Next();
    Token token = lexer.Peek();
    PAL_TRY(Argument index, scope_.ReadArgument(lexer));
    if (!index.Is<int64_t>() || index.As<int64_t>() < 0) {
      return lexer.At(token, Unsupported("only the elements of a list by number are supported: "
                                         "x[0]; export the program to have aten calls"));
    }
    PAL_TRY(lexer.Expect("]"));
    node.kind = Node::Kind::kGetItem;
    node.index = index.As<int64_t>();
    node.args.push_back(std::move(left));
    return {};
  }

  Status Infix(Lexer& lexer, Node& node, Argument left) {
    Token op = lexer.Peek();
    std::string_view target = op.kind == Token::Kind::kPunct ? TargetOfInfix(op.text) : "";
    if (target.empty()) return lexer.Expected("a call, an element x[0], or an operator such as +");
    lexer.Next();
    PAL_TRY(Argument right, scope_.ReadArgument(lexer));
    node.target = target;
    std::vector<Argument> operands;
    operands.push_back(std::move(left));
    operands.push_back(std::move(right));
    return SetArguments(lexer, op, node, std::move(operands), {});
  }

  Status Attribute(Lexer& lexer, Node& node) {
    Token token = lexer.Next();
    if (lexer.Peek().Is("(")) {
      return lexer.At(token, Unsupported("calls of modules are not supported; export the program "
                                         "(torch.export.export) to have torch.ops calls"));
    }
    node.kind = Node::Kind::kGetAttr;
    node.target = token.text.substr(5);
    return {};
  }

  Status Call(Lexer& lexer, const Token& target, Node& node) {
    size_t dot = target.text.find('.');
    bool is_method =
        dot != std::string_view::npos && scope_.names.count(target.text.substr(0, dot)) != 0;
    if (is_method || dot == std::string_view::npos) {
      return lexer.At(target,
                      Unsupported(fmt::format("a call of '{}' is not supported; export the program "
                                              "(torch.export.export) to have torch.ops calls",
                                              target.text)));
    }
    node.target = target.text;
    if (target.text.starts_with("operator.")) node.target.insert(0, 1, '_');
    std::vector<Argument> positional;
    std::vector<NamedArgument> keywords;
    PAL_TRY(CallArguments(lexer, positional, keywords));
    return SetArguments(lexer, target, node, std::move(positional), std::move(keywords));
  }

  Status CallArguments(Lexer& lexer, std::vector<Argument>& positional,
                       std::vector<NamedArgument>& keywords) {
    PAL_TRY(lexer.Expect("("));
    while (!lexer.Accept(")")) {
      Token token = lexer.Peek();
      std::string_view keyword = Keyword(lexer);
      if (keyword.empty() && !keywords.empty()) {
        return lexer.At(token, "a positional argument after keyword arguments");
      }
      PAL_TRY(Argument value, scope_.ReadArgument(lexer));
      if (keyword.empty()) {
        positional.push_back(std::move(value));
      } else {
        keywords.push_back({std::string(keyword), std::move(value)});
      }
      if (!lexer.Accept(",") && !lexer.Peek().Is(")")) return lexer.Expected("',' or ')'");
    }
    return {};
  }

  // Reads "NAME =" if it stands at the front; "" if not.
  static std::string_view Keyword(Lexer& lexer) {
    Token name = lexer.Peek();
    if (!name.IsName() || !lexer.IsFollowedBy('=')) return "";
    lexer.Next();
    lexer.Next();
    return name.text;
  }

  Status SetArguments(const Lexer& lexer, const Token& at, Node& node,
                      std::vector<Argument> positional, std::vector<NamedArgument> keywords) {
    node.op = scope_.FindOp(node.target == at.text ? at.text : Intern(node.target));
    if (node.op == nullptr) {
      node.args = std::move(positional);
      node.kwargs = std::move(keywords);
      return {};
    }
    Status bound = BindCall(node, std::move(positional), std::move(keywords));
    if (!bound.ok()) return lexer.At(at, std::move(bound).error());
    bool is_list = node.op->schema.returns.size() > 1 || (node.op->schema.returns.size() == 1 &&
                                                          node.op->schema.returns[0].type.IsList());
    if (is_list && node.type.kind == Type::Kind::kUnknown) node.type.kind = Type::Kind::kList;
    return {};
  }

  // A view of a target that is no piece of the text: the tables of text_operators.h live for ever,
  // "_operator.x" from "operator.x" is looked up there.
  static std::string_view Intern(std::string_view target) {
    std::string_view symbol = InfixOfTarget(target);
    if (!symbol.empty()) return TargetOfInfix(symbol);
    symbol = PrefixOfTarget(target);
    return TargetOfPrefix(symbol);
  }

  Scope& scope_;
  Graph& graph_;
  int place_ = -1;
};

// ---- functions and classes

struct OpenGraph {
  std::shared_ptr<Graph> graph;
  std::unique_ptr<Scope> scope;
  std::unique_ptr<FunctionReader> reader;
  size_t indent = 0;
  bool has_prefix = false;
  const char* begin = nullptr;  // of the class or def line
  int line = 0;
  enum class State : uint8_t { kClass, kBody, kDone } state = State::kClass;
  std::vector<std::pair<std::string_view, std::shared_ptr<Graph>>> classes;  // nested, in order
  std::vector<KeyedComment> comments;
};

class TextReader {
 public:
  TextReader(std::string_view text, const op::OpTable& ops, std::string file_name)
      : text_(text), ops_(ops), file_(std::move(file_name)), lines_(text, file_) {}

  Result<std::vector<Graph>> Read() {
    Line line;
    while (lines_.Next(&line)) PAL_TRY(ReadLine(line));
    while (!open_.empty()) PAL_TRY(Close());
    return std::move(done_);
  }

  // Where the graphs begin, for an error.
  const std::vector<int>& begins() const { return begins_; }
  const LineReader& lines() const { return lines_; }
  const char* FirstLine() const { return first_line_ == nullptr ? text_.data() : first_line_; }

 private:
  bool InBody() const { return !open_.empty() && open_.back().state == OpenGraph::State::kBody; }

  Status ReadLine(const Line& line) {
    if (line.text.empty()) return {};
    if (line.text[0] == '#') return Comment(line);
    if (first_line_ == nullptr) first_line_ = line.text.data();
    if (InBody()) {
      OpenGraph& top = open_.back();
      if (top.has_prefix && !line.has_prefix) return {};
      return BodyLine(top, line);
    }
    std::string_view name = ClassName(line.text);
    if (!name.empty()) return OpenClass(line, name);
    if (line.text.starts_with("def forward(")) return OpenFunction(line);
    return {};
  }

  Status Comment(const Line& line) {
    std::optional<KeyedComment> keyed = ReadKeyedComment(line.text);
    if (keyed && InBody()) {
      if (open_.size() > 1) return Misplaced(*keyed);
      open_.back().comments.push_back(*keyed);
    } else if (keyed) {
      pending_.push_back(*keyed);
    } else if (InBody()) {
      std::optional<SourcePlace> place = ReadSourcePlace(line.text);
      bool none = line.text.starts_with("# No stacktrace");
      if (place || none) open_.back().reader->SetPlace(std::move(place));
    }
    return {};
  }

  Error Misplaced(const KeyedComment& comment) const {
    return lines_.At(comment.key.data(),
                     fmt::format("'# {}:' belongs above the outermost function", comment.key));
  }

  static Status BodyLine(OpenGraph& top, const Line& line) {
    bool is_return = line.text == "return" || line.text.starts_with("return ") ||
                     line.text.starts_with("return(");
    if (!is_return) return top.reader->Statement(line);
    top.state = OpenGraph::State::kDone;
    return top.reader->Return(line.text.substr(6));
  }

  // "[PATH ]class NAME(torch.nn.Module):"; "" for any other line.
  static std::string_view ClassName(std::string_view line) {
    constexpr std::string_view kEnd = "(torch.nn.Module):", kClass = "class ";
    if (!line.ends_with(kEnd)) return "";
    line.remove_suffix(kEnd.size());
    size_t begin = line.rfind(kClass);
    if (begin == std::string_view::npos || (begin > 0 && line[begin - 1] != ' ')) return "";
    return line.substr(begin + kClass.size());
  }

  Status OpenClass(const Line& line, std::string_view name) {
    while (!open_.empty() && line.indent <= open_.back().indent) PAL_TRY(Close());
    if (!open_.empty() && open_.back().state != OpenGraph::State::kDone) {
      return lines_.At(line.text.data(), "a class before the 'def forward' of the class around it");
    }
    if (open_.size() >= kMaxClassDepth) {
      return lines_.At(line.text.data(), "classes are nested too deeply");
    }
    Open(line, line.indent);
    open_.back().graph->class_name = name;
    return {};
  }

  void Open(const Line& line, size_t indent) {
    OpenGraph open;
    open.graph = std::make_shared<Graph>();
    open.graph->file = file_;
    open.indent = indent;
    open.has_prefix = line.has_prefix;
    open.begin = line.text.data();
    open.line = line.number;
    open.scope = std::make_unique<Scope>();
    open.scope->graph = open.graph.get();
    open.scope->lines = &lines_;
    open.scope->operators = &operators_;
    open.reader = std::make_unique<FunctionReader>(*open.scope);
    if (open_.empty()) begins_.push_back(line.number);
    open_.push_back(std::move(open));
  }

  Status OpenFunction(const Line& line) {
    bool has_class = !open_.empty() && open_.back().state == OpenGraph::State::kClass &&
                     line.indent > open_.back().indent;
    if (!has_class) {
      while (!open_.empty()) PAL_TRY(Close());
      Open(line, line.indent == 0 ? 0 : line.indent - 1);
    }
    OpenGraph& top = open_.back();
    top.state = OpenGraph::State::kBody;
    top.has_prefix = line.has_prefix;
    top.comments = std::move(pending_);
    pending_.clear();
    if (open_.size() > 1 && !top.comments.empty()) return Misplaced(top.comments[0]);
    PAL_TRY(SetTable(top));
    constexpr std::string_view kDef = "def forward";
    Lexer lexer(lines_, line.text.substr(kDef.size()));
    return top.reader->Signature(lexer, line.number);
  }

  // The operators of this graph: those given, and those of its "# schema:" lines. Subgraphs use the
  // table of the graph around them.
  Status SetTable(OpenGraph& top) {
    Graph& graph = *top.graph;
    graph.ops = &ops_;
    if (open_.size() > 1) graph.own_ops = open_.front().graph->own_ops;
    PAL_TRY(ApplySchemas(top.comments, ops_, lines_, graph));
    operators_ = OperatorNames();
    return {};
  }

  // Takes the innermost open graph off the stack: into the graph around it, or into the results.
  Status Close() {
    OpenGraph top = std::move(open_.back());
    open_.pop_back();
    if (top.state != OpenGraph::State::kDone) {
      return lines_.At(top.begin, top.state == OpenGraph::State::kClass
                                      ? "the class has no 'def forward'"
                                      : "the function has no 'return'");
    }
    PAL_TRY(AttachClasses(top));
    // Comments name values, and AttachClasses may have renumbered them.
    top.scope->names.clear();
    for (size_t i = 0; i < top.graph->nodes.size(); ++i) {
      if (top.comments.empty()) break;
      top.scope->names.emplace(top.graph->nodes[i].name, NodeId(static_cast<int64_t>(i)));
    }
    PAL_TRY(ApplyComments(top.comments, *top.scope));
    if (!open_.empty()) {
      open_.back().classes.emplace_back(top.graph->class_name, top.graph);
    } else {
      done_.push_back(std::move(*top.graph));
    }
    return {};
  }

  // Classes become subgraphs, in the order of their text; what named them gets their index.
  Status AttachClasses(OpenGraph& top) {
    Graph& graph = *top.graph;
    std::unordered_map<std::string_view, int> index;
    for (auto& [name, sub] : top.classes) {
      if (!index.emplace(name, static_cast<int>(graph.subgraphs.size())).second) {
        return lines_.At(top.begin, fmt::format("two nested classes '{}'", name));
      }
      graph.subgraphs.push_back(sub);
      graph.subgraph_names.emplace_back(name);
    }
    std::vector<int> renumbered;
    for (std::string_view name : top.scope->subgraph_names) {
      auto it = index.find(name);
      if (it == index.end()) {
        return lines_.At(name.data(), fmt::format("there is no nested class '{}'", name));
      }
      renumbered.push_back(it->second);
    }
    ReplaceNames(graph, index, renumbered);
    return CheckSubgraphUses(graph, top);
  }

  // A subgraph is an argument of calls, nothing else.
  Status CheckSubgraphUses(const Graph& graph, const OpenGraph& top) const {
    for (const Node& node : graph.nodes) {
      if (node.kind != Node::Kind::kGetItem || node.args[0].IsNode()) continue;
      return lines_.At(top.begin, fmt::format("'{}' is an element of a class", node.name));
    }
    return {};
  }

  // Calls name a subgraph directly ("self.body") or through a value ("body = self.body").
  static void ReplaceNames(Graph& graph, const std::unordered_map<std::string_view, int>& index,
                           const std::vector<int>& renumbered) {
    if (index.empty()) return;
    std::vector<int> subgraph_of(graph.nodes.size(), -1);
    std::vector<bool> keep(graph.nodes.size(), true);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      auto it = node.kind == Node::Kind::kGetAttr ? index.find(node.target) : index.end();
      if (it == index.end()) continue;
      subgraph_of[i] = it->second;
      keep[i] = false;
    }
    auto replace = [&](Argument& root) {
      std::vector<Argument*> work = {&root};
      while (!work.empty()) {
        Argument& arg = *work.back();
        work.pop_back();
        if (arg.Is<SubgraphRef>()) {
          arg = SubgraphRef{renumbered[static_cast<size_t>(arg.As<SubgraphRef>().index)]};
        } else if (arg.IsNode() && subgraph_of[static_cast<size_t>(arg.node().index)] >= 0) {
          arg = SubgraphRef{subgraph_of[static_cast<size_t>(arg.node().index)]};
        } else if (arg.IsList()) {
          for (Argument& item : arg.As<Argument::List>()) work.push_back(&item);
        } else if (arg.Is<Argument::Dict>()) {
          for (auto& [key, value] : arg.As<Argument::Dict>()) work.push_back(&value);
        }
      }
    };
    for (Node& node : graph.nodes) {
      for (Argument& arg : node.args) replace(arg);
      for (NamedArgument& arg : node.kwargs) replace(arg.value);
    }
    for (Argument& out : graph.outputs) replace(out);
    Compact(graph, keep);
  }

  std::string_view text_;
  const op::OpTable& ops_;
  std::string file_;
  LineReader lines_;
  OperatorNames operators_;
  std::vector<OpenGraph> open_;
  std::vector<KeyedComment> pending_;
  std::vector<Graph> done_;
  std::vector<int> begins_;
  const char* first_line_ = nullptr;
};

}  // namespace

Result<std::vector<Graph>> ParseAllTexts(std::string_view text, const op::OpTable& ops,
                                         std::string file_name) {
  TextReader reader(text, ops, std::move(file_name));
  return reader.Read();
}

Result<Graph> ParseText(std::string_view text, const op::OpTable& ops, std::string file_name) {
  TextReader reader(text, ops, std::move(file_name));
  PAL_TRY(std::vector<Graph> graphs, reader.Read());
  if (graphs.empty()) {
    return reader.lines().At(reader.FirstLine(),
                             "no graph: expected 'def forward(self, ...):' or a class with it");
  }
  if (graphs.size() > 1) {
    return BadInput(fmt::format("{} holds {} graphs, which begin in the lines {}; keep one of them",
                                graphs[0].file.empty() ? "the text" : graphs[0].file, graphs.size(),
                                fmt::join(reader.begins(), ", ")));
  }
  return std::move(graphs[0]);
}

}  // namespace palimpsest::ir
