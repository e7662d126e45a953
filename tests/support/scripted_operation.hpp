// An operation whose solvers take scripted times and fail as told; it runs on a ScriptedDevice.
#pragma once

#include <atomic>
#include <hone/error.hpp>
#include <hone/operation.hpp>
#include <stdexcept>

#include "tests/support/gate.hpp"
#include "tests/support/scripted_device.hpp"

namespace hone::test {

// y = 2 x, or y = y + 2 x, over every stride-th of elements * stride elements; the others stay untouched.
struct Doubling {
  static constexpr std::string_view operation = "doubling";
  std::int64_t elements = 16;
  std::int64_t stride = 1;
  bool accumulate = false;
  std::int64_t workspace_limit = -1;

  template <class Self, class Visitor>
  static constexpr void fields(Self& self, Visitor&& visit) {
    visit("elements", self.elements);
    visit("stride", self.stride);
    visit("accumulate", self.accumulate);
    visit("workspace_limit", self.workspace_limit);
  }
};

enum class Fault {
  none,
  throws_in_prepare,        // std::runtime_error("scripted failure")
  throws_other_in_prepare,  // an int
  throws_in_applicable,     // std::runtime_error
  prepares_nothing,         // a null invoker
  launch_fails,             // every launch
  launch_fails_later,       // every launch but the first 3
  wrong_result,             // one element is off
  result_is_not_a_number,   // one element
  touches_gaps,             // writes where nothing may be written
  changes_input,            // writes into x
  writes_past_end,          // one element behind y
  loses_device,             // the device is gone after the first launch
  hangs_in_prepare,         // until `gate` opens
  hangs_in_run,             // until `gate` opens
};

struct Script {
  std::chrono::duration<double, std::nano> time = std::chrono::microseconds(200);  // of a launch on an idle device
  Fault fault = Fault::none;
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::uint32_t version = 1;
  std::string refusal = {};  // not applicable
  bool compiles = false;
  std::uint64_t workspace = 0;
  SearchSpace space = {};
  std::vector<std::int64_t> defaults = {};                         // values of the default configuration
  std::function<double(const Configuration&)> configured = {};     // factor of `time`
  std::function<double(std::chrono::nanoseconds)> own_speed = {};  // factor of `time` at a time of the clock
  std::function<void(const Configuration&)> compiler = {};         // what a preparation does, on its thread
  CodeFacts facts = {};                                            // of its code
};

class ScriptedSolver final : public SolverFor<Doubling> {
 public:
  ScriptedSolver(std::string id, Script script) : id_(std::move(id)), script_(std::move(script)) {}

  std::string_view id() const noexcept override { return id_; }
  std::uint32_t version() const noexcept override { return script_.version; }
  Refusal applicable(const Doubling&, const Device&) const override {
    if (script_.fault == Fault::throws_in_applicable) throw std::runtime_error("scripted failure");
    return script_.refusal.empty() ? Refusal{} : Refusal{script_.refusal};
  }
  std::size_t workspace(const Doubling&, const Configuration&) const override { return script_.workspace; }
  bool compiles(const Doubling&) const override { return script_.compiles; }
  SearchSpace search_space(const Doubling&, const Device&) const override { return script_.space; }
  Configuration default_configuration(const Doubling&, const Device&) const override {
    return script_.defaults.empty() ? Configuration{} : script_.space.configuration(script_.defaults);
  }
  std::shared_ptr<const Invoker> prepare(const Doubling& problem, const Configuration& configuration,
                                         Device& device) const override {
    ++prepared_;
    switch (script_.fault) {
      case Fault::throws_in_prepare:
        throw std::runtime_error("scripted failure");
      case Fault::throws_other_in_prepare:
        throw 42;
      case Fault::prepares_nothing:
        return nullptr;
      case Fault::hangs_in_prepare:
        script_.gate->pass();
        break;
      default:
        break;
    }
    if (script_.compiler) script_.compiler(configuration);
    const double factor = script_.configured ? script_.configured(configuration) : 1.0;
    auto run = [this, problem, factor, target = &dynamic_cast<ScriptedDevice&>(device)](Stream& stream,
                                                                                        const Arguments& arguments) {
      return launch(problem, factor, *target, stream, arguments);
    };
    return make_invoker(std::move(run), script_.facts);
  }

