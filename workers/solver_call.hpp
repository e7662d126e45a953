// Calls into solvers: what they throw becomes the reason of a failed trial.
#pragma once

#include <exception>
#include <hone/error.hpp>
#include <optional>
#include <string>
#include <system_error>

namespace hone::workers {

// A failure of the device, of its clock, of memory for the operands or of what measures: not of the candidate that met
// it.
inline bool ends_the_job(std::error_code code) {
  return code == Errc::no_device || code == Errc::clock_failed || code == Errc::out_of_memory ||
         code == Errc::no_isolation || code == Errc::shut_down;
}

// What `function` returns; or nothing, and `reason` is the text of what it threw. Passes on a lost device.
template <class Function>
auto call_solver(Function function, std::string& reason) -> std::optional<decltype(function())> {
  try {
    return function();
  } catch (const std::system_error& error) {
    if (error.code() == Errc::no_device) throw;
    reason = error.what();
  } catch (const std::exception& exception) {
    reason = exception.what();
  } catch (...) {
    reason = "it threw something that is no std::exception";
  }
  return {};
}

}  // namespace hone::workers
