// One exported program with its manifest: inputs, results, state, aliases.
#pragma once

#include <string>
#include <vector>

#include "json.h"
#include "palimpsest/program.h"
#include "tally.h"
#include "tensors.h"

namespace cases {

enum class Engine { kInterpreter, kCompiled };
inline const char* EngineName(Engine engine) {
  return engine == Engine::kInterpreter ? "interpreter" : "compiled";
}

struct Fixture {
  std::string folder;
  Json manifest;
};
palimpsest::Result<Fixture> LoadFixture(const std::string& folder);

// Runs the fixture's calls on `program` (its own file, or one that must give the same results) and
// compares outputs, changed inputs, state and (training form) aliases.
Outcome RunFixture(const Fixture& fixture, const palimpsest::Program& program, Engine engine);

// A tensor or another value of a manifest, in memory of its own with the strides it asks for.
palimpsest::Result<palimpsest::Value> ReadValue(const Fixture& fixture, const Json& value);
// The first difference between two flat results, values and types; 0 tolerance where bits must
// agree.
Difference CompareResults(const std::vector<palimpsest::Value>& actual,
                          const std::vector<palimpsest::Value>& expected, const Tolerance& t);

}  // namespace cases
