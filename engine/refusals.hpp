// The reasons of empty solutions.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace hone::engine {

struct Answer;

// Hands out empty answers, one for each reason, that live as long as this. Reasons name no values, so they are few; a
// solver that breaks that rule meets a bound. Thread-safe.
class Refusals {
 public:
  Refusals();
  ~Refusals();
  // Never nullptr.
  const Answer* refuse(std::string reason) noexcept;

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<const Answer>> answers_;
  const std::unique_ptr<const Answer> too_many_;
  const std::unique_ptr<const Answer> no_memory_;
};

}  // namespace hone::engine