  // Preparations and launches so far.
  int prepared() const noexcept { return prepared_; }
  int launches() const noexcept { return launches_; }
  const Script& script() const noexcept { return script_; }

 private:
  std::error_code launch(const Doubling& problem, double factor, ScriptedDevice& device, Stream& stream,
                         const Arguments& arguments) const noexcept {
    const int launch_number = ++launches_;
    if (device.lost()) return Errc::no_device;
    if (script_.fault == Fault::hangs_in_run) script_.gate->pass();
    if (script_.fault == Fault::launch_fails) return Errc::launch_failed;
    if (script_.fault == Fault::launch_fails_later && launch_number > 3) return Errc::launch_failed;
    const double own = script_.own_speed ? script_.own_speed(device.clock().now()) : 1.0;
    dynamic_cast<ScriptedStream&>(stream).spend(script_.time * factor * own);
    auto* x = arguments.get<float>(0);
    auto* y = arguments.get<float>(1);
    for (std::int64_t i = 0; i < problem.elements; ++i) {
      const float doubled = 2 * x[i * problem.stride];
      y[i * problem.stride] = problem.accumulate ? y[i * problem.stride] + doubled : doubled;
    }
    switch (script_.fault) {
      case Fault::wrong_result:
        y[0] += 0.5F;
        break;
      case Fault::result_is_not_a_number:
        y[0] = std::numeric_limits<float>::quiet_NaN();
        break;
      case Fault::touches_gaps:
        y[1] = 0;
        break;
      case Fault::changes_input:
        x[0] = 7;
        break;
      case Fault::writes_past_end:
        y[problem.elements * problem.stride] = 0;
        break;
      case Fault::loses_device:
        device.lose();
        break;
      default:
        break;
    }
    return {};
  }

  std::string id_;
  Script script_;
  mutable std::atomic<int> prepared_ = 0;
  mutable std::atomic<int> launches_ = 0;
};

class ScriptedOperation final : public OperationFor<Doubling> {
 public:
  // The first solver is the fallback.
  explicit ScriptedOperation(std::vector<std::shared_ptr<const ScriptedSolver>> solvers)
      : OperationFor(std::vector<std::shared_ptr<const Solver>>(solvers.begin(), solvers.end()),
                     std::string(solvers.front()->id())) {}

  Refusal validate(const Doubling& problem) const override {
    if (problem.elements < 1) return "elements must be at least 1";
    if (problem.stride < 1) return "stride must be at least 1";
    return {};
  }
  std::vector<Operand> operands(const Doubling& problem) const override {
    const auto count = static_cast<std::size_t>(problem.elements * problem.stride);
    return {{"x", OperandRole::input, f32, count},
            {"y", problem.accumulate ? OperandRole::input_output : OperandRole::output, f32, count}};
  }
  void reference(const Doubling& problem, std::span<const std::span<std::byte>> operands) const override {
    ++references_;
    const auto* x = reinterpret_cast<const float*>(operands[0].data());
    auto* y = reinterpret_cast<float*>(operands[1].data());
    for (std::int64_t i = 0; i < problem.elements; ++i) {
      const float doubled = 2 * x[i * problem.stride];
      y[i * problem.stride] = problem.accumulate ? y[i * problem.stride] + doubled : doubled;
    }
  }
  ErrorBound error_bound(const Doubling&) const override { return {.absolute = 1e-6, .relative = 1e-6}; }

  // How often the reference was computed.
  int references() const noexcept { return references_; }

 private:
  mutable std::atomic<int> references_ = 0;
};

inline std::shared_ptr<const ScriptedSolver> scripted_solver(std::string id, Script script = {}) {
  return std::make_shared<const ScriptedSolver>(std::move(id), std::move(script));
}

inline std::shared_ptr<const ScriptedOperation> scripted_operation(
    std::vector<std::shared_ptr<const ScriptedSolver>> solvers) {
  return std::make_shared<const ScriptedOperation>(std::move(solvers));
}

}  // namespace hone::test
