// Op: a schema, its traits, a meta function and a kernel; OpTable: all operators by name.
//
// Built-in and user operators are registered by the same call (OpTable::Register). No part of the
// compiler knows an operator by name where a trait will do.
//
// How an operator runs, in the interpreter and in a compiled program alike:
//   1. `meta` is called with the arguments (tensors may be shape-only) and says what each result
//   is:
//      a fresh tensor of some view, a view of an argument's storage, or the argument itself.
//   2. The *caller* provides the memory of fresh results (the interpreter allocates, a compiled
//      program plans).
//   3. `kernel` fills them, and writes the arguments that the schema declares written. A view
//      operator has no kernel: step 1 is all.
//
// Kernel contract: results come in any strides (not only those of meta); operands too. Elements of
// results may lie on elements of operands only where the traits allow it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "op/schema.h"
#include "palimpsest/result.h"
#include "palimpsest/value.h"

namespace palimpsest::op {

struct Op;
class Generator;  // the session's random generator (kernels/random.h)

// What a meta function says of one result.
struct ResultSpec {
  enum class Kind : uint8_t {
    kNone,    // an optional result that is absent, or no result
    kFresh,   // new memory: `view` with offset 0; storage of exactly the bytes it needs
    kView,    // a view of the storage of argument `arg` (element `element` of a list): `view`
    kSame,    // the very tensor object of argument `arg` (element `element`)
    kNumber,  // a number, known from metadata alone: `number` (sym_size, symbolic arithmetic)
    kData,    // a number that the kernel reads from memory (item)
    kList,    // a list of results: `items` (split, unbind; Tensor[])
  };
  Kind kind = Kind::kNone;
  View view;
  int arg = -1;
  int element = -1;  // -1: the argument is not a list
  Value number;
  std::vector<ResultSpec> items;

  static ResultSpec None() { return {}; }
  static ResultSpec Fresh(View v);
  static ResultSpec Fresh(DType dtype, std::span<const int64_t> sizes);  // contiguous
  static ResultSpec ViewOf(int arg, View v, int element = -1);
  static ResultSpec Same(int arg, int element = -1);
  static ResultSpec Number(Value v);
  static ResultSpec Data() {
    ResultSpec s;
    s.kind = Kind::kData;
    return s;
  }
  static ResultSpec List(std::vector<ResultSpec> items);
};

struct MetaCall {
  const Op& op;
  std::span<const Value> args;      // one per schema argument, defaults filled in
  std::vector<ResultSpec> results;  // out: one per schema return
  // Out, metadata-only writes (t_, unsqueeze_, ...): the tensor object of an argument gets this
  // view.
  struct Relayout {
    int arg;
    View view;
  };
  std::vector<Relayout> relayouts;
  std::vector<std::string> warnings;  // out: e.g. a resized out= tensor
};
// Refusals are Refused(reason, message): what eager PyTorch refuses from metadata.
using MetaFn = std::function<Status(MetaCall&)>;

struct KernelCall {
  const Op& op;
  std::span<const Value> args;
  // Memory for the results of kind kFresh, lists flattened, in order; views as the caller placed
  // them. Absent optional results are skipped.
  std::span<const Tensor> results;
  std::vector<Value> numbers;      // out: results of kind kData, in order
  Generator* generator = nullptr;  // for random operators
};
// Errors: RuntimeFailure(message, reason), e.g. "index_out_of_range". Never throws.
using KernelFn = std::function<Status(KernelCall&)>;

struct Traits {
  // Result element i depends on element i of the (broadcast) operands only, and the kernel reads
  // element i before it writes it: a result may lie exactly on an operand of the same geometry.
  bool pointwise = false;
  // A *copy step*: when the dtypes agree, result element i is element i of argument `copy_source`
  // (row-major over the result; broadcast for `copy`). clone, _to_copy, copy, lift_fresh_copy, and
  // reshape / contiguous / flatten / to where meta says kFresh.
  bool copy = false;
  int copy_source = 0;
  // The functional form of an update: result 0 is argument `tied` with some elements replaced.
  // Contract: the caller has put the old contents of args[tied] into results[0]; the kernel updates
  // results[0] in place and must not read args[tied] (index_put, scatter, cumsum is not one).
  int tied = -1;
  // Arguments (bit i = schema argument i) of which only the metadata is read: zeros_like, fill's
  // self.
  uint64_t metadata_only = 0;
  bool random = false;      // draws from the generator: keeps its order, never merged or dropped
  bool effect = false;      // has an effect beyond its results (assertion, print): live, ordered
  bool may_refuse = false;  // can fail because of data (index out of range): kept when dead
  // The result hangs on memory nobody wrote (empty, new_empty): its bytes have no value.
  bool uninitialized = false;
  // Set by registration: the op is not built in. Opaque: operands keep the program's strides, two
  // operands meet in memory exactly where they meet in the program, results are buffers of their
  // own.
  bool custom = false;
  std::string tag;  // "inplace", "out" of custom operators
};

struct Op {
  Schema schema;
  Traits traits;
  MetaFn meta;      // empty: only the schema is known (from a "# schema:" line); if the schema
                    // returns nothing or only written arguments, registration supplies one
  KernelFn kernel;  // empty for views, and for operators known by schema only
  // In-place built-in (add_, index_put_, fill_, copy_): key of the functional twin, which computes
  // the new elements of argument 0 ("aten::add.Tensor"). The in-place op's kernel is the twin's
  // kernel with result 0 = argument 0.
  std::string functional;
  // Rewrites into simpler operators before anything else looks at the graph (select_scatter ->
  // clone + select + copy_): the name of an expansion in passes/expand_composites.
  std::string expansion;
};

class OpTable {
 public:
  OpTable() = default;
  // A table that extends another one (which must outlive it): a program's own "# schema:" lines.
  explicit OpTable(const OpTable* parent) : parent_(parent) {}
  OpTable(const OpTable&) = delete;
  OpTable& operator=(const OpTable&) = delete;

