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

BuiltinRow InPlaceForm(const BuiltinRow& row) {
  constexpr std::string_view kSelf = "(Tensor self";
  BuiltinRow form;
  size_t paren = row.schema.find(kSelf), name_end = row.schema.find_first_of(".(");
  size_t arrow = row.schema.rfind(" -> ");
  PAL_CHECK(paren != std::string::npos && arrow != std::string::npos, "{}", row.schema);
  form.schema = row.schema.substr(0, name_end) + "_" +
                row.schema.substr(name_end, paren - name_end) + "(Tensor(a!) self" +
                row.schema.substr(paren + kSelf.size(), arrow - paren - kSelf.size()) +
                " -> Tensor(a!)";
  form.functional = row.schema.substr(0, paren);
  form.traits = row.traits;
  form.traits.tied = -1;
  form.meta = [meta = row.meta](op::MetaCall& call) -> Status {
    PAL_TRY(CheckInternalOverlap(call.args[0].tensor()));
    PAL_TRY(meta(call));
    const Tensor& self = call.args[0].tensor();
    View result = std::move(call.results[0].view);
    if (result.sizes != self.sizes || result.dtype != self.dtype) {
      return Refused(
          "output_shape_mismatch",
          fmt::format("{}: the result does not fit self, which is written", call.op.schema.Key()));
    }
    call.results.clear();
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
