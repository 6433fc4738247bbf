// Files that PyTorch wrote, and broken ones, from tests/cases/pt2.

#include "import/pt2.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "import/archive.h"
#include "import/json.h"
#include "import/test_archive.h"
#include "import/test_operators.h"
#include "ir/verify.h"

namespace palimpsest::importing {
namespace {

namespace fs = std::filesystem;

const fs::path& Folder() {
  static const fs::path& folder = *new fs::path(PAL_SOURCE_DIR "/tests/cases/pt2");
  return folder;
}
const op::OpTable& Operators() {
  static op::OpTable& ops = *new op::OpTable;
  static const bool registered = RegisterTestOperators(ops);
  EXPECT_TRUE(registered);
  return ops;
}

ImportedProgram Load(const std::string& fixture) {
  Result<ImportedProgram> program = ImportPt2(Folder() / fixture / "model.pt2", Operators());
  EXPECT_TRUE(program.ok()) << fixture << ": " << (program.ok() ? "" : program.error().message);
  return program.ok() ? std::move(*program) : ImportedProgram();
}

std::string ReadFile(const fs::path& path) {
  Result<Bytes> file = MapFile(path);
  EXPECT_TRUE(file.ok()) << path;
  return file.ok() ? std::string(file->text()) : "";
}

// ---- every fixture against its manifest

void CheckManifest(const std::string& fixture, const ImportedProgram& program) {
  SCOPED_TRACE(fixture);
  Result<JsonTape> tape = ParseJson(ReadFile(Folder() / fixture / "manifest.json"), "manifest");
  ASSERT_TRUE(tape.ok());
  Json manifest = tape->root();
  Status valid = ir::Verify(program.graph);
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : valid.error().message);
  int64_t calls = 0;
  for (const ir::Node& node : program.graph.nodes) calls += node.kind == ir::Node::Kind::kCall;
  bool inlined = manifest["ops"]["torch.ops.higher_order.wrap_with_set_grad_enabled"].IsThere();
  if (!inlined) {
    EXPECT_EQ(calls, manifest["node_count"].AsInt());
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < program.graph.inputs.size(); ++i) {
    using Kind = ir::InputSpec::Kind;
    Kind kind = program.graph.inputs[i].kind;
    if (kind == Kind::kUser || kind == Kind::kConstant) {
      names.push_back(program.graph.nodes[i].name);
    } else {
      EXPECT_TRUE(program.constants.contains(program.graph.inputs[i].target));
    }
  }
  size_t at = 0;
  EXPECT_TRUE(manifest["input_names"]
                  .ForEach([&](Json name) -> Status {
                    EXPECT_LT(at, names.size());
                    if (at < names.size()) {
                      EXPECT_EQ(name.AsString(), names[at]);
                    }
                    ++at;
                    return {};
                  })
                  .ok());
  EXPECT_EQ(at, names.size());
  Json outputs = manifest["output_specs"];
  int64_t writes = outputs["buffer_mutation"].AsInt().value_or(0) +
                   outputs["user_input_mutation"].AsInt().value_or(0) +
                   outputs["parameter_mutation"].AsInt().value_or(0);
  EXPECT_EQ(program.graph.write_backs.size(), static_cast<size_t>(writes));
  EXPECT_EQ(static_cast<int64_t>(program.graph.outputs.size()),
            outputs["user_output"].AsInt().value_or(0));
  ASSERT_TRUE(program.sample_inputs.has_value());
  EXPECT_EQ(program.sample_inputs->size(), names.size());
  EXPECT_EQ(program.functional, manifest["form"].AsString() != "training-ir");
  EXPECT_EQ(program.torch_version.substr(0, 3), manifest["torch"].AsString()->substr(0, 3));
}

TEST(Pt2, EveryFixtureFitsItsManifest) {
  int loaded = 0;
  std::set<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(Folder())) folders.insert(entry.path());
  for (const fs::path& folder : folders) {
    if (!fs::exists(folder / "model.pt2")) continue;
    std::string fixture = folder.filename();
    Result<ImportedProgram> program = ImportPt2(folder / "model.pt2", Operators());
    if (fixture == "vmap_region-training-ir-2.14") {
      ASSERT_FALSE(program.ok());
      EXPECT_EQ(program.error().kind, ErrorKind::kUnsupported);
      continue;
    }
    ASSERT_TRUE(program.ok()) << program.error().message;
    CheckManifest(fixture, *program);
    ++loaded;
  }
  EXPECT_GT(loaded, 200);
}

