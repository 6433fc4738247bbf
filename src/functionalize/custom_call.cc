// Operators that write and have no functional twin: auto_functionalized_v2 (one new version per
// distinct base) or auto_functionalized (version 1: one new value per written argument, scattered
// into its base afterwards).
#include <fmt/format.h>

#include <unordered_set>

#include "analysis/view_info.h"
#include "base/check.h"
#include "core/overlap.h"
#include "functionalize/state.h"
#include "ir/auto_functionalized.h"

namespace palimpsest::functionalize {
namespace {

using analysis::ViewInfo;
using ir::BaseView;

ir::Argument Ints(std::span<const int64_t> values) { return ir::Argument::Ints(values); }

// The written tensors of a call by storage, for the overlap tests of the operands that are read.
class WrittenTensors {
 public:
  explicit WrittenTensors(const Call& call) {
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (!call.op->schema.args[i].type.is_write()) continue;
      ForEachTensor(call.args[i],
                    [&](const Tensor& t) { by_storage_[t.storage.get()].push_back(&t); });
    }
  }
  bool Meets(const Tensor& read) const {
    auto it = by_storage_.find(read.storage.get());
    if (it == by_storage_.end()) return false;
    for (const Tensor* t : it->second) {
      if (MayOverlap(*t, read)) return true;
    }
    return false;
  }
  bool MeetsAny(const Value& value) const {
    bool meets = false;
    ForEachTensor(value, [&](const Tensor& t) { meets = meets || Meets(t); });
    return meets;
  }
  bool MeetEachOther() const {
    for (const auto& [storage, tensors] : by_storage_) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        for (size_t k = 0; k < i; ++k) {
          if (MayOverlap(*tensors[i], *tensors[k])) return true;
        }
      }
    }
    return false;
  }

 private:
  std::unordered_map<const Storage*, std::vector<const Tensor*>> by_storage_;
};

// The keys of one auto_functionalized_v2 call.
struct Encoder {
  State& state;
  const WrittenTensors& written;
  std::vector<BaseId> order;                // _all_bases
  std::unordered_map<int32_t, int> number;  // base -> index in `order`
  std::vector<ir::NamedArgument> plain, views;

  int NumberOf(BaseId base) {
    auto [it, made] = number.emplace(base.index, static_cast<int>(order.size()));
    if (made) order.push_back(base);
    return it->second;
  }

  BaseView Describe(const Tensor& t) {
    BaseId base = state.bases.Of(t);
    BaseView view;
    view.base = NumberOf(base);
    ViewInfo info = analysis::DescribeViewForKeys(state.bases.Layout(base), t.view());
    switch (info.kind) {
      case ViewInfo::Kind::kSame:
        view.kind = state.bases.IsBaseObject(t) ? BaseView::Kind::kBase : BaseView::Kind::kAlias;
        return view;
      case ViewInfo::Kind::kSlice:
        view.kind = BaseView::Kind::kSlice;
        view.dim = info.dim;
        view.start = info.start;
        view.end = info.end;
        return view;
      default:
        break;
    }
    view.kind = BaseView::Kind::kAsStrided;
    view.size = Ints(t.sizes);
    view.stride = Ints(t.strides);
    view.storage_offset = t.offset;
    if (info.kind == ViewInfo::Kind::kDType) view.dtype = t.dtype;
    return view;
  }

  // An element of a written argument, or of a read one that shares memory with a written one.
  Status AddView(const std::string& prefix, const Value& value, bool is_written) {
    BaseView view;
    if (value.IsTensor()) {
      if (is_written || written.Meets(value.tensor())) {
        view = Describe(value.tensor());
      } else {
        view.kind = BaseView::Kind::kPlain;
        PAL_TRY(view.plain, state.Read(value));
      }
    }
    ir::EncodeBaseView(prefix, view, &views);
    return {};
  }

  Status AddArgument(const op::SchemaArg& arg, const Value& value) {
    bool is_written = arg.type.is_write();
    if (!is_written && !written.MeetsAny(value)) {
      PAL_TRY(ir::Argument argument, state.Read(value));
      plain.push_back({arg.name, std::move(argument)});
      return {};
    }
    std::string prefix = "_" + arg.name;
    if (!arg.type.IsList()) return AddView(prefix, value, is_written);
    if (value.IsNone()) {
      views.push_back({prefix + "_length", {}});
      return {};
    }
    const Value::List& list = value.list();
    views.push_back({prefix + "_length", static_cast<int64_t>(list.size())});
    for (size_t i = 0; i < list.size(); ++i) {
      PAL_TRY(AddView(fmt::format("{}_{}", prefix, i), list[i], is_written));
    }
    return {};
  }
};

