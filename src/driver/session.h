// NewSession: shared by Program::Interpret and Executable::NewSession.
#pragma once

#include <memory>

#include "driver/program_impl.h"

namespace palimpsest::driver {

// `executable` null: a session of the interpreter.
Result<Session> NewSession(std::shared_ptr<const Program::Impl> program,
                           std::shared_ptr<const Executable::Impl> executable);

}  // namespace palimpsest::driver
