#include "passes/expand_composites.h"

#include <fmt/format.h>

#include <string_view>

#include "ir/auto_functionalized.h"
#include "passes/rewriter.h"

namespace palimpsest::passes {
namespace {

constexpr int kMaxDepth = 64;  // of nested subgraphs

struct Expander {
  Rewriter rewriter;
  int expanded = 0;
  int depth = 0;
  std::vector<bool> reached = {};  // Note [Beyond the scatter]

  explicit Expander(const ir::Graph& graph) : rewriter(graph) {}
  ir::Emitter& emit() { return rewriter.emit(); }
  const ir::Node& node(size_t i) const { return rewriter.source().nodes[i]; }

  Status Process();
  Status ProcessNodes();
  Result<bool> Expand(size_t i);
  Result<bool> Scatter(size_t i, std::string_view view_key);
  void FindReached();
  Result<ir::NodeId> CopyOfStorage(size_t i, const ir::Argument& x);
  Status WriteInto(ir::NodeId copy, const std::string& view_key,
                   const std::vector<ir::Argument>& args);
  Result<bool> Foreach(size_t i);
  Status Functionalized(size_t i);
  Result<ir::Argument> ViewOfCopy(const ir::BaseView& view, const ir::Argument& copy);
  Result<ir::Argument> OperandOf(const ir::FunctionalizedCall::Operand& operand,
                                 const std::vector<ir::Argument>& copies);
  Status Inline(size_t i, const ir::Argument& subgraph, std::span<const ir::Argument> operands);
  Status WriteBacks();
  bool IsFresh(ir::NodeId old) const;
  Status Subgraphs(ir::Graph& graph);
};

struct ScatterForm {
  std::string_view name, view;
};
const ScatterForm kScatters[] = {
    {"aten::select_scatter", "aten::select.int"},
    {"aten::slice_scatter", "aten::slice.Tensor"},
    {"aten::diagonal_scatter", "aten::diagonal"},
    {"aten::as_strided_scatter", "aten::as_strided"},
};

// Note [Beyond the scatter]. PyTorch's functional scatters copy the whole storage of x, and
// as_strided on the result can reach elements that x does not show. Where nobody asks that way, the
// copy holds x's elements only. This finds the values that some as_strided is applied to, through
// any views.
void Expander::FindReached() {
  const ir::Graph& source = rewriter.source();
  reached.assign(source.nodes.size(), false);
  for (const ir::Node& user : source.nodes) {
    if (user.op == nullptr || !user.op->schema.name.starts_with("as_strided")) continue;
    const ir::Node* n = &user;
    while (!n->args.empty() && n->args[0].IsNode()) {
      auto from = static_cast<size_t>(n->args[0].node().index);
      if (reached[from]) break;
      reached[from] = true;
      n = &source.nodes[from];
    }
  }
}

// A copy of x's whole storage, and the view of it that x is of its own.
Result<ir::NodeId> Expander::CopyOfStorage(size_t i, const ir::Argument& x) {
  PAL_TRY(ir::NodeId storage, emit().Call("palimpsest::storage", {x}));
  PAL_TRY(ir::NodeId copy, emit().Call("aten::clone", {storage}));
  ir::Argument::List sizes, strides;
  for (size_t d = 0; d < node(i).type.tensor.sizes.size(); ++d) {
    auto dim = static_cast<int64_t>(d);
    PAL_TRY(ir::NodeId size, emit().Call("aten::sym_size.int", {x, dim}));
    PAL_TRY(ir::NodeId stride, emit().Call("aten::sym_stride.int", {x, dim}));
    sizes.emplace_back(size);
    strides.emplace_back(stride);
  }
  PAL_TRY(ir::NodeId offset, emit().Call("aten::sym_storage_offset", {x}));
  return emit().Call(
      "aten::as_strided",
      {copy, ir::Argument(std::move(sizes)), ir::Argument(std::move(strides)), offset},
      node(i).type, node(i).name);
}

// As far as its type says: several elements of x are one. The copy of such a tensor is dense.
bool IsExpanded(const ir::Type& type) {
  if (type.kind != ir::Type::Kind::kTensor || !type.tensor.strides) return false;
  const std::vector<SymInt>& strides = *type.tensor.strides;
  for (size_t d = 0; d < strides.size() && d < type.tensor.sizes.size(); ++d) {
    if (strides[d] == SymInt(0) && !(type.tensor.sizes[d] == SymInt(1))) return true;
  }
  return false;
}

// x, src, view arguments -> a copy of x, the view of it, src into the view. The value is the copy.
Result<bool> Expander::Scatter(size_t i, std::string_view view_key) {
  std::vector<ir::Argument> args = rewriter.Map(node(i).args);
  const ir::Argument& x = node(i).args[0];
  bool expanded = x.IsNode() && IsExpanded(rewriter.source().node(x.node()).type);
  if (depth == 0 && reached[i] && !expanded && node(i).type.kind == ir::Type::Kind::kTensor) {
    PAL_TRY(ir::NodeId copy, CopyOfStorage(i, args[0]));
    PAL_TRY(WriteInto(copy, std::string(view_key), args));
    rewriter.Set(i, copy);
    return true;
  }
  PAL_TRY(ir::NodeId copy,
          emit().Call("palimpsest::clone_strides", {args[0]}, node(i).type, node(i).name));
  if (view_key == "aten::as_strided" && !args.back().IsNone()) {
    // The offset is absolute in x's storage; the copy begins with x's first element.
    PAL_TRY(ir::NodeId offset, emit().Call("aten::sym_storage_offset", {args[0]}));
    PAL_TRY(ir::NodeId relative, emit().Call("_operator::sub", {args.back(), offset}));
    args.back() = relative;
  }
  PAL_TRY(WriteInto(copy, std::string(view_key), args));
  rewriter.Set(i, copy);
  return true;
}

// copy_(VIEW(copy, the arguments behind src), src)
Status Expander::WriteInto(ir::NodeId copy, const std::string& view_key,
                           const std::vector<ir::Argument>& args) {
  std::vector<ir::Argument> view_args = {ir::Argument(copy)};
  view_args.insert(view_args.end(), args.begin() + 2, args.end());
  PAL_TRY(ir::NodeId view, emit().Call(view_key, std::move(view_args)));
  PAL_TRY(ir::NodeId write, emit().Call("aten::copy_", {view, args[1]}));
  (void)write;
  return {};
}

// _foreach_add_(list, ...) -> one add_ per element, where the lists are spelled out.
Result<bool> Expander::Foreach(size_t i) {
  const op::Schema& schema = node(i).op->schema;
  std::string_view name = schema.name;
  if (!name.starts_with("_foreach_") || !name.ends_with("_")) return false;
  std::string one = "aten::" + std::string(name.substr(std::string_view("_foreach_").size()));
  if (schema.overload == "List") one += ".Tensor";
  if (schema.overload == "Scalar" || schema.overload == "ScalarList") one += ".Scalar";
  const op::OpTable* table = emit().graph().table();
  const op::Op* element_op = table == nullptr ? nullptr : table->Find(one);
  std::vector<ir::Argument> args = rewriter.Map(node(i).args);
  if (element_op == nullptr || args.empty() || !args[0].IsList()) return false;
  size_t count = args[0].list().size();
  for (size_t a = 0; a < args.size(); ++a) {
    bool is_list = schema.args[a].type.IsList();
    if (is_list && (!args[a].IsList() || args[a].list().size() != count)) return false;
  }
  for (size_t k = 0; k < count; ++k) {
    std::vector<ir::Argument> element_args;
    for (const ir::Argument& a : args) element_args.push_back(a.IsList() ? a.list()[k] : a);
    element_args.resize(std::min(element_args.size(), element_op->schema.args.size()));
    PAL_TRY(ir::NodeId id, emit().Call(one, std::move(element_args)));
    (void)id;
  }
  rewriter.Set(i, args[0]);
  return true;
}

Result<ir::Argument> Expander::ViewOfCopy(const ir::BaseView& view, const ir::Argument& copy) {
  using Kind = ir::BaseView::Kind;
  ir::NodeId id;
  switch (view.kind) {
    case Kind::kNone:
      return ir::Argument();
    case Kind::kPlain:
      return rewriter.Map(view.plain);
    case Kind::kBase:
      return copy;
    case Kind::kAlias: {
      PAL_TRY(id, emit().Call("aten::alias", {copy}));
      return ir::Argument(id);
    }
    case Kind::kSlice: {
      PAL_TRY(id, emit().Call("aten::slice.Tensor",
                              {copy, rewriter.Map(view.dim), rewriter.Map(view.start),
                               rewriter.Map(view.end)}));
      return ir::Argument(id);
    }
    case Kind::kAsStrided: {
      std::vector<ir::Argument> args = {copy, rewriter.Map(view.size), rewriter.Map(view.stride),
                                        rewriter.Map(view.storage_offset)};
      if (view.dtype.IsNone()) {
        PAL_TRY(id, emit().Call("aten::as_strided", std::move(args)));
      } else {
        args.insert(args.begin() + 1, view.dtype);
        PAL_TRY(id, emit().Call("palimpsest::view", std::move(args)));
      }
      return ir::Argument(id);
    }
    case Kind::kFresh:
      break;
  }
  PAL_TRY(id, emit().Call("aten::empty_strided",
                          {rewriter.Map(view.size), rewriter.Map(view.stride), view.dtype}));
  return ir::Argument(id);
}

Result<ir::Argument> Expander::OperandOf(const ir::FunctionalizedCall::Operand& operand,
                                         const std::vector<ir::Argument>& copies) {
  if (!operand.on_base) return rewriter.Map(operand.plain);
  ir::Argument::List views;
  for (const ir::BaseView& view : operand.views) {
    ir::Argument copy = view.base < 0 ? ir::Argument() : copies[static_cast<size_t>(view.base)];
    PAL_TRY(ir::Argument a, ViewOfCopy(view, copy));
    views.push_back(std::move(a));
  }
  return operand.is_list ? ir::Argument(std::move(views)) : std::move(views[0]);
}

// The results of `call` as the list that the auto_functionalized node gave.
ir::Argument ResultsOf(ir::Emitter& emit, const ir::FunctionalizedCall& call, ir::NodeId id,
                       const std::vector<ir::Argument>& copies) {
  ir::Argument::List results;
  size_t returns = call.op->schema.returns.size();
  if (returns == 0) results.emplace_back();
  if (returns == 1) results.emplace_back(id);
  for (size_t k = 0; returns > 1 && k < returns; ++k) {
    results.emplace_back(emit.GetItem(id, static_cast<int64_t>(k), "getitem", {}));
  }
  auto copy_of = [&](int b) { return b < 0 ? ir::Argument() : copies[static_cast<size_t>(b)]; };
  for (const ir::FunctionalizedCall::NewValue& value : call.new_values) {
    if (value.is_list) {
      ir::Argument::List list;
      for (int b : value.bases) list.push_back(copy_of(b));
      results.emplace_back(std::move(list));
    } else {
      results.push_back(value.bases.empty() ? ir::Argument() : copy_of(value.bases[0]));
    }
  }
  return ir::Argument(std::move(results));
}

Status Expander::Functionalized(size_t i) {
  PAL_TRY(ir::FunctionalizedCall call, ir::DecodeFunctionalized(rewriter.source(), node(i)));
  std::vector<ir::Argument> copies;
  for (const ir::Argument& base : call.bases) {
    PAL_TRY(ir::NodeId copy, emit().Call("palimpsest::clone_strides", {rewriter.Map(base)}));
    copies.emplace_back(copy);
  }
  std::vector<ir::Argument> args;
  for (const ir::FunctionalizedCall::Operand& operand : call.operands) {
    PAL_TRY(ir::Argument a, OperandOf(operand, copies));
    args.push_back(std::move(a));
  }
  ir::NodeId id = emit().Call(*call.op, call.op->schema.name, std::move(args), {});
  rewriter.Set(i, call.bare_result ? ir::Argument(id) : ResultsOf(emit(), call, id, copies));
  return {};
}

// Recursion is limited by kMaxDepth.
Status Expander::Inline(size_t i, const ir::Argument& subgraph,
                        std::span<const ir::Argument> operands) {
  const ir::Graph& outer = rewriter.source();
  auto index = static_cast<size_t>(subgraph.As<ir::SubgraphRef>().index);
  if (index >= outer.subgraphs.size()) return BadInput("a subgraph that the program does not have");
  if (depth >= kMaxDepth) return Unsupported("subgraphs nest too deeply");
  const ir::Graph& inner = *outer.subgraphs[index];
  if (inner.num_inputs() != operands.size()) {
    return BadInput(fmt::format("a subgraph takes {} inputs, {} are given", inner.num_inputs(),
                                operands.size()));
  }
  std::vector<ir::Argument> values;
  for (const ir::Argument& a : operands) values.push_back(rewriter.Map(a));
  ++depth;
  Rewriter::Scope scope = rewriter.Enter(inner);
  for (size_t k = 0; k < values.size(); ++k) rewriter.Set(k, values[k]);
  Status done = ProcessNodes();
  ir::Argument::List outputs;
  for (const ir::Argument& a : inner.outputs) outputs.push_back(rewriter.Map(a));
  rewriter.Leave(std::move(scope));
  --depth;
  PAL_TRY(done);
  bool single = inner.single_output && outputs.size() == 1;
  rewriter.Set(i, single ? outputs[0] : ir::Argument(std::move(outputs)));
  return {};
}

Result<bool> Expander::Expand(size_t i) {
  const ir::Node& n = node(i);
  if (n.op == nullptr) {
    if (ir::AutoFunctionalizedVersion(n) != 0) {
      PAL_TRY(Functionalized(i));
      return true;
    }
    if (n.target == "torch.ops.higher_order.wrap_with_set_grad_enabled" && n.args.size() >= 2 &&
        n.args[1].Is<ir::SubgraphRef>()) {
      PAL_TRY(Inline(i, n.args[1], std::span(n.args).subspan(2)));
      return true;
    }
    return false;
  }
  std::string key = n.op->schema.Key();
  for (const ScatterForm& form : kScatters) {
    if (key == form.name) return Scatter(i, form.view);
  }
  if (n.op->schema.ns == "aten" && n.op->schema.name.starts_with("_foreach_")) return Foreach(i);
  return false;
}

Status Expander::ProcessNodes() {
  const ir::Graph& source = rewriter.source();
  for (size_t i = source.num_inputs(); i < source.nodes.size(); ++i) {
    const ir::Node& n = source.nodes[i];
    emit().SetOrigin(rewriter.PlaceOf(n), n.text_line);
    if (n.kind == ir::Node::Kind::kGetItem) {
      rewriter.KeepGetItem(i);
      continue;
    }
    Result<bool> done = n.kind == ir::Node::Kind::kCall ? Expand(i) : Result<bool>(false);
    if (!done.ok()) {
      Error error = std::move(done.error());
      error.message = fmt::format("{} ({}): {}", n.target, n.name, error.message);
      if (error.place.empty()) error.place = source.PlaceOf(n);
      return error;
    }
    if (*done) {
      ++expanded;
    } else {
      rewriter.Keep(i);
    }
  }
  return {};
}

// Is the value surely memory of its own, so that writing inputs cannot change it?
bool Expander::IsFresh(ir::NodeId old) const {
  const ir::Argument& mapped = rewriter.Get(static_cast<size_t>(old.index));
  if (!mapped.IsNode()) return false;
  const ir::Node* n = &rewriter.graph().node(mapped.node());
  while (n->kind == ir::Node::Kind::kGetItem && n->args[0].IsNode()) {
    n = &rewriter.graph().node(n->args[0].node());
  }
  if (n->kind != ir::Node::Kind::kCall || n->op == nullptr) return false;
  for (const op::SchemaArg& result : n->op->schema.returns) {
    if (result.type.alias) return false;
  }
  return true;
}

// All values that may lie in an input are copied before the first input is written (swaps).
Status Expander::WriteBacks() {
  std::vector<ir::Argument> values;
  const std::vector<ir::WriteBack>& writes = rewriter.source().write_backs;
  for (const ir::WriteBack& write : writes) {
    ir::Argument value = rewriter.Get(static_cast<size_t>(write.value.index));
    if (!IsFresh(write.value)) {
      PAL_TRY(ir::NodeId copy, emit().Call("aten::clone", {value}));
      value = copy;
    }
    values.push_back(std::move(value));
  }
  for (size_t i = 0; i < writes.size(); ++i) {
    ir::Argument input = rewriter.Get(static_cast<size_t>(writes[i].input.index));
    PAL_TRY(ir::NodeId id, emit().Call("aten::copy_", {input, values[i]}));
    (void)id;
  }
  return {};
}

// Branches are expanded too; each subgraph is a graph of its own.
Status Expander::Subgraphs(ir::Graph& graph) {
  for (std::shared_ptr<ir::Graph>& subgraph : graph.subgraphs) {
    if (depth >= kMaxDepth) return Unsupported("subgraphs nest too deeply");
    auto copy = std::make_shared<ir::Graph>(*subgraph);
    if (copy->table() == nullptr) {
      copy->ops = graph.ops;
      copy->own_ops = graph.own_ops;
    }
    Expander inner(*copy);
    inner.depth = depth + 1;
    PAL_TRY(inner.Process());
    ir::Graph result = inner.rewriter.Finish();
    PAL_TRY(inner.Subgraphs(result));
    expanded += inner.expanded;
    subgraph = std::make_shared<ir::Graph>(std::move(result));
  }
  return {};
}

Status Expander::Process() {
  FindReached();
  for (size_t i = 0, n = rewriter.source().num_inputs(); i < n; ++i) rewriter.Keep(i);
  PAL_TRY(ProcessNodes());
  emit().SetOrigin(-1, 0);
  return WriteBacks();
}

}  // namespace

Result<int> ExpandComposites(ir::Graph& graph, RemarkSink&) {
  Expander expander(graph);
  PAL_TRY(expander.Process());
  ir::Graph result = expander.rewriter.Finish();
  PAL_TRY(expander.Subgraphs(result));
  result.phase = ir::Phase::kProgram;
  graph = std::move(result);
  return expander.expanded;
}

}  // namespace palimpsest::passes
