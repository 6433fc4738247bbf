// The graph: a list of nodes in execution order, as in torch.fx. Every node is one value.
//
// One notation (text.h) serves files, golden tests, header examples and dumps. Invariants, checked
// by Verify (verify.h): an argument names an earlier node; names are unique; a node with a known
// operator has one argument slot per schema argument.
//
// Graphs are values: a pass builds a new one or edits in place; ids are indices into `nodes`, valid
// until the node list is changed. Not synchronised.
#pragma once

#include <complex>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/id.h"
#include "core/symbol.h"
#include "op/op.h"

namespace palimpsest::ir {

using NodeId = Id<struct NodeTag>;

// The phases of one program (docs/architecture.md). Each pass says which one it needs.
enum class Phase : uint8_t { kProgram, kFunctional, kOptimized, kPlanned };
std::string_view PhaseName(Phase phase);  // "program", ...

// ---- types

struct TensorType {
  DType dtype = DType::kF32;
  std::vector<SymInt> sizes;
  std::optional<std::vector<SymInt>> strides;  // elements; absent: not said in the text
  bool has_device = false;                     // "cpu" was written
};
struct Type {
  enum class Kind : uint8_t {
    kUnknown,  // no annotation
    kTensor,
    kSym,     // "Sym(s77)": int, float or bool
    kNone,    // a placeholder that holds None
    kNumber,  // a placeholder that is a Python constant
    kList,    // several values (result of split, of an operator with several returns)
  };
  Kind kind = Kind::kUnknown;
  TensorType tensor;  // kTensor
  SymInt sym;         // kSym
};

// ---- arguments

struct OpRef {                 // an operator as a value: auto_functionalized(op, ...)
  std::string target;          // "torch.ops.my.inc.default"
  const op::Op* op = nullptr;  // as Node::op; set by the readers
  friend bool operator==(const OpRef& a, const OpRef& b) { return a.target == b.target; }
};
struct SubgraphRef {
  int index;  // into Graph::subgraphs
  friend bool operator==(const SubgraphRef&, const SubgraphRef&) = default;
};

class Argument {
 public:
  using List = std::vector<Argument>;
  using Dict = std::vector<std::pair<std::string, Argument>>;
  Argument() = default;
  template <typename T>
    requires(!std::is_same_v<std::decay_t<T>, Argument>)
  Argument(T v) : v_(std::move(v)) {}  // NOLINT
  template <typename T>
  bool Is() const {
    return std::holds_alternative<T>(v_);
  }
  template <typename T>
  const T& As() const {
    return std::get<T>(v_);
  }
  template <typename T>
  T& As() {
    return std::get<T>(v_);
  }
  bool IsNone() const { return Is<std::monostate>(); }
  bool IsNode() const { return Is<NodeId>(); }
  NodeId node() const { return As<NodeId>(); }
  bool IsList() const { return Is<List>(); }
  const List& list() const { return As<List>(); }
  static Argument Ints(std::span<const int64_t> values) {
    return Argument(List(values.begin(), values.end()));
  }
  // From a constant Value without tensors (a schema default).
  static Argument FromValue(const Value& value);

