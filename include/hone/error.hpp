// Errors of construction and configuration.
//
// Constructors and configuration throw hone::Error; find, run and report never throw. Background failures are events.
#pragma once

#include <memory>
#include <string>
#include <system_error>

namespace hone {

enum class Errc {
  invalid_option = 1,  // a knob has an impossible value, or its name is unknown
  invalid_problem,     // a field is out of range, or a text does not parse
  invalid_operation,   // an operation is incomplete or was added twice
  no_device,           // the engine has no device, or the named one does not exist
  no_solution,         // no solver can run the problem
  out_of_memory,       // a buffer exceeds the memory cap, or the device has none left
  not_applicable,      // a candidate cannot run this problem here
  launch_failed,       // a kernel reported a failure
  wrong_result,        // a candidate's output differs from the reference
  timed_out,           // a candidate or a job exceeded its time
  store_unavailable,   // the database cannot be opened or written
  store_damaged,       // a stored value fails its checksum or does not decode
  foreign_schema,      // the database was written by a newer hone
  forked,              // the engine or the database is used in a child process
  shut_down,           // the engine is being destroyed
  clock_failed,        // a device's clock ran backwards or stood still
  invalid_model,       // a learned model is damaged, of another version, or for another operation
  no_isolation,        // the process for isolated measuring cannot be started, or is no match for the engine
};

// hone's category; messages are sentences. Thread-safe.
const std::error_category& error_category() noexcept;

std::error_code make_error_code(Errc code) noexcept;

// A failure with hone's category and a sentence that says what to do, which is all that what() says.
class Error : public std::system_error {
 public:
  Error(Errc code, const std::string& what_to_do)
      : std::system_error(make_error_code(code)), what_(std::make_shared<const std::string>(what_to_do)) {}
  const char* what() const noexcept override { return what_->c_str(); }

 private:
  // Shared, because copying an exception must not throw.
  std::shared_ptr<const std::string> what_;
};

}  // namespace hone

template <>
struct std::is_error_code_enum<hone::Errc> : std::true_type {};
