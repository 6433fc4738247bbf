#include "interpret/write_back.h"

#include <fmt/format.h>

#include "core/overlap.h"

namespace palimpsest::interpret {

Result<View> WriteBackView(const Tensor& input, const View& value) {
  if (value.sizes == input.sizes && value.dtype == input.dtype && !OverlapsItself(input.view())) {
    return input.view();
  }
  if (value.dim() == 1 && value.sizes[0] * value.item_size() == input.storage->bytes()) {
    return ContiguousView(value.dtype, value.sizes);
  }
  return InternalError(fmt::format("a value {} cannot be written back to an input {} of {} bytes",
                                   ToString(value), ToString(input.view()),
                                   input.storage->bytes()));
}

}  // namespace palimpsest::interpret
