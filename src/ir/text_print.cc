// The printer. What it writes is Python where Python has a notation, comment lines where not.
#include <fmt/format.h>

#include "base/scanner.h"
#include "ir/bind.h"
#include "ir/text.h"
#include "ir/text_operators.h"

namespace palimpsest::ir {
namespace {

std::string MemoryFormatText(MemoryFormat format) {
  switch (format) {
    case MemoryFormat::kContiguous:
      return "torch.contiguous_format";
    case MemoryFormat::kChannelsLast:
      return "torch.channels_last";
    case MemoryFormat::kChannelsLast3d:
      return "torch.channels_last_3d";
    case MemoryFormat::kPreserve:
      return "torch.preserve_format";
  }
  return "";
}

std::string DeviceText(const Device& device) {
  if (device.index < 0) return fmt::format("device(type={})", PythonRepr(device.type));
  return fmt::format("device(type={}, index={})", PythonRepr(device.type), device.index);
}

std::string ListText(const Graph& graph, const Argument::List& items, char open, char close) {
  std::string text(1, open);
  for (const Argument& item : items) {
    if (text.size() > 1) text += ", ";
    text += PrintArgument(graph, item);
  }
  return text + close;
}

std::string DictText(const Graph& graph, const Argument::Dict& items) {
  std::string text = "{";
  for (const auto& [key, value] : items) {
    if (text.size() > 1) text += ", ";
    text += PythonRepr(key) + ": " + PrintArgument(graph, value);
  }
  return text + "}";
}

std::string CallArgumentsText(const Graph& graph, const Node& node) {
  CallText call = ArgumentsAsWritten(node);
  std::string text;
  for (const Argument* arg : call.positional) {
    text += (text.empty() ? "" : ", ") + PrintArgument(graph, *arg);
  }
  for (const auto& [name, arg] : call.keywords) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, PrintArgument(graph, *arg));
  }
  return text;
}

// "item >= 0", "-s": operators of Python's own; "" if the call has another form.
std::string InfixText(const Graph& graph, const Node& node) {
  if (!node.kwargs.empty()) return "";
  auto simple = [](const Argument& a) {
    return a.IsNode() || a.Is<bool>() || a.Is<int64_t>() || a.Is<double>();
  };
  for (const Argument& arg : node.args) {
    if (!simple(arg)) return "";
  }
  if (node.args.size() == 2) {
    std::string_view infix = InfixOfTarget(node.target);
    if (infix.empty()) return "";
    return fmt::format("{} {} {}", PrintArgument(graph, node.args[0]), infix,
                       PrintArgument(graph, node.args[1]));
  }
  if (node.args.size() == 1 && node.args[0].IsNode()) {
    std::string_view prefix = PrefixOfTarget(node.target);
    if (!prefix.empty()) return std::string(prefix) + PrintArgument(graph, node.args[0]);
  }
  return "";
}

std::string ExpressionText(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case Node::Kind::kInput:
      return "";
    case Node::Kind::kGetAttr:
      return "self." + node.target;
    case Node::Kind::kGetItem:
      return fmt::format("{}[{}]", PrintArgument(graph, node.args[0]), node.index);
    case Node::Kind::kCall:
      break;
  }
  std::string infix = InfixText(graph, node);
  if (!infix.empty()) return infix;
  return fmt::format("{}({})", node.target, CallArgumentsText(graph, node));
}

std::string NameAndType(const Node& node, bool strides) {
  std::string type = PrintType(node.type, strides);
  return type.empty() ? node.name : fmt::format("{}: \"{}\"", node.name, type);
}

std::string SpecText(const Graph& graph, const InputSpec& spec) {
  std::string quoted = PythonRepr(spec.target);
  switch (spec.kind) {
    case InputSpec::Kind::kUser:
      return "user";
    case InputSpec::Kind::kParameter:
      return "parameter " + quoted;
    case InputSpec::Kind::kBuffer:
      return "buffer " + quoted + (spec.persistent ? "" : " not persistent");
    case InputSpec::Kind::kConstantTensor:
      return "tensor " + quoted;
    case InputSpec::Kind::kConstant:
      return "constant " + PrintArgument(graph, spec.constant) +
             (spec.target.empty() ? "" : " named " + quoted);
  }
  return "";
}

bool IsPlainUserInput(const InputSpec& spec) {
  return spec.kind == InputSpec::Kind::kUser && spec.target.empty();
}

std::string OneLine(std::string text) {
  for (char& c : text) c = c == '\n' || c == '\r' ? ' ' : c;
  return text;
}

struct Printer {
  const PrintOptions& options;
  std::string out;

  const std::string& Name(const Graph& graph, NodeId id) { return graph.node(id).name; }

  void InputComments(const Graph& graph) {
    for (size_t i = 0; i < graph.inputs.size() && i < graph.nodes.size(); ++i) {
      if (IsPlainUserInput(graph.inputs[i])) continue;
      out += fmt::format("# input: {} = {}\n", graph.nodes[i].name,
                         OneLine(SpecText(graph, graph.inputs[i])));
    }
    for (const StorageGroup& group : graph.storages) {
      out += "# storage:";
      for (const StorageGroup::Member& m : group.members) {
        out += fmt::format(" {}+{}", Name(graph, m.input), m.offset);
      }
      out += '\n';
    }
  }

