// Outcomes of cases: counting them, and the lines that say so.
#pragma once

#include <map>
#include <string>

#include "palimpsest/program.h"

namespace cases {

struct Outcome {
  enum class Kind { kPassed, kFailed, kSkipped };
  Kind kind = Kind::kPassed;
  std::string reason;

  static Outcome Passed() { return {}; }
  static Outcome Failed(std::string reason) { return {Kind::kFailed, std::move(reason)}; }
  static Outcome Skipped(std::string reason) { return {Kind::kSkipped, std::move(reason)}; }
  bool passed() const { return kind == Kind::kPassed; }
};

// What the user asked for.
struct Settings {
  std::string path;
  std::string only;      // run this id only; empty: all
  bool verbose = false;  // -v: skipped cases and remarks too
  bool proof = false;    // --proof: programs whose copied bytes are not proven least fail
  bool interpret = true, compile = true;
  palimpsest::Options options;  // of the compiler; programs only
  // False: the options forbid the plan that copies least.
  bool may_plan_best = true;

  bool Wants(const std::string& id) const { return only.empty() || only == id; }
};

class Tally {
 public:
  explicit Tally(const Settings& settings) : verbose_(settings.verbose) {}
  // Prints a line for a failure (with -v for a skipped case too).
  void Add(const std::string& id, const Outcome& outcome);
  void PrintSkipReasons() const;
  // "N passed, M failed, K skipped"
  std::string Sum() const;
  bool ok() const { return failed_ == 0; }
  void operator+=(const Tally& other);

 private:
  bool verbose_;
  int passed_ = 0, failed_ = 0, skipped_ = 0;
  std::map<std::string, int> skip_reasons_;
};

// We lack the feature, kernel or operator: not wrong.
bool IsUnsupported(const palimpsest::Error& error);
// The program or its data is wrong, as eager PyTorch says too.
bool IsUserAtFault(const palimpsest::Error& error);
// Skipped where the error says that something is not supported, else failed: "WHAT: error".
Outcome FromError(const palimpsest::Error& error, const std::string& what);

}  // namespace cases
