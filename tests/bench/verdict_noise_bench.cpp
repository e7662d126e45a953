// Errors of verdicts under simulated noise, in virtual time: a table, or JSON with --json.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tests/bench/verdict_noise.hpp"

int main(int argc, char** argv) {
  using namespace hone::test;
  CLI::App app("Errors of verdicts under simulated noise");
  std::uint64_t seeds = 300;
  int records = 20;
  bool json = false;
  app.add_option("--seeds", seeds, "Simulated machines for each kind of noise")->check(CLI::Range(1, 100000));
  app.add_option("--records", records, "Healthy records on each, and as many slow ones")->check(CLI::Range(1, 10000));
  app.add_flag("--json", json, "Print JSON");
  CLI11_PARSE(app, argc, argv);

  nlohmann::ordered_json result = {{"seeds", seeds}, {"records", records}, {"noise", nlohmann::ordered_json::object()}};
  if (!json) {
    fmt::print("{:<16} {:>13} {:>13} {:>8} {:>10} {:>15} {:>8} {:>8} | {:>13} {:>8}\n", "NOISE", "VERIFICATIONS",
               "FALSE RETUNES", "MISSED", "UNDECIDED", "WRONG UPGRADES", "SAMPLES", "JOBS", "BARE: RETUNES", "MISSED");
  }
  for (std::size_t i = 0; i < all_noises.size(); ++i) {
    const NoiseScore score = score_verdicts(all_noises[i], seeds, records);
    const auto share = [&](std::uint64_t count) {
      return static_cast<double>(count) / static_cast<double>(score.verifications);
    };
    const double samples = share(score.samples) / 2;
    const double jobs = share(score.jobs) / 2;
    if (json) {
      result["noise"][std::string(noise_names[i])] = {
          {"verifications", score.verifications},
          {"false_retunes", share(score.false_retunes)},
          {"missed", share(score.missed)},
          {"undecided", share(score.undecided) / 2},
          {"wrong_upgrades", score.wrong_upgrades},
          {"mean_samples", samples},
          {"mean_jobs", jobs},
          {"naive", {{"false_retunes", share(score.bare_false_retunes)}, {"missed", share(score.bare_missed)}}}};
    } else {
      fmt::print("{:<16} {:>13} {:>11.2f} % {:>6.2f} % {:>8.2f} % {:>15} {:>8.1f} {:>8.2f} | {:>11.2f} % {:>6.2f} %\n",
                 noise_names[i], score.verifications, 100 * share(score.false_retunes), 100 * share(score.missed),
                 50 * share(score.undecided), score.wrong_upgrades, samples, jobs,
                 100 * share(score.bare_false_retunes), 100 * share(score.bare_missed));
    }
  }
  if (json) fmt::print("{}\n", result.dump(2));
}
