// Readers of the two notations of symbolic expressions: infix (precedence climbing over a table of
// operators) and sympy's srepr (a call tree). Both build the same trees.
#include <fmt/format.h>

#include <array>

#include "base/scanner.h"
#include "core/symbol.h"
#include "core/symbol_node.h"

namespace palimpsest {
namespace {

Result<SymRef> Call(std::string_view name, std::vector<SymRef> args) {
  return MakeCall(*FindSymFunction(name), std::move(args));
}

Result<SymRef> Negate(SymRef operand) { return Call("Mul", {MakeInt(-1), std::move(operand)}); }

SymRef FromNumber(const PythonNumber& number) {
  if (const auto* i = std::get_if<int64_t>(&number)) return MakeInt(*i);
  if (const auto* f = std::get_if<double>(&number)) {
    return MakeNumber({SymNumber::Kind::kFloat, 0, *f});
  }
  return nullptr;
}

SymRef FromBool(bool value) { return MakeNumber({SymNumber::Kind::kBool, value ? 1 : 0, 0}); }

class Reader {
 public:
  explicit Reader(std::string_view text) : s_(text) {}

  Result<SymInt> Finish(Result<SymRef> expr) {
    if (!expr.ok()) return std::move(expr).error();
    if (!s_.AtEnd()) return s_.Expected("the end of the expression");
    return ToSymInt(*std::move(expr));
  }

  // ---- infix

  Result<SymRef> Infix(SymBinding loosest) {
    if (++depth_ > kMaxSymDepth) return s_.At(s_.position(), "nested too deeply");
    PAL_TRY(SymRef left, Unary());
    bool compared = false;
    while (true) {
      size_t before = s_.position();
      Operator op = ReadOperator();
      if (op.function == nullptr || op.binding < loosest) {
        s_.set_position(before);
        --depth_;
        return left;
      }
      bool compares = op.binding == SymBinding::kCompare;
      if (compares && compared) return s_.At(before, "a chain of comparisons");
      compared = compared || compares;
      bool right_associative = op.binding == SymBinding::kPower;
      auto next =
          static_cast<SymBinding>(static_cast<int>(op.binding) + (right_associative ? 0 : 1));
      PAL_TRY(SymRef right, Infix(next));
      if (op.subtract) {
        PAL_TRY(right, Negate(std::move(right)));
      }
      Result<SymRef> made = MakeCall(*op.function, {std::move(left), std::move(right)});
      if (!made.ok()) return s_.At(before, made.error().message);
      left = *std::move(made);
    }
  }

  // ---- srepr

  Result<SymRef> Srepr() {
    if (++depth_ > kMaxSymDepth) return s_.At(s_.position(), "nested too deeply");
    s_.SkipSpaces();
    size_t at = s_.position();
    std::string_view head = s_.Ident();
    if (head.empty()) return s_.Expected("the name of an expression");
    if (head == "true" || head == "false") {
      --depth_;
      return FromBool(head == "true");
    }
    PAL_TRY(s_.Expect("("));
    Result<SymRef> result = SreprBody(head, at);
    --depth_;
    if (!result.ok() && !result.error().message.starts_with("column")) {
      return s_.At(at, result.error().message);
    }
    return result;
  }

 private:
  struct Operator {
    const SymFunction* function = nullptr;
    SymBinding binding = SymBinding::kAtom;
    bool subtract = false;
  };

  Operator ReadOperator() {
    constexpr std::array<std::string_view, 17> kOperators = {
        "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+",
        "-",  "*",  "/",  "%",  "<",  ">",  "&",  "|"};
    if (s_.AcceptWord("and")) return {FindSymInfix("&"), SymBinding::kAndWord};
    if (s_.AcceptWord("or")) return {FindSymInfix("|"), SymBinding::kOrWord};
    for (std::string_view token : kOperators) {
      if (!s_.Accept(token)) continue;
      if (token == "-") return {FindSymInfix("+"), SymBinding::kSum, true};
      const SymFunction* f = FindSymInfix(token);
      bool equality = f->infix.empty();  // == and !=
      return {f, equality ? SymBinding::kCompare : f->binding};
    }
    return {};
  }

  Result<SymRef> Unary() {
    if (s_.Accept("-")) {
      PAL_TRY(SymRef operand, Infix(SymBinding::kPower));
      return Negate(std::move(operand));
    }
    bool tilde = s_.Accept("~");
    if (tilde || s_.AcceptWord("not")) {
      PAL_TRY(SymRef operand, Infix(tilde ? SymBinding::kPower : SymBinding::kNot));
      return Call("Not", {std::move(operand)});
    }
    if (s_.Accept("+")) return Infix(SymBinding::kPower);
    return Primary();
  }

  Result<SymRef> Primary() {
    if (s_.Accept("(")) {
      PAL_TRY(SymRef inner, Infix(SymBinding::kOrWord));
      PAL_TRY(s_.Expect(")"));
      return inner;
    }
    s_.SkipSpaces();
    size_t at = s_.position();
    std::string_view word = s_.Ident();
    if (word.empty()) {
      PAL_TRY(PythonNumber number, s_.Number());
      SymRef value = FromNumber(number);
      if (value == nullptr) return s_.At(at, "a complex number is no size");
      return value;
    }
    if (word == "True" || word == "False") return FromBool(word == "True");
    if (!s_.Accept("(")) return MakeSymbol(word);
    const SymFunction* f = FindSymFunction(word);
    if (f == nullptr) return s_.At(at, fmt::format("unknown function '{}'", word));
    PAL_TRY(std::vector<SymRef> args, Arguments(f->name == "Piecewise"));
    Result<SymRef> made = MakeCall(*f, std::move(args));
    if (!made.ok()) return s_.At(at, made.error().message);
    return made;
  }

