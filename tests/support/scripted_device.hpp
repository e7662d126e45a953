// A device in virtual time: a launch takes the time that it spends, as the device's conditions change it.
#pragma once

#include <atomic>
#include <hone/device.hpp>
#include <hone/error.hpp>
#include <mutex>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/manual_clock.hpp"

namespace hone::test {

// What happens to the time of launches.
struct Conditions {
  // Factor at a time of the clock: load steps, throttling ramps, clock boosts.
  std::function<double(std::chrono::nanoseconds)> slowdown = {};
  double jitter = 0;               // standard deviation of a sample, relative
  double outlier_probability = 0;  // of a sample
  double outlier_factor = 3;       // mean factor of an outlier's excess (exponential)
  std::uint64_t seed = 1;
  // What the device's clock shows for a batch that took so long.
  std::function<std::chrono::nanoseconds(std::chrono::nanoseconds)> clock = {};
};

class ScriptedStream;

// Thread-safe; conditions are set before threads use the device.
class ScriptedDevice final : public Device {
 public:
  explicit ScriptedDevice(std::shared_ptr<ManualClock> clock, Conditions conditions = {}, std::string name = "scripted")
      : clock_(std::move(clock)),
        conditions_(std::move(conditions)),
        name_(std::move(name)),
        random_(conditions_.seed) {
    environment_.vendor = "test";
    environment_.architecture = "virtual";
    environment_.device = name_;
  }

  const std::string& name() const noexcept override { return name_; }
  const Environment& environment() const noexcept override { return environment_; }
  std::unique_ptr<Stream> make_stream(StreamPriority priority) override;
  Buffer allocate(std::size_t bytes) override {
    check_present();
    if (bytes > memory_limit) throw Error(Errc::out_of_memory, "the scripted device has no more memory");
    auto* memory = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(64)));
    allocated_ += bytes;
    return {memory, [](std::byte* p) { ::operator delete(p, std::align_val_t(64)); }};
  }
  void copy_to_device(std::byte* target, std::span<const std::byte> source) override {
    check_present();
    std::copy(source.begin(), source.end(), target);
  }
  void copy_to_host(std::span<std::byte> target, const std::byte* source) override {
    check_present();
    std::copy_n(source, target.size(), target.begin());
  }
  std::size_t last_level_cache_bytes() const noexcept override { return std::size_t{1} << 16; }
  std::error_code run_reference(Stream& stream) noexcept override;

  // From now on every operation answers Errc::no_device.
  void lose() noexcept { lost_ = true; }
  bool lost() const noexcept { return lost_; }
  // Bytes allocated so far, in all.
  std::size_t allocated() const noexcept { return allocated_; }
  ManualClock& clock() noexcept { return *clock_; }

  // Factor of a sample that begins now.
  double factor() {
    const std::lock_guard lock(mutex_);
    double factor = conditions_.slowdown ? conditions_.slowdown(clock_->now()) : 1.0;
    if (conditions_.jitter > 0) {
      factor *= std::max(0.5, 1 + conditions_.jitter * std::normal_distribution<>()(random_));
    }
    if (std::bernoulli_distribution(conditions_.outlier_probability)(random_)) {
      factor *= 1 + conditions_.outlier_factor * std::exponential_distribution<>()(random_);
    }
    return factor;
  }
  std::chrono::nanoseconds shown(std::chrono::nanoseconds elapsed) const {
    return conditions_.clock ? conditions_.clock(elapsed) : elapsed;
  }

  std::size_t memory_limit = std::size_t{1} << 30;
  bool has_reference = true;

 private:
  void check_present() const {
    if (lost_) throw Error(Errc::no_device, "the scripted device is gone");
  }

  std::shared_ptr<ManualClock> clock_;
  Conditions conditions_;
  std::string name_;
  Environment environment_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::atomic<bool> lost_ = false;
  std::atomic<std::size_t> allocated_ = 0;
};

class ScriptedStream final : public Stream {
 public:
  explicit ScriptedStream(ScriptedDevice& device) : device_(device) {}

  // Called by a launch: it takes so long on an idle device.
  void spend(std::chrono::duration<double, std::nano> idle_time) {
    const auto taken = std::chrono::round<std::chrono::nanoseconds>(idle_time * (timing_ ? factor_ : device_.factor()));
    device_.clock().advance(taken);
    elapsed_ += taken;
  }

  std::error_code synchronize() noexcept override {
    return device_.lost() ? make_error_code(Errc::no_device) : std::error_code{};
  }
  std::error_code time(const std::function<std::error_code()>& launch, int count,
                       std::chrono::nanoseconds& elapsed) noexcept override {
    if (device_.lost()) return Errc::no_device;
    elapsed_ = {};
    factor_ = device_.factor();
    timing_ = true;
    std::error_code error;
    for (int i = 0; i < count && !error; ++i) error = launch();
    timing_ = false;
    elapsed = device_.shown(elapsed_);
    return error;
  }
  void* scratch(std::size_t bytes) noexcept override {
    if (bytes > device_.memory_limit) return nullptr;
    scratch_.resize(bytes + 64);
    return scratch_.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch_.data()) % 64);
  }

 private:
  ScriptedDevice& device_;
  bool timing_ = false;
  double factor_ = 1;
  std::chrono::nanoseconds elapsed_{0};
  std::vector<std::byte> scratch_;
};

inline std::error_code ScriptedDevice::run_reference(Stream& stream) noexcept {
  if (lost_) return Errc::no_device;
  if (!has_reference) return std::make_error_code(std::errc::not_supported);
  dynamic_cast<ScriptedStream&>(stream).spend(std::chrono::microseconds(50));
  return {};
}

inline std::unique_ptr<Stream> ScriptedDevice::make_stream(StreamPriority) {
  check_present();
  return std::make_unique<ScriptedStream>(*this);
}

}  // namespace hone::test
