// FlowGraph: a functional graph as the planner and the checker see it: nodes that compute, with
// value numbers for all that they read and write. Copies are no nodes: they hand numbers on.
//
// Built from an ir::Graph by BuildFlow (build_flow.h), or by hand with FlowBuilder (tests).
//
// Words: a *version* is the contents of one storage of the functional graph (nobody writes storages
// there, so contents never change). A *family* is a chain of versions that are one storage in the
// program as written. A *content* is what a tensor holds: a geometry and the numbers in it;
// contents that are copies of each other are one *class*, the same logical tensor under several
// names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "palimpsest/tensor.h"
#include "reinplace/regions.h"
#include "reinplace/run_map.h"

namespace palimpsest::reinplace {

// Numbers in a geometry. `pieces` are sorted; addresses count from the view's lowest byte.
struct Content {
  Pieces pieces;
  int64_t extent = 0;  // bytes from the lowest to past the highest
};

// A place in a family where a class lies in some version.
struct Alias {
  int family = -1;
  View view;
  int content = -1;
  // The program puts the value there: by a copy into a part of the family, or because an operator
  // that works in place computes it there.
  enum class Put : uint8_t { kNo, kCopied, kComputed } put = Put::kNo;
  // What lay nearest around it in that version; addresses count from the view's lowest byte.
  Pieces around;
};

struct FlowOperand {
  View view;  // the program's geometry, in the coordinates of its version
  int content = -1;
  bool read = true, written = false;
  bool soft = false;  // any contents will do (a dead operator runs for its check only)
  int base = -1;      // operands of one node that share memory in the program have equal bases
  int group = -1;
  int after = -1;  // written operands: the content that lies there afterwards
};
// Operands that meet in memory, one of them written: they lie in one buffer at their distances.
struct FlowGroup {
  std::vector<int> operands;
  Content before;   // what must lie there, from the lowest byte `low` of the group on
  int64_t low = 0;  // in the coordinates of the version
  int family = -1;
};
struct FlowResult {
  View view;
  int content = -1;
  int family = -1;
};

struct FlowNode {
  ir::NodeId node;
  bool opaque = false;      // operands keep the program's strides; results are buffers of their own
  bool pointwise = false;   // a result may lie exactly on any operand of its geometry
  bool over_first = false;  // a result may lie exactly on operand 0
  bool tied = false;        // groups are written in place
  bool ordered = false;     // random or with an effect: keeps its order among such nodes
  bool is_copy = false;     // Note [Coarse bases]: a copy too fine to follow; it costs its bytes
  View copy_to;             // is_copy with a group: where in the group's operand the value goes
  bool live = true;
  bool check_only = false;  // dead, but it may refuse
  // Position of operand 0 is the tied one of a built-in update (its result lies in the same place).
  int tied_operand = -1;
  std::vector<FlowOperand> operands;
  std::vector<size_t> written;  // operands that are written in place
  std::vector<FlowGroup> groups;
  std::vector<FlowResult> results;
  int64_t first_number = 0, end_number = 0;  // made here
};

struct Family {
  int64_t bytes = 0;
  std::string name;  // for explain
  int storage = -1;  // of an input
  ir::NodeId node;   // the input, or what makes the first version; invalid in tests by hand
};

struct FlowOutput {
  int output = 0;  // index into the flat results
  View view;
  int content = -1;
};
// Results that are one storage.
struct FlowOutputStorage {
  int input_storage = -1;  // they lie in this input; else new memory
  int family = -1;
  std::vector<FlowOutput> outputs;
  Content whole;  // all that the outputs show, from byte `low` on
  int64_t low = 0;
};
struct FlowInput {
  int64_t bytes = 0;
  int family = -1;
  bool written = false;
  Content first, last;  // contents at the start, and at the end if written
};

// What happens in program order, for the plan as written.
struct FlowEvent {
  int node = -1;  // a node runs; or, if -1: `view` of `family` must hold `content`
  int family = -1;
  View view;
  int content = -1;
  // Which plan does it: the one as written, the purely functional one, or both.
  enum class For : uint8_t { kBoth, kAsWritten, kFunctional } only = For::kBoth;
};

struct FlowGraph {
  std::vector<FlowNode> nodes;
  std::vector<Family> families;
  std::vector<FlowInput> inputs;  // by storage number
  std::vector<FlowOutputStorage> outputs;
  std::vector<Content> contents;
  std::vector<int> class_of;                // per content
  std::vector<std::vector<Alias>> aliases;  // per class
  std::vector<FlowEvent> events;
  int64_t numbers = 1;  // numbers from 1 to below this are in use
  int64_t program_copied_bytes = 0;