  Result<std::vector<SymRef>> Arguments(bool pairs) {
    std::vector<SymRef> args;
    do {
      if (pairs) PAL_TRY(s_.Expect("("));
      PAL_TRY(SymRef arg, Infix(SymBinding::kOrWord));
      args.push_back(std::move(arg));
      if (!pairs) continue;
      PAL_TRY(s_.Expect(","));
      PAL_TRY(SymRef condition, Infix(SymBinding::kOrWord));
      PAL_TRY(s_.Expect(")"));
      args.push_back(std::move(condition));
    } while (s_.Accept(","));
    PAL_TRY(s_.Expect(")"));
    return args;
  }

  // ---- srepr: after "Head("

  Result<SymRef> SreprBody(std::string_view head, size_t at) {
    if (head == "Symbol") return SreprSymbol();
    if (head == "Integer" || head == "Float") return SreprNumber();
    if (head == "Rational") return SreprRational();
    std::vector<SymRef> args;
    if (!s_.Accept(")")) {
      do {
        if (s_.Peek() == '(' || head != "Piecewise") {
          PAL_TRY(SymRef arg, Srepr());
          args.push_back(std::move(arg));
        } else {
          PAL_TRY(SreprPair(args));
        }
      } while (s_.Accept(","));
      PAL_TRY(s_.Expect(")"));
    }
    if (head == "Mul") return Product(std::move(args));
    const SymFunction* f = FindSymFunction(head);
    if (f == nullptr) return s_.At(at, fmt::format("unknown function '{}'", head));
    return MakeCall(*f, std::move(args));
  }

  Status SreprPair(std::vector<SymRef>& args) {
    if (!s_.AcceptWord("ExprCondPair")) return s_.Expected("'ExprCondPair'");
    PAL_TRY(s_.Expect("("));
    for (std::string_view end : {",", ")"}) {
      PAL_TRY(SymRef part, Srepr());
      args.push_back(std::move(part));
      PAL_TRY(s_.Expect(end));
    }
    return {};
  }

  Result<SymRef> SreprSymbol() {
    s_.SkipSpaces();
    size_t at = s_.position();
    PAL_TRY(std::string name, s_.Quoted());
    Scanner check(name);
    if (name.empty() || check.Ident().size() != name.size()) {
      return s_.At(at, "the symbol's name is no identifier");
    }
    PAL_TRY(SkipKeywords());
    return MakeSymbol(name);
  }

  Result<SymRef> SreprNumber() {
    s_.SkipSpaces();
    size_t at = s_.position();
    bool quoted = s_.Peek() == '\'' || s_.Peek() == '"';
    Result<PythonNumber> number = BadInput("");
    if (quoted) {
      PAL_TRY(std::string text, s_.Quoted());
      number = Scanner(text).Number();
      if (!number.ok()) return s_.At(at, "expected a number in the quotes");
    } else {
      number = s_.Number();
    }
    if (!number.ok()) return std::move(number).error();
    PAL_TRY(SkipKeywords());
    SymRef value = FromNumber(*number);
    if (value == nullptr) return s_.At(at, "a complex number is no size");
    return value;
  }

  Result<SymRef> SreprRational() {
    PAL_TRY(PythonNumber p, s_.Number());
    PAL_TRY(s_.Expect(","));
    PAL_TRY(PythonNumber q, s_.Number());
    PAL_TRY(s_.Expect(")"));
    SymRef numerator = FromNumber(p), denominator = FromNumber(q);
    if (!numerator || !denominator) return s_.Expected("integers");
    return Call("Divide", {std::move(numerator), std::move(denominator)});
  }

  // ", positive=True, precision=53)": assumptions say nothing that is needed here.
  Status SkipKeywords() {
    while (s_.Accept(",")) {
      if (s_.Ident().empty()) return s_.Expected("a keyword");
      PAL_TRY(s_.Expect("="));
      if (!s_.Ident().empty()) continue;
      Result<PythonNumber> number = s_.Number();
      if (!number.ok()) return std::move(number).error();
    }
    return s_.Expect(")");
  }

  // sympy writes a/b as Mul(Pow(b, -1), a) and s/2 as Mul(Rational(1, 2), s): made a quotient here.
  Result<SymRef> Product(std::vector<SymRef> factors) {
    std::vector<SymRef> above, below;
    for (SymRef& factor : factors) {
      const SymFunction* f = factor->function;
      bool quotient = f != nullptr && f->name == "Divide";
      bool inverse = f != nullptr && f->name == "Pow" && IsIntNode(factor->args[1]) &&
                     factor->args[1]->number.i == -1;
      if (quotient) {
        above.push_back(factor->args[0]);
        below.push_back(factor->args[1]);
      } else if (inverse) {
        below.push_back(factor->args[0]);
      } else {
        above.push_back(std::move(factor));
      }
    }
    if (above.empty()) above.push_back(MakeInt(1));
    PAL_TRY(SymRef numerator, Call("Mul", std::move(above)));
    if (below.empty()) return numerator;
    PAL_TRY(SymRef denominator, Call("Mul", std::move(below)));
    return Call("Divide", {std::move(numerator), std::move(denominator)});
  }

  Scanner s_;
  int depth_ = 0;
};

}  // namespace

Result<SymInt> ParseInfix(std::string_view text) {
  Reader reader(text);
  return reader.Finish(reader.Infix(SymBinding::kOrWord));
}

Result<SymInt> ParseSrepr(std::string_view text) {
  Reader reader(text);
  return reader.Finish(reader.Srepr());
}

}  // namespace palimpsest