// ---- single properties

TEST(Pt2, TiedAndOverlappingWeightsShareMemory) {
  auto largest_group = [](const ImportedProgram& program) {
    std::map<Storage*, int> sizes;
    int largest = 0;
    for (const auto& [name, tensor] : program.constants) {
      largest = std::max(largest, ++sizes[tensor.storage.get()]);
    }
    return largest;
  };
  EXPECT_EQ(largest_group(Load("shared_buffers-training-ir-2.14")), 4);
  EXPECT_EQ(largest_group(Load("counters-training-ir-2.6")), 1);
}

TEST(Pt2, WeightsAreMappedNotCopied) {
  std::string path = Folder() / "llama_decode-training-ir-2.14" / "model.pt2";
  ImportedProgram program = Load("llama_decode-training-ir-2.14");
  int mapped = 0, all = 0;
  for (const auto& [name, tensor] : program.constants) {
    if (tensor.numel() == 0) continue;
    ++all;
    mapped += !tensor.storage->resizable();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.storage->data()) % 64, 0u);
  }
  EXPECT_GT(all, 5);
  EXPECT_EQ(mapped, all);
}

TEST(Pt2, ConstantsAmongInputsAndResults) {
  ImportedProgram program = Load("pytree_io-training-ir-2.14");
  const auto& inputs = program.graph.inputs;
  ASSERT_EQ(inputs.size(), 10u);
  EXPECT_EQ(inputs[4].constant.As<bool>(), true);
  EXPECT_EQ(inputs[5].constant.As<double>(), 1.5);
  EXPECT_EQ(inputs[6].constant.As<std::string>(), "tag");
  EXPECT_TRUE(inputs[7].constant.IsNone());
  EXPECT_EQ(program.graph.nodes[7].type.kind, ir::Type::Kind::kNone);
  EXPECT_EQ(program.graph.outputs[3].As<int64_t>(), 3);
  EXPECT_TRUE(program.graph.outputs[4].IsNone());
  EXPECT_EQ(program.input_tree->ToString(),
            "(({'a': *, 'b': *}, (*, [*]), *, *, *, *), {'extra': *, 'opts': {'k': *}})");
  EXPECT_EQ((*program.sample_inputs)[6].As<std::string>(), "tag");
}

TEST(Pt2, SourcePlaces) {
  ImportedProgram program = Load("ring_buffer-training-ir-2.14");
  std::string place;
  for (const ir::Node& node : program.graph.nodes) {
    if (node.target == "torch.ops.aten.copy_.default") place = program.graph.PlaceOf(node);
  }
  EXPECT_NE(place.find("in forward: self.state[:] = torch.cat"), std::string::npos) << place;
}

