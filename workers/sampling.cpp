#include "workers/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <hone/error.hpp>

#include "workers/order_statistics.hpp"

namespace hone::workers {
namespace {

Failure failure(std::error_code code, std::string_view what) {
  return {code, fmt::format("{}: {}", what, code.message())};
}

}  // namespace

Timing timing_of(const std::vector<double>& samples) {
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  const MedianInterval interval = median_interval(samples, 0.95);
  return {Nanoseconds(interval.median), Nanoseconds(interval.low), Nanoseconds(interval.high),
          static_cast<std::uint32_t>(samples.size())};
}

Sampler::Sampler(Device& device, Stream& stream, Supervisor& supervisor, const Arguments& arguments,
                 SamplingOptions options, Buffer flush, std::size_t flush_bytes)
    : device_(device),
      stream_(stream),
      supervisor_(supervisor),
      arguments_(arguments),
      options_(options),
      flush_(std::move(flush)),
      flush_source_(flush_ ? flush_bytes : 0) {}

Failure Sampler::run(const Contestant& contestant) {
  supervisor_.begin(contestant.candidate);
  std::error_code error = contestant.invoker->run(stream_, arguments_);
  // Also after an error: nothing of this candidate may be in flight when the next one runs.
  const std::error_code synchronized = stream_.synchronize();
  supervisor_.end();
  if (!error) error = synchronized;
  return error ? failure(error, "the launch failed") : Failure{};
}

// Not waited for: the timed launches come right behind it.
Failure Sampler::lead_in(const Contestant& contestant) {
  supervisor_.begin(contestant.candidate);
  const std::error_code error = contestant.invoker->run(stream_, arguments_);
  if (error) static_cast<void>(stream_.synchronize());
  supervisor_.end();
  return error ? failure(error, "the launch failed") : Failure{};
}

Failure Sampler::time(const Contestant& contestant, int count, std::chrono::nanoseconds& elapsed) {
  const auto launch = [&] { return contestant.invoker->run(stream_, arguments_); };
  supervisor_.begin(contestant.candidate);
  const std::error_code error = stream_.time(launch, count, elapsed);
  supervisor_.end();
  if (error) return failure(error, "a timed launch failed");
  if (elapsed.count() < 0) {
    return {make_error_code(Errc::clock_failed),
            fmt::format("the device's clock ran backwards by {} ns", -elapsed.count())};
  }
  return {};
}

void Sampler::flush_caches() {
  if (flush_) device_.copy_to_device(flush_.get(), flush_source_);
}

Failure Sampler::calibrate(Contestant& contestant) {
  const double wanted = static_cast<double>(options_.min_batch.count());
  const int most = options_.cold_cache ? 1 : options_.max_batch;
  for (int count = 1;;) {
    if (options_.cold_cache) flush_caches();
    std::chrono::nanoseconds elapsed{0};
    if (Failure failed = time(contestant, count, elapsed)) return failed;
    const double taken = static_cast<double>(elapsed.count());
    if (taken >= wanted || count == most) {
      if (!(taken > 0)) {
        return {make_error_code(Errc::clock_failed),
                fmt::format("the device's clock stood still during {} launches", count)};
      }
      contestant.batch = count;
      contestant.estimate = taken / count;
      return {};
    }
    // The first launches lie: approach the batch in steps.
    const double needed = taken > 0 ? std::ceil(1.1 * wanted * count / taken) : 16.0 * count;
    count = static_cast<int>(std::min({needed, 16.0 * count, static_cast<double>(most)}));
  }
}

Failure Sampler::measure(Contestant& contestant, double& nanoseconds) {
  if (contestant.batch == 0) {
    if (Failure failed = calibrate(contestant)) return failed;
  }
  if (options_.cold_cache) {
    flush_caches();
  } else if (contestant.estimate < static_cast<double>(options_.lead_in.count())) {
    if (Failure failed = lead_in(contestant)) return failed;
  }
  std::chrono::nanoseconds elapsed{0};
  if (Failure failed = time(contestant, contestant.batch, elapsed)) return failed;
  if (elapsed.count() == 0) {
    return {make_error_code(Errc::clock_failed),
            fmt::format("the device's clock stood still during {} launches", contestant.batch)};
  }
  nanoseconds = static_cast<double>(elapsed.count()) / contestant.batch;
  return {};
}

Failure Sampler::warm_up(Contestant& contestant) {
  std::array<double, 3> last{};
  for (int i = 0; i < options_.max_warm_up; ++i) {
    double& newest = last[static_cast<std::size_t>(i) % last.size()];
    if (Failure failed = measure(contestant, newest)) return failed;
    if (i + 1 < static_cast<int>(last.size())) continue;
    const auto [least, greatest] = std::minmax_element(last.begin(), last.end());
    if (*greatest - *least <= options_.steady * *least) break;
  }
  return {};
}

Failure Sampler::sample(Contestant& contestant) {
  double nanoseconds = 0;
  if (Failure failed = measure(contestant, nanoseconds)) return failed;
  contestant.samples.push_back(nanoseconds);
  return {};
}

}  // namespace hone::workers