  const Content& content(int id) const { return contents[static_cast<size_t>(id)]; }
  const std::vector<Alias>& aliases_of(int id) const {
    return aliases[static_cast<size_t>(class_of[static_cast<size_t>(id)])];
  }
};

class FlowBuilder {
 public:
  // Returns a version.
  int AddInput(int64_t bytes, bool written, const std::string& name = "");
  int AddFresh(int64_t bytes, const std::string& name = "");  // its bytes hold nothing yet
  // For explain: the node that stands for the family of this version.
  void MadeBy(int version, ir::NodeId node) {
    graph_.families[static_cast<size_t>(At(version).family)].node = node;
  }
  // The next version of the same family: `version` with changes to come. `last_use`: nobody will
  // ask for the old one again, so that its map is moved.
  int NextVersion(int version, bool last_use = false);
  // Nothing yet, in the same family and coordinates.
  int Window(int version);
  // The program says that two versions are one storage at different times.
  void SameFamily(int version, int other);

  // Hands the numbers of a view on. False if that needs too many runs (Note [Coarse bases]): then
  // nothing was changed.
  bool HandOn(int source, const View& from, int destination, const View& to);
  // After HandOn: the two views hold one logical tensor. `put`: how the second came to be.
  void SameTensor(int source, const View& from, int destination, const View& to,
                  Alias::Put put = Alias::Put::kNo);
  // The program copies here (counted); from here on it holds the view of the version (an event).
  void CopiedHere(int64_t bytes) { graph_.program_copied_bytes += bytes; }
  void HeldHere(int version, const View& view, FlowEvent::For only);

  // Nodes. Operands first, then EndOperands (groups and new numbers), then results.
  FlowNode& BeginNode(ir::NodeId node);
  void AddOperand(int version, const View& view, bool read, bool written, int base = -1);
  // `next`: per base, the version that gets the new numbers (NextVersion of the one read).
  void EndOperands(const std::vector<int>& next);
  // A result in a version of its own, which is returned.
  int AddResult(const View& view, int64_t bytes, bool uninitialized = false);
  void EndNode();

  void AddOutput(int output, int version, const View& view);  // in an input's storage too
  void SetFinal(int input_storage, int version);              // what a written input ends with
  // Dead code, readers, aliases. Call once.
  FlowGraph Finish();

  int64_t bytes_of(int version) const;
  // Index of the content of a view in a version.
  int Note(int version, const View& view, Alias::Put put = Alias::Put::kNo);
  FlowNode& last_node() { return graph_.nodes.back(); }

 private:
  struct Version {
    int family;
    int64_t bytes;
    RunMap runs;
  };
  Version& At(int version) { return versions_[static_cast<size_t>(version)]; }
  Content Read(int version, const View& view);
  int FamilyRoot(int family);
  int ClassRoot(int content);
  void FormGroups(FlowNode& node);
  void DropDeadNodes();
  void ResolveNames();

  FlowGraph graph_;
  std::vector<Version> versions_;
  std::vector<int> operand_versions_;  // of the node being built
  std::vector<int> family_parent_, class_parent_;
  std::map<std::vector<int64_t>, int> content_ids_;
  std::vector<std::vector<Alias>> content_aliases_;
  std::map<int, int> output_of_version_;  // version -> index into outputs
  std::map<int, int> final_of_input_;     // input storage -> version
};

// The union of contents placed at `lows` (absolute), as one content from the lowest byte on.
Content JoinContents(const std::vector<std::pair<int64_t, const Content*>>& parts, int64_t* low);

}  // namespace palimpsest::reinplace
