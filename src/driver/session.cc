// Session: state, memory and the call itself.

#include <fmt/format.h>

#include <cstring>

#include "driver/compile.h"
#include "driver/session.h"
#include "interpret/bind.h"

namespace palimpsest {
namespace driver {

Result<std::vector<Value>> AssembleInputs(const Program::Impl& program, std::span<const Value> user,
                                          std::span<const Value> state) {
  std::vector<Value> inputs;
  size_t next = 0, wanted = 0;
  size_t n = program.program.num_inputs();
  for (size_t i = 0; i < n; ++i) wanted += program.is_user(i) ? 1 : 0;
  if (user.size() != wanted) {
    return BadInput(fmt::format("{} inputs given, the program takes {}", user.size(), wanted));
  }
  for (size_t i = 0; i < n; ++i) {
    inputs.push_back(program.is_user(i) ? user[next++] : state[i]);
  }
  return inputs;
}

namespace {

// A storage of the session's own with the same contents.
Result<StorageRef> CopyStorage(const StorageRef& storage) {
  PAL_TRY(StorageRef copy, AllocateStorage(storage->bytes()));
  std::memcpy(copy->data(), storage->data(), static_cast<size_t>(storage->bytes()));
  copy->set_resizable(false);
  return copy;
}

// From now on the session uses its own copy of `storage`; all state in it moves along.
Status MakePrivate(Session::Impl& session, const StorageRef& storage) {
  if (session.owned.contains(storage.get())) return {};
  StorageRef shared = storage;  // `storage` may be one of the references replaced below
  PAL_TRY(StorageRef copy, CopyStorage(shared));
  session.owned.emplace(copy.get(), copy);
  for (Value& value : session.state) {
    if (value.IsTensor() && value.tensor().storage == shared) value.As<Tensor>().storage = copy;
  }
  return {};
}

bool IsSessionState(const Session::Impl& session, const StorageRef& storage) {
  for (const Value& value : session.state) {
    if (value.IsTensor() && value.tensor().storage == storage) return true;
  }
  return false;
}

// Storages of parameters and constants that this signature writes become private, once.
Result<bool> MakeWrittenPrivate(Session::Impl& session, const CallSignature& signature,
                                const std::vector<bool>& written) {
  bool changed = false;
  for (size_t i = 0; i < written.size(); ++i) {
    const StorageRef& storage = signature.storages[i];
    if (!written[i] || session.owned.contains(storage.get()) || !IsSessionState(session, storage)) {
      continue;
    }
    PAL_TRY(MakePrivate(session, storage));
    changed = true;
  }
  return changed;
}

Result<std::vector<Value>> RunCompiled(Session::Impl& session, std::span<const Value> user) {
  const Program::Impl& program = *session.program;
  for (;;) {
    PAL_TRY(std::vector<Value> raw, AssembleInputs(program, user, session.state));
    PAL_TRY(std::vector<Value> inputs, MergeStorages(raw));
    PAL_TRY(std::vector<Value> data, program.read_ahead->Read(inputs));
    CallSignature signature = SignatureOf(inputs, data);
    PAL_TRY(std::shared_ptr<const Specialised> s,
            FindOrSpecialise(*session.executable, signature, data, &session.stats.compiled_now));
    PAL_TRY(bool changed, MakeWrittenPrivate(session, signature, s->written));
    if (changed) continue;  // the addresses are new, the signature is the same
    runtime::Frame frame;
    frame.storages = std::move(signature.storages);
    frame.arena = session.arena;
    frame.generator = session.generator.get();
    Result<std::vector<Value>> results = runtime::Execute(*s->executable, frame);
    session.arena = frame.arena;
    session.stats.copied_bytes = frame.copied_bytes;
    session.stats.arena_bytes = s->executable->arena_bytes;
    return results;
  }
}

Result<std::vector<Value>> RunInterpreted(Session::Impl& session, std::span<const Value> user) {
  const Program::Impl& program = *session.program;
  PAL_TRY(std::vector<Value> raw, AssembleInputs(program, user, session.state));
  PAL_TRY(std::vector<Value> inputs, MergeStorages(raw));
  PAL_TRY(interpret::BindSymbols(program.program, inputs));
  interpret::WalkOptions options;
  options.generator = session.generator.get();
  options.keep_values = false;
  PAL_TRY(interpret::Trace trace, interpret::Interpret(program.program, inputs, options));
  return std::move(trace.outputs);
}

// Buffers are written as a rule, and keep their address for the life of the session: they become
// private at once. The interpreter may write anything, so all of its state is private.
Status MakeStatePrivate(Session::Impl& session) {
  const Program::Impl& program = *session.program;
  for (size_t i = 0; i < session.state.size(); ++i) {
    if (!session.state[i].IsTensor()) continue;
    bool buffer = program.input_spec(i).kind == ir::InputSpec::Kind::kBuffer;
    if (buffer || session.executable == nullptr) {
      PAL_TRY(MakePrivate(session, session.state[i].tensor().storage));
    }
  }
  return {};
}

}  // namespace

Result<Session> NewSession(std::shared_ptr<const Program::Impl> program,
                           std::shared_ptr<const Executable::Impl> executable) {
  PAL_TRY(program->runnable);
  auto session = std::make_shared<Session::Impl>();
  session->program = program;
  session->executable = std::move(executable);
  session->generator = std::make_shared<op::Generator>();
  for (size_t i = 0, n = program->program.num_inputs(); i < n; ++i) {
    if (program->is_user(i)) {
      session->state.emplace_back();
      continue;
    }
    const std::string& name = program->input_spec(i).target;
    auto it = program->state.find(name);
    if (it == program->state.end()) {
      return BadInput(
          fmt::format("the file has no data for '{}' (input '{}')", name, program->input_name(i)));
    }
    session->state.emplace_back(it->second);
  }
  PAL_TRY(MakeStatePrivate(*session));
  return Session(std::move(session));
}

}  // namespace driver

Result<std::vector<Value>> Session::Run(std::span<const Value> inputs) {
  impl_->stats = {};
  return impl_->executable ? driver::RunCompiled(*impl_, inputs)
                           : driver::RunInterpreted(*impl_, inputs);
}

const RunStats& Session::last_run() const { return impl_->stats; }

std::vector<std::string> Session::StateNames() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < impl_->state.size(); ++i) {
    if (impl_->state[i].IsTensor()) names.push_back(impl_->program->input_spec(i).target);
  }
  return names;
}

Result<Tensor> Session::State(const std::string& name) const {
  for (size_t i = 0; i < impl_->state.size(); ++i) {
    if (impl_->state[i].IsTensor() && impl_->program->input_spec(i).target == name) {
      return impl_->state[i].tensor();
    }
  }
  return UsageError(fmt::format("the program has no state named '{}'", name));
}

void Session::Seed(uint64_t seed) { impl_->generator->Seed(seed); }

}  // namespace palimpsest
