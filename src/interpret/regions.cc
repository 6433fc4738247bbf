// Higher-order nodes with regions: cond, while_loop, map, scan, and regions that are only wrapped.
// Their regions run as often as eager PyTorch runs its functions, one walk each.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "interpret/walker.h"
#include "op/op.h"

namespace palimpsest::interpret {
namespace {

constexpr int kMaxDepth = 64;               // of nested regions
constexpr int64_t kMaxRegionRuns = 100000;  // of one walk

std::vector<Value> Joined(std::initializer_list<const Value*> lists) {
  std::vector<Value> all;
  for (const Value* list : lists) {
    if (list->IsList()) all.insert(all.end(), list->list().begin(), list->list().end());
  }
  return all;
}

// The results of a region as a list.
Value::List AsList(Value value) {
  if (value.IsList()) return std::move(value.As<Value::List>());
  return Value::List{std::move(value)};
}

}  // namespace

Result<Value> Walker::RunRegions(size_t i) {
  const ir::Node& node = graph_.nodes[i];
  constexpr std::string_view kPrefix = "torch.ops.higher_order.";
  const std::string_view name = std::string_view(node.target).substr(kPrefix.size());
  const ir::NodeId id(static_cast<int64_t>(i));
  const bool outermost = shared_->depth == 0;
  if (outermost) {
    shared_->decisions.clear();
    auto known = options_.known_data.find(id);
    if (known != options_.known_data.end() && known->second.IsList()) {
      shared_->decisions = known->second.list();
      std::reverse(shared_->decisions.begin(), shared_->decisions.end());  // the next is the last
    }
  }
  Result<Value> result = Value();
  if (name == "cond") {
    result = RunCond(i);
  } else if (name == "while_loop") {
    result = RunWhile(i);
  } else if (name == "map_impl") {
    result = RunMap(i);
  } else if (name == "scan") {
    result = RunScan(i);
  } else if (name == "wrap_with_set_grad_enabled" && node.args.size() >= 2) {
    const std::vector<Value>& args = trace_.args[i];
    result = RunRegion(i, node.args[1], {args.begin() + 2, args.end()});
  } else {
    return Unsupported(fmt::format(
        "the higher-order operator '{}' is not supported: export the program without it", name));
  }
  if (outermost && shared_->on_memory && !shared_->decisions.empty()) {
    trace_.decisions[id] = std::move(shared_->decisions);
  }
  if (outermost) shared_->decisions.clear();
  return result;
}

Result<Value> Walker::RunRegion(size_t i, const ir::Argument& subgraph,
                                std::vector<Value> operands) {
  if (!subgraph.Is<ir::SubgraphRef>()) return BadInput("a subgraph is expected");
  auto index = static_cast<size_t>(subgraph.As<ir::SubgraphRef>().index);
  if (index >= graph_.subgraphs.size()) {
    return BadInput("a subgraph that the program does not have");
  }
  if (shared_->depth >= kMaxDepth) return Unsupported("subgraphs nest too deeply");
  if (++shared_->region_runs > kMaxRegionRuns) {
    return RuntimeFailure(
        fmt::format("more than {} runs of regions in one call: does the loop end?", kMaxRegionRuns),
        "endless_loop");
  }
  const ir::Graph& region = *graph_.subgraphs[index];
  ++shared_->depth;
  WalkOptions options;
  options.generator = options_.generator;
  options.keep_values = options_.keep_values;
  Result<Trace> trace = Walker(region, options, shared_).Walk(operands);
  --shared_->depth;
  if (!trace.ok()) return std::move(trace.error());
  Value result = region.single_output && trace->outputs.size() == 1
                     ? trace->outputs[0]
                     : Value(Value::List(trace->outputs));
  if (options_.keep_values) {
    Trace::Piece piece;
    piece.subgraph = static_cast<int>(index);
    piece.region = std::make_shared<const Trace>(std::move(*trace));
    trace_.pieces[ir::NodeId(static_cast<int64_t>(i))].push_back(std::move(piece));
  }
  return result;
}

// A call that is not written in the program.
Result<Value> Walker::RunBuiltin(size_t i, const char* key, std::vector<Value> args) {
  const op::Op* op = graph_.ops == nullptr ? nullptr : graph_.ops->Find(key);
  if (op == nullptr) return InternalError(fmt::format("{} is not registered", key));
  PAL_TRY(op::CallResult called, Call(*op, args, nullptr, *shared_));
  Value result = AsNodeValue(op->schema, std::move(called.returns));
  GiveObjects(result);
  if (options_.keep_values) {
    Trace::Piece piece;
    piece.op = op;
    piece.args = std::move(args);
    piece.result = result;
    trace_.pieces[ir::NodeId(static_cast<int64_t>(i))].push_back(std::move(piece));
  }
  return result;
}

const Value* Walker::NextDecision() {
  if (shared_->on_memory || shared_->decisions.empty()) return nullptr;
  shared_->played_back = std::move(shared_->decisions.back());
  shared_->decisions.pop_back();
  return &shared_->played_back;
}

// A bool, or a tensor that holds one.
Result<bool> Walker::Decide(const Value& condition) {
  if (condition.IsNumber()) return condition.ToBool();
  if (!condition.IsTensor()) return BadInput("the predicate is neither a bool nor a tensor");
  const Tensor& t = condition.tensor();
  if (t.dtype != DType::kB8 || t.numel() != 1) {
    return BadInput(fmt::format("the predicate is {}, one bool is expected", ToString(t.view())));
  }
  if (shared_->on_memory) {
    const bool yes = *t.data_as<uint8_t>() != 0;
    shared_->decisions.emplace_back(yes);
    return yes;
  }
  const Value* known = NextDecision();
  if (known == nullptr || !known->IsNumber()) {
    return Unsupported(
        "which region runs is read from memory while the program is compiled: it must be read "
        "ahead of the call");
  }
  return known->ToBool();
}

// cond(predicate, then, else, operands)
Result<Value> Walker::RunCond(size_t i) {
  const ir::Node& node = graph_.nodes[i];
  if (node.args.size() < 3) return BadInput("cond takes a predicate, two graphs and operands");
  PAL_TRY(bool yes, Decide(trace_.args[i][0]));
  std::vector<Value> operands;
  if (node.args.size() > 3) {
    if (!trace_.args[i][3].IsList()) return BadInput("the operands of cond are no list");
    operands = trace_.args[i][3].list();
  }
  return RunRegion(i, node.args[yes ? 1 : 2], std::move(operands));
}

// while_loop(condition, body, carried, additional): new carried values until the condition is
// false.
Result<Value> Walker::RunWhile(size_t i) {
  const ir::Node& node = graph_.nodes[i];
  const std::vector<Value>& args = trace_.args[i];
  if (node.args.size() < 4 || !args[2].IsList() || !args[3].IsList()) {
    return BadInput("while_loop takes two graphs, a list of carried values and a list of others");
  }
  const Value additional = args[3];
  Value carried = args[2];
  const size_t count = carried.list().size();
  for (bool first = true;; first = false) {
    PAL_TRY(Value condition, RunRegion(i, node.args[0], Joined({&carried, &additional})));
    Value::List conditions = AsList(std::move(condition));
    if (conditions.size() != 1) return BadInput("the condition of while_loop gives one bool");
    PAL_TRY(bool again, Decide(conditions[0]));
    if (!again && !first) return carried;
    if (!again) break;
    PAL_TRY(Value next, RunRegion(i, node.args[1], Joined({&carried, &additional})));
    carried = Value(AsList(std::move(next)));
    if (carried.list().size() != count) {
      return BadInput(fmt::format("the body of while_loop gives {} values, {} are carried",
                                  carried.list().size(), count));
    }
  }
  Value::List copies;  // of a loop that never ran the results are tensors of their own
  for (const Value& v : carried.list()) {
    copies.push_back(v);
    if (!v.IsTensor()) continue;
    PAL_TRY(copies.back(), RunBuiltin(i, "aten::clone", {v, Value()}));
  }
  return Value(std::move(copies));
}

Result<Value> Walker::Row(size_t i, const Value& tensor, int64_t dim, int64_t row) {
  if (!tensor.IsTensor()) return BadInput("what is mapped over is no tensor");
  return RunBuiltin(i, "aten::select.int", {tensor, Value(dim), Value(row)});
}

// Result k of every row, stacked along a new first dim; those from `first` on.
Result<Value> Walker::Stack(size_t i, std::vector<Value::List> rows, size_t first) {
  Value::List stacked;
  for (size_t k = first; k < rows[0].size(); ++k) {
    Value::List column;
    for (const Value::List& row : rows) {
      if (row.size() != rows[0].size() || row[k].IsTensor() != rows[0][k].IsTensor()) {
        return BadInput("the rows of a map or scan give different results");
      }
      column.push_back(row[k]);
    }
    stacked.emplace_back();
    if (!rows[0][k].IsTensor()) continue;  // None
    PAL_TRY(stacked.back(), RunBuiltin(i, "aten::stack", {Value(std::move(column)), Value(0)}));
  }
  return Value(std::move(stacked));
}

// map_impl(f, xs, others): f of each row of xs, the results stacked.
Result<Value> Walker::RunMap(size_t i) {
  const ir::Node& node = graph_.nodes[i];
  const std::vector<Value> args = trace_.args[i];
  if (node.args.size() < 3 || !args[1].IsList() || !args[2].IsList() || args[1].list().empty()) {
    return BadInput("map takes a graph, a list of tensors and a list of others");
  }
  const Value& leader = args[1].list()[0];
  if (!leader.IsTensor() || leader.tensor().dim() == 0 || leader.tensor().sizes[0] == 0) {
    return BadInput("map goes over the rows of tensors with at least one row");
  }
  std::vector<Value::List> rows;
  for (int64_t row = 0; row < leader.tensor().sizes[0]; ++row) {
    Value::List operands;
    for (const Value& x : args[1].list()) {
      PAL_TRY(Value slice, Row(i, x, 0, row));
      operands.push_back(std::move(slice));
    }
    const Value slices(std::move(operands));
    PAL_TRY(Value result, RunRegion(i, node.args[0], Joined({&slices, &args[2]})));
    rows.push_back(AsList(std::move(result)));
  }
  return Stack(i, std::move(rows), 0);
}

// scan(f, init, xs, others): f takes the carried values and a row of each of xs; it gives new
// carried values and results, which are stacked.
Result<Value> Walker::RunScan(size_t i) {
  const ir::Node& node = graph_.nodes[i];
  const std::vector<Value> args = trace_.args[i];
  if (node.args.size() < 3 || !args[1].IsList() || !args[2].IsList()) {
    return BadInput("scan takes a graph, a list of first values and a list of tensors");
  }
  const Value others = args.size() > 3 ? args[3] : Value();
  Value carried = args[1];
  const size_t count = carried.list().size();
  if (args[2].list().empty()) return carried;
  const Value& leader = args[2].list()[0];
  if (!leader.IsTensor() || leader.tensor().dim() == 0 || leader.tensor().sizes[0] == 0) {
    return BadInput("scan goes over the rows of tensors with at least one row");
  }
  std::vector<Value::List> rows;
  for (int64_t row = 0; row < leader.tensor().sizes[0]; ++row) {
    Value::List slices;
    for (const Value& x : args[2].list()) {
      PAL_TRY(Value slice, Row(i, x, 0, row));
      slices.push_back(std::move(slice));
    }
    const Value all(std::move(slices));
    PAL_TRY(Value result, RunRegion(i, node.args[0], Joined({&carried, &all, &others})));
    rows.push_back(AsList(std::move(result)));
    if (rows.back().size() < count) return BadInput("the function of scan gives too few values");
    carried = Value(
        Value::List(rows.back().begin(), rows.back().begin() + static_cast<std::ptrdiff_t>(count)));
  }
  PAL_TRY(Value stacked, Stack(i, std::move(rows), count));
  return Value(Value::List(Joined({&carried, &stacked})));
}

}  // namespace palimpsest::interpret
