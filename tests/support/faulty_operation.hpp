// An operation on the host device whose solvers do to their process whatever a broken kernel might do.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <hone/isolation.hpp>
#include <hone/operation.hpp>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

namespace hone::test {

// y = x + 1
struct Increment {
  static constexpr std::string_view operation = "increment";
  std::int64_t elements = 1024;

  template <class Self, class Visitor>
  static constexpr void fields(Self& self, Visitor&& visit) {
    visit("elements", self.elements);
  }
};

enum class Harm : std::uint8_t {
  none,
  segmentation_fault,
  aborts,
  stops,  // by an illegal instruction
  overflows_stack,
  exits,          // with status 3
  exits_quietly,  // with status 0
  hangs,
  throws,           // out of a function that must not
  corrupts_memory,  // writes over the heap around its output, and gives a right result
  wrong_result,
  floods_output,       // and gives a right result
  closes_files,        // every descriptor
  crashes_later,       // in its fifth launch
  crashes_in_company,  // of another candidate that was prepared in its process
  crashes_in_prepare,
  hangs_in_prepare,
  throws_in_prepare,
  rejects_its_code,
  takes_memory,  // all of it, in prepare
};

inline int& prepared_in_this_process() {
  static int count = 0;
  return count;
}

inline void do_harm(Harm harm, float* y, std::int64_t elements) {
  static int launches = 0;
  switch (harm) {
    case Harm::segmentation_fault:
      raise(SIGSEGV);
      return;
    case Harm::aborts:
      std::abort();
    case Harm::stops:
      raise(SIGILL);
      return;
    case Harm::overflows_stack: {
      volatile std::byte page[4096];
      page[0] = std::byte{1};
      do_harm(harm, y, elements);
      static_cast<void>(page[0]);
      return;
    }
    case Harm::exits:
      _exit(3);
    case Harm::exits_quietly:
      std::exit(0);
    case Harm::hangs:
    case Harm::hangs_in_prepare:
      for (;;) pause();
    case Harm::throws:
      throw std::runtime_error("it throws where it must not");
    case Harm::corrupts_memory:
      // Contents and the allocator's books alike, far beyond what it was given.
      for (std::int64_t i = elements; i < elements + 4096; ++i) y[i] = 1e30F;
      return;
    case Harm::wrong_result:
      y[0] = 0;
      return;
    case Harm::floods_output:
      for (int i = 0; i < 2000; ++i) {
        std::puts("a line that nobody wants to read, over and over again");
        std::fputs("and another one\n", stderr);
      }
      std::fflush(stdout);
      return;
    case Harm::closes_files:
      for (int descriptor = 0; descriptor < 64; ++descriptor) close(descriptor);
      return;
    case Harm::crashes_later:
      if (++launches == 5) raise(SIGSEGV);
      return;
    case Harm::crashes_in_company:
      if (prepared_in_this_process() > 1) raise(SIGSEGV);
      return;
    case Harm::crashes_in_prepare:
      raise(SIGSEGV);
      return;
    case Harm::throws_in_prepare:
      throw std::runtime_error("it cannot be compiled");
    case Harm::rejects_its_code:
      throw RejectedCode("its code is not worth a run", {{"spilled_registers", 500}});
    case Harm::takes_memory: {
      std::vector<std::unique_ptr<std::byte[]>> all;
      for (;;) all.push_back(std::make_unique<std::byte[]>(std::size_t{1} << 26));
    }
    case Harm::none:
      return;
  }
}

inline bool in_prepare(Harm harm) { return harm >= Harm::crashes_in_prepare; }

class FaultySolver final : public SolverFor<Increment> {
 public:
  // `repeats`: how often it computes the same, to be slow. `points`: of a search space in which every point but 0 does
  // the harm.
  explicit FaultySolver(std::string id, Harm harm = Harm::none, int repeats = 1, std::int64_t points = 0)
      : id_(std::move(id)), harm_(harm), repeats_(repeats), points_(points) {}

