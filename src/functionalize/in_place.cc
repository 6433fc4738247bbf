// Built-in operators that write one argument: the functional twin computes the new elements of the
// written view, and these become part of a new version of the base.
#include <fmt/format.h>

#include <algorithm>

#include "core/overlap.h"
#include "functionalize/state.h"

namespace palimpsest::functionalize {
namespace {

ir::Argument Ints(std::span<const int64_t> values) { return ir::Argument::Ints(values); }

// The elements of a view that overlaps itself, each once, as far as a view can say that: dims whose
// steps fall into the run that the smaller ones make are one longer run. Every order of writing
// gives the same for fill_ and zero_, which are all that may write such views.
//
//   [3, 5][1, 0] -> [3][1]       [3, 3][2, 1] -> [7][1]: elements 0 1 2, 2 3 4, 4 5 6
Tensor EachElementOnce(const Tensor& t) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size; stride ascending
  for (size_t d = 0; d < t.dim(); ++d) {
    if (t.strides[d] != 0 && t.sizes[d] > 1) dims.emplace_back(t.strides[d], t.sizes[d]);
  }
  std::sort(dims.begin(), dims.end());
  Tensor once = t;
  once.sizes.clear();
  once.strides.clear();
  for (auto [stride, size] : dims) {
    if (!once.sizes.empty() && stride % once.strides.back() == 0 &&
        stride <= once.sizes.back() * once.strides.back()) {
      once.sizes.back() += (size - 1) * (stride / once.strides.back());
    } else {
      once.sizes.push_back(size);
      once.strides.push_back(stride);
    }
  }
  return OverlapsItself(once.view()) ? t : once;
}

// The twin's arguments: the in-place operator's, by name.
Result<std::vector<Value>> TwinArguments(const op::Op& twin, const Call& call) {
  std::vector<Value> args;
  for (size_t i = 0; i < twin.schema.args.size(); ++i) {
    const op::SchemaArg& arg = twin.schema.args[i];
    int from = call.op->schema.FindArg(arg.name);
    if (from >= 0) {
      args.push_back(call.args[static_cast<size_t>(from)]);
    } else if (arg.default_value) {
      args.push_back(*arg.default_value);
    } else {
      return InternalError(fmt::format("{} has no argument '{}' for {}", call.op->schema.Key(),
                                       arg.name, twin.schema.Key()));
    }
  }
  return args;
}

// What a written view gets: a node, and its layout.
struct NewElements {
  ir::NodeId node;
  View view;
};

Result<NewElements> Cast(State& state, NewElements value, DType dtype) {
  if (value.view.dtype == dtype) return value;
  View view = value.view;
  view.dtype = dtype;
  view.strides = PreserveStrides(value.view);
  view.offset = 0;
  PAL_TRY(const op::Op* op, state.emit.Find("aten::_to_copy"));
  std::vector<ir::Argument> args(op->schema.args.size());
  for (size_t i = 1; i < args.size(); ++i) {
    const std::optional<Value>& standard = op->schema.args[i].default_value;
    if (standard) args[i] = ir::Argument::FromValue(*standard);
  }
  args[0] = value.node;
  args[static_cast<size_t>(op->schema.FindArg("dtype"))] = dtype;
  return NewElements{state.emit.Call(*op, "_to_copy", std::move(args), ir::TypeOf(view)), view};
}

// copy_: the source itself, expanded and converted, is what is written.
Result<NewElements> CopiedElements(State& state, const Tensor& source, const View& destination) {
  PAL_TRY(ir::NodeId node, state.bases.Read(source));
  NewElements value{node, source.view()};
  if (source.sizes != destination.sizes) {
    View view = source.view();
    size_t lead = destination.dim() - source.dim();
    view.sizes = destination.sizes;
    view.strides = Dims(destination.dim(), 0);
    for (size_t d = 0; d < source.dim(); ++d) {
      bool repeats = source.sizes[d] == 1 && destination.sizes[lead + d] != 1;
      view.strides[lead + d] = repeats ? 0 : source.strides[d];
    }
    // expand gives new leading dims of size 1 the stride of a contiguous tensor.
    for (size_t d = lead; d-- > 0;) {
      if (view.sizes[d] == 1) {
        view.strides[d] = d + 1 < view.dim() ? view.sizes[d + 1] * view.strides[d + 1] : 1;
      }
    }
    PAL_TRY(value.node, state.emit.Call("aten::expand", {node, Ints(destination.sizes)}, view));
    value.view = view;
  }
  return Cast(state, value, destination.dtype);
}

// A built-in that reads memory that it writes gives the same in every order of its loop only if it
// reads element i before it writes element i. Eager PyTorch refuses the rest where its own test
// sees the overlap (dense operands); what it does not see hangs on the order of its loop, and is
// refused here for the same reason.
Status RefuseOrderDependence(const Call& call, const op::Op& twin, size_t written) {
  const Tensor& self = call.args[written].tensor();
  bool by_element = twin.traits.pointwise || twin.traits.copy;
  Status status;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (i == written) continue;
    ForEachTensor(call.args[i], [&](const Tensor& read) {
      if (!status.ok() || read.storage != self.storage || !MayOverlap(self, read)) return;
      if (by_element && SameElements(self.view(), read.view())) return;
      status =
          Refused("partial_overlap",
                  fmt::format("{}: operand '{}' shares memory with the tensor that is written, "
                              "so the result hangs on the order of the loop; clone() it first",
                              call.op->schema.Key(), call.op->schema.args[i].name));
    });
  }
  return status;
}

