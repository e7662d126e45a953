#include "tools/learn/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tools/learn/training.hpp"

namespace hone::tools::learn {
namespace {

// A candidate that fails costs what a very slow one does: the mean stays finite, and the failure is not lost.
constexpr double log_of_failure = 3.4657359027997265;  // a factor of 32

double finite(double logarithm) { return std::min(logarithm, log_of_failure); }

// The winner of the training problem that is nearest in the logarithms of its numbers, with the same categories.
class NearestNeighbour {
 public:
  NearestNeighbour(const DataSet& data, const std::vector<std::size_t>& problems) : data_(data) {
    for (const std::size_t i : problems) {
      const MeasuredProblem& problem = data.problems[i];
      const auto best = std::min_element(problem.measurements.begin(), problem.measurements.end(),
                                         [](const Measurement& a, const Measurement& b) { return a.time < b.time; });
      places_.push_back(place(problem));
      winners_.push_back(best->candidate);
    }
  }

  std::uint32_t winner(const MeasuredProblem& problem) const {
    const std::vector<double> here = place(problem);
    double least = std::numeric_limits<double>::infinity();
    std::uint32_t winner = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      double distance = 0;
      for (std::size_t v = 0; v < here.size(); ++v) {
        const double difference = places_[i][v] - here[v];
        distance += data_.problem[v].categorical() ? (difference != 0 ? 4.0 : 0.0) : difference * difference;
      }
      if (distance < least) {
        least = distance;
        winner = winners_[i];
      }
    }
    return winner;
  }

 private:
  std::vector<double> place(const MeasuredProblem& problem) const {
    std::vector<double> result = problem.values;
    for (std::size_t v = 0; v < result.size(); ++v) {
      if (!data_.problem[v].categorical()) result[v] = std::copysign(std::log2(1 + std::abs(result[v])), result[v]);
    }
    return result;
  }

  const DataSet& data_;
  std::vector<std::vector<double>> places_;
  std::vector<std::uint32_t> winners_;
};

}  // namespace

Regret regret_of(std::vector<double> logarithms) {
  Regret regret;
  if (logarithms.empty()) return regret;
  std::sort(logarithms.begin(), logarithms.end());
  double sum = 0;
  std::size_t over = 0;
  for (const double each : logarithms) {
    sum += each;
    over += each > log_of_5_percent ? 1U : 0U;
  }
  const auto count = static_cast<double>(logarithms.size());
  regret.mean = std::exp(sum / count);
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * count)) - 1;
  regret.p95 = std::exp(logarithms[rank]);
  regret.worst = std::exp(logarithms.back());
  regret.over_5 = static_cast<double>(over) / count;
  return regret;
}

namespace {

// One problem after the other, and their regrets side by side.
class Judging {
 public:
  Judging(const learning::Model& model, const DataSet& data, const std::vector<std::size_t>& ks)
      : model_(model), predictor_(model), data_(data), ks_(ks) {
    std::map<std::string, std::int32_t> places;
    for (std::size_t i = 0; i < model.candidates.size(); ++i) {
      places[model.candidates[i].name] = static_cast<std::int32_t>(i);
    }
    for (const learning::ModelCandidate& candidate : data.candidates) {
      const auto found = places.find(candidate.name);
      place_in_model_.push_back(found != places.end() ? found->second : -1);
    }
  }

  void use_nearest(const DataSet& training, const std::vector<std::size_t>& problems) {
    nearest_.emplace(training, problems);
  }

  void add(const MeasuredProblem& problem) {
    const Measured measured = measure(problem);
    if (measured.of_default) by_default_.push_back(*measured.of_default);
    // What was not measured cannot be judged; the default stands in.
    if (const auto common = measured.of_commonest ? measured.of_commonest : measured.of_default) {
      by_commonest_.push_back(*common);
    }
    if (nearest_) {
      const double of_nearest = log_regret(data_, problem, nearest_->winner(problem));
      by_nearest_.push_back(std::isfinite(of_nearest) ? of_nearest : measured.of_default.value_or(log_of_failure));
    }
    const learning::Choice choice = predictor_.choose(problem.values, measured.offers);
    add_answer(choice, measured);
    for (const std::size_t k : ks_) {
      top_[k].push_back(best_of(choice, measured, k, log_of_failure));
      guarded_[k].push_back(best_of(choice, measured, k, measured.of_default.value_or(log_of_failure)));
    }
  }

