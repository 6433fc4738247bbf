#include "ir/compare.h"

#include <fmt/format.h>

#include <bit>

#include "ir/text.h"

namespace palimpsest::ir {
namespace {

bool SameDouble(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (a != a && b != b);
}

bool SameList(const Argument::List& a, const Argument::List& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameArgument(a[i], b[i])) return false;
  }
  return true;
}

bool SameDict(const Argument::Dict& a, const Argument::Dict& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first || !SameArgument(a[i].second, b[i].second)) return false;
  }
  return true;
}

template <typename T>
bool SameAs(const Argument& a, const Argument& b) {
  return a.Is<T>() && b.Is<T>() && a.As<T>() == b.As<T>();
}

bool SameType(const Type& a, const Type& b) {
  using Kind = Type::Kind;
  auto plain = [](Kind kind) { return kind == Kind::kList ? Kind::kUnknown : kind; };
  if (plain(a.kind) != plain(b.kind)) return false;
  if (a.kind == Kind::kSym) return a.sym == b.sym;
  if (a.kind != Kind::kTensor) return true;
  return a.tensor.dtype == b.tensor.dtype && a.tensor.sizes == b.tensor.sizes &&
         a.tensor.strides == b.tensor.strides && a.tensor.has_device == b.tensor.has_device;
}

bool SamePlace(const Graph& a, const Node& x, const Graph& b, const Node& y) {
  if ((x.place < 0) != (y.place < 0)) return false;
  return x.place < 0 ||
         a.places[static_cast<size_t>(x.place)] == b.places[static_cast<size_t>(y.place)];
}

std::string NodeDifference(const Graph& a, const Node& x, const Graph& b, const Node& y) {
  if (x.kind != y.kind) return "kind";
  if (x.name != y.name) return "name";
  if (x.target != y.target) return "target";
  if (x.index != y.index) return "index";
  if (!SameType(x.type, y.type)) return "type";
  if ((x.op == nullptr) != (y.op == nullptr)) return "operator";
  if (!SameList(x.args, y.args)) return "arguments";
  if (x.kwargs.size() != y.kwargs.size()) return "keyword arguments";
  for (size_t i = 0; i < x.kwargs.size(); ++i) {
    if (x.kwargs[i].name != y.kwargs[i].name ||
        !SameArgument(x.kwargs[i].value, y.kwargs[i].value)) {
      return "keyword arguments";
    }
  }
  return SamePlace(a, x, b, y) ? "" : "source place";
}

bool SameSpecs(const Graph& a, const Graph& b) {
  const InputSpec user;
  for (size_t i = 0; i < std::max(a.inputs.size(), b.inputs.size()); ++i) {
    const InputSpec& x = i < a.inputs.size() ? a.inputs[i] : user;
    const InputSpec& y = i < b.inputs.size() ? b.inputs[i] : user;
    if (x.kind != y.kind || x.target != y.target || x.persistent != y.persistent ||
        !SameArgument(x.constant, y.constant)) {
      return false;
    }
  }
  return true;
}

bool SameStorages(const Graph& a, const Graph& b) {
  if (a.storages.size() != b.storages.size()) return false;
  for (size_t i = 0; i < a.storages.size(); ++i) {
    const auto &x = a.storages[i].members, &y = b.storages[i].members;
    if (x.size() != y.size()) return false;
    for (size_t j = 0; j < x.size(); ++j) {
      if (x[j].input != y[j].input || x[j].offset != y[j].offset) return false;
    }
  }
  return true;
}

bool SameRanges(const Graph& a, const Graph& b) {
  if (a.ranges.size() != b.ranges.size()) return false;
  for (const auto& [name, range] : a.ranges) {
    auto it = b.ranges.find(name);
    if (it == b.ranges.end() || it->second.min != range.min || it->second.max != range.max) {
      return false;
    }
  }
  return true;
}

