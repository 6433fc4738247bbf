// What the public handles of palimpsest/program.h hold. Internal to driver/ and tools/.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/read_ahead.h"
#include "driver/signature.h"
#include "ir/graph.h"
#include "kernels/random.h"
#include "palimpsest/program.h"
#include "reinplace/buffer_plan.h"
#include "runtime/executable.h"

namespace palimpsest {

struct Operators::State {
  op::OpTable table;
  std::vector<std::string> libraries;
};

struct Program::Impl {
  std::shared_ptr<Operators::State> ops;
  ir::Graph source;                     // as it was read
  ir::Graph program;                    // composite forms expanded; what runs
  std::map<std::string, Tensor> state;  // parameters, buffers, constants by name, shared
  std::vector<Value> sample_inputs;
  bool has_samples = false;
  std::unique_ptr<driver::ReadAhead> read_ahead;
  // Why the program cannot run although it could be read (unknown operators); checked by Compile.
  Status runnable;
  // The file was functionalized elsewhere: overlapping written inputs have no meaning.
  bool functionalized_elsewhere = false;

  const ir::InputSpec& input_spec(size_t i) const;
  std::string input_name(size_t i) const { return program.nodes[i].name; }
  // Is graph input i one that the caller passes?
  bool is_user(size_t i) const;
};

namespace driver {

// One call signature, compiled.
struct Specialised {
  CallSignature signature;
  ir::Graph functional, optimized;
  interpret::Trace trace;  // of `optimized`
  reinplace::BufferPlan plan;
  std::shared_ptr<const runtime::Executable> executable;
  std::vector<bool> written;  // per storage of the signature
  Explanation numbers;        // without stages
};

}  // namespace driver

struct Executable::Impl {
  std::shared_ptr<const Program::Impl> program;
  Options options;
  // The cache of signatures, most recently used first.
  using Entry = std::pair<std::string, std::shared_ptr<const driver::Specialised>>;
  mutable std::mutex mutex;
  mutable std::list<Entry> entries;
  mutable std::unordered_map<std::string, std::list<Entry>::iterator> by_key;
};

struct Session::Impl {
  std::shared_ptr<const Program::Impl> program;
  std::shared_ptr<const Executable::Impl> executable;  // null: the interpreter
  std::vector<Value> state;                            // per graph input; user inputs are None
  std::map<Storage*, StorageRef> owned;  // storages private to this session, by themselves
  StorageRef arena;
  std::shared_ptr<op::Generator> generator;
  RunStats stats;
};

}  // namespace palimpsest
