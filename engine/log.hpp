// The library's logger, named "hone": a program may register one of that name with spdlog to direct it.
#pragma once

#include <memory>

#include <spdlog/logger.h>

#include <hone/policy.hpp>

namespace hone::engine {

// Thread-safe. Writes to standard error unless the program registered another logger before.
spdlog::logger& log();
void set_log_level(LogLevel level);

}  // namespace hone::engine
