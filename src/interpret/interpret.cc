#include "interpret/interpret.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "interpret/walker.h"
#include "interpret/write_back.h"
#include "op/call.h"

namespace palimpsest::interpret {
namespace {

// Applies f to each tensor in the value, in place.
template <typename F>
void ForEachTensorMutable(Value& value, F&& f) {
  if (value.IsTensor()) {
    f(value.As<Tensor>());
  } else if (value.IsList()) {
    for (Value& v : value.As<Value::List>()) ForEachTensorMutable(v, f);
  }
}

struct ToValue {
  Value operator()(std::monostate) const { return {}; }
  Value operator()(const ir::OpRef& op) const { return Value(op.target); }
  Value operator()(const ir::SubgraphRef&) const { return {}; }
  template <typename T>
  Value operator()(const T& v) const {
    return Value(v);
  }
};

// A constant argument (not a node, a list or a dict).
template <typename... Ts>
Value ConstantValue(const ir::Argument& a) {
  Value result;
  (void)((a.Is<Ts>() && (result = ToValue{}(a.As<Ts>()), true)) || ...);
  return result;
}

}  // namespace

Value Walker::Resolve(const ir::Argument& argument) const {
  if (argument.IsNode()) {
    Value value = trace_.values[static_cast<size_t>(argument.node().index)];
    if (!shared_->changed.empty()) {
      ForEachTensorMutable(value, [&](Tensor& t) {
        auto it = shared_->changed.find(t.object);
        if (it != shared_->changed.end()) static_cast<View&>(t) = it->second;
      });
    }
    return value;
  }
  if (argument.IsList()) {
    Value::List list;
    list.reserve(argument.list().size());
    for (const ir::Argument& a : argument.list()) list.push_back(Resolve(a));
    return Value(std::move(list));
  }
  if (argument.Is<ir::Argument::Dict>()) {
    Value::List list;
    for (const auto& [key, a] : argument.As<ir::Argument::Dict>()) list.push_back(Resolve(a));
    return Value(std::move(list));
  }
  return ConstantValue<bool, int64_t, double, std::complex<double>, std::string, DType,
                       MemoryFormat, LayoutKind, Device, ir::OpRef>(argument);
}

void Walker::GiveObjects(Value& value) {
  ForEachTensorMutable(value, [&](Tensor& t) {
    if (t.object == 0) t.object = shared_->next_object++;
  });
}

void Walker::Relayout(std::span<const Value> args, const op::CallResult& result) {
  for (const op::MetaCall::Relayout& relayout : result.relayouts) {
    const Value& arg = args[static_cast<size_t>(relayout.arg)];
    PAL_CHECK(arg.IsTensor(), "a metadata-only write to argument {}", relayout.arg);
    shared_->changed[arg.tensor().object] = relayout.view;
  }
}

Value Walker::AsNodeValue(const op::Schema& schema, std::vector<Value> returns) {
  if (schema.returns.size() > 1) return Value(Value::List(std::move(returns)));
  return returns.empty() ? Value() : std::move(returns[0]);
}

Error Walker::Decorate(Error error, const ir::Node& node) const {
  std::string what = node.op != nullptr ? node.op->schema.Key() : node.target;
  if (node.kind != ir::Node::Kind::kCall) what = node.name;
  error.message = fmt::format("{} ({}): {}", what, node.name, error.message);
  if (error.place.empty()) error.place = graph_.PlaceOf(node);
  return error;
}

Result<Value> Walker::GetItem(const ir::Node& node) {
  Value list = Resolve(node.args.empty() ? ir::Argument() : node.args[0]);
  if (!list.IsList()) return BadInput("a single value is indexed as if it were a list");
  int64_t size = static_cast<int64_t>(list.list().size());
  int64_t index = node.index < 0 ? node.index + size : node.index;
  if (index < 0 || index >= size) {
    return BadInput(fmt::format("element {} of a list of {}", node.index, size));
  }
  return std::move(list.As<Value::List>()[static_cast<size_t>(index)]);
}

Result<Value> Walker::RunCall(size_t i) {
  const ir::Node& node = graph_.nodes[i];
  std::vector<Value>& args = trace_.args[i];
  for (const ir::Argument& a : node.args) args.push_back(Resolve(a));
  if (node.op == nullptr) return RunHigherOrder(i);
  auto known = options_.known_data.find(ir::NodeId(static_cast<int64_t>(i)));
  const Value* data = known == options_.known_data.end() ? nullptr : &known->second;
  const bool decides = shared_->depth > 0 && ReadsNumber(*node.op);
  if (decides) data = NextDecision();
  PAL_TRY(op::CallResult result, Call(*node.op, args, data, *shared_));
  if (decides && shared_->on_memory) shared_->decisions.push_back(result.returns[0]);
  Relayout(args, result);
  return AsNodeValue(node.op->schema, std::move(result.returns));
}

Status Walker::RunNode(size_t i) {
  const ir::Node& node = graph_.nodes[i];
  Result<Value> value = Value();
  switch (node.kind) {
    case ir::Node::Kind::kInput:
      return InternalError("an input behind the first call");
    case ir::Node::Kind::kCall:
      value = RunCall(i);
      break;
    case ir::Node::Kind::kGetItem:
      value = GetItem(node);
      break;
    case ir::Node::Kind::kGetAttr:
      value = Unsupported(fmt::format("the file does not hold the constant '{}'", node.target));
      break;
  }
  if (!value.ok()) return Decorate(std::move(value.error()), node);
  GiveObjects(*value);
  trace_.values[i] = std::move(*value);
  return {};
}

Status Walker::SetInputs(std::span<const Value> inputs) {
  if (inputs.size() != graph_.num_inputs()) {
    return BadInput(fmt::format("the program takes {} inputs, {} were given", graph_.num_inputs(),
                                inputs.size()));
  }
  for (const Value& input : inputs) {
    ForEachTensor(input, [&](const Tensor& t) {
      shared_->next_object = std::max(shared_->next_object, t.object + 1);
    });
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    trace_.values[i] = inputs[i];
    GiveObjects(trace_.values[i]);
  }
  return {};
}

// All values are read before any input is written: write-backs may swap two inputs.
Status Walker::WriteBack() {
  struct Pending {
    Tensor destination, value;  // as it is read
    Tensor produced;            // as the graph made it
  };
  std::vector<Pending> pending;
  const std::set<const Storage*> of_inputs = InputStorages();
  for (const ir::WriteBack& write : graph_.write_backs) {
    Value input = Resolve(write.input), value = Resolve(write.value);
    if (!input.IsTensor() || !value.IsTensor()) {
      return InternalError("a write-back between values that are no tensors");
    }
    PAL_TRY(View view, WriteBackView(input.tensor(), value.tensor().view()));
    Pending p{Tensor(view, input.tensor().storage), value.tensor(), value.tensor()};
    if (of_inputs.contains(p.produced.storage.get())) {
      PAL_TRY(p.value, CopyWithStrides(p.produced, *shared_));
      p.produced.storage = nullptr;
    }
    pending.push_back(std::move(p));
  }
  for (const Pending& p : pending) {
    if (shared_->on_memory) op::CopyElements(p.value, p.destination);
    if (p.produced.storage != nullptr) RepointOutputs(p.produced, p.destination);
  }
  return {};
}

std::set<const Storage*> Walker::InputStorages() const {
  std::set<const Storage*> storages;
  for (size_t i = 0, n = graph_.num_inputs(); i < n; ++i) {
    const Value& input = trace_.values[i];
    if (input.IsTensor()) storages.insert(input.tensor().storage.get());
  }
  return storages;
}

// Note [Outputs of written inputs]. The value of a write-back ends in the input: an output that is
// this value, or a view of it, is the input, or a view of it, in eager PyTorch.
void Walker::RepointOutputs(const Tensor& value, const Tensor& destination) {
  for (Value& output : trace_.outputs) {
    ForEachTensorMutable(output, [&](Tensor& t) {
      if (t.storage != value.storage) return;
      if (value.view() == destination.view()) {
        t.storage = destination.storage;
      } else if (t.view() == value.view()) {
        int64_t object = t.object;
        t = destination;
        t.object = object;
      }
    });
  }
}

void Walker::NoteRelayouts(std::span<const Value> inputs) {
  if (shared_->changed.empty()) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!trace_.values[i].IsTensor()) continue;
    auto it = shared_->changed.find(trace_.values[i].tensor().object);
    if (it != shared_->changed.end()) trace_.relayouts.emplace(i, it->second);
  }
}

