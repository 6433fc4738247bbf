// Load, compile and run an exported program.
//
//   palimpsest::Operators ops;                                  // built-in operators
//   PAL_TRY(ops.LoadLibrary("libmyops.so"));                    // and yours
//   PAL_TRY(auto program, palimpsest::Program::Load("model.pt2", ops));
//   PAL_TRY(auto executable, program.Compile({}));
//   PAL_TRY(auto session, executable.NewSession());
//   PAL_TRY(auto results, session.Run(inputs));                 // inputs are written in place
//
// Program and Executable are immutable and thread-safe. A Session belongs to one thread at a time;
// it owns the program's state (buffers), which persists from call to call. Two sessions share
// weights and code only. Results are tensors: those that alias an input or the state in eager
// PyTorch alias it here; the others are new memory that later calls leave alone.
//
// Errors: result.h. A call that fails midway leaves in every written input, byte by byte, one of
// the versions that the program gives it.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/result.h"
#include "palimpsest/tensor.h"
#include "palimpsest/value.h"

namespace palimpsest {

// The operators that programs may call: PyTorch's (built in) and those of loaded libraries.
// Must outlive... nothing: programs keep what they need.
class Operators {
 public:
  Operators();
  // A shared library made with palimpsest/operator_library.h. Errors: not found, another ABI
  // version (both numbers), a schema that does not parse, a name that exists.
  Status LoadLibrary(const std::string& path);
  // Calls one operator on real memory, as eager PyTorch would: views alias, writes write.
  // `name` = "aten::add.Tensor". Tensors with equal non-zero `object` are the same object.
  Result<std::vector<Value>> Call(std::string_view name, std::span<const Value> positional,
                                  const std::vector<std::pair<std::string, Value>>& keywords = {},
                                  std::vector<std::string>* warnings = nullptr) const;
  std::vector<std::string> Names() const;

  struct State;
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

enum class FunctionalizeVersion : uint8_t { kV1, kV2 };
enum class Signatures : uint8_t {
  kAny,    // a call with another signature is compiled anew (and cached)
  kFixed,  // ... is refused
};

struct Options {
  FunctionalizeVersion functionalize = FunctionalizeVersion::kV2;
  Signatures signatures = Signatures::kAny;
  // Never reorder operators: a failed call leaves exactly eager's state.
  bool keep_order = false;
  // Put nothing in place: every node gets new memory. To see what re-inplacing is worth.
  bool always_copy = false;
  std::vector<std::string> disabled_passes;
  // The contract: a compile that does not keep it fails (kContract), and says which operator reads,
  // which writes, and where.
  int64_t max_copied_bytes = -1;         // a call copies at most that; negative: no limit
  std::vector<std::string> forbid_copy;  // inputs and bases of which no byte is copied
  std::vector<std::string> must_alias;   // inputs that are written in place; results that lie in
                                         // the memory of an input
  // Signatures kept per executable; the oldest goes first.
  int max_cached_signatures = 64;
};

// What one call signature was compiled to, in numbers and words.
struct Explanation {
  struct Base {
    std::string name;
    int64_t bytes = 0;
    std::string verdict;  // "in place", "copied", "patched", "snapshot"
    int64_t copied_bytes = 0;
    std::string reader, writer, reader_at, writer_at, why;
  };
  std::string signature;             // the call signature it is for
  int64_t copied_bytes = 0;          // planner's count
  int64_t least_copied_bytes = 0;    // no plan copies fewer; equal to copied_bytes: proven
  int64_t checked_copied_bytes = 0;  // checker's own count
  int64_t program_copied_bytes = 0;  // what the program as written copies
  int clones = 0;
  int64_t arena_bytes = 0, arena_lower_bound = 0;
  std::vector<Base> bases;
  std::vector<std::string> remarks;
  double functionalize_ms = 0, optimize_ms = 0, reinplace_ms = 0, plan_ms = 0;
  // Graph texts by stage: "program", "functional", "optimized", "decomposed" (functional nodes as
  // copies, views and plain calls), "planned" (with the place of every value), "direct" (what runs:
  // operators called on these places, copies where they are made).
  std::vector<std::pair<std::string, std::string>> stages;
};

struct InputInfo {
  std::string name;
  std::string type;          // "f32[s0, 8]", "None", "3"
  std::string kind;          // "user", "parameter", "buffer", "constant"
  std::string target;        // parameter or buffer name
  bool is_constant = false;  // the Python constant `constant`, None included
  Value constant;
};

struct RunStats {
  int64_t copied_bytes = 0;  // counted by the executor while it ran
  int64_t arena_bytes = 0;
  bool compiled_now = false;  // the call brought a new signature
};

class Session {
 public:
  // One value per *user* input, in order. Tensors that share a Storage alias; where the caller
  // hands over bare memory, storages whose byte ranges meet count as one.
  Result<std::vector<Value>> Run(std::span<const Value> inputs);
  const RunStats& last_run() const;
  // State by name (buffers, and parameters that the program writes). The tensor aliases the
  // session's memory.
  std::vector<std::string> StateNames() const;
  Result<Tensor> State(const std::string& name) const;
  // Reads and sets the seed of the session's random generator (PyTorch's default seed rules).
  void Seed(uint64_t seed);

  struct Impl;
  explicit Session(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

class Executable {
 public:
  Result<Session> NewSession() const;
  // For the default signature, or for the signature of `inputs` (user inputs, shape-only is
  // enough).
  Result<Explanation> Explain() const;
  Result<Explanation> Explain(std::span<const Value> inputs) const;

  struct Impl;
  explicit Executable(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

class Program {
 public:
  // A .pt2 file or a graph text, told apart by content.
  static Result<Program> Load(const std::string& path, const Operators& ops);
  static Result<Program> FromText(std::string_view text, const Operators& ops,
                                  std::string file_name = "<text>");
  // Errors name every unknown operator at once, with counts and source lines.
  Result<Executable> Compile(const Options& options) const;
  // A session of the eager interpreter: the program as written, op by op. The oracle.
  Result<Session> Interpret() const;

  std::vector<InputInfo> Inputs() const;
  std::vector<std::string> OutputTypes() const;
  // The sample inputs of the file (user inputs), if it has any.
  Result<std::vector<Value>> SampleInputs() const;
  // Inputs for the default call signature: the sample inputs, else seeded random values of the
  // annotated types (symbols bound to a value in their range), with the "# storage:" sharing.
  Result<std::vector<Value>> DefaultInputs(uint64_t seed = 0) const;
  std::string ToText() const;
  // Custom operators that the program calls: name -> number of calls.
  std::map<std::string, int> CustomOperators() const;

  struct Impl;
  explicit Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace palimpsest
