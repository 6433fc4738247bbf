// PAL_CHECK(condition, "format {}", args...): an invariant of ours. A failure is our bug: it prints
// the place and the text and aborts. On in release builds too; keep it out of inner loops.
#pragma once

#include <fmt/format.h>

#include <string>

namespace palimpsest {
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line,
                              const std::string& message);
}  // namespace palimpsest

#define PAL_CHECK(condition, ...)                                                            \
  do {                                                                                       \
    if (!(condition)) [[unlikely]]                                                           \
      ::palimpsest::CheckFailed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)
