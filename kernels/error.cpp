#include <hone/error.hpp>

namespace hone {
namespace {

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "hone"; }
  std::string message(int code) const override {
    switch (static_cast<Errc>(code)) {
      case Errc::invalid_option:
        return "an option has an impossible value";
      case Errc::invalid_problem:
        return "the problem is invalid";
      case Errc::invalid_operation:
        return "the operation is incomplete or was added twice";
      case Errc::no_device:
        return "there is no such device";
      case Errc::no_solution:
        return "no solver can run the problem";
      case Errc::out_of_memory:
        return "there is not enough memory for the buffers";
      case Errc::not_applicable:
        return "the candidate cannot run this problem here";
      case Errc::launch_failed:
        return "a kernel failed to run";
      case Errc::wrong_result:
        return "the result differs from the reference";
      case Errc::timed_out:
        return "the time is over";
      case Errc::store_unavailable:
        return "the database cannot be used";
      case Errc::store_damaged:
        return "a stored value is damaged";
      case Errc::foreign_schema:
        return "the database was written by a newer version of hone";
      case Errc::forked:
        return "the database was opened before fork and cannot be used in the child";
      case Errc::shut_down:
        return "the engine was shut down";
      case Errc::clock_failed:
        return "the device's clock ran backwards or stood still";
      case Errc::invalid_model:
        return "the learned model cannot be used";
      case Errc::no_isolation:
        return "measuring in a process of its own does not work";
    }
    return "unknown error";
  }
};

}  // namespace

const std::error_category& error_category() noexcept {
  static const Category category;
  return category;
}

std::error_code make_error_code(Errc code) noexcept { return {static_cast<int>(code), error_category()}; }

}  // namespace hone
