// Reductions (sum, mean, amax, argmax, var, norm, ...) and scans (cumsum, ...).
#pragma once

#include "op/op.h"

namespace palimpsest::kernels {

Status RegisterReductions(op::OpTable& table);

// By file.
Status RegisterReduceSums(op::OpTable& table);
Status RegisterReduceExtremes(op::OpTable& table);
Status RegisterReduceLogic(op::OpTable& table);
Status RegisterReduceMoments(op::OpTable& table);
Status RegisterReduceNorms(op::OpTable& table);
Status RegisterReduceMedian(op::OpTable& table);
Status RegisterScans(op::OpTable& table);

}  // namespace palimpsest::kernels
