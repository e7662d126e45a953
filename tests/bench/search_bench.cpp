// What a search costs besides the evaluations, and what a large search space costs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <hone/search_space.hpp>
#include <string>
#include <vector>

#include "workers/search/strategy.hpp"

namespace hone {
namespace {

using Microseconds = std::chrono::duration<double, std::micro>;

// Processor time of this process, so that other load on the machine does not count.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static time_point now() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

// The tuning space of a matrix product on GPUs (CLBlast's): 17,956 configurations of 82,944 combinations.
SearchSpace gemm_space() {
  SearchSpace space;
  space.power_of_two("MWG", 16, 128).power_of_two("NWG", 16, 128).integer("KWG", {32});
  space.power_of_two("MDIMC", 8, 32).power_of_two("NDIMC", 8, 32).power_of_two("MDIMA", 8, 32);
  space.power_of_two("NDIMB", 8, 32).integer("KWI", {2}).power_of_two("VWM", 1, 8).power_of_two("VWN", 1, 8);
  space.boolean("SA").boolean("SB");
  space.rule("KWG%KWI==0").rule("MWG%(MDIMC*VWM)==0").rule("NWG%(NDIMC*VWN)==0").rule("MWG%(MDIMA*VWM)==0");
  space.rule("NWG%(NDIMB*VWN)==0").rule("KWG%((MDIMC*NDIMC)/MDIMA)==0").rule("KWG%((MDIMC*NDIMC)/NDIMB)==0");
  return space;
}

// Made up, smooth and cheap.
double nanoseconds(const Configuration& configuration) {
  double sum = 10;
  double phase = 1;
  for (const std::int64_t value : configuration.values()) {
    sum += std::abs(std::log2(static_cast<double>(value) + 1) - 3 - std::sin(phase));
    phase *= 1.7;
  }
  return 1000 * sum;
}

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

void print_strategy_costs() {
  constexpr std::size_t evaluations = 200;
  constexpr int searches = 20;
  const SearchSpace space = gemm_space();
  fmt::print("strategy cost on {} configurations, {} evaluations, mean of {} searches\n", space.count(), evaluations,
             searches);
  fmt::print("{:>12} {:>14} {:>22} {:>22}\n", "strategy", "setting up", "then an evaluation", "all, an evaluation");
  for (const std::string_view name : workers::strategy_names()) {
    Microseconds setup{0};
    Microseconds search{0};
    for (int i = 0; i < searches; ++i) {
      const auto begin = Clock::now();
      const auto strategy = workers::make_strategy(name, space, {.seed = static_cast<std::uint64_t>(i)});
      const auto ready = Clock::now();
      for (std::size_t n = 0; n < evaluations; ++n) {
        const auto next = strategy->suggest();
        strategy->observe(*next, workers::Strategy::Time(nanoseconds(*next)));
      }
      setup += ready - begin;
      search += Clock::now() - ready;
    }
    fmt::print("{:>12} {:>11.0f} us {:>19.1f} us {:>19.1f} us\n", name, setup.count() / searches,
               search.count() / (searches * evaluations), (setup + search).count() / (searches * evaluations));
  }
}

void print_large_space_costs() {
  SearchSpace space;
  for (int i = 0; i < 9; ++i) space.range(fmt::format("p{}", i), 1, 10);
  space.rule("p0 + p1 <= 12").rule("p4 % p3 == 0").rule("p5 * p6 * p7 <= 200");
  const std::size_t before = resident_bytes();
  auto begin = Clock::now();
  const std::uint64_t count = space.count();
  fmt::print("10^9 combinations, {} valid: counted in {:.0f} us\n", count, Microseconds(Clock::now() - begin).count());
  constexpr int samples = 20000;
  std::mt19937_64 random(1);
  begin = Clock::now();
  std::int64_t sum = 0;
  for (int i = 0; i < samples; ++i) sum += space.sample(random)->values()[0];
  fmt::print("a uniform sample: {:.2f} us (first parameter on average {:.2f})\n",
             Microseconds(Clock::now() - begin).count() / samples, static_cast<double>(sum) / samples);
  constexpr int visits = 2000000;
  int visited = 0;
  begin = Clock::now();
  space.for_each([&](const Configuration&) { return ++visited < visits; });
  const Microseconds iterated = Clock::now() - begin;
  fmt::print("iteration: {:.3f} us a configuration ({:.0f} s for all)\n", iterated.count() / visits,
             iterated.count() / visits * static_cast<double>(count) * 1e-6);
  const auto strategy = workers::make_strategy(workers::strategy_names().front(), space, {});
  begin = Clock::now();
  for (int n = 0; n < 200; ++n) {
    const auto next = strategy->suggest();
    strategy->observe(*next, workers::Strategy::Time(nanoseconds(*next)));
  }
  fmt::print("200 evaluations with {}: {:.1f} us an evaluation; memory grew by {:.1f} MiB in all\n\n",
             workers::strategy_names().front(), Microseconds(Clock::now() - begin).count() / 200,
             static_cast<double>(resident_bytes() - before) / (1 << 20));
}

}  // namespace
}  // namespace hone

int main() {
  // First the large space, so that its memory is not what the other searches left behind.
  hone::print_large_space_costs();
  hone::print_strategy_costs();
}
