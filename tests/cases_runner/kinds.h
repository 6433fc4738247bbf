// One function per kind of cases. Each prints its failures and returns the tally.
#pragma once

#include "palimpsest/program.h"
#include "tally.h"

namespace cases {

palimpsest::Result<Tally> RunStrides(const Settings& settings, const palimpsest::Operators& ops);
palimpsest::Result<Tally> RunIteration(const Settings& settings);
palimpsest::Result<Tally> RunPrograms(const Settings& settings, const palimpsest::Operators& ops);
palimpsest::Result<Tally> RunPt2(const Settings& settings, const palimpsest::Operators& ops);

}  // namespace cases