template <typename T, typename Same>
bool SameVectors(const std::vector<T>& a, const std::vector<T>& b, Same same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

std::string SignatureDifference(const Graph& a, const Graph& b) {
  if (a.class_name != b.class_name) return "class name";
  if (a.phase != b.phase) return "phase";
  if (a.single_output != b.single_output || !SameList(a.outputs, b.outputs)) return "results";
  if (!SameSpecs(a, b)) return "inputs";
  if (!SameStorages(a, b)) return "storages";
  bool write_backs = SameVectors(a.write_backs, b.write_backs, [](const auto& x, const auto& y) {
    return x.input == y.input && x.value == y.value;
  });
  if (!write_backs) return "write-backs";
  bool order = SameVectors(a.order, b.order, [](const auto& x, const auto& y) {
    return x.before == y.before && x.after == y.after;
  });
  if (!order) return "order";
  if (a.place_of != b.place_of) return "places in memory";
  if (a.schemas != b.schemas) return "schemas";
  if (a.guards != b.guards) return "guards";
  return SameRanges(a, b) ? "" : "ranges";
}

// Without subgraphs.
std::string OwnDifference(const Graph& a, const Graph& b) {
  std::string difference = SignatureDifference(a, b);
  if (!difference.empty()) return fmt::format("in {}: {}", a.class_name, difference);
  for (size_t i = 0; i < std::min(a.nodes.size(), b.nodes.size()); ++i) {
    std::string what = NodeDifference(a, a.nodes[i], b, b.nodes[i]);
    if (what.empty()) continue;
    return fmt::format("in {}: {}: `{}` and `{}`", a.class_name, what, PrintNode(a, a.nodes[i]),
                       PrintNode(b, b.nodes[i]));
  }
  if (a.nodes.size() != b.nodes.size()) {
    return fmt::format("in {}: {} and {} nodes", a.class_name, a.nodes.size(), b.nodes.size());
  }
  if (a.subgraph_names != b.subgraph_names) return fmt::format("in {}: subgraphs", a.class_name);
  return "";
}

}  // namespace

bool SameArgument(const Argument& a, const Argument& b) {
  if (a.IsNone() || b.IsNone()) return a.IsNone() && b.IsNone();
  if (a.IsList() || b.IsList()) {
    return a.IsList() && b.IsList() && SameList(a.list(), b.list());
  }
  using Complex = std::complex<double>;
  if (a.Is<Argument::Dict>()) {
    return b.Is<Argument::Dict>() && SameDict(a.As<Argument::Dict>(), b.As<Argument::Dict>());
  }
  if (a.Is<double>()) return b.Is<double>() && SameDouble(a.As<double>(), b.As<double>());
  if (a.Is<Complex>()) {
    return b.Is<Complex>() && SameDouble(a.As<Complex>().real(), b.As<Complex>().real()) &&
           SameDouble(a.As<Complex>().imag(), b.As<Complex>().imag());
  }
  return SameAs<bool>(a, b) || SameAs<int64_t>(a, b) || SameAs<std::string>(a, b) ||
         SameAs<DType>(a, b) || SameAs<MemoryFormat>(a, b) || SameAs<LayoutKind>(a, b) ||
         SameAs<Device>(a, b) || SameAs<NodeId>(a, b) || SameAs<OpRef>(a, b) ||
         SameAs<SubgraphRef>(a, b);
}

std::string Difference(const Graph& a, const Graph& b) {
  std::vector<std::pair<const Graph*, const Graph*>> work = {{&a, &b}};
  for (size_t next = 0; next < work.size(); ++next) {
    auto [x, y] = work[next];
    std::string difference = OwnDifference(*x, *y);
    if (!difference.empty()) return difference;
    for (size_t i = 0; i < x->subgraphs.size(); ++i) {
      work.emplace_back(x->subgraphs[i].get(), y->subgraphs[i].get());
    }
  }
  return "";
}

}  // namespace palimpsest::ir
