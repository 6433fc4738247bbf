#include "kernels/indexing.h"

namespace palimpsest::kernels {

Status RegisterIndexing(op::OpTable& table) {
  PAL_TRY(RegisterAdvancedIndexing(table));
  PAL_TRY(RegisterIndexSelections(table));
  PAL_TRY(RegisterMasks(table));
  PAL_TRY(RegisterSorts(table));
  PAL_TRY(RegisterSearches(table));
  return RegisterBags(table);
}

}  // namespace palimpsest::kernels
