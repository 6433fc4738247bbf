// Setting an iteration up. The steps stand in the order in which PyTorch takes them, because the
// order decides which of two faults a user is told of.
#include <fmt/format.h>

#include "base/check.h"
#include "core/promotion.h"
#include "iter/order.h"
#include "palimpsest/iterator.h"

namespace palimpsest {

Result<DType> CommonType(const IteratorConfig& config) {
  std::optional<DType> first;
  bool differ = !config.type_only.empty(), all_scalars = true;
  TypePromotion promotion;
  for (size_t i = 0; i < config.operands.size(); ++i) {
    const IteratorConfig::Operand& operand = config.operands[i];
    if (operand.view == nullptr) continue;
    if (operand.is_output) {
      if (!config.resize_outputs && operand.view->dim() > 0) all_scalars = false;
      continue;
    }
    if (operand.view->dim() > 0) all_scalars = false;
    if (!first) first = operand.view->dtype;
    if (*first != operand.view->dtype) differ = true;
    if (config.number_categories[i] >= 0) {
      promotion.AddNumber(static_cast<Category>(config.number_categories[i]));
    } else {
      promotion.AddTensor(*operand.view);
    }
  }
  for (int8_t category : config.type_only) promotion.AddNumber(static_cast<Category>(category));
  if (!first)
    return config.operands[0].view != nullptr ? config.operands[0].view->dtype : kDefaultFloat;
  DType common = *first;
  if (config.promote && (differ || all_scalars)) {
    PAL_TRY(common, promotion.Get());
  }
  if (config.promote && config.int_to_float && IsIntegral(common)) common = kDefaultFloat;
  return common;
}

namespace {

// The sink of TraceIterations.
thread_local std::vector<IterationTrace>* current_traces = nullptr;

}  // namespace

TraceIterations::TraceIterations(std::vector<IterationTrace>* traces) : outer_(current_traces) {
  current_traces = traces;
}
TraceIterations::~TraceIterations() { current_traces = outer_; }

class IterationBuilder {
 public:
  explicit IterationBuilder(const IteratorConfig& config)
      : config_(config), operands_(config.operands), n_(config.operands.size()) {}

  Result<Iteration> Process() {
    PAL_CHECK(n_ > 0 && config_.operands[n_ - 1].view != nullptr, "an iteration without operands");
    PAL_TRY(CheckOverlap());
    PAL_TRY(BroadcastShape());
    PAL_TRY(MarkResized());
    PAL_TRY(ChooseTypes());
    it_.num_operands_ = n_;
    it_.num_outputs_ = config_.num_outputs;
    if (current_traces != nullptr) BeginTrace();
    if (!FastSetUp()) GeneralSetUp();
    for (size_t i = 0; i < config_.num_outputs; ++i) FinishOutput(i);
    if (current_traces != nullptr) EndTrace();
    return std::move(it_);
  }

 private:
  const View& UserView(size_t i) const { return *operands_[i].view; }
  bool IsDefined(size_t i) const { return operands_[i].view != nullptr; }
  bool IsOutput(size_t i) const { return i < config_.num_outputs; }
  // Not laid out yet: to be allocated or resized.
  bool IsOpen(size_t i) const { return IsOutput(i) && (!IsDefined(i) || resized_[i]); }

  bool SameObject(size_t output, size_t input) const {
    const IteratorConfig::Operand& o = operands_[output];
    if (o.same_as_input >= 0 &&
        config_.num_outputs + static_cast<size_t>(o.same_as_input) == input) {
      return true;
    }
    return o.object != 0 && o.object == operands_[input].object;
  }
  bool IsReadWrite(size_t output) const {
    for (size_t i = config_.num_outputs; i < n_; ++i) {
      if (SameObject(output, i)) return true;
    }
    return false;
  }

  Status CheckOverlap();
  Status BroadcastShape();
  Status MarkResized();
  Status ChooseTypes();
  void ChooseViews();
  bool FastSetUp();
  void GeneralSetUp();
  StrideTable ByteStrides() const;
  void FinishOutput(size_t i);
  void BeginTrace();
  void EndTrace();

