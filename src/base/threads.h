// ParallelFor: independent tasks on the threads of the process.
//
//   ParallelFor(num_tiles, [&](int64_t tile) { ... });
//
// Tasks are taken one by one from a counter, so that a thread that loses its processor costs one
// task and not half of the work. The caller takes part. Nested calls, and calls while another
// thread uses the pool, run on the caller alone: always correct, never a deadlock.
// Forking and joining costs 5 to 10 us: below some 20 us of work, do not.
#pragma once

#include <cstdint>
#include <type_traits>

#include "palimpsest/threads.h"

namespace palimpsest {

// A reference to a callable, for the length of a call.
class TaskRef {
 public:
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, TaskRef>)
  TaskRef(F&& f)  // NOLINT
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, int64_t task) {
          (*static_cast<std::remove_reference_t<F>*>(object))(task);
        }) {}
  void operator()(int64_t task) const { call_(object_, task); }

 private:
  void* object_;
  void (*call_)(void*, int64_t);
};

void ParallelFor(int64_t tasks, TaskRef task);

}  // namespace palimpsest
