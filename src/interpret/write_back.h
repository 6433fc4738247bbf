// Where the value of a write-back lies in the storage of its input.
#pragma once

#include "palimpsest/result.h"
#include "palimpsest/tensor.h"

namespace palimpsest::interpret {

// Note [Two kinds of write-backs]. A graph that was functionalized elsewhere writes values of an
// input's sizes back: `copy_(input, value)`. Functionalize writes whole storages: the value is then
// 1-d and covers all bytes of the input's storage (torch.ops.palimpsest.storage). The two never
// look alike: an input that does not overlap itself and has the storage's number of elements *is*
// the whole storage, and any other input has other sizes. Returns the view of the input's storage,
// in the value's dtype, that gets the value. kInternal if the value fits neither.
Result<View> WriteBackView(const Tensor& input, const View& value);

}  // namespace palimpsest::interpret
