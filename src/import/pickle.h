// A closed reader for the pickles that torch.save writes: numbers, strings, lists, tuples,
// dictionaries, tensors.
//
// A pickle is a program for a stack machine that can call any Python function. This reader knows
// the 32 opcodes that plain data needs and a fixed list of names, each with a meaning of its own
// here (pickle.cc); any other opcode or name is an error. Nothing is executed, imported or looked
// up.
//
// Values are indices into one table, so that a pickle that names one list a million times costs a
// million indices, and a deep nest no stack.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "palimpsest/dtype.h"
#include "palimpsest/result.h"
#include "palimpsest/tensor.h"

namespace palimpsest::importing {

class Pickle {
 public:
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kList,
    kTuple,
    kDict,
    kDType,
    kTensor,
    kGlobal,
    kStorage,  // parts of a tensor; they stand nowhere else
  };
  struct Object {
    Kind kind = Kind::kNone;
    uint32_t index = 0;  // into the table of the kind
    union {
      int64_t i = 0;
      double d;
    };
  };
  using Ref = uint32_t;  // index of an object

  Ref root() const { return root_; }
  Kind kind(Ref r) const { return objects_[r].kind; }
  bool AsBool(Ref r) const { return objects_[r].i != 0; }
  int64_t AsInt(Ref r) const { return objects_[r].i; }
  double AsFloat(Ref r) const { return objects_[r].d; }
  const std::string& AsString(Ref r) const { return strings_[objects_[r].index]; }
  const Tensor& AsTensor(Ref r) const { return tensors_[objects_[r].index]; }
  // Elements of a list or tuple; of a dictionary: key, value, key, value.
  const std::vector<Ref>& Items(Ref r) const { return lists_[objects_[r].index]; }
  // The values of a dictionary by key; integer keys by their decimal digits, other keys left out.
  std::unordered_map<std::string, Ref> Members(Ref dict) const;

 private:
  friend class PickleMachine;
  std::vector<Object> objects_;
  std::vector<std::string> strings_;
  std::vector<std::vector<Ref>> lists_;
  std::vector<Tensor> tensors_;
  Ref root_ = 0;
};

// Gives the storage of a key; `bytes` is what its tensors need at least.
using StorageLoader =
    std::function<Result<StorageRef>(const std::string& key, DType dtype, int64_t bytes)>;

// `name`: how errors call the pickle; they also tell the byte.
Result<Pickle> ReadPickle(std::string_view data, const std::string& name,
                          const StorageLoader& load_storage);

}  // namespace palimpsest::importing
