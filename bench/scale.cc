// How compile time grows with the program: milliseconds per phase, and microseconds per node.
//
//   bench_scale [LARGEST]    programs of 100, 1,000, ... nodes up to LARGEST (default 10,000)
//
// Nothing is asserted here. The 200 rows: the program of which PyTorch 2.14 keeps 199 clones.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "palimpsest/program.h"
#include "scale_programs.h"

namespace palimpsest::bench {
namespace {

struct Timed {
  double read_ms = 0, all_ms = 0;  // all: with the second check and the texts of all stages
  Explanation phases;
};

class Stopwatch {
 public:
  double Ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Result<Timed> Time(const std::string& text) {
  Operators ops;
  Timed timed;
  Stopwatch read;
  PAL_TRY(Program program, Program::FromText(text, ops));
  timed.read_ms = read.Ms();
  Stopwatch all;
  PAL_TRY(Executable executable, program.Compile({}));
  PAL_TRY(timed.phases, executable.Explain());
  timed.all_ms = all.Ms();
  return timed;
}

constexpr char kRow[] =
    "{:<12}{:>8}{:>10.2f}{:>15.2f}{:>10.2f}{:>11.2f}{:>10.2f}{:>10.2f}{:>9.2f}{:>12.2f}{:>9}{:>7}"
    "\n";

void PrintRow(const char* name, int nodes, const Result<Timed>& timed) {
  if (!timed.ok()) {
    fmt::print("{:<14} {:>8}  {}\n", name, nodes, timed.error().ToString());
    return;
  }
  const Explanation& e = timed->phases;
  const double sum = e.functionalize_ms + e.optimize_ms + e.reinplace_ms + e.plan_ms;
  fmt::print(kRow, name, nodes, timed->read_ms, e.functionalize_ms, e.optimize_ms, e.reinplace_ms,
             e.plan_ms, sum, 1000 * sum / nodes, timed->all_ms, e.copied_bytes, e.clones);
}

void PrintHeader() {
  fmt::print("{:<12}{:>8}{:>10}{:>15}{:>10}{:>11}{:>10}{:>10}{:>9}{:>12}{:>9}{:>7}\n", "program",
             "nodes", "read ms", "functionalize", "optimize", "reinplace", "plan", "sum", "us/node",
             "explain ms", "copied", "clones");
}

int Main(int largest) {
  fmt::print("The 200 rows\n");
  PrintHeader();
  const std::string rows = RowsReadAfterUpdate(200);
  for (int i = 0; i < 3; ++i) {
    Result<Timed> timed = Time(rows);
    PrintRow("200 rows", 801, timed);
    if (!timed.ok()) return 1;
  }
  fmt::print("\nGrowth\n");
  PrintHeader();
  for (int nodes = 100; nodes <= largest; nodes *= 10) {
    PrintRow("row updates", nodes, Time(RowUpdates(nodes)));
    PrintRow("decoder", nodes, Time(Decoder(nodes)));
    PrintRow("random", nodes, Time(RandomDag(nodes, 1)));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace palimpsest::bench

int main(int argc, char** argv) {
  return palimpsest::bench::Main(argc > 1 ? std::atoi(argv[1]) : 10000);
}