// "add_", "add__1" -> "add", "add_1"; names of the user's own stay.
std::string TwinName(const Call& call) {
  std::string name = call.node->name;
  const std::string& op = call.op->schema.name;
  if (op.ends_with("_") && name.starts_with(op)) name.erase(op.size() - 1, 1);
  return name;
}

}  // namespace

Status State::InPlace(const Call& call, size_t written) {
  PAL_TRY(const op::Op* twin, emit.Find(call.op->functional));
  PAL_TRY(RefuseOrderDependence(call, *twin, written));
  Tensor self = call.args[written].tensor();
  bool is_copy = twin->traits.copy && twin->traits.copy_source != static_cast<int>(written);
  PAL_TRY(std::vector<Value> args, TwinArguments(*twin, call));
  int self_arg = twin->schema.FindArg(call.op->schema.args[written].name);

  if (is_copy) {
    const Value& source = args[static_cast<size_t>(twin->traits.copy_source)];
    BaseId base = bases.Of(self);
    if (source.IsTensor() && !(self.view() == bases.Layout(base))) {
      PAL_TRY(NewElements value, CopiedElements(*this, source.tensor(), self.view()));
      return bases.Write(self, value.node, value.view);
    }
  } else if (OverlapsItself(self.view())) {
    self = EachElementOnce(self);
    if (self_arg >= 0) args[static_cast<size_t>(self_arg)] = Value(self);
  }

  op::MetaCall meta{*twin, args, {}, {}, {}};
  PAL_TRY(twin->meta(meta));
  if (meta.results.empty() || meta.results[0].kind != op::ResultSpec::Kind::kFresh) {
    return Unsupported(
        fmt::format("{} has no functional form that computes its result", call.op->schema.Key()));
  }
  View view = meta.results[0].view;
  if (view.sizes != self.sizes) {
    return InternalError(fmt::format("{} computes {} for a destination {}", twin->schema.Key(),
                                     ToString(view), ToString(self.view())));
  }
  PAL_TRY(std::vector<ir::Argument> functional_args, ReadAll(args));
  ir::NodeId node = emit.Call(*twin, TwinName(call), std::move(functional_args), ir::TypeOf(view));
  PAL_TRY(NewElements value, Cast(*this, {node, view}, self.dtype));
  return bases.Write(self, value.node, value.view);
}

}  // namespace palimpsest::functionalize