// PyTorch 2.8 put the archives of 2.6 into the folders of 2.9.
TEST(Pt2, LayoutOf28) {
  fs::path old = Folder() / "counters-training-ir-2.6" / "model.pt2";
  Result<Bytes> file = MapFile(old);
  ASSERT_TRUE(file.ok());
  Result<Archive> archive = Archive::Open(*file, old);
  ASSERT_TRUE(archive.ok());
  auto record = [&](const char* name) { return std::string(archive->Read(name)->text()); };
  std::string path =
      WriteZip("layout28.pt2",
               {{"m/data/weights/model.pt", record("serialized_state_dict.pt")},
                {"m/data/constants/model.pt", record("serialized_constants.pt")},
                {"m/models/model.json", record("serialized_exported_program.json")},
                {"m/data/sample_inputs/model.pt", record("serialized_example_inputs.pt")},
                {"m/archive_format", "pt2"},
                {"m/archive_version", "0"}},
               /*deflate=*/true);
  Result<ImportedProgram> program = ImportPt2(path, Operators());
  unlink(path.c_str());
  ASSERT_TRUE(program.ok()) << program.error().message;
  ImportedProgram expected = Load("counters-training-ir-2.6");
  ASSERT_EQ(program->constants.size(), expected.constants.size());
  for (const auto& [name, tensor] : expected.constants) {
    const Tensor& other = program->constants.at(name);
    EXPECT_EQ(other.view(), tensor.view());
    EXPECT_EQ(std::memcmp(other.storage->data(), tensor.storage->data(),
                          static_cast<size_t>(tensor.storage->bytes())),
              0);
  }
  EXPECT_TRUE(program->sample_inputs.has_value());
}

TEST(Pt2, CompiledPackagesAreRefusedByName) {
  std::string path = WriteZip(
      "aoti.pt2", {{"m/archive_format", "pt2"}, {"m/data/aotinductor/model/a.wrapper.so", "x"}},
      /*deflate=*/false);
  Result<ImportedProgram> program = ImportPt2(path, Operators());
  unlink(path.c_str());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(program.error().message.find("native code"), std::string::npos);
}

TEST(Pt2, LooksLikeArchive) {
  EXPECT_TRUE(LooksLikeArchive(Folder() / "counters-training-ir-2.6" / "model.pt2"));
  EXPECT_FALSE(LooksLikeArchive(Folder() / "README.md"));
  EXPECT_FALSE(LooksLikeArchive("/no/such/file"));
  EXPECT_TRUE(LooksLikeArchive("/no/such/file.pt2"));
}

// ---- hostile files

// What a reader alone cannot see: it takes the operators, or a call.
bool SeenLater(const std::string& group, const std::string& file) {
  return group == "ops" || group == "functionalized" || file == "symbols-range_inverted.pt2";
}

TEST(Pt2, HostileFiles) {
  fs::path folder = testing::TempDir() + fmt::format("hostile_{}", getpid());
  fs::create_directories(folder);
  std::string tar = fmt::format("tar xf '{}' -C '{}'",
                                (Folder() / "hostile" / "files.tar.gz").string(), folder.string());
  ASSERT_EQ(std::system(tar.c_str()), 0);
  std::string text = ReadFile(Folder() / "hostile" / "cases.json");
  Result<JsonTape> cases = ParseJson(text, "cases.json");
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  fs::path files = fs::exists(folder / "zip-half.pt2") ? folder : folder / "hostile";
  int refused = 0;
  Status all = cases->root().ForEach([&](Json c) -> Status {
    std::string file(*c["file"].AsString()), group(*c["group"].AsString());
    Result<ImportedProgram> program = ImportPt2(files / file, Operators());
    std::string message = program.ok() ? "" : program.error().message;
    if (c["expect"].AsString() == "run") {
      EXPECT_TRUE(program.ok()) << file << ": " << message;
    }
    if (c["expect"].AsString() == "refuse" && !SeenLater(group, file)) {
      EXPECT_FALSE(program.ok()) << file;
      ++refused;
    }
    if (!program.ok()) {
      EXPECT_EQ(program.error().kind, ErrorKind::kBadInput) << file << ": " << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_TRUE(message.starts_with(files.string())) << message;
      EXPECT_LT(message.size(), 1000u) << message;
    }
    return {};
  });
  EXPECT_TRUE(all.ok());
  EXPECT_GT(refused, 90);
  EXPECT_FALSE(fs::exists("PICKLE_WAS_EXECUTED"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace palimpsest::importing
