// Program and Executable: loading, and the handles of palimpsest/program.h.

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "driver/compile.h"
#include "driver/default_inputs.h"
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

// Calls f(node, graph) for every node, those of subgraphs included.
template <typename F>
void ForEachNodeDeep(const ir::Graph& graph, F&& f) {
  std::vector<const ir::Graph*> todo = {&graph};
  while (!todo.empty()) {
    const ir::Graph* g = todo.back();
    todo.pop_back();
    for (const ir::Node& node : g->nodes) f(node, *g);
    for (const auto& subgraph : g->subgraphs) todo.push_back(subgraph.get());
  }
}

bool IsHigherOrder(const std::string& target) {
  return target.starts_with("torch.ops.higher_order.");
}

void CollectOpRefs(const ir::Argument& argument, std::vector<const ir::OpRef*>& refs) {
  if (argument.Is<ir::OpRef>()) refs.push_back(&argument.As<ir::OpRef>());
}

// Operators that nobody knows, all at once: name, count, first source line, what to do.
Status RefuseUnknown(const ir::Graph& graph, const op::OpTable& table) {
  struct Unknown {
    int count = 0;
    std::string place;
  };
  std::map<std::string, Unknown> unknown;
  ForEachNodeDeep(graph, [&](const ir::Node& node, const ir::Graph& g) {
    auto note = [&](const std::string& target) {
      Unknown& u = unknown[target];
      if (u.count++ == 0) u.place = g.PlaceOf(node);
    };
    if (node.kind != ir::Node::Kind::kCall) return;
    if (node.op == nullptr && !IsHigherOrder(node.target)) note(node.target);
    std::vector<const ir::OpRef*> refs;
    for (const ir::Argument& arg : node.args) CollectOpRefs(arg, refs);
    for (const ir::OpRef* ref : refs) {
      if (ref->op == nullptr) note(ref->target);
    }
  });
  if (unknown.empty()) return {};
  std::string text =
      fmt::format("{} unknown operator{}:", unknown.size(), unknown.size() == 1 ? "" : "s");
  bool lacks_kernel = false, lacks_library = false;
  for (const auto& [target, u] : unknown) {
    text += fmt::format(" {} ({} call{}{})", target, u.count, u.count == 1 ? "" : "s",
                        u.place.empty() ? "" : ", first at " + u.place);
    bool aten = target.starts_with("torch.ops.aten.") || target.starts_with("torch.") == false;
    (aten ? lacks_kernel : lacks_library) = true;
  }
  (void)table;
  if (lacks_library) {
    text +=
        "; load the library that defines them with --ops LIB (Operators::LoadLibrary), or declare "
        "them with '# schema:' lines";
  }
  if (lacks_kernel) text += "; palimpsest has no kernel for these operators of PyTorch yet";
  // An operator of PyTorch is something that we lack; any other is unknown to everybody.
  ErrorKind kind = lacks_library ? ErrorKind::kUnknownOperator : ErrorKind::kUnsupported;
  return Error{kind, "", text, unknown.begin()->second.place};
}

Result<Program> Finish(std::shared_ptr<Program::Impl> impl) {
  PAL_TRY(ir::Verify(impl->source));
  impl->program = impl->source;
  impl->runnable = RefuseUnknown(impl->source, impl->ops->table);
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
  if (options.max_copied_bytes >= 0 || options.signatures == Signatures::kFixed) {
    PAL_TRY(Explanation ignored, result.Explain());
    (void)ignored;
  }
  return result;
}

Result<Session> Program::Interpret() const { return driver::NewSession(impl_, nullptr); }

std::vector<InputInfo> Program::Inputs() const {
  std::vector<InputInfo> infos;
  for (size_t i = 0; i < impl_->program.num_inputs(); ++i) {
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
  ForEachNodeDeep(impl_->source, [&](const ir::Node& node, const ir::Graph&) {
    if (node.op != nullptr && node.op->traits.custom) ++counts[node.op->schema.Key()];
    std::vector<const ir::OpRef*> refs;
    for (const ir::Argument& arg : node.args) CollectOpRefs(arg, refs);
    for (const ir::OpRef* ref : refs) ++counts[op::KeyOfTarget(ref->target)];
  });
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