  std::string_view id() const noexcept override { return id_; }
  Refusal applicable(const Increment&, const Device&) const override { return {}; }
  // Never prepared by a caller that asks for an answer.
  bool compiles(const Increment&) const override { return harm_ != Harm::none; }
  SearchSpace search_space(const Increment&, const Device&) const override {
    SearchSpace space;
    if (points_ > 0) space.range("point", 0, points_ - 1);
    return space;
  }
  Configuration default_configuration(const Increment& p, const Device& d) const override {
    return points_ > 0 ? search_space(p, d).configuration({0}) : Configuration();
  }
  std::shared_ptr<const Invoker> prepare(const Increment& p, const Configuration& configuration,
                                         Device&) const override {
    ++prepared_in_this_process();
    const Harm harm = points_ > 0 && configuration.at("point") == 0 ? Harm::none : harm_;
    if (in_prepare(harm)) do_harm(harm, nullptr, 0);
    auto run = [harm, p, repeats = repeats_](Stream&, const Arguments& arguments) noexcept {
      const auto* x = arguments.get<float>(0);
      auto* y = arguments.get<float>(1);
      for (int repeat = 0; repeat < repeats; ++repeat) {
        for (std::int64_t i = 0; i < p.elements; ++i) y[i] = x[i] + 1;
        asm volatile("" : : : "memory");  // every repetition is done
      }
      if (!in_prepare(harm)) do_harm(harm, y, p.elements);
      return std::error_code();
    };
    return make_invoker(std::move(run), {{"repeats", repeats_}, {"less_than_nothing", -1}});
  }

 private:
  const std::string id_;
  const Harm harm_;
  const int repeats_;
  const std::int64_t points_;
};

class FaultyOperation final : public OperationFor<Increment> {
 public:
  using OperationFor::OperationFor;
  Refusal validate(const Increment& p) const override {
    if (p.elements < 1) return "elements must be at least 1";
    return {};
  }
  std::vector<Operand> operands(const Increment& p) const override {
    const auto count = static_cast<std::size_t>(p.elements);
    return {{"x", OperandRole::input, f32, count}, {"y", OperandRole::output, f32, count}};
  }
  void reference(const Increment& p, std::span<const std::span<std::byte>> operands) const override {
    const auto* x = reinterpret_cast<const float*>(operands[0].data());
    auto* y = reinterpret_cast<float*>(operands[1].data());
    for (std::int64_t i = 0; i < p.elements; ++i) y[i] = x[i] + 1;
  }
  ErrorBound error_bound(const Increment&) const override { return {.absolute = 1e-6, .relative = 1e-6}; }
};

inline constexpr std::array<std::pair<std::string_view, Harm>, 19> harms = {{
    {"segmentation_fault", Harm::segmentation_fault},
    {"aborts", Harm::aborts},
    {"stops", Harm::stops},
    {"overflows_stack", Harm::overflows_stack},
    {"exits", Harm::exits},
    {"exits_quietly", Harm::exits_quietly},
    {"hangs", Harm::hangs},
    {"throws", Harm::throws},
    {"corrupts_memory", Harm::corrupts_memory},
    {"wrong_result", Harm::wrong_result},
    {"floods_output", Harm::floods_output},
    {"closes_files", Harm::closes_files},
    {"crashes_later", Harm::crashes_later},
    {"crashes_in_company", Harm::crashes_in_company},
    {"crashes_in_prepare", Harm::crashes_in_prepare},
    {"hangs_in_prepare", Harm::hangs_in_prepare},
    {"throws_in_prepare", Harm::throws_in_prepare},
    {"rejects_its_code", Harm::rejects_its_code},
    {"takes_memory", Harm::takes_memory},
}};

// "slow" is the fallback, "good" the best; the others are named after their harm, and "crashing" has `points` points of
// which all but one crash. `only`: of the harmful ones, those named; empty: none.
inline std::shared_ptr<const FaultyOperation> faulty_operation(const std::vector<std::string>& only = {},
                                                               std::int64_t points = 0) {
  std::vector<std::shared_ptr<const Solver>> solvers = {std::make_shared<FaultySolver>("slow", Harm::none, 40)};
  for (const auto& [name, harm] : harms) {
    if (std::find(only.begin(), only.end(), name) == only.end()) continue;
    solvers.push_back(std::make_shared<FaultySolver>(std::string(name), harm));
  }
  if (points > 0) {
    solvers.push_back(std::make_shared<FaultySolver>("crashing", Harm::segmentation_fault, 20, points));
  }
  solvers.push_back(std::make_shared<FaultySolver>("good"));
  return std::make_shared<FaultyOperation>(std::move(solvers), "slow");
}

// Everything that an isolated process of these tests may be asked for.
inline std::shared_ptr<const FaultyOperation> every_fault(std::int64_t points) {
  std::vector<std::string> names;
  for (const auto& [name, harm] : harms) names.emplace_back(name);
  return faulty_operation(names, points);
}

}  // namespace hone::test
