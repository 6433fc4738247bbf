// Operators that are other operators in sequence: written once, run twice.
//
// A composition is a function over a Composer, which calls operators of the table by name. The
// meta function runs it on metadata alone, the kernel on memory, so that the layout of the result
// is that of PyTorch's own composition:
//
//   Value L1Loss(Composer& c, std::span<const Value> args) {
//     Value distance = c.Call("aten::abs", {c.Call("aten::sub.Tensor", {args[0], args[1]})});
//     return Reduced(c, distance, args[2]);
//   }
//
// Results that are views of an argument are reported as such.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "op/op.h"

namespace palimpsest::kernels {

class Composer {
 public:
  enum class Mode : uint8_t { kInfer, kRun };
  Composer(const op::OpTable& table, Mode mode, op::Generator* generator)
      : table_(table), mode_(mode), generator_(generator) {}

  using Named = std::vector<std::pair<std::string_view, Value>>;
  // The call's result (a list if it has several); None after an error, which sticks: every later
  // call does nothing, and status() tells.
  Value Call(std::string_view key, Value::List args, const Named& named = {});
  // Element i of a list.
  Value Item(const Value& list, size_t i) const;
  // Ends the composition with an error.
  Value Fail(Error error);
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

 private:
  Result<Value> TryCall(std::string_view key, Value::List args, const Named& named);

  const op::OpTable& table_;
  Mode mode_;
  op::Generator* generator_;
  Status status_;
};

using Composition = Value (*)(Composer& composer, std::span<const Value> args);

struct ComposedRow {
  const char* schema;
  Composition compose;
};
Status RegisterComposed(op::OpTable& table, std::span<const ComposedRow> rows);

}  // namespace palimpsest::kernels
