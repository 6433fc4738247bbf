#include "ir/auto_functionalized.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

namespace palimpsest::ir {
namespace {

// The keyword arguments of one node by name.
class Keys {
 public:
  explicit Keys(const Node& node) {
    for (const NamedArgument& k : node.kwargs) by_name_.emplace(k.name, &k.value);
  }
  const Argument* Find(std::string_view name) const {
    auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
  }
  size_t size() const { return by_name_.size(); }

 private:
  std::unordered_map<std::string_view, const Argument*> by_name_;
};

Result<const Argument*> Need(const Keys& keys, const std::string& name) {
  const Argument* found = keys.Find(name);
  if (found == nullptr) return BadInput(fmt::format("auto_functionalized_v2 lacks '{}'", name));
  return found;
}

Result<BaseView> DecodeView(const Keys& keys, const std::string& prefix, size_t num_bases) {
  BaseView view;
  PAL_TRY(const Argument* index, Need(keys, prefix + "_base_index"));
  if (index->IsNone()) return view;
  if (!index->Is<int64_t>() || index->As<int64_t>() < 0 ||
      index->As<int64_t>() >= static_cast<int64_t>(num_bases)) {
    return BadInput(
        fmt::format("'{}_base_index' is not the number of one of the {} bases", prefix, num_bases));
  }
  view.base = static_cast<int>(index->As<int64_t>());
  view.kind = BaseView::Kind::kBase;
  if (keys.Find(prefix + "_alias") != nullptr) {
    view.kind = BaseView::Kind::kAlias;
  } else if (const Argument* offset = keys.Find(prefix + "_storage_offset")) {
    view.kind = BaseView::Kind::kAsStrided;
    view.storage_offset = *offset;
    PAL_TRY(const Argument* size, Need(keys, prefix + "_size"));
    PAL_TRY(const Argument* stride, Need(keys, prefix + "_stride"));
    view.size = *size;
    view.stride = *stride;
    if (const Argument* dtype = keys.Find(prefix + "_dtype")) view.dtype = *dtype;
  } else if (const Argument* dim = keys.Find(prefix + "_slice_dim")) {
    view.kind = BaseView::Kind::kSlice;
    view.dim = *dim;
    PAL_TRY(const Argument* start, Need(keys, prefix + "_slice_start"));
    PAL_TRY(const Argument* end, Need(keys, prefix + "_slice_end"));
    view.start = *start;
    view.end = *end;
  }
  return view;
}

// A list argument: `_xs_length`, then the keys of each element.
Status DecodeList(const Keys& keys, const std::string& prefix, const Argument& length,
                  size_t num_bases, FunctionalizedCall::Operand* operand) {
  if (length.IsNone()) {
    operand->on_base = false;  // the whole list is None
    return {};
  }
  if (!length.Is<int64_t>() || length.As<int64_t>() < 0 ||
      length.As<int64_t>() > static_cast<int64_t>(keys.size())) {
    return BadInput(fmt::format("'{}_length' is not the length of a list", prefix));
  }
  operand->is_list = true;
  for (int64_t i = 0; i < length.As<int64_t>(); ++i) {
    std::string element = fmt::format("{}_{}", prefix, i);
    if (const Argument* plain = keys.Find(element)) {
      operand->views.emplace_back();
      operand->views.back().kind = BaseView::Kind::kPlain;
      operand->views.back().plain = *plain;
      continue;
    }
    PAL_TRY(BaseView view, DecodeView(keys, element, num_bases));
    operand->views.push_back(std::move(view));
  }
  return {};
}

// `_out_size`, `_out_stride`, `_out_dtype`: the operator writes new memory.
Result<BaseView> DecodeFresh(const Keys& keys, const std::string& prefix) {
  BaseView view;
  view.kind = BaseView::Kind::kFresh;
  PAL_TRY(const Argument* size, Need(keys, prefix + "_size"));
  PAL_TRY(const Argument* stride, Need(keys, prefix + "_stride"));
  PAL_TRY(const Argument* dtype, Need(keys, prefix + "_dtype"));
  view.size = *size;
  view.stride = *stride;
  view.dtype = *dtype;
  return view;
}

Status DecodePlain(const Keys& keys, const op::SchemaArg& arg,
                   FunctionalizedCall::Operand* operand) {
  if (const Argument* plain = keys.Find(arg.name)) {
    operand->plain = *plain;
  } else if (arg.default_value) {
    operand->plain = Argument::FromValue(*arg.default_value);
  } else {
    return BadInput(fmt::format("auto_functionalized lacks argument '{}'", arg.name));
  }
  return {};
}

Status DecodeV2(const Keys& keys, FunctionalizedCall* call) {
  if (const Argument* bases = keys.Find("_all_bases")) {
    if (!bases->IsList()) return BadInput("'_all_bases' is not a list");
    call->bases = bases->list();
  }
  for (const Argument& base : call->bases) {
    if (!base.IsNode()) return BadInput("'_all_bases' holds something that is not a tensor");
  }
  for (const op::SchemaArg& arg : call->op->schema.args) {
    FunctionalizedCall::Operand operand;
    std::string prefix = "_" + arg.name;
    operand.on_base = true;
    if (const Argument* length = keys.Find(prefix + "_length")) {
      PAL_TRY(DecodeList(keys, prefix, *length, call->bases.size(), &operand));
    } else if (keys.Find(prefix + "_base_index") != nullptr) {
      PAL_TRY(BaseView view, DecodeView(keys, prefix, call->bases.size()));
      operand.views.push_back(std::move(view));
    } else if (arg.type.is_write() && keys.Find(prefix + "_stride") != nullptr) {
      PAL_TRY(BaseView view, DecodeFresh(keys, prefix));
      operand.views.push_back(std::move(view));
      call->bare_result = true;
    } else {
      operand.on_base = false;
      PAL_TRY(DecodePlain(keys, arg, &operand));
    }
    call->operands.push_back(std::move(operand));
  }
  call->bare_result =
      call->bare_result && call->bases.empty() && call->op->schema.returns.size() == 1;
  for (size_t i = 0; i < call->bases.size(); ++i) {
    call->new_values.push_back({false, {static_cast<int>(i)}});
  }
  return {};
}

int AddBase(const Argument& tensor, FunctionalizedCall* call) {
  call->bases.push_back(tensor);
  return static_cast<int>(call->bases.size()) - 1;
}

Status DecodeV1(const Keys& keys, FunctionalizedCall* call) {
  for (const op::SchemaArg& arg : call->op->schema.args) {
    FunctionalizedCall::Operand operand;
    PAL_TRY(DecodePlain(keys, arg, &operand));
    if (arg.type.is_write()) {
      FunctionalizedCall::NewValue value;
      operand.on_base = !operand.plain.IsNone();
      operand.is_list = value.is_list = operand.plain.IsList();
      Argument::List one = {operand.plain};
      for (const Argument& tensor : operand.is_list ? operand.plain.list() : one) {
        BaseView view;
        if (tensor.IsNode()) {
          view.kind = BaseView::Kind::kBase;
          view.base = AddBase(tensor, call);
        } else if (!tensor.IsNone()) {
          return BadInput(fmt::format("written argument '{}' is not a tensor", arg.name));
        }
        if (view.base >= 0 || operand.is_list) value.bases.push_back(view.base);
        operand.views.push_back(std::move(view));
      }
      call->new_values.push_back(std::move(value));
    }
    call->operands.push_back(std::move(operand));
  }
  return {};
}

}  // namespace

size_t FunctionalizedCall::num_op_results() const {
  return std::max<size_t>(1, op->schema.returns.size());
}

int AutoFunctionalizedVersion(const Node& node) {
  if (node.kind != Node::Kind::kCall || node.op != nullptr) return 0;
  std::string_view target = node.target;
  if (target.ends_with(".auto_functionalized_v2")) return 2;
  if (target.ends_with(".auto_functionalized")) return 1;
  return 0;
}

Result<FunctionalizedCall> DecodeFunctionalized(const Graph& graph, const Node& node) {
  FunctionalizedCall call;
  call.version = AutoFunctionalizedVersion(node);
  if (node.args.empty() || !node.args[0].Is<OpRef>()) {
    return BadInput("auto_functionalized names no operator");
  }
  const OpRef& ref = node.args[0].As<OpRef>();
  call.op = ref.op;
  if (call.op == nullptr && graph.table() != nullptr) {
    call.op = graph.table()->FindTarget(ref.target);
  }
  if (call.op == nullptr) {
    Error error = BadInput(fmt::format(
        "operator '{}' is unknown: register it, or load the library that has it with --ops",
        ref.target));
    error.kind = ErrorKind::kUnknownOperator;
    return error;
  }
  Keys keys(node);
  Status decoded = call.version == 1 ? DecodeV1(keys, &call) : DecodeV2(keys, &call);
  if (!decoded.ok()) return decoded.error();
  return call;
}

void EncodeBaseView(const std::string& prefix, const BaseView& view,
                    std::vector<NamedArgument>* kwargs) {
  auto add = [&](const char* key, Argument value) {
    kwargs->push_back({prefix + key, std::move(value)});
  };
  if (view.kind == BaseView::Kind::kPlain) {
    add("", view.plain);
    return;
  }
  add("_base_index",
      view.kind == BaseView::Kind::kNone ? Argument() : Argument(static_cast<int64_t>(view.base)));
  switch (view.kind) {
    case BaseView::Kind::kNone:
    case BaseView::Kind::kBase:
    case BaseView::Kind::kPlain:
      break;
    case BaseView::Kind::kAlias:
      add("_alias", true);
      break;
    case BaseView::Kind::kSlice:
      add("_slice_dim", view.dim);
      add("_slice_start", view.start);
      add("_slice_end", view.end);
      break;
    case BaseView::Kind::kAsStrided:
    case BaseView::Kind::kFresh:
      add("_size", view.size);
      add("_stride", view.stride);
      if (view.kind == BaseView::Kind::kAsStrided) add("_storage_offset", view.storage_offset);
      if (!view.dtype.IsNone()) add("_dtype", view.dtype);
      break;
  }
}

}  // namespace palimpsest::ir