  // What Python has no notation for.
  void Comments(const Graph& graph) {
    for (const std::string& schema : graph.schemas) out += "# schema: " + OneLine(schema) + "\n";
    if (graph.phase != Phase::kProgram) out += fmt::format("# phase: {}\n", PhaseName(graph.phase));
    for (const auto& [symbol, range] : graph.ranges) {
      auto text = [](const std::optional<int64_t>& v) { return v ? fmt::format("{}", *v) : ""; };
      out += fmt::format("# range: {} = [{}, {}]\n", symbol, text(range.min), text(range.max));
    }
    for (const std::string& guard : graph.guards) out += "# guard: " + OneLine(guard) + "\n";
    InputComments(graph);
    for (const WriteBack& w : graph.write_backs) {
      out += fmt::format("# write-back: {} = {}\n", Name(graph, w.input), Name(graph, w.value));
    }
    for (const OrderEdge& e : graph.order) {
      out += fmt::format("# order: {} < {}\n", Name(graph, e.before), Name(graph, e.after));
    }
    for (const auto& [id, place] : graph.place_of) {
      out += fmt::format("# place: {} = {}\n", Name(graph, id), place);
    }
  }

  void Place(const Graph& graph, int place, const std::string& indent, bool first) {
    if (!first) out += '\n';
    if (place < 0) {
      out += indent + "# No stacktrace found for following nodes\n";
      return;
    }
    const SourcePlace& p = graph.places[static_cast<size_t>(place)];
    out += fmt::format("{}# File: {}:{} in {}, code: {}\n", indent, OneLine(p.file), p.line,
                       OneLine(p.function), OneLine(p.code));
  }

  // By contents: a file may say the same place again for every node.
  static bool SamePlace(const Graph& graph, int a, int b) {
    if (a == b || a < 0 || b < 0) return a == b;
    return graph.places[static_cast<size_t>(a)] == graph.places[static_cast<size_t>(b)];
  }

  void Body(const Graph& graph, const std::string& indent) {
    int place = -1;
    const size_t start = graph.num_inputs();
    for (size_t i = start; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      bool first = i == start;
      if (options.places && !SamePlace(graph, node.place, place)) {
        Place(graph, node.place, indent, first);
      }
      place = node.place;
      out += fmt::format("{}{} = {}\n", indent, NameAndType(node, options.strides),
                         ExpressionText(graph, node));
    }
    out += indent + "return ";
    if (graph.single_output && graph.outputs.size() == 1) {
      out += PrintArgument(graph, graph.outputs[0]);
    } else {
      std::string items = ListText(graph, graph.outputs, '(', ')');
      if (graph.outputs.size() == 1) items.insert(items.size() - 1, ",");
      out += items;
    }
    out += '\n';
  }

  void Function(const Graph& graph, const std::string& indent) {
    out += indent + "def forward(self";
    for (size_t i = 0, n = graph.num_inputs(); i < n; ++i) {
      out += ", " + NameAndType(graph.nodes[i], options.strides);
    }
    out += "):\n";
    Body(graph, indent + "    ");
  }

  // Depth-first with an explicit stack: classes nest after the function.
  void Classes(const Graph& root) {
    struct Pending {
      const Graph* graph;
      std::string name;
      size_t level;
    };
    std::vector<Pending> stack = {{&root, root.class_name, 0}};
    while (!stack.empty()) {
      Pending top = std::move(stack.back());
      stack.pop_back();
      std::string indent(top.level * 4, ' ');
      if (top.level > 0) out += '\n';
      out += fmt::format("{}class {}(torch.nn.Module):\n", indent, top.name);
      Function(*top.graph, indent + "    ");
      for (size_t i = top.graph->subgraphs.size(); i-- > 0;) {
        stack.push_back(
            {top.graph->subgraphs[i].get(), top.graph->subgraph_names[i], top.level + 1});
      }
    }
  }
};

}  // namespace

std::string PrintArgument(const Graph& graph, const Argument& a) {
  if (a.IsNone()) return "None";
  if (a.IsNode()) return graph.node(a.node()).name;
  if (a.Is<int64_t>()) return fmt::format("{}", a.As<int64_t>());
  if (a.IsList()) return ListText(graph, a.list(), '[', ']');
  if (a.Is<bool>()) return a.As<bool>() ? "True" : "False";
  if (a.Is<double>()) return PythonRepr(a.As<double>());
  if (a.Is<std::complex<double>>()) return PythonRepr(a.As<std::complex<double>>());
  if (a.Is<std::string>()) return PythonRepr(a.As<std::string>());
  if (a.Is<DType>()) return fmt::format("torch.{}", TorchName(a.As<DType>()));
  if (a.Is<MemoryFormat>()) return MemoryFormatText(a.As<MemoryFormat>());
  if (a.Is<LayoutKind>()) {
    return a.As<LayoutKind>() == LayoutKind::kStrided ? "torch.strided" : "torch.sparse_coo";
  }
  if (a.Is<Device>()) return DeviceText(a.As<Device>());
  if (a.Is<OpRef>()) return a.As<OpRef>().target;
  if (a.Is<SubgraphRef>()) {
    return "self." + graph.subgraph_names[static_cast<size_t>(a.As<SubgraphRef>().index)];
  }
  return DictText(graph, a.As<Argument::Dict>());
}

std::string PrintNode(const Graph& graph, const Node& node) {
  std::string expression = ExpressionText(graph, node);
  std::string name = NameAndType(node, true);
  return expression.empty() ? name : name + " = " + expression;
}

std::string Print(const Graph& graph, const PrintOptions& options) {
  Printer printer{options, ""};
  printer.Comments(graph);
  bool plain = graph.class_name == "GraphModule" && graph.subgraphs.empty();
  if (plain) {
    printer.Function(graph, "");
  } else {
    printer.Classes(graph);
  }
  return std::move(printer.out);
}

}  // namespace palimpsest::ir
