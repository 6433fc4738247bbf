// Descriptions of values in a program file: element types, sizes, symbols.
//
// Export numbers its enums itself (float32 is 7); they are not the numbers of c10.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "import/json.h"
#include "ir/graph.h"
#include "palimpsest/dtype.h"
#include "palimpsest/tensor.h"

namespace palimpsest::importing {

// Errors: kUnsupported for the types that PyTorch has and palimpsest lacks, else kBadInput.
Result<DType> DTypeOfCode(Json code);
Result<MemoryFormat> MemoryFormatOfCode(Json code);
LayoutKind LayoutOfCode(Json code);

// Reads sizes and types. Expressions are read once and shared: a program of 10,000 values has a
// dozen different ones.
class MetaReader {
 public:
  // {"as_int": 4} or {"as_expr": {"expr_str": "Symbol('s0', ...)"}}; {"as_bool": ...} as 0 or 1.
  Result<SymInt> ReadSymInt(Json value);
  Result<ir::TensorType> ReadTensor(Json meta);

 private:
  std::unordered_map<std::string, SymInt> expressions_;
};

// Sizes, strides or an offset of a weight: integers only. `what` names the field.
Result<int64_t> ReadPlainInt(Json value, const std::string& what);
Result<Dims> ReadPlainInts(Json list, const std::string& what);

}  // namespace palimpsest::importing
