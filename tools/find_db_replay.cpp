#include "tools/find_db_replay.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hone::tools {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Recorded rivals expected to be slower than the best by more than this are not worth an evaluation.
constexpr double hopeless = 6;
// Chances of a gain from which an evaluation of one more solver, and a tuning, are worth their cost.
constexpr double worth_trying = 0.08;
constexpr double worth_tuning = 0.1;
// What is assumed before anything was learned, and how many observations that counts for.
constexpr double trying_prior = 0.05;
constexpr double tuning_prior = 0.5;
constexpr double prior_weight = 4;

struct Candidate {
  std::string solver;
  double time;  // ms
};
using Times = std::unordered_map<std::string_view, double>;

// Similar problems, from wide to narrow: all, those of the same direction and type, those that also share the filter
// and whether they are grouped. Keys are Cin-Hin-..-FYxFX-..-LAYOUT-DTYPE-DIR[_gN].
struct Classes {
  std::string all;
  std::string coarse;
  std::string fine;
};

Classes classes_of(const std::string& key) {
  const auto field = [&key](std::size_t end) {
    const std::size_t begin = key.find_last_of('-', end == 0 ? 0 : end - 1);
    return begin == std::string::npos ? std::size_t{0} : begin + 1;
  };
  const std::size_t direction = field(key.size());
  const std::size_t type = direction < 2 ? direction : field(direction - 1);
  Classes classes;
  classes.coarse = key.substr(type, direction - type) + key.substr(direction, 1);
  const std::size_t x = std::min(key.find('x'), key.size());
  const std::size_t filter = x == 0 ? 0 : field(x);
  classes.fine = classes.coarse + ' ' + key.substr(filter, key.find('-', x) - filter) +
                 (key.find("_g", direction) != std::string::npos ? " grouped" : "");
  return classes;
}

// The share of observations in which something happened, from wide classes to narrow ones: each is the prior of the
// next.
class Chances {
 public:
  explicit Chances(double prior) : prior_(prior) {}
  double of(std::initializer_list<std::string> nested) const {
    double chance = prior_;
    for (const std::string& name : nested) {
      const auto found = counts_.find(name);
      if (found == counts_.end()) return chance;
      chance = (found->second.happened + prior_weight * chance) / (found->second.observed + prior_weight);
    }
    return chance;
  }
  void observe(std::initializer_list<std::string> nested, bool happened) {
    for (const std::string& name : nested) {
      Count& count = counts_[name];
      count.happened += happened ? 1 : 0;
      count.observed += 1;
    }
  }

 private:
  struct Count {
    double happened = 0;
    double observed = 0;
  };
  double prior_;
  std::unordered_map<std::string, Count> counts_;
};

// How much slower or faster than recorded a solver is here: the mean logarithm of the ratio, near problems first.
class Shifts {
 public:
  double of(std::string_view solver, const Classes& classes) const {
    double sum = 0;
    double weight = 2;  // of no shift
    const auto add = [&](const std::string& name, double share) {
      const auto found = sums_.find(std::string(solver) + '|' + name);
      if (found == sums_.end()) return;
      sum += share * found->second.sum;
      weight += share * found->second.count;
    };
    add(classes.fine, 1.0);
    add(classes.coarse, 0.3);
    add(classes.all, 0.1);
    return sum / weight;
  }
  void observe(std::string_view solver, const Classes& classes, double logarithm) {
    for (const std::string* name : {&classes.fine, &classes.coarse, &classes.all}) {
      Sum& sum = sums_[std::string(solver) + '|' + *name];
      sum.sum += logarithm;
      sum.count += 1;
    }
  }

 private:
  struct Sum {
    double sum = 0;
    double count = 0;
  };
  std::unordered_map<std::string, Sum> sums_;
};

// One key while it is decided: what was evaluated, at which cost.
class Decision {
 public:
  explicit Decision(const Times& machine) : machine_(machine) {}

