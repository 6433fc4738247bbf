// Arguments for an operator: those of a real call, or random ones drawn from its schema alone.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "op/op.h"
#include "opcheck/guarded_memory.h"

namespace palimpsest::opcheck {

// One argument. Tensors are kept by type, sizes and values, to be laid out in several ways.
struct Operand {
  Value plain;  // where it is no tensor
  bool is_list = false;
  struct Item {
    bool is_none = false;
    DType dtype = DType::kF32;
    Dims sizes;
    std::vector<std::byte> elements;  // row-major
  };
  std::vector<Item> items;  // one, or those of a list; empty: `plain`
};
using OperatorCall = std::vector<Operand>;

// The arguments of a call that was made. What it wrote holds its results by now: it gets other
// values, as far as they are floats.
OperatorCall CallWith(const op::Op& op, std::span<const Value> args);

// Arguments that the operator may or may not accept. Which sizes and types fit together only the
// operator knows: several habits of drawing them are tried in turn.
OperatorCall DrawCall(const op::Op& op, std::mt19937_64& random);

// The arguments with each tensor in memory of its own.
Result<std::vector<Value>> LayOut(const OperatorCall& call, Layout layout);

// "x=f32[3, 4], n=2"
std::string Describe(const op::Op& op, const OperatorCall& call);

}  // namespace palimpsest::opcheck
