#include "import/program_reader.h"

#include <fmt/format.h>

#include "import/archive.h"
#include "import/assigned_state.h"
#include "import/graph_reader.h"
#include "import/json.h"
#include "import/pytree.h"

namespace palimpsest::importing {
namespace {

constexpr int64_t kSchemaMajor = 8;

const std::vector<std::string> kNodesPath = {"graph_module", "graph", "nodes"};
const std::vector<std::string> kValuesPath = {"graph_module", "graph", "tensor_values"};

std::optional<std::string_view> NameIn(Json reference) {
  if (auto name = reference["name"].AsString()) return name;
  return reference["as_name"].AsString();
}

class ProgramReader {
 public:
  ProgramReader(std::string_view text, const std::string& record, const op::OpTable& ops,
                JsonNumbers numbers)
      : text_(text),
        record_(record),
        numbers_(numbers),
        target_(program_.graph),
        reader_({ops, meta_, program_.remarks}, target_) {
    program_.graph.ops = &ops;
  }

  Result<ImportedProgram> Read() {
    PAL_TRY(whole_, Parse({{kNodesPath, JsonTape::Kind::kArray, {}},
                           {kValuesPath, JsonTape::Kind::kObject, {}}}));
    Status status = ReadParts();
    if (!status.ok()) {
      Error error = std::move(status).error();
      if (!error.message.starts_with(record_)) {
        error.message = fmt::format("{}: {}", record_, error.message);
      }
      return error;
    }
    return std::move(program_);
  }

 private:
  Status ReadParts() {
    Json root = whole_.root();
    PAL_TRY(CheckVersion(root));
    graph_ = root["graph_module"]["graph"];
    signature_ = root["graph_module"]["signature"];
    PAL_TRY(CheckStructure());
    PAL_TRY(ReadInputs());
    PAL_TRY(ReadNodesAndTypes());
    PAL_TRY(CheckInputTypes());
    PAL_TRY(ReadOutputs());
    if (!program_.functional) ReturnAssignedState(program_.graph);
    PAL_TRY(ReadRanges(root["range_constraints"]));
    PAL_TRY(ReadTrees(root["graph_module"]["module_call_graph"]));
    PAL_TRY(root["guards_code"].ForEach([&](Json guard) -> Status {
      if (auto code = guard.AsString()) program_.graph.guards.emplace_back(*code);
      return {};
    }));
    return {};
  }

  Result<JsonTape> Parse(const std::vector<JsonSplit>& splits) const {
    return ParseJson(text_, record_, splits, numbers_);
  }
  Status CheckVersion(Json root);
  Status CheckStructure();
  Status ReadInputs();
  Status ReadInput(std::string_view kind, Json payload);
  Status AddStateInput(ir::InputSpec::Kind kind, Json payload, const char* target_key);
  Status AddUserInput(Json argument);
  Status AddConstantInput(Json payload);
  Status ReadNodesAndTypes();
  Status CheckInputTypes();
  Status ReadOutputs();
  Status ReadOutput(std::string_view kind, Json payload);
  Status AddWriteBack(Json payload, ir::InputSpec::Kind kind, const char* target_key);
  Status ReadRanges(Json ranges);
  Status ReadTrees(Json module_call_graph);
  size_t NumUserInputs() const;

