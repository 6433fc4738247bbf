// Numbers that a program reads from memory (item) before they are known to the plan.
//
// Note [Reading ahead]
//
// The middle of the compiler is concrete: a slice bound that hangs on data is part of the call
// signature. So before a call runs, the part of the program that leads to such numbers is
// interpreted on copies of whatever it writes, and the numbers join the signature. For a position
// that is read straight from an input this costs one load.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"

namespace palimpsest::driver {

class ReadAhead {
 public:
  // Finds the nodes of `program` whose numbers come from data, and the slice that computes them.
  explicit ReadAhead(const ir::Graph& program);
  bool empty() const { return nodes_.empty(); }
  // Per node that is read ahead its number, or the decisions of a higher-order node
  // (interpret/interpret.h, Note [Decisions]). `inputs`: one per graph input, on real memory;
  // nothing that the caller sees is written. Unsupported if the slice draws random numbers or has
  // effects.
  Result<std::vector<Value>> Read(std::span<const Value> inputs) const;
  // The same by node of the program, as InferMeta and Functionalize take them.
  std::map<ir::NodeId, Value> ByNode(std::span<const Value> numbers) const;

 private:
  struct Wanted {
    ir::NodeId node;             // of the program, whose number or decisions are wanted
    ir::NodeId read;             // that is run ahead for it
    bool has_decisions = false;  // `node` is a higher-order one
  };
  std::vector<Wanted> nodes_;
  std::shared_ptr<ir::Graph> slice_;
  std::vector<bool> written_inputs_;  // inputs whose storage the slice may write
  std::string refused_;               // why the slice cannot be interpreted ahead; "" if it can
};

}  // namespace palimpsest::driver
