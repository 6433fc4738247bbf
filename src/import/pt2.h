// ImportPt2: a program that torch.export saved (.pt2) -> ir::Graph, weights, sample inputs.
//
// Reads the layouts of PyTorch 2.6 and 2.7 (plain zip, pickled weights), 2.8 (pickled weights in
// the new folders) and 2.9 to 2.14 (raw weights), in the training form (operators as the model
// calls them, writes included) and in the functional forms (writes listed in the signature).
//
// Nothing in a file is ever executed: pickles go through a closed reader (pickle.h), expressions
// through a parser. Sizes and counts are checked against the bytes that are really there before
// anything is allocated.
//
// The folder is called `import`, a word that newer C++ gives a meaning: its namespace is
// palimpsest::importing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "op/op.h"
#include "palimpsest/result.h"
#include "palimpsest/tensor.h"
#include "palimpsest/value.h"

namespace palimpsest::importing {

// How flat values are nested in Python: lists, tuples, dicts; a leaf is one flat value.
struct PyTree {
  bool is_leaf = true;
  std::string type;               // "builtins.tuple", "builtins.dict", ...; empty for a leaf
  std::vector<std::string> keys;  // dicts and named tuples: one per child
  std::vector<PyTree> children;
  size_t num_leaves() const;
  // "(*, {'a': *})": a readable form.
  std::string ToString() const;
};

struct ImportedProgram {
  // Phase kProgram, in the functional forms too. One kInput node per input of the file (effect
  // tokens are dropped); `graph.inputs` has one spec for each. A Python constant among the inputs
  // (None included) is an input of kind kConstant. What the signature lists as changed buffers,
  // parameters and inputs is in `graph.write_backs`; `graph.outputs` are the user's results only. A
  // result that is also the value of a write-back is, in eager PyTorch, the updated input itself.
  // Operators that the table does not know stay, with op == nullptr: the caller names them.
  ir::Graph graph;
  // Parameters, buffers and constant tensors by InputSpec::target. Tied and overlapping ones share
  // a Storage. The memory of a storage may be a *read-only* mapping of the file: a program that
  // writes it needs a copy.
  std::map<std::string, Tensor> constants;
  // One value per user input (constants included), in order. Absent if the file has none or if
  // they cannot be read; `remarks` says why.
  std::optional<std::vector<Value>> sample_inputs;
  // How user inputs and results are nested: (args, kwargs), and the result. Absent if not said.
  std::optional<PyTree> input_tree, output_tree;
  // The file was functionalized elsewhere (verifier other than TRAINING): no operator writes, and
  // overlapping written inputs have no meaning.
  bool functional = false;
  std::string torch_version;         // "2.14.1", as the file says
  std::vector<std::string> remarks;  // what was odd, but not wrong
};

// Errors: kBadInput (the file is broken or lies; the message names record and place), kUnsupported
// (a feature of the format that palimpsest lacks: names it), kRuntime (out of memory).
Result<ImportedProgram> ImportPt2(const std::string& path, const op::OpTable& ops);

// True if the file is called .pt2 or begins like a zip archive: ImportPt2 is the reader for it.
bool LooksLikeArchive(const std::string& path);

}  // namespace palimpsest::importing
