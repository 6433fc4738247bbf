// Does an operator do what its schema says, and nothing else?
//
// It is called on guarded memory with random arguments, each call in several layouts of the same
// values, and what it did to memory is compared with what it declares. What it may do is the
// contract of palimpsest/plugin.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "op/op.h"
#include "opcheck/operator_call.h"
#include "palimpsest/result.h"

namespace palimpsest::opcheck {

struct Fault {
  std::string kind;      // "undeclared write", ...: one of the list in opcheck.cc
  std::string argument;  // its name, or "result 0"; "" where none is meant
  std::string call;      // the first call that shows it: "x=f32[3, 4], n=2"
};

struct Report {
  std::string op;          // "my::inc_"
  int calls = 0;           // that it accepted
  std::string refusal;     // calls == 0: why it refused the last one
  bool is_random = false;  // two equal calls gave different results: values are not compared
  std::vector<Fault> faults;
};

struct CheckOptions {
  uint64_t seed = 0;
  int accepted_calls = 40;
  int attempts = 20000;
};

// `given`: calls that are made before any random ones. REQUIRES: op.kernel. An operator that
// crashes takes the process with it: callers fork.
Result<Report> CheckOperator(const op::Op& op, std::span<const OperatorCall> given,
                             const CheckOptions& options);

}  // namespace palimpsest::opcheck