  bool evaluate(std::string_view solver) {
    ++evaluations_;
    const auto found = machine_.find(solver);
    if (found == machine_.end()) return false;
    measured_.emplace(found->first, found->second);
    if (found->second < best_) {
      best_ = found->second;
      winner_ = found->first;
    }
    return true;
  }
  void tune() {
    tuned_ = true;
    for (const auto& [solver, time] : machine_) {
      if (!measured_.contains(solver)) evaluate(solver);
    }
  }
  double best() const { return best_; }
  std::string_view winner() const { return winner_; }
  const Times& measured() const { return measured_; }
  std::uint64_t evaluations() const { return evaluations_; }
  bool tuned() const { return tuned_; }

 private:
  const Times& machine_;
  Times measured_;
  double best_ = infinity;
  std::string_view winner_;
  std::uint64_t evaluations_ = 0;
  bool tuned_ = false;
};

using Decide = std::function<void(const std::string& key, const std::vector<Candidate>& recorded, Decision& decision)>;

ReplayScore replay(const FindDbText& recorded, const FindDbText& measured, const Decide& decide) {
  std::unordered_map<std::string_view, const FindDbRecord*> machine;
  for (const FindDbRecord& record : measured.records) machine.emplace(record.key, &record);
  const auto timed = [](const FindDbRecord& record) {
    return std::all_of(record.entries.begin(), record.entries.end(),
                       [](const FindDbEntry& e) { return e.milliseconds > 0; });
  };
  ReplayScore score;
  double logarithms = 0;
  for (const FindDbRecord& record : recorded.records) {
    const auto found = machine.find(record.key);
    if (found == machine.end() || !timed(record) || !timed(*found->second)) continue;
    Times times;
    double best = infinity;
    for (const FindDbEntry& entry : found->second->entries) {
      times.emplace(entry.solver, entry.milliseconds);
      best = std::min(best, entry.milliseconds);
    }
    std::vector<Candidate> candidates;
    for (const FindDbEntry& entry : record.entries) candidates.push_back({entry.solver, entry.milliseconds});
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.time < b.time; });
    Decision decision(times);
    decide(record.key, candidates, decision);
    const double regret = decision.best() / best;
    ++score.keys;
    score.evaluations_per_key += static_cast<double>(decision.evaluations());
    score.tuned_share += decision.tuned() ? 1 : 0;
    score.slower_5 += regret >= 1.05 ? 1 : 0;
    score.slower_15 += regret >= 1.15 ? 1 : 0;
    logarithms += std::log(regret);
  }
  if (score.keys == 0) return score;
  const auto keys = static_cast<double>(score.keys);
  for (double* sum : {&score.evaluations_per_key, &score.tuned_share, &score.slower_5, &score.slower_15}) *sum /= keys;
  score.geomean_regret = std::exp(logarithms / keys);
  return score;
}

class LearningPolicy {
 public:
  explicit LearningPolicy(const ReplayOptions& options) : options_(options) {}

