// Broken and hostile .pt2 files: each is tried in a process of its own.
#pragma once

#include "palimpsest/program.h"
#include "tally.h"

namespace cases {

// `folder` holds cases.json, files.tar.gz and the well-formed bases. Call it while the process has
// one thread only: it forks.
palimpsest::Result<Tally> RunHostile(const Settings& settings, const std::string& folder,
                                     const palimpsest::Operators& ops);

}  // namespace cases
