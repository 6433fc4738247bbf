// How many threads the kernels of this process use.
//
// One pool serves the process. Its threads sleep when there is nothing to do and when they wait for
// each other: they never spin, so a busy machine costs no more than its share.
#pragma once

namespace palimpsest {

// The calling thread counts. Default: the processors that this process may run on.
int NumThreads();
// 1: everything runs on the caller's thread. Values below 1 count as 1.
void SetNumThreads(int n);

}  // namespace palimpsest
