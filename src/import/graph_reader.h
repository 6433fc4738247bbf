// From the JSON of one graph to ir::Graph: nodes with arguments bound by schema, an explicit
// getitem for each named result of several, subgraphs.
//
// A file names values, not nodes; each graph and subgraph is a scope of names. Two kinds of nodes
// leave no node behind: wrap_with_set_grad_enabled, whose region is put in its place, and
// with_effects, which becomes the call that it wraps.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "import/json.h"
#include "import/meta.h"
#include "ir/graph.h"

namespace palimpsest::importing {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};

struct NodeCall;  // node_call.h

// A graph under construction. Regions that are put in place share it.
class GraphUnderConstruction {
 public:
  explicit GraphUnderConstruction(ir::Graph& graph) : graph_(graph) {}
  ir::Graph& graph() { return graph_; }
  // The node gets the name `stem`, made an identifier and told apart from those in use.
  ir::NodeId Append(ir::Node node, std::string_view stem);
  int AddSubgraph(std::shared_ptr<ir::Graph> subgraph, std::string_view stem);
  // The place that a stack trace ends in; -1 if it has none.
  int PlaceOfTrace(std::string_view stack_trace);

 private:
  ir::Graph& graph_;
  std::unordered_set<std::string> subgraph_names_;
  std::unordered_map<std::string, int> places_;  // by the last frame of the trace
};

// What all graphs of a file have in common.
struct FileContext {
  const op::OpTable& ops;
  MetaReader& meta;
  std::vector<std::string>& remarks;
};

// The operator of a target ("torch.ops.aten.add.Tensor", "_operator.add"); null if nobody knows it.
const op::Op* FindOperator(const op::OpTable& ops, std::string_view target);

class GraphReader {
 public:
  GraphReader(const FileContext& context, GraphUnderConstruction& target, int depth = 0)
      : context_(context), target_(target), depth_(depth) {}

  // ---- names

  // Error if the name is taken.
  Status Define(std::string_view name, ir::Argument value);
  Result<ir::Argument> Lookup(std::string_view name);
  // {"name"}, {"as_name"}, or a number in a sym union.
  Result<ir::Argument> Reference(Json payload);
  Result<ir::NodeId> LookupNode(std::string_view name);

  // ---- the parts of a graph

  // A kInput node for the value `name`.
  Result<ir::NodeId> AddInput(std::string_view name);
  Status ReadNode(Json node);
  Result<ir::Argument> ReadArgument(Json argument);
  // tensor_values, sym_int_values, ...: sets the type of the node, if there is one of this name.
  // `strict` names must have a description that can be read; of others it is left out.
  Status SetTensorType(std::string_view name, Json meta, bool strict);
  Status SetSymType(std::string_view name, Json value, bool strict);
  // All nodes, results and types of a graph whose JSON is at hand. Inputs are defined already.
  Result<std::vector<ir::Argument>> ReadBody(Json graph);

 private:
  struct Pending {
    ir::NodeId list;
    int64_t index;
  };

  Status ReadCall(NodeCall& call);
  Status BindKnown(const NodeCall& call, ir::Node& node);
  Status BindUnknown(const NodeCall& call, ir::Node& node);
  Status ReadResults(const NodeCall& call, ir::Node node);
  Status DefineItem(Json item, ir::NodeId list, int64_t index);
  ir::NodeId AppendItem(ir::NodeId list, int64_t index, std::string_view name);
  Result<ir::Argument> ReadSubgraph(Json payload);
  Status InlineRegion(const NodeCall& call, size_t skip);
  Status UnwrapEffects(NodeCall& call);

  FileContext context_;
  GraphUnderConstruction& target_;
  int depth_;
  std::unordered_map<std::string, ir::Argument, StringHash, std::equal_to<>> values_;
  // Results that exporters name although nobody uses them: made when somebody does.
  std::unordered_map<std::string, Pending, StringHash, std::equal_to<>> pending_;
};

// Does the argument fit its slot? The error says what does not.
Status CheckArgument(const op::SchemaArg& slot, const ir::Argument& argument);
// cond, while_loop, map: as many operands as their regions take, and results that agree.
Status CheckHigherOrder(const ir::Graph& graph, const ir::Node& node);

}  // namespace palimpsest::importing
