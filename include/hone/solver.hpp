// Solvers: the algorithms of an operation, and the invokers that they prepare.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <hone/code_facts.hpp>
#include <hone/configuration.hpp>
#include <hone/device.hpp>
#include <hone/problem.hpp>
#include <hone/search_space.hpp>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace hone {

inline constexpr std::size_t max_operands = 8;

// The operands of one launch: device pointers in the operation's order. Outputs must be writable memory. An optional
// operand that the problem does not use may be left out or null.
class Arguments {
 public:
  Arguments(std::initializer_list<const void*> pointers) noexcept {
    assert(pointers.size() <= max_operands);
    for (const void* pointer : pointers) {
      if (size_ < max_operands) pointers_[size_++] = const_cast<void*>(pointer);
    }
  }
  std::size_t size() const noexcept { return size_; }
  // The operand at `index` as T*; nullptr when it was left out.
  template <class T>
  T* get(std::size_t index) const noexcept {
    return index < size_ ? static_cast<T*>(pointers_[index]) : nullptr;
  }

 private:
  std::array<void*, max_operands> pointers_{};
  std::size_t size_ = 0;
};

// A candidate prepared for a problem on a device. Any number of threads may run it at the same time, each on a stream
// of its own.
class Invoker {
 public:
  virtual ~Invoker() = default;
  // Launches on `stream`; does not wait. Returns an error instead of throwing.
  virtual std::error_code run(Stream& stream, const Arguments& arguments) const noexcept = 0;
  // What is known of its code; empty where nothing is. Stored with the candidate's trial.
  virtual CodeFacts facts() const { return {}; }
};

// An invoker from a function (Stream&, const Arguments&) -> std::error_code that does not throw.
template <class Function>
std::shared_ptr<const Invoker> make_invoker(Function function, CodeFacts facts = {}) {
  class FunctionInvoker final : public Invoker {
   public:
    FunctionInvoker(Function function, CodeFacts facts) : function_(std::move(function)), facts_(std::move(facts)) {}
    std::error_code run(Stream& stream, const Arguments& arguments) const noexcept override {
      return function_(stream, arguments);
    }
    CodeFacts facts() const override { return facts_; }

   private:
    Function function_;
    CodeFacts facts_;
  };
  return std::make_shared<const FunctionInvoker>(std::move(function), std::move(facts));
}

// Why something cannot run; nothing when it can. A sentence that names fields and limits but no values of this problem.
using Refusal = std::optional<std::string>;

// One algorithm for an operation. Stateless and thread-safe.
class Solver {
 public:
  virtual ~Solver() = default;
  // Stable name, unique within the operation; never an index.
  virtual std::string_view id() const noexcept = 0;
  // Raised when results or times may have changed; records of other versions are not used.
  virtual std::uint32_t version() const noexcept { return 1; }
  virtual Refusal applicable(const Problem& problem, const Device& device) const = 0;
  // Bytes of scratch that the candidate asks of its stream.
  virtual std::size_t workspace(const Problem&, const Configuration&) const { return 0; }
  // True when preparing takes longer than a foreground call may (microseconds): it compiles or generates code. Such a
  // candidate is prepared on a worker and offered when it is ready.
  virtual bool compiles(const Problem&) const { return false; }
  virtual SearchSpace search_space(const Problem&, const Device&) const { return {}; }
  // A configuration inside the space that is a good guess without measuring.
  virtual Configuration default_configuration(const Problem&, const Device&) const { return {}; }
  // Throws when the candidate cannot be prepared; the message becomes the trial's failure reason. RejectedCode adds the
  // facts of code that is not worth a run.
  virtual std::shared_ptr<const Invoker> prepare(const Problem& problem, const Configuration& configuration,
                                                 Device& device) const = 0;
};

// A solver whose problem is a struct: derive, and override the typed functions.
template <ProblemStruct P>
class SolverFor : public Solver {
 public:
  virtual Refusal applicable(const P&, const Device&) const { return {}; }
  virtual std::size_t workspace(const P&, const Configuration&) const { return 0; }
  virtual bool compiles(const P&) const { return false; }
  virtual SearchSpace search_space(const P&, const Device&) const { return {}; }
  virtual Configuration default_configuration(const P&, const Device&) const { return {}; }
  virtual std::shared_ptr<const Invoker> prepare(const P& problem, const Configuration& configuration,
                                                 Device& device) const = 0;

  Refusal applicable(const Problem& p, const Device& d) const final { return applicable(p.as<P>(), d); }
  std::size_t workspace(const Problem& p, const Configuration& c) const final { return workspace(p.as<P>(), c); }
  bool compiles(const Problem& p) const final { return compiles(p.as<P>()); }
  SearchSpace search_space(const Problem& p, const Device& d) const final { return search_space(p.as<P>(), d); }
  Configuration default_configuration(const Problem& p, const Device& d) const final {
    return default_configuration(p.as<P>(), d);
  }
  std::shared_ptr<const Invoker> prepare(const Problem& p, const Configuration& c, Device& d) const final {
    return prepare(p.as<P>(), c, d);
  }
};

}  // namespace hone
