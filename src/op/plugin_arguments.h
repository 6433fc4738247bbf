// The arguments of one operator call in the C form of palimpsest/plugin.h.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "op/schema.h"
#include "palimpsest/plugin.h"
#include "palimpsest/value.h"

namespace palimpsest::op {

// DLPack's code of an element type, and back (nullopt: none of ours).
struct PluginDType {
  uint8_t code, bits;
};
PluginDType ToPluginDType(DType dtype);
std::optional<DType> FromPluginDType(PluginDType dtype);

// Owns what the PalArgs point to. Sizes and strides are borrowed from the values: these must
// outlive it.
class PluginArguments {
 public:
  enum class Memory : uint8_t { kNone, kReal };  // kNone: null data pointers, for meta

  explicit PluginArguments(Memory memory) : memory_(memory) {}
  PluginArguments(const PluginArguments&) = delete;
  PluginArguments& operator=(const PluginArguments&) = delete;

  // Error: a value that does not fit the schema's type, or that has no C form (complex numbers).
  Status Add(const SchemaArg& arg, const Value& value);
  void AddResult(const Tensor& result);
  const PalArg* data() const { return args_.data(); }
  size_t size() const { return args_.size(); }

 private:
  Result<PalArg> Convert(const SchemaArg& arg, const Value& value, bool in_list);
  PalArg ConvertTensor(const Tensor& tensor, bool read_only);
  PalArg ConvertString(std::string text);

  Memory memory_;
  std::vector<PalArg> args_;
  // Deques: elements never move.
  std::deque<PalTensor> tensors_;
  std::deque<std::vector<PalArg>> lists_;
  std::deque<std::string> strings_;
};

}  // namespace palimpsest::op
