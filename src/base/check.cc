#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace palimpsest {

void CheckFailed(const char* condition, const char* file, int line, const std::string& message) {
  fmt::print(stderr, "palimpsest: internal error at {}:{}: {} [{}]\n", file, line, message,
             condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace palimpsest
