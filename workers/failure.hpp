// Why something did not work: a code to act on and a sentence to show.
#pragma once

#include <string>
#include <system_error>

namespace hone::workers {

struct Failure {
  std::error_code code;
  std::string cause;

  // True when something failed.
  explicit operator bool() const noexcept { return static_cast<bool>(code); }
};

}  // namespace hone::workers
