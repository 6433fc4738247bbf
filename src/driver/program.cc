// Program and Executable: loading, and the handles of palimpsest/program.h.

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "driver/compile.h"
#include "driver/default_inputs.h"
#include "driver/operator_calls.h"
#include "driver/session.h"
#include "import/pt2.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/all_passes.h"

namespace palimpsest {

const ir::InputSpec& Program::Impl::input_spec(size_t i) const {
  static const ir::InputSpec kUser;
  return i < program.inputs.size() ? program.inputs[i] : kUser;
}

bool Program::Impl::is_user(size_t i) const {
  ir::InputSpec::Kind kind = input_spec(i).kind;
  return kind == ir::InputSpec::Kind::kUser || kind == ir::InputSpec::Kind::kConstant;
}

namespace {

Result<Program> Finish(std::shared_ptr<Program::Impl> impl) {
  PAL_TRY(ir::Verify(impl->source));
  impl->program = impl->source;
  impl->runnable = driver::RefuseUnknownOperators(impl->source);
  RemarkSink remarks;
  if (impl->runnable.ok()) {
    PAL_TRY(passes::RunPasses(impl->program, passes::PreparationPasses(), {}, remarks));
  }
  impl->read_ahead = std::make_unique<driver::ReadAhead>(impl->program);
  return Program(std::move(impl));
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return BadInput(fmt::format("cannot open '{}'", path));
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return BadInput(fmt::format("cannot read '{}'", path));
  return text.str();
}

std::string KindName(ir::InputSpec::Kind kind) {
  switch (kind) {
    case ir::InputSpec::Kind::kUser:
      return "user";
    case ir::InputSpec::Kind::kParameter:
      return "parameter";
    case ir::InputSpec::Kind::kBuffer:
      return "buffer";
    case ir::InputSpec::Kind::kConstantTensor:
      return "constant tensor";
    case ir::InputSpec::Kind::kConstant:
      return "constant";
  }
  return "user";
}

}  // namespace

Result<Program> Program::Load(const std::string& path, const Operators& ops) {
  if (!importing::LooksLikeArchive(path)) {
    PAL_TRY(std::string text, ReadFile(path));
    return FromText(text, ops, path);
  }
  auto impl = std::make_shared<Impl>();
  impl->ops = ops.state();
  PAL_TRY(importing::ImportedProgram imported, importing::ImportPt2(path, ops.state()->table));
  impl->source = std::move(imported.graph);
  impl->state = std::move(imported.constants);
  impl->functionalized_elsewhere = imported.functional;
  impl->has_samples = imported.sample_inputs.has_value();
  if (impl->has_samples) impl->sample_inputs = std::move(*imported.sample_inputs);
  return Finish(std::move(impl));
}

Result<Program> Program::FromText(std::string_view text, const Operators& ops,
                                  std::string file_name) {
  auto impl = std::make_shared<Impl>();
  impl->ops = ops.state();
  PAL_TRY(impl->source, ir::ParseText(text, ops.state()->table, std::move(file_name)));
  impl->functionalized_elsewhere = !impl->source.write_backs.empty();
  return Finish(std::move(impl));
}

Result<Executable> Program::Compile(const Options& options) const {
  PAL_TRY(impl_->runnable);
  auto executable = std::make_shared<Executable::Impl>();
  executable->program = impl_;
  executable->options = options;
  Executable result(std::move(executable));
  // Contracts, and a fixed signature, are checked now, for the default signature.
  if (options.max_copied_bytes >= 0 || !options.forbid_copy.empty() ||
      !options.must_alias.empty() || options.signatures == Signatures::kFixed) {
    PAL_TRY(Explanation ignored, result.Explain());
    (void)ignored;
  }
  return result;
}

Result<Session> Program::Interpret() const { return driver::NewSession(impl_, nullptr); }

std::vector<InputInfo> Program::Inputs() const {
  std::vector<InputInfo> infos;
  for (size_t i = 0, n = impl_->program.num_inputs(); i < n; ++i) {
    const ir::InputSpec& spec = impl_->input_spec(i);
    InputInfo info;
    info.name = impl_->input_name(i);
    info.type = ir::PrintType(impl_->program.nodes[i].type);
    info.kind = KindName(spec.kind);
    info.target = spec.target;
    if (spec.kind == ir::InputSpec::Kind::kConstant) {
      info.is_constant = true;
      Result<Value> constant = driver::ConstantValue(spec.constant);
      if (constant.ok()) info.constant = *constant;
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<std::string> Program::OutputTypes() const {
  std::vector<std::string> types;
  for (const ir::Argument& output : impl_->program.outputs) {
    types.push_back(output.IsNode() ? ir::PrintType(impl_->program.node(output.node()).type) : "");
  }
  return types;
}

Result<std::vector<Value>> Program::SampleInputs() const {
  if (!impl_->has_samples) return UsageError("the file has no sample inputs");
  return impl_->sample_inputs;
}

Result<std::vector<Value>> Program::DefaultInputs(uint64_t seed) const {
  return driver::DefaultInputs(*impl_, seed);
}

std::string Program::ToText() const { return ir::Print(impl_->source); }

std::map<std::string, int> Program::CustomOperators() const {
  std::map<std::string, int> counts;
  for (const driver::OperatorCall& call : driver::OperatorCalls(impl_->source)) {
    const bool wrapped = call.target != &call.node->target;
    if (wrapped || (call.op != nullptr && call.op->traits.custom)) {
      ++counts[op::KeyOfTarget(*call.target)];
    }
  }
  return counts;
}

Result<Session> Executable::NewSession() const { return driver::NewSession(impl_->program, impl_); }

Result<Explanation> Executable::Explain() const {
  PAL_TRY(std::vector<Value> inputs, driver::DefaultInputs(*impl_->program, 0));
  return Explain(inputs);
}

Result<Explanation> Executable::Explain(std::span<const Value> user) const {
  const Program::Impl& program = *impl_->program;
  std::vector<Value> state(program.program.num_inputs());
  for (size_t i = 0; i < state.size(); ++i) {
    auto it = program.state.find(program.input_spec(i).target);
    if (!program.is_user(i) && it != program.state.end()) state[i] = Value(it->second);
  }
  PAL_TRY(std::vector<Value> raw, driver::AssembleInputs(program, user, state));
  PAL_TRY(std::vector<Value> inputs, driver::MergeStorages(raw));
  PAL_TRY(std::vector<Value> data, program.read_ahead->Read(inputs));
  driver::CallSignature signature = driver::SignatureOf(inputs, data);
  bool compiled_now = false;
  PAL_TRY(std::shared_ptr<const driver::Specialised> specialised,
          driver::FindOrSpecialise(*impl_, signature, data, &compiled_now));
  return driver::ExplainSpecialised(program, *specialised);
}

}  // namespace palimpsest
