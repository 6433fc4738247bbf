#include "interpret/bind.h"

#include <fmt/format.h>

#include <string>

namespace palimpsest::interpret {
namespace {

struct State {
  const ir::Graph& graph;
  std::span<const Value> inputs;
  SymBindings bindings;
  std::map<std::string, std::string, std::less<>> bound_by;  // symbol -> "dim 0 of input 'x'"

  const std::string& name(size_t i) const { return graph.nodes[i].name; }

  Status Bind(const std::string& symbol, SymNumber number, std::string where);
  Status CheckKind(size_t i);
  Status BindInput(size_t i);
  Status CheckInput(size_t i);
  Status CheckRanges();
};

SymNumber IntNumber(int64_t v) { return {SymNumber::Kind::kInt, v, 0}; }

Status State::Bind(const std::string& symbol, SymNumber number, std::string where) {
  auto [it, inserted] = bindings.emplace(symbol, number);
  if (inserted) {
    bound_by[symbol] = std::move(where);
    return {};
  }
  if (it->second.i == number.i && it->second.f == number.f) return {};
  return BadInput(fmt::format("{} is {}, but {} ({}) is {}", where, number.i, bound_by[symbol],
                              symbol, it->second.i));
}

Status State::CheckKind(size_t i) {
  const ir::Type& type = graph.nodes[i].type;
  const Value& value = inputs[i];
  if (type.kind == ir::Type::Kind::kSym && !value.IsNumber()) {
    return BadInput(fmt::format("input '{}' is no number, one is expected", name(i)));
  }
  if (type.kind != ir::Type::Kind::kTensor) return {};
  if (!value.IsTensor()) {
    return BadInput(fmt::format("input '{}' is no tensor, {} is expected", name(i),
                                DTypeName(type.tensor.dtype)));
  }
  const Tensor& t = value.tensor();
  if (t.dtype != type.tensor.dtype) {
    return BadInput(fmt::format("input '{}' has dtype {}, {} is expected", name(i),
                                DTypeName(t.dtype), DTypeName(type.tensor.dtype)));
  }
  if (t.dim() != type.tensor.sizes.size()) {
    return BadInput(fmt::format("input '{}' has {} dims, {} are expected", name(i), t.dim(),
                                type.tensor.sizes.size()));
  }
  return {};
}

Status State::BindInput(size_t i) {
  const ir::Type& type = graph.nodes[i].type;
  if (type.kind == ir::Type::Kind::kSym) {
    std::optional<std::string> symbol = type.sym.AsSymbol();
    if (!symbol) return {};
    const Value& v = inputs[i];
    SymNumber number = v.Is<double>() ? SymNumber{SymNumber::Kind::kFloat, 0, v.As<double>()}
                                      : IntNumber(v.ToInt());
    return Bind(*symbol, number, fmt::format("input '{}'", name(i)));
  }
  if (type.kind != ir::Type::Kind::kTensor) return {};
  const Tensor& t = inputs[i].tensor();
  for (size_t d = 0; d < t.dim(); ++d) {
    std::optional<std::string> symbol = type.tensor.sizes[d].AsSymbol();
    if (!symbol) continue;
    PAL_TRY(Bind(*symbol, IntNumber(t.sizes[d]), fmt::format("dim {} of input '{}'", d, name(i))));
  }
  return {};
}

Status State::CheckInput(size_t i) {
  const ir::Type& type = graph.nodes[i].type;
  if (type.kind != ir::Type::Kind::kTensor) return {};
  const Tensor& t = inputs[i].tensor();
  for (size_t d = 0; d < t.dim(); ++d) {
    const SymInt& size = type.tensor.sizes[d];
    if (size.AsSymbol()) continue;
    bool known = true;
    for (const std::string& s : SymbolsOf(size)) known = known && bindings.contains(s);
    if (!known) continue;
    PAL_TRY(int64_t expected, EvaluateInt(size, bindings));
    if (expected == t.sizes[d]) continue;
    std::string formula = size.IsConstant() ? "" : fmt::format(" = {}", size.ToString());
    return BadInput(fmt::format("dim {} of input '{}' is {}, {}{} is expected", d, name(i),
                                t.sizes[d], expected, formula));
  }
  return {};
}

Status State::CheckRanges() {
  for (const auto& [symbol, range] : graph.ranges) {
    auto it = bindings.find(symbol);
    if (it == bindings.end() || it->second.kind == SymNumber::Kind::kFloat) continue;
    int64_t value = it->second.i;
    if (range.min && value < *range.min) {
      return BadInput(fmt::format("{} is {}, but the program was exported for at least {} ({})",
                                  bound_by[symbol], value, *range.min, symbol));
    }
    if (range.max && value > *range.max) {
      return BadInput(fmt::format("{} is {}, but the program was exported for at most {} ({})",
                                  bound_by[symbol], value, *range.max, symbol));
    }
  }
  return {};
}

}  // namespace

Result<SymBindings> BindSymbols(const ir::Graph& graph, std::span<const Value> inputs) {
  if (inputs.size() != graph.num_inputs()) {
    return BadInput(fmt::format("the program takes {} inputs, {} were given", graph.num_inputs(),
                                inputs.size()));
  }
  State state{graph, inputs, {}, {}};
  for (size_t i = 0; i < inputs.size(); ++i) PAL_TRY(state.CheckKind(i));
  for (size_t i = 0; i < inputs.size(); ++i) PAL_TRY(state.BindInput(i));
  for (size_t i = 0; i < inputs.size(); ++i) PAL_TRY(state.CheckInput(i));
  PAL_TRY(state.CheckRanges());
  return std::move(state.bindings);
}

}  // namespace palimpsest::interpret
