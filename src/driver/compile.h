// Compile: the pipeline. compile.cc is the one file that reads as the way of a program.
#pragma once

#include <memory>
#include <span>

#include "driver/program_impl.h"

namespace palimpsest::driver {

// Compiles `program` for one call signature. `data`: the numbers read ahead.
Result<std::shared_ptr<const Specialised>> Specialise(const Program::Impl& program,
                                                      const Options& options,
                                                      const CallSignature& signature,
                                                      std::span<const Value> data);

// Explanation of a specialised program, with the graph texts of all stages.
Explanation ExplainSpecialised(const Program::Impl& program, const Specialised& specialised);

// One value per graph input from the caller's user inputs and the state: counts and kinds checked.
Result<std::vector<Value>> AssembleInputs(const Program::Impl& program, std::span<const Value> user,
                                          std::span<const Value> state);

// From the cache, or compiled now. `compiled_now` tells which.
Result<std::shared_ptr<const Specialised>> FindOrSpecialise(const Executable::Impl& executable,
                                                            const CallSignature& signature,
                                                            std::span<const Value> data,
                                                            bool* compiled_now);

}  // namespace palimpsest::driver