  Evaluation conclude() {
    const auto count = static_cast<double>(std::max<std::uint64_t>(result_.problems, 1));
    result_.coverage = static_cast<double>(sure_.size()) / count;
    result_.shortlisted /= count;
    result_.shortlist_length /= count;
    result_.has_nearest = nearest_.has_value();
    result_.sure = regret_of(std::move(sure_));
    result_.answered = regret_of(std::move(answered_));
    result_.shortlists = regret_of(std::move(shortlists_));
    result_.by_default = regret_of(std::move(by_default_));
    result_.by_commonest = regret_of(std::move(by_commonest_));
    result_.by_nearest = regret_of(std::move(by_nearest_));
    for (const std::size_t k : ks_) {
      result_.top[k] = regret_of(std::move(top_[k]));
      result_.guarded[k] = regret_of(std::move(guarded_[k]));
    }
    return std::move(result_);
  }

 private:
  // Regrets are logarithms; nothing where the candidate was not measured.
  struct Measured {
    std::vector<learning::Offer> offers;
    std::vector<double> regrets;  // of the offers
    std::optional<double> of_default, of_commonest;
  };

  Measured measure(const MeasuredProblem& problem) const {
    Measured measured;
    for (const Measurement& each : problem.measurements) {
      const learning::ModelCandidate& candidate = data_.candidates[each.candidate];
      const std::int32_t place = place_in_model_[each.candidate];
      const double regret = finite(std::log(each.time / problem.best));
      if (each.candidate == data_.default_candidate) measured.of_default = regret;
      if (place == static_cast<std::int32_t>(model_.commonest)) measured.of_commonest = regret;
      bool known = model_.kind == learning::ModelKind::ensemble || place >= 0;
      for (std::size_t v = 0; v < candidate.values.size(); ++v) {
        known = known && !(data_.candidate[v].categorical() && candidate.values[v] < 0);
      }
      if (!known) continue;
      measured.offers.push_back({place, candidate.values.data()});
      measured.regrets.push_back(regret);
    }
    return measured;
  }

  static double best_of(const learning::Choice& choice, const Measured& measured, std::size_t picks, double start) {
    for (std::size_t i = 0; i < std::min(picks, choice.order.size()); ++i) {
      start = std::min(start, measured.regrets[choice.order[i]]);
    }
    return start;
  }

  void add_answer(const learning::Choice& choice, const Measured& measured) {
    ++result_.problems;
    if (choice.order.size() < 2) ++result_.unranked;
    result_.shortlist_length += static_cast<double>(choice.shortlist);
    switch (choice.confidence) {
      case Confidence::sure:
        sure_.push_back(measured.regrets[choice.order.front()]);
        answered_.push_back(sure_.back());
        break;
      case Confidence::shortlist:
        ++result_.shortlisted;
        break;
      case Confidence::unsure:
        ++result_.unsure[choice.reason];
        break;
    }
    if (choice.confidence != Confidence::sure && measured.of_default) answered_.push_back(*measured.of_default);
    if (measured.of_default || choice.shortlist > 0) {
      shortlists_.push_back(best_of(choice, measured, choice.shortlist, measured.of_default.value_or(log_of_failure)));
    }
  }

  const learning::Model& model_;
  const learning::Predictor predictor_;
  const DataSet& data_;
  const std::vector<std::size_t>& ks_;
  std::vector<std::int32_t> place_in_model_;  // of the data's candidates
  std::optional<NearestNeighbour> nearest_;
  Evaluation result_;
  std::vector<double> sure_, answered_, shortlists_, by_default_, by_commonest_, by_nearest_;
  std::map<std::size_t, std::vector<double>> top_, guarded_;
};

}  // namespace

Evaluation evaluate(const learning::Model& model, const DataSet& data, const std::vector<std::size_t>& problems,
                    const std::vector<std::size_t>& ks, const DataSet* training,
                    const std::vector<std::size_t>& training_problems) {
  Judging judging(model, data, ks);
  if (training != nullptr) judging.use_nearest(*training, training_problems);
  for (const std::size_t problem : problems) judging.add(data.problems[problem]);
  return judging.conclude();
}

}  // namespace hone::tools::learn
