// The walk that Interpret and InferMeta share. Internal to interpret/.
//
// Note [Objects]: a tensor *object* is what a name stands for in the user's program. An operator
// that writes returns its argument: the same object under another name. A metadata-only write (t_,
// unsqueeze_) changes the view of the object, and so of all its names. Values carry the object's
// id; the views of the few objects that were changed lie in Shared::changed, and every read looks
// there.
#pragma once

#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "interpret/interpret.h"
#include "ir/auto_functionalized.h"

namespace palimpsest::interpret {

// State that the walk of a graph shares with the walks of its subgraphs.
struct Shared {
  bool on_memory = false;  // Interpret; else InferMeta
  op::Generator* generator = nullptr;
  int64_t next_object = 1;
  std::unordered_map<int64_t, View> changed;  // object -> its view after metadata-only writes
  int depth = 0;                              // of nested subgraphs
  int64_t region_runs = 0;                    // so far; limited
  // Note [Decisions]. On memory: those made by the outermost node that runs now. On metadata: those
  // to be played back, the next one last.
  Value::List decisions;
  Value played_back;  // the last one
};

// meta, memory and kernel of one call, or meta alone. Errors carry no place yet.
Result<op::CallResult> Call(const op::Op& op, std::span<const Value> args, const Value* known_data,
                            const Shared& shared);
// New memory with t's sizes, strides and contents, gaps included; offset 0.
Result<Tensor> CopyWithStrides(const Tensor& t, const Shared& shared);
// New memory (or only an identity) for a view with offset 0.
Result<Tensor> NewTensor(const View& view, const Shared& shared);

class Walker {
 public:
  Walker(const ir::Graph& graph, const WalkOptions& options, Shared* shared)
      : graph_(graph), options_(options), shared_(shared) {}
  Result<Trace> Walk(std::span<const Value> inputs);

 private:
  Status SetInputs(std::span<const Value> inputs);
  Status RunNode(size_t i);
  Result<Value> RunCall(size_t i);
  Result<Value> GetItem(const ir::Node& node);
  Status WriteBack();
  std::set<const Storage*> InputStorages() const;
  void RepointOutputs(const Tensor& value, const Tensor& destination);
  void NoteRelayouts(std::span<const Value> inputs);
  void FindLastUses();

  // regions.cc
  Result<Value> RunRegions(size_t i);
  Result<Value> RunCond(size_t i);
  Result<Value> RunWhile(size_t i);
  Result<Value> RunMap(size_t i);
  Result<Value> RunScan(size_t i);
  Result<Value> RunRegion(size_t i, const ir::Argument& subgraph, std::vector<Value> operands);
  Result<Value> RunBuiltin(size_t i, const char* key, std::vector<Value> args);
  Result<Value> Row(size_t i, const Value& tensor, int64_t dim, int64_t row);
  Result<Value> Stack(size_t i, std::vector<Value::List> rows, size_t first);
  Result<bool> Decide(const Value& condition);
  const Value* NextDecision();

  // higher_order.cc
  Result<Value> RunHigherOrder(size_t i);
  Result<Value> RunFunctionalized(size_t i);
  Result<Value> ViewOfBase(const ir::BaseView& view, const Tensor& copy);
  Result<Value> FreshOut(const ir::BaseView& view);

  Value Resolve(const ir::Argument& argument) const;
  // Every tensor of a result that is no object yet becomes one.
  void GiveObjects(Value& value);
  void Relayout(std::span<const Value> args, const op::CallResult& result);
  Value AsNodeValue(const op::Schema& schema, std::vector<Value> returns);
  Error Decorate(Error error, const ir::Node& node) const;

  const ir::Graph& graph_;
  const WalkOptions& options_;
  Shared* shared_;
  Trace trace_;
  std::vector<std::vector<int32_t>> dies_after_;  // only if !keep_values
};

}  // namespace palimpsest::interpret
