#include "workers/replay/replay_device.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <hone/error.hpp>
#include <new>

namespace hone::workers {
namespace {

constexpr std::size_t alignment = 64;

Buffer aligned_memory(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t(alignment)));
  return {memory, [](std::byte* p) { ::operator delete(p, std::align_val_t(alignment)); }};
}

class ReplayStream final : public Stream {
 public:
  explicit ReplayStream(std::shared_ptr<VirtualClock> clock) : clock_(std::move(clock)) {}

  std::error_code synchronize() noexcept override { return {}; }

  std::error_code time(const std::function<std::error_code()>& launch, int count,
                       std::chrono::nanoseconds& elapsed) noexcept override {
    const std::chrono::nanoseconds begin = clock_->now();
    std::error_code error;
    for (int i = 0; i < count && !error; ++i) error = launch();
    elapsed = clock_->now() - begin;
    return error;
  }

  void* scratch(std::size_t bytes) noexcept override {
    try {
      scratch_ = aligned_memory(bytes);
      return scratch_.get();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  VirtualClock& clock() noexcept { return *clock_; }

 private:
  std::shared_ptr<VirtualClock> clock_;
  Buffer scratch_;
};

// Runs a recorded configuration: the recorded runs in turn, from the first again after the last.
class RecordedInvoker final : public Invoker {
 public:
  RecordedInvoker(std::shared_ptr<const RecordedSpace> space, std::size_t row) : space_(std::move(space)), row_(row) {}

  std::error_code run(Stream& stream, const Arguments& arguments) const noexcept override {
    auto* replay = dynamic_cast<ReplayStream*>(&stream);
    if (replay == nullptr) return Errc::not_applicable;
    const RecordedSpace::Row& row = space_->rows()[row_];
    if (row.status != RecordedStatus::ok) return Errc::launch_failed;
    const auto runs = space_->runs(row);
    replay->clock().advance(std::chrono::round<std::chrono::nanoseconds>(runs[next_++ % runs.size()]));
    if (auto* output = arguments.get<float>(0)) *output = 1;
    return {};
  }

 private:
  std::shared_ptr<const RecordedSpace> space_;
  std::size_t row_;
  mutable std::atomic<std::size_t> next_{0};
};

Refusal needs_replay_device(const Device& device) {
  if (dynamic_cast<const ReplayDevice*>(&device) != nullptr) return std::nullopt;
  return "recorded configurations run on a replay device only";
}

class RecordedSolver final : public Solver {
 public:
  explicit RecordedSolver(std::shared_ptr<const RecordedSpace> space) : space_(std::move(space)) {}

  std::string_view id() const noexcept override { return "recorded"; }
  Refusal applicable(const Problem&, const Device& device) const override { return needs_replay_device(device); }
  bool compiles(const Problem&) const override { return true; }
  SearchSpace search_space(const Problem&, const Device&) const override { return space_->space(); }
  Configuration default_configuration(const Problem&, const Device&) const override { return space_->configuration(0); }

  std::shared_ptr<const Invoker> prepare(const Problem&, const Configuration& configuration,
                                         Device& device) const override {
    auto* replay = dynamic_cast<ReplayDevice*>(&device);
    if (replay == nullptr) throw Error(Errc::not_applicable, *needs_replay_device(device));
    const auto row = space_->row_of(configuration);
    if (!row) throw Error(Errc::not_applicable, "the configuration is not recorded");
    replay->clock().advance(std::chrono::round<std::chrono::nanoseconds>(space_->rows()[*row].compile));
    if (space_->rows()[*row].status == RecordedStatus::compile_failed) {
      throw Error(Errc::not_applicable, "recorded as failing to compile");
    }
    return std::make_shared<RecordedInvoker>(space_, *row);
  }

 private:
  std::shared_ptr<const RecordedSpace> space_;
};

class FirstRecordedSolver final : public Solver {
 public:
  explicit FirstRecordedSolver(std::shared_ptr<const RecordedSpace> space) : space_(std::move(space)) {}

  std::string_view id() const noexcept override { return "first"; }
  Refusal applicable(const Problem&, const Device& device) const override { return needs_replay_device(device); }
  std::shared_ptr<const Invoker> prepare(const Problem&, const Configuration&, Device&) const override {
    const auto rows = space_->rows();
    const auto ran = std::find_if(rows.begin(), rows.end(), [](auto& row) { return row.status == RecordedStatus::ok; });
    return std::make_shared<RecordedInvoker>(space_, static_cast<std::size_t>(ran - rows.begin()));
  }

 private:
  std::shared_ptr<const RecordedSpace> space_;
};

class ReplayOperation final : public Operation {
 public:
  explicit ReplayOperation(const std::shared_ptr<const RecordedSpace>& space)
      : type_("recorded_" + space->name(), {Field{.name = "instance"}}),
        solvers_{std::make_shared<RecordedSolver>(space), std::make_shared<FirstRecordedSolver>(space)} {}

  const ProblemType& problem_type() const noexcept override { return type_; }
  std::span<const std::shared_ptr<const Solver>> solvers() const noexcept override { return solvers_; }
  std::string_view fallback() const noexcept override { return "first"; }
  Refusal validate(const Problem&) const override { return std::nullopt; }
  std::vector<Operand> operands(const Problem&) const override {
    return {{.name = "done", .role = OperandRole::output, .type = DataType::f32, .count = 1}};
  }
  void reference(const Problem&, std::span<const std::span<std::byte>> operands) const override {
    const float done = 1;
    std::memcpy(operands[0].data(), &done, sizeof(done));
  }
  ErrorBound error_bound(const Problem&) const override { return {}; }

 private:
  ProblemType type_;
  std::vector<std::shared_ptr<const Solver>> solvers_;
};

}  // namespace

ReplayDevice::ReplayDevice(std::string name, std::shared_ptr<VirtualClock> clock)
    : name_(std::move(name)), clock_(std::move(clock)) {
  environment_.vendor = "replay";
  environment_.architecture = "replay";
  environment_.device = name_;
}

std::unique_ptr<Stream> ReplayDevice::make_stream(StreamPriority) { return std::make_unique<ReplayStream>(clock_); }

Buffer ReplayDevice::allocate(std::size_t bytes) {
  try {
    return aligned_memory(bytes);
  } catch (const std::bad_alloc&) {
    throw Error(Errc::out_of_memory, "the host has no memory left for a replay device's buffer; ask for less");
  }
}

void ReplayDevice::copy_to_device(std::byte* target, std::span<const std::byte> source) {
  std::copy(source.begin(), source.end(), target);
}

void ReplayDevice::copy_to_host(std::span<std::byte> target, const std::byte* source) {
  std::copy_n(source, target.size(), target.begin());
}

std::shared_ptr<const Operation> replay_operation(std::shared_ptr<const RecordedSpace> space) {
  return std::make_shared<ReplayOperation>(space);
}

}  // namespace hone::workers