 private:
  std::variant<std::monostate, bool, int64_t, double, std::complex<double>, std::string, DType,
               MemoryFormat, LayoutKind, Device, NodeId, OpRef, SubgraphRef, List, Dict>
      v_;
};

// Calls f(NodeId) / f(NodeId&) for each node that the argument names, lists included.
template <typename F>
void ForEachNode(const Argument& argument, F&& f) {
  if (argument.IsNode()) {
    f(argument.node());
  } else if (argument.IsList()) {
    for (const Argument& a : argument.list()) ForEachNode(a, f);
  } else if (argument.Is<Argument::Dict>()) {
    for (const auto& [key, a] : argument.As<Argument::Dict>()) ForEachNode(a, f);
  }
}
template <typename F>
void ForEachNodeMutable(Argument& argument, F&& f) {
  if (argument.IsNode()) {
    f(argument.As<NodeId>());
  } else if (argument.IsList()) {
    for (Argument& a : argument.As<Argument::List>()) ForEachNodeMutable(a, f);
  } else if (argument.Is<Argument::Dict>()) {
    for (auto& [key, a] : argument.As<Argument::Dict>()) ForEachNodeMutable(a, f);
  }
}

// ---- nodes

struct NamedArgument {
  std::string name;  // keyword
  Argument value;
};

// Where a node stands in the user's program: from "# File:" comments or the .pt2 stack traces.
struct SourcePlace {
  std::string file;  // "model.py"
  int line = 0;
  std::string function, code;
  std::string ToString() const;  // "model.py:12 in forward: y = x + 1"; "" if unknown
  friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};

struct Node {
  enum class Kind : uint8_t {
    kInput,    // placeholder
    kCall,     // an operator call
    kGetItem,  // element `index` of a list value: args[0] is the list
    kGetAttr,  // a constant of the file by name: attribute = `target`
  };
  Kind kind = Kind::kCall;
  std::string name;
  Type type;
  std::string target;          // "torch.ops.aten.add.Tensor"; kGetAttr: the attribute's name
  const op::Op* op = nullptr;  // null for higher-order operators and for operators nobody knows
  // With a schema: one slot per schema argument, defaults filled in. Without: positional ones.
  std::vector<Argument> args;
  std::vector<NamedArgument> kwargs;  // without a schema only
  int64_t index = 0;                  // kGetItem
  int place = -1;                     // index into Graph::places
  int text_line = 0;                  // line in the text it was read from; 0 if it was not
};

// ---- the signature of a program: what inputs and results are

struct InputSpec {
  enum class Kind : uint8_t { kUser, kParameter, kBuffer, kConstantTensor, kConstant };
  Kind kind = Kind::kUser;
  std::string target;      // parameter, buffer, constant: its full name
  bool persistent = true;  // buffers
  Argument constant;       // kConstant: the Python constant (None too)
};
// After the last node, `value` is written back to the storage of input `input` (functional forms).
struct WriteBack {
  NodeId input;
  NodeId value;
};
// An input's place in memory for the default call signature: "# storage: x+2 y+4".
struct StorageGroup {
  struct Member {
    NodeId input;
    int64_t offset;  // elements of the input's own dtype
  };
  std::vector<Member> members;
};
struct RangeConstraint {
  std::optional<int64_t> min, max;
};
struct OrderEdge {
  NodeId before, after;
};

struct Graph {
  std::string class_name = "GraphModule";  // "<lambda>", "GraphModule", "true_graph_0"
  Phase phase = Phase::kProgram;
  std::vector<Node> nodes;        // inputs first, then calls in execution order
  std::vector<InputSpec> inputs;  // parallel to the leading kInput nodes; may be shorter
                                  // (text: all user inputs)
  std::vector<Argument> outputs;  // flat results
  bool single_output = false;     // subgraphs: `return x`, not `return (x,)`
  std::vector<std::shared_ptr<Graph>> subgraphs;
  std::vector<std::string> subgraph_names;  // "true_graph_0"
  std::vector<SourcePlace> places;
  std::vector<WriteBack> write_backs;
  std::vector<StorageGroup> storages;
  std::vector<OrderEdge> order;
  std::map<NodeId, std::string> place_of;  // planned phase: "arena+128", "in x", "state k", "fresh"
  std::vector<std::string> schemas;        // "# schema:" lines, verbatim
  std::map<std::string, RangeConstraint> ranges;  // symbol -> range
  std::vector<std::string> guards;  // Python expressions over the inputs (kept, printed)
  std::string file;                 // where it was read from
  // The table that `Node::op` points into, when the graph brings schemas of its own.
  std::shared_ptr<op::OpTable> own_ops;
  // The table that the reader was given (own_ops extends it). Passes that make nodes of other
  // operators find them in table(). Must outlive the graph.
  const op::OpTable* ops = nullptr;
  const op::OpTable* table() const { return own_ops ? own_ops.get() : ops; }

  const Node& node(NodeId id) const { return nodes[static_cast<size_t>(id.index)]; }
  Node& node(NodeId id) { return nodes[static_cast<size_t>(id.index)]; }
  size_t num_inputs() const;  // leading kInput nodes
  // A name not yet used, made from `stem` ("add", "add_1", ...). Linear cost is amortised.
  std::string FreshName(const std::string& stem);
  NodeId Append(Node node);                     // gives the node a fresh name if its name is empty
  std::string PlaceOf(const Node& node) const;  // the user's source line, else "FILE:LINE", else ""

 private:
  friend void Compact(Graph& graph, const std::vector<bool>& keep);
  bool IsUsed(const std::string& name) const;
  // Names, each with the last suffix that was tried for it: all names with smaller ones are used.
  std::unordered_map<std::string, int> used_names_;
  size_t scanned_nodes_ = 0;  // the names of the nodes before are used
};

// Removes the nodes whose flag is false and renumbers everything that names a node (arguments,
// outputs, write-backs, storages, order, place_of). REQUIRES: no kept node names a removed one.
void Compact(Graph& graph, const std::vector<bool>& keep);

}  // namespace palimpsest::ir
