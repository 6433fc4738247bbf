#include <cstdio>

#include "palimpsest/program.h"

palimpsest::Status Run() {
  palimpsest::Operators ops;
  PAL_TRY(ops.LoadLibrary("libllm_ops.so"));
  PAL_TRY(auto program, palimpsest::Program::Load("decode.pt2", ops));
  PAL_TRY(auto executable, program.Compile({}));
  PAL_TRY(auto session, executable.NewSession());
  PAL_TRY(auto inputs, program.SampleInputs());
  PAL_TRY(auto results, session.Run(inputs));
  std::printf("%s, %lld bytes copied\n", ToString(results[0].tensor().view()).c_str(),
              static_cast<long long>(session.last_run().copied_bytes));
  return {};
}

int main() {
  palimpsest::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().ToString().c_str());
  return status.ok() ? 0 : 1;
}
