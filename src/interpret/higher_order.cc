// Calls without a schema: auto_functionalized(_v2). Those with regions are in regions.cc.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "interpret/walker.h"

namespace palimpsest::interpret {
namespace {

Result<int64_t> Integer(const Value& value, const char* what) {
  if (!value.Is<int64_t>()) return BadInput(fmt::format("{} is not an integer", what));
  return value.As<int64_t>();
}

Result<Dims> Integers(const Value& value, const char* what) {
  if (!value.IsList()) return BadInput(fmt::format("{} is not a list of integers", what));
  Dims dims;
  for (const Value& v : value.list()) {
    PAL_TRY(int64_t n, Integer(v, what));
    dims.push_back(n);
  }
  return dims;
}

// start:end of one dim, clamped as aten::slice clamps.
Result<View> SliceView(const View& base, int64_t dim, int64_t start, int64_t end) {
  int64_t rank = static_cast<int64_t>(base.dim());
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= rank) {
    return Refused("dim_out_of_range", fmt::format("slice of dim {} of {}", dim, ToString(base)));
  }
  size_t d = static_cast<size_t>(dim);
  int64_t size = base.sizes[d];
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<int64_t>(start, 0, size);
  end = std::clamp<int64_t>(end, start, size);
  View view = base;
  view.sizes[d] = end - start;
  view.offset += start * base.strides[d];
  return view;
}

Status CheckInside(const View& view, const Tensor& base) {
  PAL_TRY(int64_t bytes, RequiredBytes(view));
  if (bytes <= base.storage->bytes()) return {};
  return Refused("out_of_storage",
                 fmt::format("a view {} with offset {} reaches beyond its base {}", ToString(view),
                             view.offset, ToString(base.view())));
}

}  // namespace

Result<Value> Walker::ViewOfBase(const ir::BaseView& view, const Tensor& copy) {
  using Kind = ir::BaseView::Kind;
  Tensor result = copy;
  if (view.kind == Kind::kBase) return Value(std::move(result));
  result.object = 0;
  if (view.kind == Kind::kAlias) return Value(std::move(result));
  if (view.kind == Kind::kSlice) {
    PAL_TRY(int64_t dim, Integer(Resolve(view.dim), "slice_dim"));
    PAL_TRY(int64_t start, Integer(Resolve(view.start), "slice_start"));
    PAL_TRY(int64_t end, Integer(Resolve(view.end), "slice_end"));
    PAL_TRY(static_cast<View&>(result), SliceView(copy, dim, start, end));
    return Value(std::move(result));
  }
  PAL_TRY(result.sizes, Integers(Resolve(view.size), "size"));
  PAL_TRY(result.strides, Integers(Resolve(view.stride), "stride"));
  PAL_TRY(result.offset, Integer(Resolve(view.storage_offset), "storage_offset"));
  if (result.sizes.size() != result.strides.size()) {
    return BadInput("size and stride of a view differ in length");
  }
  if (view.dtype.Is<DType>()) result.dtype = view.dtype.As<DType>();
  PAL_TRY(CheckInside(result, copy));
  return Value(std::move(result));
}

Result<Value> Walker::FreshOut(const ir::BaseView& view) {
  View v;
  PAL_TRY(v.sizes, Integers(Resolve(view.size), "size"));
  PAL_TRY(v.strides, Integers(Resolve(view.stride), "stride"));
  if (v.sizes.size() != v.strides.size()) {
    return BadInput("size and stride of an output differ in length");
  }
  if (!view.dtype.Is<DType>()) return BadInput("the dtype of an output is no dtype");
  v.dtype = view.dtype.As<DType>();
  PAL_TRY(Tensor fresh, NewTensor(v, *shared_));
  return Value(std::move(fresh));
}

Result<Value> Walker::RunFunctionalized(size_t i) {
  PAL_TRY(ir::FunctionalizedCall call, ir::DecodeFunctionalized(graph_, graph_.nodes[i]));
  InnerCall inner;
  inner.op = call.op;
  for (const ir::Argument& base : call.bases) {
    Value value = Resolve(base);
    if (!value.IsTensor()) return BadInput("a written argument is no tensor");
    PAL_TRY(Tensor copy, CopyWithStrides(value.tensor(), *shared_));
    copy.object = shared_->next_object++;
    inner.bases.push_back(std::move(copy));
  }
  for (const ir::FunctionalizedCall::Operand& operand : call.operands) {
    if (!operand.on_base) {
      inner.args.push_back(Resolve(operand.plain));
      continue;
    }
    Value::List views;
    for (const ir::BaseView& view : operand.views) {
      Value element;
      if (view.kind == ir::BaseView::Kind::kPlain) {
        element = Resolve(view.plain);
      } else if (view.kind == ir::BaseView::Kind::kFresh) {
        PAL_TRY(element, FreshOut(view));
      } else if (view.kind != ir::BaseView::Kind::kNone) {
        PAL_TRY(element, ViewOfBase(view, inner.bases[static_cast<size_t>(view.base)]));
      }
      GiveObjects(element);
      views.push_back(std::move(element));
    }
    inner.args.push_back(operand.is_list ? Value(std::move(views)) : std::move(views[0]));
  }
  Result<op::CallResult> called = Call(*call.op, inner.args, nullptr, *shared_);
  if (!called.ok()) {
    called.error().message = fmt::format("{}: {}", call.op->schema.Key(), called.error().message);
    return called.error();
  }
  inner.returns = std::move(called->returns);
  Value::List results = inner.returns;
  if (results.empty()) results.emplace_back();
  for (Value& v : results) GiveObjects(v);
  for (const ir::FunctionalizedCall::NewValue& value : call.new_values) {
    Value::List tensors;
    for (int b : value.bases) {
      tensors.push_back(b < 0 ? Value() : Value(inner.bases[static_cast<size_t>(b)]));
    }
    if (value.is_list) {
      results.emplace_back(std::move(tensors));
    } else {
      results.push_back(tensors.empty() ? Value() : std::move(tensors[0]));
    }
  }
  trace_.inner_calls[ir::NodeId(static_cast<int64_t>(i))] = std::move(inner);
  return call.bare_result ? std::move(results[0]) : Value(std::move(results));
}

Result<Value> Walker::RunHigherOrder(size_t i) {
  const ir::Node& node = graph_.nodes[i];
  for (const ir::NamedArgument& a : node.kwargs) trace_.args[i].push_back(Resolve(a.value));
  if (ir::AutoFunctionalizedVersion(node) != 0) return RunFunctionalized(i);
  std::string_view target = node.target;
  constexpr std::string_view kPrefix = "torch.ops.higher_order.";
  if (!target.starts_with(kPrefix)) {
    Error error = BadInput(
        "the operator is unknown: register it, or load the library that has it with --ops");
    error.kind = ErrorKind::kUnknownOperator;
    return error;
  }
  return RunRegions(i);
}

}  // namespace palimpsest::interpret
