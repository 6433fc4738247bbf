// The layouts of a .pt2, and what is read from which record.
//
//   2.9 to 2.14   ROOT/archive_format = "pt2", ROOT/models/M.json, raw weights with tables
//   2.8           the same, but ROOT/data/weights/M.pt: one torch.save dictionary
//   2.6, 2.7      serialized_exported_program.json and three torch.save archives beside it

#include "import/pt2.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "import/archive.h"
#include "import/program_reader.h"
#include "import/pytree.h"
#include "import/storage_bytes.h"
#include "import/torch_save.h"
#include "import/weights.h"

namespace palimpsest::importing {
namespace {

struct Layout {
  std::string program;  // the record of the program's JSON
  std::string samples;
  JsonNumbers numbers = JsonNumbers::kStrict;
  bool pickled = false;
  std::string weights, constants;                // pickled: records
  std::string weights_config, constants_config;  // raw: records of the tables; folders above
  bool swap_bytes = false;
};

// ROOT/models/*.json: "model" if it is there, else the only one.
Result<std::string> ModelName(const Archive& archive, const std::string& root) {
  std::string folder = root + "models/";
  std::vector<std::string> models;
  for (const std::string& name : archive.names()) {
    if (!name.starts_with(folder) || !name.ends_with(".json")) continue;
    models.push_back(name.substr(folder.size(), name.size() - folder.size() - 5));
    if (models.back() == "model") return models.back();
  }
  if (models.size() == 1 && models[0].find('/') == std::string::npos) return models[0];
  if (models.size() > 1) {
    return BadInput(
        fmt::format("{}: {} programs, none of them called 'model'", archive.name(), models.size()));
  }
  for (const std::string& name : archive.names()) {
    if (name.starts_with(root + "data/aotinductor/")) {
      return Unsupported(fmt::format(
          "{}: is a compiled package (AOTInductor): it holds native code and no graph. Save the "
          "exported program with torch.export.save instead",
          archive.name()));
    }
  }
  return BadInput(fmt::format("{}: there is no record '{}*.json'", archive.name(), folder));
}

Status CheckMarkers(const Archive& archive, const std::string& root) {
  PAL_TRY(Bytes format, archive.Read(root + "archive_format"));
  if (format.text() != "pt2") {
    return BadInput(fmt::format("{}: record 'archive_format': '{}' instead of 'pt2'",
                                archive.name(), Shown(format.text())));
  }
  if (!archive.Has(root + "archive_version")) return {};
  PAL_TRY(Bytes version, archive.Read(root + "archive_version"));
  if (version.text() == "0") return {};
  return BadInput(fmt::format("{}: record 'archive_version': layout '{}' (0 is read)",
                              archive.name(), Shown(version.text())));
}

Result<Layout> FindLayout(const Archive& archive) {
  Layout layout;
  if (archive.Has("serialized_exported_program.json")) {
    layout.program = "serialized_exported_program.json";
    layout.samples = "serialized_example_inputs.pt";
    layout.numbers = JsonNumbers::kPython;
    layout.pickled = true;
    layout.weights = "serialized_state_dict.pt";
    layout.constants = "serialized_constants.pt";
    return layout;
  }
  std::string root;
  if (!archive.names().empty()) {
    const std::string& first = archive.names().front();
    root = first.substr(0, first.find('/') + 1);
  }
  if (root.empty() || !archive.Has(root + "archive_format")) {
    return BadInput(fmt::format(
        "{}: is no program saved by torch.export.save: neither 'serialized_exported_program.json' "
        "nor '{}archive_format' is in it",
        archive.name(), Shown(root)));
  }
  PAL_TRY(CheckMarkers(archive, root));
  PAL_TRY(std::string model, ModelName(archive, root));
  PAL_TRY(layout.swap_bytes, IsBigEndian(archive, root + "byteorder"));
  layout.program = fmt::format("{}models/{}.json", root, model);
  layout.samples = fmt::format("{}data/sample_inputs/{}.pt", root, model);
  std::string pickled = fmt::format("{}data/weights/{}.pt", root, model);
  if (archive.Has(pickled)) {
    layout.pickled = true;
    layout.weights = pickled;
    layout.constants = fmt::format("{}data/constants/{}.pt", root, model);
    return layout;
  }
  layout.weights = root + "data/weights/";
  layout.constants = root + "data/constants/";
  layout.weights_config = model + "_weights_config.json";
  layout.constants_config = model + "_constants_config.json";
  return layout;
}

// ---- weights

Status CheckAgainstGraph(const ir::Node& input, const ir::InputSpec& spec, const Tensor& tensor) {
  const ir::TensorType& type = input.type.tensor;
  bool same = input.type.kind == ir::Type::Kind::kTensor && type.dtype == tensor.dtype &&
              type.sizes.size() == tensor.dim();
  for (size_t d = 0; same && d < tensor.dim(); ++d) {
    same = type.sizes[d].IsConstant() && type.sizes[d].value() == tensor.sizes[d];
  }
  if (same) return {};
  std::string sizes;
  for (const SymInt& size : type.sizes) {
    sizes += (sizes.empty() ? "" : ", ") + size.ToString();
  }
  return BadInput(fmt::format("'{}' is {} in the weights, but {}[{}] in the graph",
                              Shown(spec.target), ToString(tensor.view()), DTypeName(type.dtype),
                              sizes));
}

Status LoadWeights(const Archive& archive, const Layout& layout, ImportedProgram& program) {
  RawOptions options;
  options.swap_bytes = layout.swap_bytes;
  options.mend_strides = program.torch_version.starts_with("2.9.");
  auto open = [&](const std::string& place, const std::string& config) {
    return layout.pickled ? Weights::OpenPickled(archive, place)
                          : Weights::OpenRaw(archive, place, config, options);
  };
  PAL_TRY(Weights weights, open(layout.weights, layout.weights_config));
  PAL_TRY(Weights constants, open(layout.constants, layout.constants_config));
  const std::vector<ir::InputSpec>& inputs = program.graph.inputs;
  std::map<std::string, bool> from_weights;
  for (size_t i = 0; i < inputs.size(); ++i) {
    using Kind = ir::InputSpec::Kind;
    const ir::InputSpec& spec = inputs[i];
    if (spec.kind == Kind::kUser || spec.kind == Kind::kConstant) continue;
    bool is_weight =
        spec.kind == Kind::kParameter || (spec.kind == Kind::kBuffer && spec.persistent);
    auto [source, is_new] = from_weights.emplace(spec.target, is_weight);
    if (!is_new && source->second != is_weight) {
      return Unsupported(
          fmt::format("a weight and a constant of one name, '{}'", Shown(spec.target)));
    }
    if (is_new) {
      PAL_TRY(Tensor tensor, (is_weight ? weights : constants).Get(spec.target, program.remarks));
      program.constants.emplace(spec.target, std::move(tensor));
    }
    PAL_TRY(CheckAgainstGraph(program.graph.nodes[i], spec, program.constants.at(spec.target)));
  }
  return {};
}

// ---- sample inputs

// A file without usable samples is still a good program: what is wrong becomes a remark.
void LoadSamples(const Archive& archive, const Layout& layout, ImportedProgram& program) {
  auto give_up = [&](const std::string& why) {
    program.remarks.push_back(fmt::format("no sample inputs: {}", why));
  };
  if (!archive.Has(layout.samples)) return give_up("the file has none");
  if (!program.input_tree) return give_up("the file does not say how inputs are nested");
  Result<Bytes> bytes = archive.Read(layout.samples);
  if (!bytes.ok()) return give_up(bytes.error().message);
  if (bytes->data.empty()) return give_up("the file has none");
  Result<Pickle> pickle = ReadTorchSave(
      std::move(*bytes), fmt::format("record '{}'", layout.samples), StorageUse::kPrivate);
  if (!pickle.ok()) return give_up(pickle.error().message);
  Result<std::vector<Value>> values = FlattenPickle(*pickle, *program.input_tree);
  if (!values.ok()) {
    return give_up(fmt::format("record '{}': {}", layout.samples, values.error().message));
  }
  program.sample_inputs = std::move(*values);
}

Status AddFileName(Status status, const std::string& path) {
  if (status.ok() || status.error().message.starts_with(path)) return status;
  status.error().message = fmt::format("{}: {}", path, status.error().message);
  return status;
}

}  // namespace

Result<ImportedProgram> ImportPt2(const std::string& path, const op::OpTable& ops) {
  PAL_TRY(Bytes file, MapFile(path));
  PAL_TRY(Archive archive, Archive::Open(std::move(file), path));
  PAL_TRY(Layout layout, FindLayout(archive));
  ImportedProgram program;
  Status status = [&]() -> Status {
    PAL_TRY(Bytes text, archive.Read(layout.program));
    PAL_TRY(program, ReadProgram(text.text(), fmt::format("record '{}'", layout.program), ops,
                                 layout.numbers));
    program.graph.file = path;
    PAL_TRY(LoadWeights(archive, layout, program));
    LoadSamples(archive, layout, program);
    return {};
  }();
  PAL_TRY(AddFileName(std::move(status), path));
  return program;
}

bool LooksLikeArchive(const std::string& path) {
  // A .pt2 that is not even that is a broken one, and no graph text.
  if (path.ends_with(".pt2")) return true;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  char head[4] = {};
  bool read = std::fread(head, 1, sizeof(head), file) == sizeof(head);
  std::fclose(file);
  // A local header, or the end record of an empty archive.
  return read && (std::memcmp(head, "PK\3\4", 4) == 0 || std::memcmp(head, "PK\5\6", 4) == 0);
}

}  // namespace palimpsest::importing
