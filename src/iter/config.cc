// The presets of the iterator and how operands are added.
#include <array>

#include "core/promotion.h"
#include "palimpsest/iterator.h"

namespace palimpsest {
namespace {

// The view of a number as an operand: 0-dim, of the number's own type.
const View& NumberView(DType dtype) {
  static const std::array<View, kNumDTypes> views = [] {
    std::array<View, kNumDTypes> all;
    for (size_t i = 0; i < all.size(); ++i) all[i].dtype = static_cast<DType>(i);
    return all;
  }();
  return views[static_cast<size_t>(dtype)];
}

}  // namespace

IteratorConfig IteratorConfig::Binary() {
  IteratorConfig c;
  c.promote = c.cast_outputs = c.safe_cast = true;
  c.same_dtype = false;
  return c;
}
IteratorConfig IteratorConfig::BinaryFloat() {
  IteratorConfig c = Binary();
  c.int_to_float = true;
  return c;
}
IteratorConfig IteratorConfig::Unary() { return {}; }
IteratorConfig IteratorConfig::UnaryFloat() { return BinaryFloat(); }
IteratorConfig IteratorConfig::LogicalNot() {
  IteratorConfig c;
  c.same_dtype = false;
  c.new_output_dtype = DType::kB8;
  return c;
}
IteratorConfig IteratorConfig::Comparison(std::optional<DType> output) {
  IteratorConfig c;
  c.same_dtype = false;
  c.promote = true;
  c.cast_outputs = output.has_value() && *output != DType::kB8;
  c.new_output_dtype = DType::kB8;
  return c;
}
IteratorConfig IteratorConfig::Ternary() { return Binary(); }
IteratorConfig IteratorConfig::Lerp() { return Unary(); }
IteratorConfig IteratorConfig::Where() {
  IteratorConfig c;
  c.same_dtype = false;
  return c;
}
IteratorConfig IteratorConfig::Copy() {
  IteratorConfig c;
  c.resize_outputs = c.same_dtype = false;
  return c;
}
IteratorConfig IteratorConfig::Nullary() { return Copy(); }
IteratorConfig IteratorConfig::Reduce() {
  IteratorConfig c;
  c.check_overlap = c.resize_outputs = c.same_dtype = false;
  c.reduction = c.promote = true;
  return c;
}
IteratorConfig IteratorConfig::ReduceTwo() {
  IteratorConfig c = Reduce();
  c.promote = false;
  return c;
}
IteratorConfig IteratorConfig::Walk() {
  IteratorConfig c;
  c.check_overlap = c.resize_outputs = c.same_dtype = false;
  return c;
}

IteratorConfig& IteratorConfig::AddOutput() {
  ++num_outputs;
  Operand operand;
  operand.is_output = true;
  operands.push_back(operand);
  number_categories.push_back(-1);
  return *this;
}
IteratorConfig& IteratorConfig::AddOutput(const View& output) {
  AddOutput();
  operands.back().view = &output;
  return *this;
}
IteratorConfig& IteratorConfig::AddOutput(const Tensor& output, int same_as_input) {
  AddOutput(output.view());
  operands.back().storage = output.storage.get();
  operands.back().object = output.object;
  operands.back().same_as_input = same_as_input;
  return *this;
}
IteratorConfig& IteratorConfig::AddInput(const View& input) {
  Operand operand;
  operand.view = &input;
  operands.push_back(operand);
  number_categories.push_back(-1);
  return *this;
}
IteratorConfig& IteratorConfig::AddInput(const Tensor& input) {
  AddInput(input.view());
  operands.back().storage = input.storage.get();
  operands.back().object = input.object;
  return *this;
}
IteratorConfig& IteratorConfig::AddInput(const Scalar& number) {
  AddInput(NumberView(number.dtype()));
  number_categories.back() = static_cast<int8_t>(number.category);
  return *this;
}
IteratorConfig& IteratorConfig::AddTypeOnly(const Scalar& number) {
  type_only.push_back(static_cast<int8_t>(number.category));
  return *this;
}

}  // namespace palimpsest