  // The one way in. Error kUsage if the key exists or the schema and the rest do not fit. What the
  // operator leaves unsaid is derived (Note [Derived meta and kernel] in op.cc); before every meta
  // function the arguments are checked against the schema (check_arguments.h).
  Status Register(Op op);
  const Op* Find(std::string_view key) const;  // "aten::add.Tensor"; nullptr if unknown
  const Op* FindTarget(
      std::string_view target) const;  // "torch.ops.aten.add.Tensor", "_operator.add"
  std::vector<const Op*> All() const;  // sorted by key, parents included
  // The nearest known key by spelling, for error texts; "" if nothing is near.
  std::string Nearest(std::string_view key) const;

 private:
  const OpTable* parent_ = nullptr;
  std::unordered_map<std::string, std::unique_ptr<Op>> ops_;
};

// "torch.ops.aten.add.Tensor" -> "aten::add.Tensor"; "torch.ops.aten.relu.default" -> "aten::relu";
// "_operator.add" -> "_operator::add"; "torch.sym_max" -> "torch::sym_max"; "math.trunc" ->
// "math::trunc".
std::string KeyOfTarget(std::string_view target);

// Runs one call on real memory: meta, allocation of fresh results, kernel. Returns one Value per
// schema return. The interpreter and the tests use it. Relayouts are left to the caller.
struct CallResult {
  std::vector<Value> returns;  // a returned argument already has the view of its relayout
  std::vector<MetaCall::Relayout> relayouts;
  std::vector<std::string> warnings;
};
Result<CallResult> CallOp(const Op& op, std::span<const Value> args, Generator* generator);
// The same on shape-only tensors: meta only. `data` supplies results of kind kData (a known item).
Result<CallResult> InferOp(const Op& op, std::span<const Value> args);

}  // namespace palimpsest::op