  void decide(const std::string& key, const std::vector<Candidate>& recorded, Decision& decision) {
    ++keys_;
    const Classes classes = classes_of(key);
    const double gain = 1 + options_.tolerance / 3;
    std::vector<Candidate> expected = recorded;
    for (Candidate& candidate : expected) candidate.time *= std::exp(shifts_.of(candidate.solver, classes));
    const Candidate claimed = expected.front();
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Candidate& a, const Candidate& b) { return a.time < b.time; });
    const double expected_best = expected.front().time;
    const std::size_t failed = evaluate_recorded(claimed, expected, decision);
    evaluate_an_unnamed_one(classes, recorded, gain, decision);

    const std::string situation = std::to_string(std::min<std::size_t>(failed, 3));
    const std::string excess = situation + bucket(decision.best() / expected_best);
    const std::string full = excess + (recorded.size() >= options_.candidates ? "full" : "short");
    const bool may_tune = static_cast<double>(tuned_) < options_.most_tuned * static_cast<double>(keys_ + 20);
    if (decision.measured().empty() || (may_tune && tuning_.of({situation, excess, full}) >= worth_tuning)) {
      const double before = decision.best();
      decision.tune();
      ++tuned_;
      tuning_.observe({situation, excess, full}, decision.best() * gain < before);
      for (const auto& [solver, time] : decision.measured()) {
        if (!names(recorded, solver)) observe_unnamed(solver, classes, time * gain < before);
      }
    }
    for (const Candidate& candidate : recorded) {
      const auto found = decision.measured().find(candidate.solver);
      if (found != decision.measured().end()) {
        shifts_.observe(candidate.solver, classes, std::log(found->second / candidate.time));
      }
    }
    if (!decision.winner().empty()) ++winners_[classes.coarse][std::string(decision.winner())];
  }

 private:
  static bool names(const std::vector<Candidate>& recorded, std::string_view solver) {
    return std::any_of(recorded.begin(), recorded.end(), [&](const Candidate& c) { return c.solver == solver; });
  }

  // The number that failed. Goes on beyond the hopeless ones and the limit until one works.
  std::size_t evaluate_recorded(const Candidate& claimed, const std::vector<Candidate>& expected,
                                Decision& decision) const {
    std::size_t failed = decision.evaluate(claimed.solver) ? 0 : 1;
    std::vector<const Candidate*> left;
    for (const Candidate& candidate : expected) {
      if (candidate.solver == claimed.solver) continue;
      const bool promising = candidate.time <= hopeless * expected.front().time &&
                             decision.evaluations() < std::max<std::size_t>(1, options_.candidates);
      if (!promising) {
        left.push_back(&candidate);
      } else if (!decision.evaluate(candidate.solver)) {
        ++failed;
      }
    }
    for (const Candidate* candidate : left) {
      if (!decision.measured().empty()) break;
      if (!decision.evaluate(candidate->solver)) ++failed;
    }
    return failed;
  }

  void evaluate_an_unnamed_one(const Classes& classes, const std::vector<Candidate>& recorded, double gain,
                               Decision& decision) {
    std::pair<double, std::string> most_promising;
    for (const auto& [solver, wins] : winners_[classes.coarse]) {
      if (!names(recorded, solver)) most_promising = std::max(most_promising, {chance_of(solver, classes), solver});
    }
    const auto& [chance, solver] = most_promising;
    if (chance < worth_trying) return;
    const double before = decision.best();
    const bool works = decision.evaluate(solver);
    observe_unnamed(solver, classes, works && decision.measured().at(solver) * gain < before);
  }

  double chance_of(const std::string& solver, const Classes& classes) const {
    return unnamed_.of({solver, solver + '|' + classes.coarse, solver + '|' + classes.fine});
  }
  void observe_unnamed(std::string_view name, const Classes& classes, bool gained) {
    const std::string solver(name);
    unnamed_.observe({solver, solver + '|' + classes.coarse, solver + '|' + classes.fine}, gained);
  }

  std::string bucket(double excess) const {
    if (excess < 1 + options_.tolerance / 3) return " as expected ";
    if (excess < 1 + options_.tolerance) return " within ";
    return excess < 1.5 * (1 + options_.tolerance / 3) ? " beyond " : " far beyond ";
  }

  const ReplayOptions options_;
  Shifts shifts_;
  Chances unnamed_{trying_prior};
  Chances tuning_{tuning_prior};
  std::unordered_map<std::string, std::unordered_map<std::string, std::uint64_t>> winners_;
  std::uint64_t keys_ = 0;
  std::uint64_t tuned_ = 0;
};

}  // namespace

ReplayScore replay_bare_rule(const FindDbText& recorded, const FindDbText& measured, const ReplayOptions& options) {
  return replay(recorded, measured,
                [&](const std::string&, const std::vector<Candidate>& candidates, Decision& decision) {
                  const bool works = decision.evaluate(candidates.front().solver);
                  if (!works || decision.best() > candidates.front().time * (1 + options.tolerance)) decision.tune();
                });
}

ReplayScore replay_policy(const FindDbText& recorded, const FindDbText& measured, const ReplayOptions& options) {
  LearningPolicy policy(options);
  return replay(recorded, measured,
                [&](const std::string& key, const std::vector<Candidate>& candidates, Decision& decision) {
                  policy.decide(key, candidates, decision);
                });
}

}  // namespace hone::tools
