// What PyTorch refuses because of memory overlap. The answers are cheap and not exact on purpose:
// "unknown" is accepted, so that the same programs are refused as in PyTorch. Whether two regions
// really meet is core/overlap.h's question.
#include "core/overlap.h"
#include "palimpsest/iterator.h"

namespace palimpsest {
namespace {

struct ByteRange {
  int64_t begin, end;
};

// Of a dense view: it fills the range.
ByteRange RangeOf(const View& view) {
  int64_t begin = view.offset * view.item_size();
  return {begin, begin + view.numel() * view.item_size()};
}

Error PartialOverlap() {
  return Refused(
      "partial_overlap",
      "unsupported operation: some elements of the input tensor and the written-to tensor "
      "refer to a single memory location. Please clone() the tensor before performing the "
      "operation.");
}

}  // namespace

Status CheckInternalOverlap(const View& output, OverlapPolicy policy) {
  if (IsDense(output)) return {};
  bool exactly = policy == OverlapPolicy::kExact && OverlapsItself(output);
  for (size_t d = 0; d < output.dim(); ++d) {
    if (exactly || (output.sizes[d] > 1 && output.strides[d] == 0)) {
      return Refused("internal_overlap",
                     "unsupported operation: more than one element of the written-to tensor refers "
                     "to a single memory location. Please clone() the tensor before performing the "
                     "operation.");
    }
  }
  return {};
}

Status CheckPartialOverlap(const Tensor& output, const Tensor& input, OverlapPolicy policy) {
  if (output.storage == nullptr || output.storage != input.storage) return {};
  if (output.object != 0 && output.object == input.object) return {};
  if (output.numel() == 0 || input.numel() == 0) return {};
  if (policy == OverlapPolicy::kExact) {
    bool in_part = MayOverlap(output, input) && !SameElements(output, input);
    return in_part ? Status(PartialOverlap()) : Status();
  }
  if (!IsDense(output) || !IsDense(input)) return {};
  ByteRange a = RangeOf(output), b = RangeOf(input);
  bool equal = a.begin == b.begin && a.end == b.end;
  bool meet = a.begin < b.end && b.begin < a.end;
  if (!meet || (equal && output.strides == input.strides)) return {};
  return PartialOverlap();
}

}  // namespace palimpsest
