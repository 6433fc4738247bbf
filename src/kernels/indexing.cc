#include "kernels/indexing.h"

namespace palimpsest::kernels {

Status RegisterIndexing(op::OpTable& table) {
  PAL_TRY(RegisterAdvancedIndexing(table));
  PAL_TRY(RegisterIndexSelections(table));
  PAL_TRY(RegisterMasks(table));
  return RegisterSorts(table);
}

}  // namespace palimpsest::kernels
