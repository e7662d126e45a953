#include "engine/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace hone::engine {

spdlog::logger& log() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto registered = spdlog::get("hone");
    return registered ? registered : spdlog::stderr_color_mt("hone");
  }();
  return *logger;
}

void set_log_level(LogLevel level) {
  constexpr std::array<spdlog::level::level_enum, 6> levels = {spdlog::level::trace, spdlog::level::debug,
                                                               spdlog::level::info,  spdlog::level::warn,
                                                               spdlog::level::err,   spdlog::level::off};
  log().set_level(levels[static_cast<std::size_t>(level)]);
}

}  // namespace hone::engine
