#include "kernels/pointwise_row.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "base/check.h"
#include "core/promotion.h"

namespace palimpsest::kernels {
namespace {

enum class Form : uint8_t { kFunctional, kInPlace, kOut };

IteratorConfig ConfigOf(Rule rule, const Tensor* output) {
  switch (rule) {
    case Rule::kBinary:
      return IteratorConfig::Binary();
    case Rule::kBinaryFloat:
      return IteratorConfig::BinaryFloat();
    case Rule::kUnary:
      return IteratorConfig::Unary();
    case Rule::kUnaryFloat:
      return IteratorConfig::UnaryFloat();
    case Rule::kLogicalNot:
      return IteratorConfig::LogicalNot();
    case Rule::kComparison:
      return IteratorConfig::Comparison(output != nullptr ? std::optional(output->dtype)
                                                          : std::nullopt);
    case Rule::kLerp:
      return IteratorConfig::Lerp();
    case Rule::kWhere:
      return IteratorConfig::Where();
  }
  return IteratorConfig::Binary();
}

// One call of a row's operator, its arguments sorted by role.
class RowCall {
 public:
  RowCall(const PointwiseRow& row, Form form, std::span<const Value> args)
      : row_(row),
        args_(args),
        rule_(row.choose_rule != nullptr ? row.choose_rule(args) : row.rule),
        id_(row.choose != nullptr ? row.choose(args) : row.loops),
        loops_(&FindLoops(id_)) {
    if (form == Form::kOut) output_ = &args.back().tensor();
    if (form == Form::kInPlace) output_ = &args[0].tensor();
    config_ = ConfigOf(rule_, output_);
    for (size_t i = 0; row.roles[i] != '\0'; ++i) Sort(row.roles[i], args[i]);
    config_.check_overlap = row.checks_overlap;
    if (row.type_only_int) config_.AddTypeOnly(Scalar::Int(0));
    if (row.swapped) std::swap(inputs_[0], inputs_[1]);
    in_place_ = form == Form::kInPlace;
  }

  // Everything that eager PyTorch checks, and the layout of the result.
  Result<Iteration> Plan();
  // At run time the operands may lie elsewhere than in the program: overlap was checked there.
  void IgnoreOverlap() { config_.check_overlap = false; }
  // The type that the loops compute in.
  Result<DType> Common();
  LoopId loops() const { return id_; }
  std::span<const PointwiseInput> inputs() const { return {inputs_.data(), num_inputs_}; }
  SmallVector<Scalar, 4> Params(DType common) const;

 private:
  void Sort(char role, const Value& value) {
    if (role == 'n' && !value.IsNone()) config_.AddTypeOnly(value.ToScalar());
    if (role == 'n' || role == 'p') params_[num_params_++] = &value;
    if (role != 'o' || value.IsNone()) return;
    PAL_CHECK(num_inputs_ < inputs_.size(), "too many operands");
    PointwiseInput& input = inputs_[num_inputs_++];
    if (value.IsTensor()) {
      input.tensor = &value.tensor();
    } else {
      input.number = value.ToScalar();
    }
  }
  void AddOperands();
  void AddConvertedOperands(DType common);
  Status CheckKind(DType common) const;

