#include <hone/solution.hpp>

#include <hone/error.hpp>

#include "engine/index.hpp"

namespace hone {
namespace {

const engine::Answer& answer_or_none(const engine::Answer* answer) noexcept {
  static const engine::Answer none;
  return answer != nullptr ? *answer : none;
}

}  // namespace

Solution::operator bool() const noexcept { return answer_ != nullptr && answer_->invoker != nullptr; }

std::error_code Solution::run(Stream& stream, const Arguments& arguments) const noexcept {
  if (!*this) return Errc::no_solution;
  return answer_->invoker->run(stream, arguments);
}

std::string_view Solution::reason() const noexcept { return answer_or_none(answer_).reason; }
const Candidate& Solution::candidate() const noexcept { return answer_or_none(answer_).candidate; }
Provenance Solution::provenance() const noexcept { return answer_or_none(answer_).provenance; }
Timing Solution::timing() const noexcept { return answer_or_none(answer_).timing; }
std::size_t Solution::workspace() const noexcept { return answer_or_none(answer_).workspace; }

}  // namespace hone
