// Planner: runs the nodes of a FlowGraph on a Machine, one at a time, with few copied bytes.
//
// Two moves make all prices (docs/reinplacing.md): *place* copies in what is missing where an
// operand, an output or a home must be complete; *save* copies away the last holder of something
// wanted before it is overwritten. Both are made only when a node needs them.
//
// Where a node has a choice (which buffer, where to save to) the planner tries the alternatives,
// the most promising first, undoes each, and keeps the first that copies nothing, else the
// cheapest.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "reinplace/flow.h"
#include "reinplace/machine.h"

namespace palimpsest::reinplace {

// Caps that keep a choice small. They can cost copies, never correctness.
inline constexpr int kMaxProbes = 64;         // runs that are looked up to find where values lie
inline constexpr size_t kMaxCandidates = 12;  // per choice
inline constexpr int kMaxFamilyBuffers = 8;   // the newest buffers of a family are tried

// One script of choices; Choose(n) plays it back and records how many alternatives there were.
class Choices {
 public:
  // A number in [0, n). REQUIRES: n > 0.
  int Choose(int n);
  void Restart() { next_ = 0; }
  // The next script in depth-first order; false if there is none.
  bool Advance();
  const std::vector<int>& script() const { return script_; }
  void Play(std::vector<int> script);

 private:
  std::vector<int> script_, counts_;
  size_t next_ = 0;
};

// What a search found (search.cc, Note [Search]).
struct SearchResult {
  bool found = false;
  int64_t lower_bound = 0;  // no plan copies fewer bytes; its cost, if one was found
};

class Planner {
 public:
  explicit Planner(const FlowGraph& flow);

  // Program order; or whichever ready node costs least (`reorder`). False if no plan was found.
  bool RunInOrder();
  bool RunReordered();

  // The cheapest plan that copies fewer bytes than `below`.
  SearchResult RunSearched(int64_t below);

  // Copies are made where the program makes them.
  bool RunAsWritten();
  // Every node gets new buffers, every copy is made.
  bool RunFunctional();

  void set_debt_weight(int64_t weight) { debt_weight_ = weight; }
  // Attempts that are left of the budget: a number of tries, each with the weight of what it looks
  // at, not of seconds, so that the result does not hang on the machine.
  bool is_hurried() const { return attempts_left_ <= 0; }
  int64_t cost() const { return machine_.cost(); }
  Machine& machine() { return machine_; }
  const FlowGraph& flow() const { return flow_; }
  // Per output storage: the buffer, and where byte `low` of the storage lies in it.
  struct OutputSpot {
    int buffer = -1;
    int64_t low = 0;
  };
  const std::vector<OutputSpot>& outputs() const { return outputs_; }

 private:
  // What must lie where: `low` is the place of byte 0 in the coordinates of the family.
  struct Wanted {
    const Content* content;
    int64_t low;
    int family;
    const char* why;
  };
  struct Found {
    int buffer;
    int64_t low;
    int64_t missing;
  };
  struct Rules {
    bool homes = true;                 // may lie in an input that the program writes
    std::vector<int> banned;           // not in these buffers
    std::vector<const View*> aligned;  // must stay multiples of their item size
  };
  // A destination for values: a buffer, or a new one.
  struct Target {
    int buffer = -1;
    int family = -1;
    int64_t bytes = 0;
    Pieces pieces;
  };
  using Dying = std::vector<std::pair<int, std::vector<Interval>>>;

  // Runs attempts until one is free; undoes the others.
  bool Best(const std::function<bool()>& attempt);
  // What one attempt to run the node costs the budget; -1: the end.
  int64_t AttemptWeight(int index) const;
  bool TryNode(int index);
  bool TryFinish();
  bool PlanNode(int index);

  bool PlaceGroups(const FlowNode& node, PlannedStep& step);
  bool PlaceReads(const FlowNode& node, PlannedStep& step);
  bool PlaceRead(const FlowNode& node, size_t k, PlannedStep& step);
  bool SaveOverwritten(const FlowNode& node, const PlannedStep& step);
  bool PlaceResults(const FlowNode& node, PlannedStep& step);
  bool PlaceResult(const FlowNode& node, size_t k, PlannedStep& step);
  void Apply(const FlowNode& node, const PlannedStep& step);
  bool Intact(const FlowNode& node, const PlannedStep& step) const;

  // Makes the values lie somewhere that may be written. `buffer` and `low` say where.
  bool Place(const Wanted& wanted, const Rules& rules, const PlannedStep& used, int* buffer,
             int64_t* low);
  std::vector<Found> Matches(const Content& content, bool complete, bool writable) const;
  bool Save(int buffer, const Pieces& lost, const std::vector<Interval>& doomed);
  std::vector<Target> SaveTargets(int buffer, const Pieces& lost,
                                  const std::vector<Interval>& doomed) const;
  // Absolute pieces of `buffer` whose last holders lie in `dying`.
  Pieces Lost(int buffer, const std::vector<Interval>& where, const Dying& dying, bool after) const;
  // `family`: the base on whose behalf the bytes move.
  bool Copy(int buffer, const Pieces& pieces, const char* why, int family);
  int NewBuffer(int family);
  bool Meets(const PlannedStep& step, int buffer, const View& view) const;
  bool MayOverlay(const FlowNode& node, size_t operand, size_t result, const Spot& a,
                  const Spot& b) const;
  struct Destination {
    int buffer = -1;  // -1: a new buffer of the family
    View view;
    int family = -1;
  };
  std::vector<Destination> Destinations(const FlowNode& node, size_t k,
                                        const PlannedStep& step) const;
  void MakeProgramBuffer(int family);
  void AdoptResults(const FlowNode& node);
  bool Ensure(const FlowEvent& event);
  bool EnsureFresh(const FlowEvent& event);
  bool Finish();
  std::vector<std::vector<int>> Dependencies() const;
  bool FinishOutputs();
  bool FinishHomes();

  struct SearchLevel;
  class Searcher;

  enum class Mode : uint8_t { kBest, kAsWritten, kFunctional };
  bool IsPut(const Alias& alias) const;
  bool IsWantedPlace(const FlowResult& result, const Destination& d) const;
  const FlowGraph& flow_;
  Machine machine_;
  int64_t attempts_left_;
  Choices choices_;
  Mode mode_ = Mode::kBest;
  bool searching_ = false;  // more alternatives per choice
  int64_t limit_ = 0;       // an attempt that costs this much is given up
  // Bytes that the attempt will probably have to copy later.
  int64_t debt_ = 0;
  int64_t debt_weight_ = 1;
  int current_node_ = -1;
  std::vector<OutputSpot> outputs_;
  std::map<int, int> program_buffers_;  // per family, as written: the buffer that is its storage
  // Where numbers end: per written input and per output storage, number -> address.
  struct Ends {
    int input = -1, output = -1;
    std::map<int64_t, Piece> by_number;
  };
  std::vector<Ends> ends_;
};

}  // namespace palimpsest::reinplace