  const PointwiseRow& row_;
  std::span<const Value> args_;
  Rule rule_;
  LoopId id_;
  const LoopTable* loops_;
  const Tensor* output_ = nullptr;
  bool in_place_ = false;
  IteratorConfig config_;
  std::array<PointwiseInput, 3> inputs_;
  std::array<View, 3> converted_;
  size_t num_inputs_ = 0;
  std::array<const Value*, 4> params_;
  size_t num_params_ = 0;
};

void RowCall::AddOperands() {
  if (output_ == nullptr) {
    config_.AddOutput();
  } else {
    config_.AddOutput(*output_, in_place_ ? 0 : -1);
  }
  for (const PointwiseInput& input : inputs()) {
    if (input.tensor != nullptr) {
      config_.AddInput(*input.tensor);
    } else {
      config_.AddInput(input.number);
    }
  }
}

// `where` converts its values itself; the condition stays as it is.
void RowCall::AddConvertedOperands(DType common) {
  config_.new_output_dtype = common;
  if (output_ == nullptr) {
    config_.AddOutput();
  } else {
    config_.AddOutput(*output_);
  }
  for (size_t i = 0; i < num_inputs_; ++i) {
    const Tensor* tensor = inputs_[i].tensor;
    if (tensor != nullptr && (i == 0 || tensor->dtype == common)) {
      config_.AddInput(*tensor);
    } else if (tensor != nullptr) {
      converted_[i] = {common, tensor->sizes, PreserveStrides(*tensor), 0};
      config_.AddInput(converted_[i]);
    } else {
      config_.AddInput(inputs_[i].number);
    }
  }
}

Result<DType> RowCall::Common() {
  if (rule_ == Rule::kWhere) {
    TypePromotion promotion;
    for (const PointwiseInput& input : inputs().subspan(1)) {
      if (input.tensor != nullptr) {
        promotion.AddTensor(*input.tensor);
      } else {
        promotion.AddNumber(input.number.category);
      }
    }
    return promotion.Get();
  }
  if (config_.operands.empty()) AddOperands();
  return CommonType(config_);
}

Status RowCall::CheckKind(DType common) const {
  if (loops_->Find(common) != nullptr) return {};
  std::string_view name = row_.schema;
  name = name.substr(0, name.find('('));
  if (IsComplex(common) && !row_.refuses_complex) {
    return Unsupported(fmt::format("{} of {} has no kernel yet", name, DTypeName(common)));
  }
  return Refused("unsupported_dtype",
                 fmt::format("{} is not implemented for {}", name, TorchName(common)));
}

Result<Iteration> RowCall::Plan() {
  if (row_.before != nullptr) PAL_TRY(row_.before(args_));
  DType common = DType::kF32;
  if (rule_ == Rule::kWhere) {
    PAL_TRY(common, Common());
    if (output_ != nullptr && output_->dtype != common) {
      return Refused("dtype_mismatch", fmt::format("Expected out type to be {} but got {}",
                                                   DTypeName(common), DTypeName(output_->dtype)));
    }
    AddConvertedOperands(common);
  } else {
    AddOperands();
    if (loops_->result == LoopTable::ResultType::kReal && inputs_[0].tensor != nullptr &&
        IsComplex(inputs_[0].tensor->dtype)) {
      config_.same_dtype = false;
      config_.new_output_dtype = RealType(inputs_[0].tensor->dtype);
    }
  }
  PAL_TRY(Iteration iteration, Iteration::Build(config_));
  if (rule_ != Rule::kWhere) common = iteration.common_dtype();
  if (row_.out_keeps_type && output_ != nullptr && output_->dtype != common) {
    return Refused("dtype_mismatch", fmt::format("Found dtype {} but expected {}",
                                                 DTypeName(output_->dtype), DTypeName(common)));
  }
  PAL_TRY(CheckKind(common));
  if (row_.after != nullptr) PAL_TRY(row_.after(args_, common));
  return iteration;
}

SmallVector<Scalar, 4> RowCall::Params(DType common) const {
  SmallVector<Scalar, 4> numbers;
  for (size_t i = 0; i < num_params_; ++i) {
    const Value& value = *params_[i];
    if (value.IsNumber()) {
      numbers.push_back(value.ToScalar());
    } else if (row_.absent != nullptr) {
      numbers.push_back(row_.absent(static_cast<int>(i), common));
    }
  }
  return numbers;
}

// The out= tensor as the call leaves it.
View ResizedView(const PointwiseRow& row, const Iteration& iteration) {
  View view = iteration.output(0);
  bool own_layout = row.new_layout == NewLayout::kContiguous && iteration.is_resized(0);
  if (own_layout) view.strides = ContiguousStrides(view.sizes);
  return view;
}

Status Meta(const PointwiseRow& row, Form form, op::MetaCall& call) {
  RowCall row_call(row, form, call.args);
  PAL_TRY(Iteration iteration, row_call.Plan());
  if (form == Form::kFunctional) {
    View view = iteration.output(0);
    if (row.new_layout == NewLayout::kContiguous) view.strides = ContiguousStrides(view.sizes);
    if (row.new_layout == NewLayout::kPreserve)
      view.strides = PreserveStrides(call.args[0].tensor());
    if (row.strides != nullptr) {
      PAL_TRY(view.strides, row.strides(call.args[0].tensor()));
    }
    call.results.push_back(op::ResultSpec::Fresh(std::move(view)));
    return {};
  }
  int written = form == Form::kInPlace ? 0 : static_cast<int>(call.args.size()) - 1;
  call.results.push_back(op::ResultSpec::Same(written));
  if (!iteration.is_resized(0)) return {};
  return ResizeOutput(call, written, ResizedView(row, iteration));
}

Status Kernel(const PointwiseRow& row, Form form, op::KernelCall& call) {
  RowCall row_call(row, form, call.args);
  Tensor out;
  if (form == Form::kFunctional) {
    out = call.results[0];
  } else if (form == Form::kInPlace) {
    out = call.args[0].tensor();
  } else {
    RowCall plan(row, form, call.args);
    plan.IgnoreOverlap();
    PAL_TRY(Iteration iteration, plan.Plan());
    PAL_TRY(out, GrownOutput(call.args.back().tensor(), ResizedView(row, iteration)));
  }
  if (out.numel() == 0) return {};
  PAL_TRY(DType common, row_call.Common());
  return RunPointwise(row_call.loops(), common, out, row_call.inputs(), row_call.Params(common));
}

// "aten::add.Tensor(Tensor self, ..., *, Scalar alpha=1) -> Tensor" -> the schema of another form.
std::string FormSchema(const PointwiseRow& row, Form form) {
  std::string text = row.schema;
  if (form == Form::kFunctional) return text;
  size_t paren = text.find('('), arrow = text.rfind(") -> ");
  size_t colons = text.find("::"), dot = text.find('.', colons);
  std::string name = text.substr(0, std::min(dot, paren));
  std::string overload = dot < paren ? text.substr(dot, paren - dot) : "";
  std::string args = text.substr(paren + 1, arrow - paren - 1);
  if (form == Form::kInPlace) {
    PAL_CHECK(args.starts_with("Tensor "), "an in-place form of {}", text);
    std::string in_place = row.in_place;
    name = in_place.empty() ? name + "_" : "aten::" + in_place;
    if (in_place.find('.') != std::string::npos) overload.clear();
    return fmt::format("{}{}(Tensor(a!){}) -> Tensor(a!)", name, overload, args.substr(6));
  }
  bool has_keywords = args.find("*, ") != std::string::npos;
  return fmt::format("{}.{}({}, {}Tensor(a!) out) -> Tensor(a!)", name, row.out, args,
                     has_keywords ? "" : "*, ");
}

Status RegisterForm(op::OpTable& table, const PointwiseRow& row, Form form,
                    const std::string& functional) {
  op::Op op;
  PAL_TRY(op.schema, op::ParseSchema(FormSchema(row, form)));
  op.traits.pointwise = true;
  op.traits.may_refuse = row.may_refuse;
  op.meta = [&row, form](op::MetaCall& call) { return Meta(row, form, call); };
  op.kernel = [&row, form](op::KernelCall& call) { return Kernel(row, form, call); };
  if (form == Form::kInPlace) op.functional = functional;
  return table.Register(std::move(op));
}

}  // namespace

Status ResizeOutput(op::MetaCall& call, int arg, const View& view) {
  const Tensor& out = call.args[static_cast<size_t>(arg)].tensor();
  PAL_TRY(int64_t needed, RequiredBytes(view));
  if (needed > out.storage->bytes() && !out.storage->resizable()) {
    return Refused("resize_not_allowed", "Trying to resize storage that is not resizable");
  }
  if (out.numel() != 0) call.warnings.push_back("resized_nonempty_out");
  call.relayouts.push_back({arg, view});
  return {};
}

Result<Tensor> GrownOutput(const Tensor& out, const View& view) {
  PAL_TRY(int64_t needed, RequiredBytes(view));
  PAL_TRY(out.storage->Grow(needed));
  Tensor grown(view, out.storage);
  grown.object = out.object;
  return grown;
}

Status RegisterRows(op::OpTable& table, std::span<const PointwiseRow> rows) {
  for (const PointwiseRow& row : rows) {
    PAL_TRY(op::Schema schema, op::ParseSchema(row.schema));
    PAL_TRY(RegisterForm(table, row, Form::kFunctional, ""));
    if (row.in_place != nullptr) {
      PAL_TRY(RegisterForm(table, row, Form::kInPlace, schema.Key()));
    }
    if (row.out != nullptr) PAL_TRY(RegisterForm(table, row, Form::kOut, ""));
  }
  return {};
}

}  // namespace palimpsest::kernels
