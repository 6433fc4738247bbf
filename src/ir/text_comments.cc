#include "ir/text_comments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/scanner.h"

namespace palimpsest::ir {
namespace {

constexpr std::array<std::string_view, 9> kKeys = {
    "schema", "phase", "storage", "order", "place", "write-back", "input", "range", "guard"};

std::string_view Trim(std::string_view text) {
  size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// What is kept as text is kept in one line: control characters become spaces.
std::string PlainText(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return std::string(Trim(plain));
}

// One comment: a scanner over its text, errors with the place in the file.
class CommentReader {
 public:
  CommentReader(const KeyedComment& comment, Scope& scope)
      : comment_(comment), scope_(scope), s_(comment.text) {}

  Status Apply() {
    Graph& graph = *scope_.graph;
    std::string_view key = comment_.key;
    if (key == "schema") return {};
    if (key == "guard") {
      graph.guards.push_back(PlainText(comment_.text));
      return {};
    }
    if (key == "phase") PAL_TRY(Phase(graph));
    if (key == "storage") PAL_TRY(Storage(graph));
    if (key == "order") PAL_TRY(Order(graph));
    if (key == "place") return Place(graph);
    if (key == "write-back") PAL_TRY(WriteBackLine(graph));
    if (key == "input") return Input(graph);
    if (key == "range") PAL_TRY(Range(graph));
    if (!s_.AtEnd()) return Expected("the end of the line");
    return {};
  }

 private:
  Error At(size_t position, std::string_view message) const {
    return scope_.lines->At(comment_.text.data() + position, message);
  }
  Error Expected(std::string_view what) {
    s_.SkipSpaces();
    return At(s_.position(), fmt::format("expected {}", what));
  }

  Result<NodeId> Name() {
    s_.SkipSpaces();
    size_t at = s_.position();
    std::string_view name = s_.Ident();
    if (name.empty()) return Expected("the name of a value");
    auto it = scope_.names.find(name);
    if (it == scope_.names.end()) return At(at, fmt::format("there is no value '{}'", name));
    return it->second;
  }

  Result<NodeId> InputName() {
    s_.SkipSpaces();
    size_t at = s_.position();
    PAL_TRY(NodeId id, Name());
    if (scope_.graph->node(id).kind != Node::Kind::kInput) return At(at, "expected an input");
    return id;
  }

  Status Sign(std::string_view token) {
    if (s_.Accept(token)) return {};
    return Expected(fmt::format("'{}'", token));
  }

  Result<int64_t> Integer() {
    s_.SkipSpaces();
    size_t at = s_.position();
    Result<PythonNumber> number = s_.Number();
    if (!number.ok() || !std::holds_alternative<int64_t>(*number)) {
      return At(at, "expected an integer");
    }
    return std::get<int64_t>(*number);
  }

  Status Phase(Graph& graph) {
    constexpr std::array<std::string_view, 4> kNames = {"program", "functional", "optimized",
                                                        "planned"};
    std::string_view word = s_.Ident();
    for (size_t i = 0; i < kNames.size(); ++i) {
      if (word != kNames[i]) continue;
      graph.phase = static_cast<ir::Phase>(i);
      return {};
    }
    return At(0, "expected program, functional, optimized or planned");
  }

  Status Storage(Graph& graph) {
    StorageGroup group;
    while (!s_.AtEnd()) {
      StorageGroup::Member member;
      PAL_TRY(member.input, InputName());
      member.offset = 0;
      if (s_.Accept("+")) {
        PAL_TRY(member.offset, Integer());
        if (member.offset < 0) return Expected("an offset that is not negative");
      }
      group.members.push_back(member);
    }
    if (group.members.empty()) return Expected("the name of an input");
    graph.storages.push_back(std::move(group));
    return {};
  }

  Status Order(Graph& graph) {
    OrderEdge edge;
    PAL_TRY(edge.before, Name());
    PAL_TRY(Sign("<"));
    PAL_TRY(edge.after, Name());
    graph.order.push_back(edge);
    return {};
  }

  Status Place(Graph& graph) {
    PAL_TRY(NodeId id, Name());
    PAL_TRY(Sign("="));
    std::string place = PlainText(s_.rest());
    bool known = place.starts_with("arena+") || place.starts_with("in ") ||
                 place.starts_with("state ") || place == "fresh";
    if (!known) return Expected("arena+N, in INPUT, state NAME or fresh");
    graph.place_of[id] = std::move(place);
    return {};
  }

  Status WriteBackLine(Graph& graph) {
    WriteBack w;
    PAL_TRY(w.input, InputName());
    PAL_TRY(Sign("="));
    PAL_TRY(w.value, Name());
    graph.write_backs.push_back(w);
    return {};
  }

  Status Range(Graph& graph) {
    // "s0 = [2, 9]"; the exporter also bounds expressions: "2*s0 = [4, 18]".
    size_t equals = comment_.text.find('=');
    std::string_view symbol = Trim(comment_.text.substr(0, equals));
    if (equals == std::string_view::npos || !ParseInfix(symbol).ok()) {
      return Expected("SYMBOL = [MIN, MAX]");
    }
    s_.set_position(equals + 1);
    PAL_TRY(Sign("["));
    RangeConstraint range;
    if (s_.Peek() != ',') {
      PAL_TRY(range.min, Integer());
    }
    PAL_TRY(Sign(","));
    if (s_.Peek() != ']') {
      PAL_TRY(range.max, Integer());
    }
    PAL_TRY(Sign("]"));
    graph.ranges[ParseInfix(symbol)->ToString()] = range;
    return {};
  }

  Status Input(Graph& graph) {
    PAL_TRY(NodeId id, InputName());
    PAL_TRY(Sign("="));
    graph.inputs.resize(graph.num_inputs());
    InputSpec& spec = graph.inputs[static_cast<size_t>(id.index)];
    spec = InputSpec();
    s_.SkipSpaces();
    size_t at = s_.position();
    std::string_view kind = s_.Ident();
    if (kind == "user") return {};
    if (kind == "constant") return Constant(spec);
    if (kind == "parameter") {
      spec.kind = InputSpec::Kind::kParameter;
    } else if (kind == "buffer") {
      spec.kind = InputSpec::Kind::kBuffer;
    } else if (kind == "tensor") {
      spec.kind = InputSpec::Kind::kConstantTensor;
    } else {
      return At(at, "expected user, parameter, buffer, tensor or constant");
    }
    PAL_TRY(spec.target, QuotedName());
    if (spec.kind == InputSpec::Kind::kBuffer && s_.AcceptWord("not")) {
      if (!s_.AcceptWord("persistent")) return Expected("'persistent'");
      spec.persistent = false;
    }
    return s_.AtEnd() ? Status() : Expected("the end of the line");
  }

  Result<std::string> QuotedName() {
    s_.SkipSpaces();
    size_t at = s_.position();
    Result<std::string> name = s_.Quoted();
    if (!name.ok()) return At(at, "expected a name in quotes");
    return name;
  }

  // The constant is written as an argument.
  Status Constant(InputSpec& spec) {
    spec.kind = InputSpec::Kind::kConstant;
    Lexer lexer(*scope_.lines, s_.rest());
    const Token first = lexer.Peek();
    PAL_TRY(spec.constant, scope_.ReadArgument(lexer));
    const Argument& c = spec.constant;
    bool plain = c.IsNone() || c.Is<bool>() || c.Is<int64_t>() || c.Is<double>() ||
                 c.Is<std::complex<double>>() || c.Is<std::string>();
    if (!plain) return lexer.At(first, "expected None, a number or a string");
    if (!lexer.Peek().IsName() || lexer.Peek().text != "named") {
      return lexer.Peek().kind == Token::Kind::kEnd ? Status()
                                                    : lexer.Expected("the end of the line");
    }
    lexer.Next();
    if (lexer.Peek().kind != Token::Kind::kString) return lexer.Expected("a name in quotes");
    PAL_TRY(spec.target, StringOf(lexer, lexer.Peek()));
    return {};
  }

  const KeyedComment& comment_;
  Scope& scope_;
  Scanner s_;
};

}  // namespace

std::optional<KeyedComment> ReadKeyedComment(std::string_view line) {
  std::string_view text = Trim(line.substr(1));
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view key = text.substr(0, colon);
  if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) return std::nullopt;
  return KeyedComment{key, Trim(text.substr(colon + 1))};
}

Status ApplySchemas(const std::vector<KeyedComment>& comments, const op::OpTable& ops,
                    const LineReader& lines, Graph& graph) {
  for (const KeyedComment& comment : comments) {
    if (comment.key != "schema") continue;
    const char* place = comment.text.data();
    Result<op::Schema> schema = op::ParseSchema(comment.text);
    if (!schema.ok()) {
      // "column 7: expected ..." -> the place in the file.
      std::string message = schema.error().message;
      size_t space = message.find(' '), colon = message.find(": ");
      size_t column = static_cast<size_t>(
          ParseInteger(std::string_view(message).substr(space + 1, colon - space - 1)).value_or(1));
      size_t newline = message.find('\n');
      return lines.At(place + column - 1, message.substr(colon + 2, newline - colon - 2));
    }
    graph.schemas.push_back(PlainText(comment.text));
    if (graph.own_ops == nullptr) graph.own_ops = std::make_shared<op::OpTable>(&ops);
    const op::Op* known = graph.own_ops->Find(schema->Key());
    if (known != nullptr) {
      if (known->schema.ToString() == schema->ToString()) continue;
      return lines.At(place, fmt::format("the operator has another schema already: {}",
                                         known->schema.ToString()));
    }
    op::Op op;
    op.schema = *std::move(schema);
    op.traits.custom = true;
    Status registered = graph.own_ops->Register(std::move(op));
    if (!registered.ok()) return lines.At(place, registered.error().message);
  }
  return {};
}

Status ApplyComments(const std::vector<KeyedComment>& comments, Scope& scope) {
  for (const KeyedComment& comment : comments) PAL_TRY(CommentReader(comment, scope).Apply());
  return {};
}

std::optional<SourcePlace> ReadSourcePlace(std::string_view line) {
  constexpr std::string_view kStart = "# File: ", kCode = ", code: ", kIn = " in ";
  constexpr std::string_view kNoCode = ", code:";
  if (!line.starts_with(kStart)) return std::nullopt;
  line.remove_prefix(kStart.size());
  SourcePlace place;
  size_t code = line.find(kCode);
  if (code != std::string_view::npos) {
    place.code = PlainText(line.substr(code + kCode.size()));
    line = line.substr(0, code);
  } else if (line.ends_with(kNoCode)) {
    line.remove_suffix(kNoCode.size());
  } else {
    return std::nullopt;
  }
  size_t in = line.rfind(kIn);
  if (in == std::string_view::npos) return std::nullopt;
  place.function = PlainText(line.substr(in + kIn.size()));
  line = line.substr(0, in);
  size_t colon = line.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::optional<int64_t> number = ParseInteger(line.substr(colon + 1));
  if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
  place.line = static_cast<int>(*number);
  place.file = PlainText(line.substr(0, colon));
  return place;
}

}  // namespace palimpsest::ir
