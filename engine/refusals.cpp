#include "engine/refusals.hpp"

#include <new>

#include "engine/index.hpp"

namespace hone::engine {
namespace {

constexpr std::size_t most_reasons = 1024;

std::unique_ptr<const Answer> empty_answer(std::string reason) {
  auto answer = std::make_unique<Answer>();
  answer->reason = std::move(reason);
  return answer;
}

}  // namespace

Refusals::Refusals()
    : too_many_(
          empty_answer("the problem is invalid or cannot run (there are too many different reasons to keep them all)")),
      no_memory_(empty_answer("there is no memory for the answer")) {}

Refusals::~Refusals() = default;

const Answer* Refusals::refuse(std::string reason) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (const auto known = answers_.find(reason); known != answers_.end()) return known->second.get();
    if (answers_.size() >= most_reasons) return too_many_.get();
    auto answer = empty_answer(reason);
    return answers_.emplace(std::move(reason), std::move(answer)).first->second.get();
  } catch (const std::bad_alloc&) {
    return no_memory_.get();
  }
}

}  // namespace hone::engine