// The operator's own results: element k of the node. The name of an element that is None is used
// up, as PyTorch's is: `getitem_1` is the first base of an operator without results.
void AddOperatorResults(State& state, const Call& call, ir::NodeId node) {
  size_t returns = call.op->schema.returns.size();
  if (returns == 0) {
    state.graph.FreshName("getitem");
  } else if (returns == 1) {
    Value::List one = {call.result};
    state.AddElements(call, one, node);
  } else if (call.result.IsList()) {
    state.AddElements(call, call.result.list(), node);
  }
}

Status CallV2(State& state, const Call& call, const WrittenTensors& written) {
  Encoder encoder{state, written, {}, {}, {}, {}};
  // Bases are numbered in the order of the written arguments; read operands only meet those.
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!call.op->schema.args[i].type.is_write()) continue;
    ForEachTensor(call.args[i], [&](const Tensor& t) { encoder.NumberOf(state.bases.Of(t)); });
  }
  for (size_t i = 0; i < call.args.size(); ++i) {
    PAL_TRY(encoder.AddArgument(call.op->schema.args[i], call.args[i]));
  }
  ir::Argument::List all_bases;
  for (BaseId base : encoder.order) {
    PAL_TRY(ir::NodeId node, state.bases.Newest(base));
    all_bases.emplace_back(node);
  }
  std::vector<ir::NamedArgument> kwargs = std::move(encoder.plain);
  for (ir::NamedArgument& view : encoder.views) kwargs.push_back(std::move(view));
  kwargs.push_back({"_all_bases", ir::Argument(std::move(all_bases))});
  ir::NodeId node = state.emit.HigherOrder(
      ir::kAutoFunctionalizedV2, "auto_functionalized_v2",
      {ir::Argument(ir::OpRef{call.op->schema.Target(), call.op})}, std::move(kwargs));
  AddOperatorResults(state, call, node);
  int64_t first = static_cast<int64_t>(std::max<size_t>(1, call.op->schema.returns.size()));
  for (size_t b = 0; b < encoder.order.size(); ++b) {
    BaseId base = encoder.order[b];
    state.bases.SetNewest(base, state.emit.GetItem(node, first + static_cast<int64_t>(b), "getitem",
                                                   ir::TypeOf(state.bases.Layout(base))));
  }
  return {};
}

// What a written argument of version 1 gives: its copy, in the argument's own layout.
Status WriteV1(State& state, const Value& arg, ir::NodeId node) {
  if (arg.IsTensor()) {
    View view = arg.tensor().view();
    view.offset = 0;
    return state.bases.Write(arg.tensor(), node, view);
  }
  if (!arg.IsList()) return {};
  for (size_t i = 0; i < arg.list().size(); ++i) {
    const Value& element = arg.list()[i];
    if (!element.IsTensor()) continue;
    View view = element.tensor().view();
    view.offset = 0;
    ir::NodeId item =
        state.emit.GetItem(node, static_cast<int64_t>(i), "getitem", ir::TypeOf(view));
    PAL_TRY(state.bases.Write(element.tensor(), item, view));
  }
  return {};
}

ir::Type CopyType(const Value& arg) {
  if (!arg.IsTensor()) return ir::TypeOf(arg);
  return ir::TypeOf(arg.tensor().view());
}

Status CallV1(State& state, const Call& call) {
  std::vector<ir::NamedArgument> kwargs;
  for (size_t i = 0; i < call.args.size(); ++i) {
    PAL_TRY(ir::Argument arg, state.Read(call.args[i]));
    kwargs.push_back({call.op->schema.args[i].name, std::move(arg)});
  }
  ir::NodeId node = state.emit.HigherOrder(
      ir::kAutoFunctionalizedV1, "auto_functionalized",
      {ir::Argument(ir::OpRef{call.op->schema.Target(), call.op})}, std::move(kwargs));
  AddOperatorResults(state, call, node);
  int64_t next = static_cast<int64_t>(std::max<size_t>(1, call.op->schema.returns.size()));
  std::vector<ir::NodeId> values(call.args.size());
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!call.op->schema.args[i].type.is_write()) continue;
    if (!call.args[i].IsNone()) {
      values[i] = state.emit.GetItem(node, next, "getitem", CopyType(call.args[i]));
    }
    ++next;
  }
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (values[i].valid()) PAL_TRY(WriteV1(state, call.args[i], values[i]));
  }
  return {};
}

}  // namespace

Status State::CustomCall(const Call& call) {
  WrittenTensors written(call);
  if (options.version == FunctionalizeOptions::Version::kV2) return CallV2(*this, call, written);
  bool meet = written.MeetEachOther();
  for (size_t i = 0; i < call.args.size() && !meet; ++i) {
    if (!call.op->schema.args[i].type.is_write()) meet = written.MeetsAny(call.args[i]);
  }
  if (!meet) return CallV1(*this, call);
  remarks.Add(
      {"functionalize", "overlap", call.place,
       fmt::format("{}: operands share memory, which version 1 cannot say; version 2 is used",
                   call.op->schema.Key())});
  return CallV2(*this, call, written);
}

}  // namespace palimpsest::functionalize
