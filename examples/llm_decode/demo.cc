// The demo: a decode step that PyTorch exported, with operators that write, run from C++.
//
//   llm_decode_demo MODEL.pt2 libllm_ops.so EXPECTED.txt [--quiet]
//
// 8 steps; the logits must equal PyTorch's recorded ones (relative 1e-4), and no byte of a KV cache
// may be copied. Prints the graph before and after, and the ledger.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "palimpsest/program.h"

namespace {

using palimpsest::DType;
using palimpsest::Result;
using palimpsest::Status;
using palimpsest::Tensor;
using palimpsest::Value;

struct Step {
  int64_t token, position, slot, length;
  std::vector<float> logits;
};

Result<std::vector<Step>> ReadSteps(const std::string& path) {
  std::ifstream file(path);
  if (!file) return palimpsest::BadInput("cannot open '" + path + "'");
  std::vector<Step> steps;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream row(line);
    Step step;
    char bar;
    row >> step.token >> step.position >> step.slot >> step.length >> bar;
    for (float x; row >> x;) step.logits.push_back(x);
    steps.push_back(std::move(step));
  }
  return steps;
}

Result<Value> Integers(const std::vector<int64_t>& values) {
  const int64_t n = static_cast<int64_t>(values.size());
  PAL_TRY(Tensor tensor, palimpsest::EmptyTensor(DType::kI64, std::vector<int64_t>{n}));
  std::memcpy(tensor.data(), values.data(), values.size() * sizeof(int64_t));
  return Value(std::move(tensor));
}

Result<std::vector<Value>> InputsOf(const Step& step) {
  std::vector<Value> inputs(5);
  PAL_TRY(inputs[0], Integers({step.token}));
  PAL_TRY(inputs[1], Integers({step.position}));
  PAL_TRY(inputs[2], Integers({step.slot}));
  PAL_TRY(inputs[3], Integers({4, 1, 3}));  // the pages of this sequence, in no order
  PAL_TRY(inputs[4], Integers({step.length}));
  return inputs;
}

// The largest |got - expected| / (1e-5 + |expected|).
double WorstError(const Tensor& logits, const std::vector<float>& expected) {
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double e = expected[i], got = logits.data_as<float>()[i];
    worst = std::fmax(worst, std::fabs(got - e) / (1e-5 + std::fabs(e)));
  }
  return worst;
}

void PrintStage(const palimpsest::Explanation& explanation, const char* wanted, const char* title) {
  for (const auto& [stage, text] : explanation.stages) {
    if (stage == wanted) std::printf("---- %s\n%s\n", title, text.c_str());
  }
}

void PrintLedger(const palimpsest::Explanation& e, int64_t copied) {
  std::printf("---- the ledger\n%-28s %8s  %-10s %s\n", "written base", "bytes", "verdict",
              "copied");
  for (const auto& base : e.bases) {
    std::printf("%-28s %8lld  %-10s %lld\n", base.name.c_str(), static_cast<long long>(base.bytes),
                base.verdict.c_str(), static_cast<long long>(base.copied_bytes));
  }
  std::printf("bytes copied, counted while running: %lld in 8 steps; clones: %d\n",
              static_cast<long long>(copied), e.clones);
}

Result<bool> Demo(const std::string& model, const std::string& library, const std::string& expected,
                  bool quiet) {
  palimpsest::Operators ops;
  PAL_TRY(ops.LoadLibrary(library));
  PAL_TRY(palimpsest::Program program, palimpsest::Program::Load(model, ops));
  PAL_TRY(palimpsest::Executable executable, program.Compile({}));
  PAL_TRY(palimpsest::Session session, executable.NewSession());
  PAL_TRY(std::vector<Step> steps, ReadSteps(expected));

  PAL_TRY(std::vector<Value> first, InputsOf(steps.at(0)));
  PAL_TRY(palimpsest::Explanation explanation, executable.Explain(first));
  if (!quiet) {
    PrintStage(explanation, "program", "before: as PyTorch exported it");
    PrintStage(explanation, "direct", "after: what runs");
  }
  int64_t copied = 0;
  double worst = 0;
  for (const Step& step : steps) {
    PAL_TRY(std::vector<Value> inputs, InputsOf(step));
    PAL_TRY(std::vector<Value> results, session.Run(inputs));
    double error = WorstError(results.at(0).tensor(), step.logits);
    worst = std::fmax(worst, error);
    copied += session.last_run().copied_bytes;
    std::printf("step %lld: token %3lld, largest relative difference to PyTorch %.1e\n",
                static_cast<long long>(step.position), static_cast<long long>(step.token), error);
  }
  PrintLedger(explanation, copied);
  bool ok = steps.size() == 8 && worst <= 1e-4 && copied == 0 && explanation.clones == 0;
  std::printf("%s\n", ok ? "8 steps equal PyTorch's; 0 bytes of cache copied, 0 clones"
                         : "FAILED: another result than PyTorch's, or something was copied");
  return ok;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s MODEL.pt2 LIBRARY.so EXPECTED.txt [--quiet]\n", argv[0]);
    return 2;
  }
  bool quiet = argc > 4 && std::strcmp(argv[4], "--quiet") == 0;
  Result<bool> ok = Demo(argv[1], argv[2], argv[3], quiet);
  if (!ok.ok()) {
    std::fprintf(stderr, "%s\n", ok.error().ToString().c_str());
    return palimpsest::ExitCode(ok.error().kind);
  }
  return *ok ? 0 : 1;
}