  std::string_view text_;
  const std::string& record_;
  JsonNumbers numbers_;
  ImportedProgram program_;
  MetaReader meta_;
  GraphUnderConstruction target_;
  GraphReader reader_;
  JsonTape whole_;
  Json graph_, signature_;
  std::unordered_set<std::string> input_names_;  // as the file calls them
};

Status ProgramReader::CheckVersion(Json root) {
  if (!root.IsObject()) return BadInput("it is no object");
  std::optional<int64_t> major = root["schema_version"]["major"].AsInt();
  if (!major) return BadInput("it has no schema version");
  if (*major != kSchemaMajor) {
    return BadInput(fmt::format("its schema version is {}, {} is read", *major, kSchemaMajor));
  }
  program_.torch_version = root["torch_version"].AsString().value_or("");
  // A missing list means ATEN: a functional graph.
  program_.functional = true;
  return root["verifiers"].ForEach([&](Json verifier) -> Status {
    if (verifier.AsString() == "TRAINING") program_.functional = false;
    return {};
  });
}

Status ProgramReader::CheckStructure() {
  if (!graph_["nodes"].IsArray()) return BadInput("graph.nodes is no list");
  if (!graph_["inputs"].IsArray() || !graph_["outputs"].IsArray()) {
    return BadInput("graph.inputs or graph.outputs is no list");
  }
  if (!graph_["tensor_values"].IsAbsent() && !graph_["tensor_values"].IsObject()) {
    return BadInput("graph.tensor_values is no object");
  }
  Json ins = signature_["input_specs"], outs = signature_["output_specs"];
  if (!ins.IsArray() || !outs.IsArray()) return BadInput("the signature is missing");
  if (ins.size() != graph_["inputs"].size()) {
    return BadInput(fmt::format("the signature has {} inputs, the graph {}", ins.size(),
                                graph_["inputs"].size()));
  }
  if (outs.size() != graph_["outputs"].size()) {
    return BadInput(fmt::format("the signature has {} outputs, the graph {}", outs.size(),
                                graph_["outputs"].size()));
  }
  return {};
}

// ---- inputs

// The graph's own list of inputs says the same once more, and must not say something else.
Status ProgramReader::ReadInputs() {
  std::vector<std::optional<std::string_view>> names;
  PAL_TRY(graph_["inputs"].ForEach([&](Json input) -> Status {
    auto member = input.OnlyMember();
    names.push_back(member ? NameIn(member->second) : std::nullopt);
    return {};
  }));
  size_t at = 0;
  return signature_["input_specs"].ForEach([&](Json spec) -> Status {
    auto member = spec.OnlyMember();
    if (!member) return BadInput("an input specification that is no union of one member");
    Json argument = member->second["arg"];
    auto inner = argument.OnlyMember();
    std::optional<std::string_view> name = NameIn(argument);
    if (!name && inner) name = NameIn(inner->second);
    const std::optional<std::string_view>& graph_name = names[at++];
    if (name && graph_name && *name != *graph_name) {
      return BadInput(fmt::format("input {} is '{}' in the graph and '{}' in the signature", at,
                                  Shown(*graph_name), Shown(*name)));
    }
    return ReadInput(member->first, member->second);
  });
}

Status ProgramReader::ReadInput(std::string_view kind, Json payload) {
  using Kind = ir::InputSpec::Kind;
  if (kind == "user_input") return AddUserInput(payload["arg"]);
  if (kind == "constant_input") return AddConstantInput(payload);
  if (kind == "parameter") return AddStateInput(Kind::kParameter, payload, "parameter_name");
  if (kind == "buffer") return AddStateInput(Kind::kBuffer, payload, "buffer_name");
  if (kind == "tensor_constant") {
    return AddStateInput(Kind::kConstantTensor, payload, "tensor_constant_name");
  }
  if (kind == "token") {
    return reader_.Define(payload["arg"]["name"].AsString().value_or(""), ir::Argument());
  }
  if (kind == "custom_obj") {
    return Unsupported(fmt::format("input '{}' is an object of class '{}' (TorchBind)",
                                   Shown(payload["arg"]["name"].AsString().value_or("")),
                                   Shown(payload["arg"]["class_fqn"].AsString().value_or(""))));
  }
  return BadInput(fmt::format("unknown kind of input '{}'", Shown(kind)));
}

Status ProgramReader::AddStateInput(ir::InputSpec::Kind kind, Json payload,
                                    const char* target_key) {
  std::optional<std::string_view> name = payload["arg"]["name"].AsString();
  std::optional<std::string_view> target = payload[target_key].AsString();
  if (!name || !target) return BadInput(fmt::format("an input without name or {}", target_key));
  PAL_TRY([[maybe_unused]] ir::NodeId id, reader_.AddInput(*name));
  input_names_.emplace(*name);
  ir::InputSpec spec;
  spec.kind = kind;
  spec.target = *target;
  spec.persistent = payload["persistent"].AsBool().value_or(true);
  program_.graph.inputs.push_back(std::move(spec));
  return {};
}

Status ProgramReader::AddUserInput(Json argument) {
  auto member = argument.OnlyMember();
  if (!member) return BadInput("a user input that is no union of one member");
  auto [tag, value] = *member;
  if (tag == "as_custom_obj") {
    return Unsupported(fmt::format("user input '{}' is an object of class '{}' (TorchBind)",
                                   Shown(value["name"].AsString().value_or("")),
                                   Shown(value["class_fqn"].AsString().value_or(""))));
  }
  std::optional<std::string_view> name = NameIn(value);
  ir::InputSpec spec;
  if (!name) {
    // A literal: the program was exported for this very value.
    PAL_TRY(spec.constant, reader_.ReadArgument(argument));
    spec.kind = ir::InputSpec::Kind::kConstant;
  }
  std::string stem =
      name ? std::string(*name) : fmt::format("input_{}", program_.graph.inputs.size());
  PAL_TRY(ir::NodeId id, reader_.AddInput(stem));
  if (name) input_names_.insert(stem);
  if (!name) {
    program_.graph.node(id).type.kind =
        spec.constant.IsNone() ? ir::Type::Kind::kNone : ir::Type::Kind::kNumber;
  }
  program_.graph.inputs.push_back(std::move(spec));
  return {};
}

Status ProgramReader::AddConstantInput(Json payload) {
  std::optional<std::string_view> name = payload["name"].AsString();
  if (!name) return BadInput("a constant input without a name");
  ir::InputSpec spec;
  spec.kind = ir::InputSpec::Kind::kConstant;
  PAL_TRY(spec.constant, reader_.ReadArgument(payload["value"]));
  PAL_TRY(ir::NodeId id, reader_.AddInput(*name));
  program_.graph.node(id).type.kind =
      spec.constant.IsNone() ? ir::Type::Kind::kNone : ir::Type::Kind::kNumber;
  program_.graph.inputs.push_back(std::move(spec));
  return {};
}

// ---- nodes

Status ProgramReader::ReadNodesAndTypes() {
  auto read_node = [&](std::string_view, Json node) { return reader_.ReadNode(node); };
  auto read_type = [&](std::string_view name, Json meta) {
    return reader_.SetTensorType(name, meta, input_names_.contains(std::string(name)));
  };
  bool nodes_seen = false, values_first = false;
  PAL_TRY(graph_.ForEachMember([&](std::string_view key, Json) -> Status {
    if (key == "nodes") nodes_seen = true;
    if (key == "tensor_values" && !nodes_seen) values_first = true;
    return {};
  }));
  using Kind = JsonTape::Kind;
  if (values_first) {
    PAL_TRY(Parse({{kNodesPath, Kind::kArray, read_node}, {kValuesPath, Kind::kObject, {}}}));
    PAL_TRY(Parse({{kNodesPath, Kind::kArray, {}}, {kValuesPath, Kind::kObject, read_type}}));
  } else {
    PAL_TRY(
        Parse({{kNodesPath, Kind::kArray, read_node}, {kValuesPath, Kind::kObject, read_type}}));
  }
  for (const char* table : {"sym_int_values", "sym_bool_values", "sym_float_values"}) {
    PAL_TRY(graph_[table].ForEachMember([&](std::string_view name, Json value) {
      return reader_.SetSymType(name, value, input_names_.contains(std::string(name)));
    }));
  }
  return {};
}

Status ProgramReader::CheckInputTypes() {
  for (const ir::Node& node : program_.graph.nodes) {
    if (node.kind != ir::Node::Kind::kInput) break;
    if (node.type.kind != ir::Type::Kind::kUnknown) continue;
    return BadInput(fmt::format("input '{}' has no description", Shown(node.name)));
  }
  return {};
}

// ---- outputs

Status ProgramReader::ReadOutputs() {
  return signature_["output_specs"].ForEach([&](Json spec) -> Status {
    auto member = spec.OnlyMember();
    if (!member) return BadInput("an output specification that is no union of one member");
    Status status = ReadOutput(member->first, member->second);
    if (status.ok()) return {};
    status.error().message = fmt::format("outputs: {}", status.error().message);
    return std::move(status).error();
  });
}

Status ProgramReader::ReadOutput(std::string_view kind, Json payload) {
  using Kind = ir::InputSpec::Kind;
  if (kind == "user_output" || kind == "loss_output") {
    // A loss is written as a bare {"name"}.
    Json argument = payload["arg"];
    Result<ir::Argument> value =
        argument["name"].IsThere() ? reader_.Reference(argument) : reader_.ReadArgument(argument);
    if (!value.ok()) return std::move(value).error();
    program_.graph.outputs.push_back(std::move(*value));
    return {};
  }
  if (kind == "buffer_mutation") return AddWriteBack(payload, Kind::kBuffer, "buffer_name");
  if (kind == "parameter_mutation") {
    return AddWriteBack(payload, Kind::kParameter, "parameter_name");
  }
  if (kind == "user_input_mutation") return AddWriteBack(payload, Kind::kUser, "user_input_name");
  if (kind == "token") return {};
  if (kind == "gradient_to_parameter" || kind == "gradient_to_user_input") {
    return Unsupported("a gradient as result: programs with a backward pass are not read");
  }
  return BadInput(fmt::format("unknown kind of output '{}'", Shown(kind)));
}

Status ProgramReader::AddWriteBack(Json payload, ir::InputSpec::Kind kind, const char* target_key) {
  std::optional<std::string_view> target = payload[target_key].AsString();
  std::optional<std::string_view> value = payload["arg"]["name"].AsString();
  if (!target || !value) return BadInput(fmt::format("a write without name or {}", target_key));
  ir::WriteBack write_back;
  PAL_TRY(write_back.value, reader_.LookupNode(*value));
  if (kind == ir::InputSpec::Kind::kUser) {
    if (!input_names_.contains(std::string(*target))) {
      return BadInput(fmt::format("there is no input '{}' to write", Shown(*target)));
    }
    PAL_TRY(write_back.input, reader_.LookupNode(*target));
  } else {
    const std::vector<ir::InputSpec>& inputs = program_.graph.inputs;
    for (size_t i = inputs.size(); i-- > 0;) {
      if (inputs[i].kind == kind && inputs[i].target == *target) {
        write_back.input = ir::NodeId(static_cast<int64_t>(i));
      }
    }
    if (!write_back.input.valid()) {
      return BadInput(fmt::format("there is no {} '{}' to write",
                                  kind == ir::InputSpec::Kind::kBuffer ? "buffer" : "parameter",
                                  Shown(*target)));
    }
  }
  program_.graph.write_backs.push_back(write_back);
  return {};
}

// ---- symbols and trees

Status ProgramReader::ReadRanges(Json ranges) {
  return ranges.ForEachMember([&](std::string_view symbol, Json range) -> Status {
    ir::RangeConstraint constraint{range["min_val"].AsInt(), range["max_val"].AsInt()};
    if (constraint.min && constraint.max && *constraint.min > *constraint.max) {
      return BadInput(fmt::format("symbol '{}' is to be at least {} and at most {}", Shown(symbol),
                                  *constraint.min, *constraint.max));
    }
    program_.graph.ranges[std::string(symbol)] = constraint;
    return {};
  });
}

size_t ProgramReader::NumUserInputs() const {
  size_t n = 0;
  for (const ir::InputSpec& spec : program_.graph.inputs) {
    n += spec.kind == ir::InputSpec::Kind::kUser || spec.kind == ir::InputSpec::Kind::kConstant;
  }
  return n;
}

Status ProgramReader::ReadTrees(Json module_call_graph) {
  Json signature;
  PAL_TRY(module_call_graph.ForEach([&](Json entry) -> Status {
    if (entry["fqn"].AsString() == "" && !signature.IsThere()) signature = entry["signature"];
    return {};
  }));
  if (auto text = signature["in_spec"].AsString()) {
    PAL_TRY(program_.input_tree, ParsePyTree(*text, "in_spec"));
    size_t leaves = program_.input_tree->num_leaves();
    if (leaves != NumUserInputs()) {
      return BadInput(
          fmt::format("in_spec has {} values, the signature {}", leaves, NumUserInputs()));
    }
  }
  if (auto text = signature["out_spec"].AsString()) {
    PAL_TRY(program_.output_tree, ParsePyTree(*text, "out_spec"));
    size_t leaves = program_.output_tree->num_leaves();
    if (leaves != program_.graph.outputs.size()) {
      return BadInput(fmt::format("out_spec has {} values, the signature {}", leaves,
                                  program_.graph.outputs.size()));
    }
  }
  return {};
}

}  // namespace

Result<ImportedProgram> ReadProgram(std::string_view text, const std::string& record,
                                    const op::OpTable& ops, JsonNumbers numbers) {
  return ProgramReader(text, record, ops, numbers).Read();
}

}  // namespace palimpsest::importing
