#include "kernels/builtin_row.h"

#include <fmt/format.h>

#include "base/check.h"
#include "palimpsest/iterator.h"

namespace palimpsest::kernels {
namespace {

// Point-wise operators take a number for a tensor; the operators of these tables do not.
Status RefuseNumbers(const op::Op& op, std::span<const Value> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const op::SchemaArg& arg = op.schema.args[i];
    if (!arg.type.IsTensorLike()) continue;
    bool number = args[i].IsNumber();
    for (size_t k = 0; args[i].IsList() && k < args[i].list().size(); ++k) {
      number = number || args[i].list()[k].IsNumber();
    }
    if (number) {
      return BadInput(
          fmt::format("{}: argument '{}' is a number, not a tensor", op.schema.Key(), arg.name));
    }
  }
  return {};
}

op::MetaFn WithoutNumbers(op::MetaFn meta) {
  return [meta = std::move(meta)](op::MetaCall& call) -> Status {
    PAL_TRY(RefuseNumbers(call.op, call.args));
    return meta(call);
  };
}

}  // namespace

Status RegisterBuiltinRows(op::OpTable& table, std::vector<BuiltinRow> rows) {
  for (BuiltinRow& row : rows) {
    op::Op op;
    PAL_TRY(op.schema, op::ParseSchema(row.schema));
    op.traits = row.traits;
    op.kernel = std::move(row.kernel);
    op.functional = std::move(row.functional);
    op.expansion = std::move(row.expansion);
    if (row.meta) op.meta = WithoutNumbers(std::move(row.meta));
    PAL_TRY(table.Register(std::move(op)));
  }
  return {};
}

Status RefuseSharedMemory(const Tensor& self, const Tensor& other) {
  if (self.storage != other.storage || self.numel() == 0 || other.numel() == 0) return {};
  bool same_object = self.object != 0 && self.object == other.object;
  if (!same_object && (!IsDense(self) || !IsDense(other))) return {};
  auto begin = [](const Tensor& t) { return t.offset * t.item_size(); };
  auto end = [&](const Tensor& t) { return begin(t) + t.numel() * t.item_size(); };
  if (!same_object && (begin(self) >= end(other) || begin(other) >= end(self))) return {};
  return Refused("partial_overlap",
                 "unsupported operation: some elements of the input tensor and the written-to "
                 "tensor refer to a single memory location. Please clone() the tensor before "
                 "performing the operation.");
}

namespace {

Status CheckUpdated(const op::MetaCall& call, SelfOverlap overlap) {
  const Tensor& self = call.args[0].tensor();
  Status whole = CheckInternalOverlap(self);
  if (whole.ok() || overlap == SelfOverlap::kRefused) return whole;
  return Unsupported(fmt::format("{}: an update of an expanded tensor ({})", call.op.schema.Key(),
                                 ToString(self.view())));
}

Status CheckOperands(const op::MetaCall& call) {
  Status status;
  for (const Value& value : call.args.subspan(1)) {
    ForEachTensor(value, [&](const Tensor& other) {
      if (status.ok()) status = RefuseSharedMemory(call.args[0].tensor(), other);
    });
  }
  return status;
}

// "aten::index_put(Tensor self, ...) -> Tensor" -> "aten::index_put_(Tensor(a!) self, ...) ->
// Tensor(a!)".
std::string InPlaceSchema(const std::string& schema) {
  constexpr std::string_view kSelf = "(Tensor self";
  size_t paren = schema.find(kSelf), name_end = schema.find_first_of(".(");
  size_t arrow = schema.rfind(" -> ");
  PAL_CHECK(paren != std::string::npos && arrow != std::string::npos, "{}", schema);
  return schema.substr(0, name_end) + "_" + schema.substr(name_end, paren - name_end) +
         "(Tensor(a!) self" + schema.substr(paren + kSelf.size(), arrow - paren - kSelf.size()) +
         " -> Tensor(a!)";
}

}  // namespace

BuiltinRow InPlaceForm(const BuiltinRow& row, SelfOverlap overlap) {
  BuiltinRow form;
  form.schema = InPlaceSchema(row.schema);
  form.functional = row.schema.substr(0, row.schema.find('('));
  form.traits = row.traits;
  form.traits.tied = -1;
  form.meta = [meta = row.meta, overlap](op::MetaCall& call) -> Status {
    PAL_TRY(CheckUpdated(call, overlap));
    PAL_TRY(meta(call));
    PAL_TRY(CheckOperands(call));
    const Tensor& self = call.args[0].tensor();
    View result = std::move(call.results[0].view);
    call.results.clear();
    if (result.sizes != self.sizes || result.dtype != self.dtype) {
      return Refused(
          "output_shape_mismatch",
          fmt::format("{}: the result does not fit self, which is written", call.op.schema.Key()));
    }
    call.results.push_back(op::ResultSpec::Same(0));
    return {};
  };
  return form;
}

const Value& Argument(const op::Op& op, std::span<const Value> args, std::string_view name) {
  int i = op.schema.FindArg(name);
  PAL_CHECK(i >= 0, "{} has no argument '{}'", op.schema.Key(), name);
  return args[static_cast<size_t>(i)];
}

DType TypeAsked(const op::Op& op, std::span<const Value> args, DType otherwise) {
  return Argument(op, args, "dtype").ToOptionalDType().value_or(otherwise);
}

Status CheckSizes(std::span<const int64_t> sizes) {
  for (int64_t size : sizes) {
    if (size >= 0) continue;
    return Refused("negative_size",
                   fmt::format("Trying to create tensor with negative dimension {}: {}", size,
                               ToString(sizes)));
  }
  PAL_TRY(CheckedNumel(sizes));
  return {};
}

}  // namespace palimpsest::kernels
