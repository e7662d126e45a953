// Solutions: what find returns.
#pragma once

#include <atomic>
#include <chrono>
#include <hone/candidate.hpp>
#include <hone/solver.hpp>
#include <memory>
#include <string_view>

namespace hone {

namespace engine {
struct Answer;  // immutable: one published answer for one problem
struct SolutionAccess;
struct Slot;  // the place of a problem in the index, where answers are published
class Index;
}  // namespace engine

// A prepared candidate for one problem on one device, or the reason why there is none. One pointer; copy it freely.
// Valid while the engine that gave it, or any Binding of that engine, lives; an upgrade does not invalidate it.
class Solution {
 public:
  Solution() noexcept = default;

  // True when there is something to run.
  explicit operator bool() const noexcept;
  // Launches on the caller's stream with the caller's operands, in the operation's order. Does not wait.
  // An empty solution answers Errc::no_solution. Any number of threads, each on a stream of its own.
  std::error_code run(Stream& stream, const Arguments& arguments) const noexcept;

  // Why the solution is empty: names the field and what it accepts, or each solver's refusal. "" for a full one.
  std::string_view reason() const noexcept;
  const Candidate& candidate() const noexcept;
  Provenance provenance() const noexcept;
  // The time measured or reported for one launch, by the stated provenance.
  Timing timing() const noexcept;
  // Bytes of scratch that run asks of its stream.
  std::size_t workspace() const noexcept;

  friend bool operator==(const Solution&, const Solution&) = default;

 private:
  friend class Engine;
  friend class Binding;
  friend struct engine::SolutionAccess;  // benchmarks publish through it
  explicit Solution(const engine::Answer* answer) noexcept : answer_(answer) {}
  const engine::Answer* answer_ = nullptr;
};

// A problem's place in the engine: reads the newest solution with one atomic load (acquire, so that everything the
// publisher wrote is seen). Keeps what it needs alive: it may outlive its engine, and then answers the last solution.
class Binding {
 public:
  Binding() noexcept = default;

  // The newest solution; empty for a default-constructed binding. Wait-free; any thread.
  Solution get() const noexcept { return place_ ? Solution(place_->load(std::memory_order_acquire)) : Solution(); }

  // binding->run(stream, {a, b, c})
  class Current {
   public:
    explicit Current(Solution solution) noexcept : solution_(solution) {}
    const Solution* operator->() const noexcept { return &solution_; }

   private:
    Solution solution_;
  };
  Current operator->() const noexcept { return Current(get()); }

 private:
  friend class Engine;
  Binding(std::shared_ptr<const engine::Index> index, const std::atomic<const engine::Answer*>* place) noexcept
      : index_(std::move(index)), place_(place) {}
  std::shared_ptr<const engine::Index> index_;
  const std::atomic<const engine::Answer*>* place_ = nullptr;
};

}  // namespace hone