  const IteratorConfig& config_;
  const SmallVector<IteratorConfig::Operand, 4>& operands_;
  size_t n_;
  bool all_same_shape_ = true;
  SmallVector<bool, 4> resized_;
  Iteration it_;
  IterationTrace trace_;  // filled if somebody listens
};

void IterationBuilder::BeginTrace() {
  trace_.same_shape = all_same_shape_;
  trace_.reduction = config_.reduction;
  trace_.linear = config_.linear;
  trace_.common_dtype = it_.common_dtype_;
  trace_.shape = it_.common_shape_;
  trace_.operands.resize(n_);
  for (size_t i = 0; i < n_; ++i) {
    IterationTrace::Operand& o = trace_.operands[i];
    o.is_output = IsOutput(i);
    o.is_number = config_.number_categories[i] >= 0;
    o.is_converted = it_.converted_[i];
    o.is_open = IsOpen(i);
  }
}

void IterationBuilder::EndTrace() {
  for (size_t i = 0; i < n_; ++i) trace_.operands[i].view = it_.views_[i];
  trace_.loop = it_.shape_;
  current_traces->push_back(std::move(trace_));
}

Status IterationBuilder::CheckOverlap() {
  if (!config_.check_overlap) return {};
  for (size_t o = 0; o < config_.num_outputs; ++o) {
    if (!IsDefined(o)) continue;
    PAL_TRY(CheckInternalOverlap(UserView(o), config_.overlap));
    for (size_t i = config_.num_outputs; i < n_; ++i) {
      if (operands_[o].storage == nullptr || operands_[o].storage != operands_[i].storage) continue;
      if (SameObject(o, i)) continue;
      // A storage that both share, without counting references.
      StorageRef shared(StorageRef(), const_cast<Storage*>(operands_[o].storage));
      PAL_TRY(CheckPartialOverlap(Tensor(UserView(o), shared), Tensor(UserView(i), shared),
                                  config_.overlap));
    }
  }
  return {};
}

Status IterationBuilder::BroadcastShape() {
  bool has_scalars = false, has_tensors = false, first = true;
  Dims& shape = it_.common_shape_;
  for (size_t i = 0; i < n_; ++i) {
    if (!IsDefined(i) || (IsOutput(i) && config_.resize_outputs)) continue;
    const Dims& sizes = UserView(i).sizes;
    (sizes.empty() ? has_scalars : has_tensors) = true;
    if (has_scalars && has_tensors) all_same_shape_ = false;
    if (first || shape.empty()) {
      shape = sizes;
    } else if (!(sizes == shape)) {
      all_same_shape_ = false;
      PAL_TRY(shape, BroadcastShapes(shape, sizes));
    }
    first = false;
  }
  PAL_TRY(it_.numel_, CheckedNumel(shape));
  return {};
}

Status IterationBuilder::MarkResized() {
  resized_.resize(n_, false);
  for (size_t i = 0; i < config_.num_outputs; ++i) {
    if (!IsDefined(i) || UserView(i).sizes == it_.common_shape_) continue;
    if (config_.resize_outputs && !IsReadWrite(i)) {
      resized_[i] = true;
    } else if (!config_.reduction) {
      return Refused("output_shape_mismatch",
                     fmt::format("output with shape {} doesn't match the broadcast shape {}",
                                 ToString(std::span<const int64_t>(UserView(i).sizes)),
                                 ToString(std::span<const int64_t>(it_.common_shape_))));
    }
  }
  return {};
}

Status IterationBuilder::ChooseTypes() {
  if (config_.same_dtype) {
    DType expected = UserView(n_ > config_.num_outputs ? config_.num_outputs : 0).dtype;
    for (size_t i = 0; i < n_; ++i) {
      if (!IsDefined(i) || UserView(i).dtype == expected) continue;
      return Refused("dtype_mismatch",
                     fmt::format("Found dtype {} but expected {}", DTypeName(UserView(i).dtype),
                                 DTypeName(expected)));
    }
  }
  PAL_TRY(it_.common_dtype_, CommonType(config_));
  if (config_.safe_cast) {
    for (size_t i = 0; i < config_.num_outputs; ++i) {
      if (!IsDefined(i) || CanCast(it_.common_dtype_, UserView(i).dtype)) continue;
      return Refused("cannot_cast",
                     fmt::format("result type {} can't be cast to the desired output type {}",
                                 DTypeName(it_.common_dtype_), DTypeName(UserView(i).dtype)));
    }
  }
  ChooseViews();
  return {};
}

// What the loops see: operands of another type are replaced by the copies that PyTorch would make.
void IterationBuilder::ChooseViews() {
  it_.views_.resize(n_);
  it_.converted_.resize(n_, false);
  for (size_t i = 0; i < n_; ++i) {
    View& view = it_.views_[i];
    if (!IsDefined(i)) {
      view.dtype = config_.new_output_dtype.value_or(it_.common_dtype_);
      continue;
    }
    const View& user = UserView(i);
    bool convert = IsOutput(i) ? config_.cast_outputs : config_.promote;
    if (!convert || user.dtype == it_.common_dtype_) {
      view = user;
      continue;
    }
    it_.converted_[i] = true;
    view = {it_.common_dtype_, user.sizes,
            IsOutput(i) ? ContiguousStrides(user.sizes) : PreserveStrides(user), 0};
  }
}

// One dim of all elements, if the operands are laid out alike. Note that trivial strides are not
// kept by the first two rules, and are by the third.
bool IterationBuilder::FastSetUp() {
  if (config_.reduction || !all_same_shape_) return false;
  bool contiguous = true, channels_last = it_.common_shape_.size() == 4, alike = true;
  const View* first = nullptr;
  for (size_t i = 0; i < n_; ++i) {
    if (IsOpen(i)) continue;
    const View& view = it_.views_[i];
    contiguous = contiguous && palimpsest::IsContiguous(view);
    channels_last = channels_last && palimpsest::IsContiguous(view, MemoryFormat::kChannelsLast);
    alike = alike && IsDense(view) && (first == nullptr || view.strides == first->strides);
    if (first == nullptr) first = &view;
  }
  if (config_.linear && !contiguous) return false;
  if (!contiguous && !channels_last && !alike) return false;
  trace_.fast_set_up = contiguous      ? IterationTrace::FastSetUp::kContiguous
                       : channels_last ? IterationTrace::FastSetUp::kChannelsLast
                                       : IterationTrace::FastSetUp::kEqualStrides;
  Dims strides = contiguous      ? ContiguousStrides(it_.common_shape_)
                 : channels_last ? ChannelsLastStrides(it_.common_shape_)
                                 : first->strides;
  if (config_.layout == LayoutPolicy::kPropagateAmbiguous && n_ > config_.num_outputs) {
    const View& input = it_.views_[config_.num_outputs];
    if (IsDense(input)) strides = input.strides;
  }
  for (size_t i = 0; i < config_.num_outputs; ++i) {
    if (!IsOpen(i)) continue;
    it_.views_[i].sizes = it_.common_shape_;
    it_.views_[i].strides = strides;
  }
  if (!it_.common_shape_.empty()) it_.shape_ = Dims{it_.numel_};
  it_.strides_.resize(2 * n_, 0);
  if (!it_.common_shape_.empty()) {
    for (size_t i = 0; i < n_; ++i) it_.strides_[i] = it_.views_[i].item_size();
  }
  return true;
}

// Byte strides in the user's dim order: 0 where an operand is broadcast.
StrideTable IterationBuilder::ByteStrides() const {
  const Dims& shape = it_.common_shape_;
  StrideTable table;
  table.num_operands = n_;
  table.num_outputs = config_.num_outputs;
  table.known.resize(n_, false);
  table.strides.resize(shape.size() * n_, 0);
  for (size_t i = 0; i < n_; ++i) {
    if (IsOpen(i)) continue;
    table.known[i] = true;
    const View& view = it_.views_[i];
    size_t missing = shape.size() - view.dim();
    for (size_t d = 0; d < view.dim(); ++d) {
      if (view.sizes[d] == 1 && shape[missing + d] != 1) continue;
      table.at(missing + d, i) = view.strides[d] * view.item_size();
    }
  }
  return table;
}

void IterationBuilder::GeneralSetUp() {
  const Dims& shape = it_.common_shape_;
  StrideTable table = ByteStrides();
  DimOrder order;
  if (config_.linear) {
    for (size_t d = shape.size(); d-- > 0;) order.push_back(d);
  } else {
    order = OrderDims(shape, table, config_.reduction,
                      current_traces != nullptr ? &trace_.comparisons : nullptr);
  }
  trace_.order = order;
  for (size_t i = 0; i < config_.num_outputs; ++i) {
    if (!IsOpen(i)) continue;
    it_.views_[i].sizes = shape;
    it_.views_[i].strides = StridesInOrder(shape, order);
    int64_t step = it_.views_[i].item_size();  // not the view's strides: sizes of 0 differ
    for (size_t d : order) {
      table.at(d, i) = step;
      step *= shape[d];
    }
  }
  StrideTable sorted = table;
  it_.shape_.resize(shape.size());
  for (size_t d = 0; d < order.size(); ++d) {
    it_.shape_[d] = shape[order[d]];
    for (size_t k = 0; k < n_; ++k) sorted.at(d, k) = table.at(order[d], k);
  }
  MergeDims(it_.shape_, sorted);
  it_.strides_ = sorted.strides;
  if (it_.strides_.size() < 2 * n_) it_.strides_.resize(2 * n_, 0);
}

void IterationBuilder::FinishOutput(size_t i) {
  Iteration::Output output;
  if (!IsDefined(i)) {
    output.view = it_.views_[i];
    output.is_new = true;
  } else {
    output.view = UserView(i);
    if (resized_[i]) {
      output.is_resized = true;
      output.warns = UserView(i).numel() != 0;
      output.view.sizes = it_.common_shape_;
      output.view.strides = it_.views_[i].strides;
      if (!it_.converted_[i]) it_.views_[i] = output.view;
    }
  }
  it_.outputs_.push_back(std::move(output));
}

Result<Iteration> Iteration::Build(const IteratorConfig& config) {
  return IterationBuilder(config).Process();
}

}  // namespace palimpsest