void Walker::FindLastUses() {
  std::vector<int32_t> last(graph_.nodes.size(), -1);
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    auto use = [&](ir::NodeId id) {
      last[static_cast<size_t>(id.index)] = static_cast<int32_t>(i);
    };
    last[i] = static_cast<int32_t>(i);
    for (const ir::Argument& a : graph_.nodes[i].args) ForEachNode(a, use);
    for (const ir::NamedArgument& a : graph_.nodes[i].kwargs) ForEachNode(a.value, use);
  }
  auto keep = [&](ir::NodeId id) { last[static_cast<size_t>(id.index)] = -1; };
  for (const ir::Argument& a : graph_.outputs) ForEachNode(a, keep);
  for (const ir::WriteBack& w : graph_.write_backs) keep(w.value);
  for (size_t i = 0, n = graph_.num_inputs(); i < n; ++i) last[i] = -1;
  dies_after_.resize(graph_.nodes.size());
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i] >= 0) dies_after_[static_cast<size_t>(last[i])].push_back(static_cast<int32_t>(i));
  }
}

Result<Trace> Walker::Walk(std::span<const Value> inputs) {
  trace_.values.resize(graph_.nodes.size());
  trace_.args.resize(graph_.nodes.size());
  if (!options_.keep_values) FindLastUses();
  PAL_TRY(SetInputs(inputs));
  for (size_t i = inputs.size(); i < graph_.nodes.size(); ++i) {
    PAL_TRY(RunNode(i));
    if (options_.keep_values) continue;
    trace_.args[i].clear();
    trace_.inner_calls.clear();
    trace_.pieces.clear();
    for (int32_t dead : dies_after_[i]) trace_.values[static_cast<size_t>(dead)] = Value();
  }
  for (const ir::Argument& output : graph_.outputs) trace_.outputs.push_back(Resolve(output));
  NoteRelayouts(inputs);
  PAL_TRY(WriteBack());
  return std::move(trace_);
}

bool ReadsNumber(const op::Op& op) {
  const std::string key = op.schema.Key();
  return key == "aten::item" || key == "aten::_local_scalar_dense";
}

Result<Trace> Interpret(const ir::Graph& graph, std::span<const Value> inputs,
                        const WalkOptions& options) {
  Shared shared;
  shared.on_memory = true;
  shared.generator = options.generator;
  return Walker(graph, options, &shared).Walk(inputs);
}

Result<Trace> InferMeta(const ir::Graph& graph, std::span<const Value> inputs,
                        const WalkOptions& options) {
  Shared shared;
  return Walker(graph, options, &shared).Walk(inputs);
}

}  // namespace palimpsest::interpret
