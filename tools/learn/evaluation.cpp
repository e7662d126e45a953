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

Evaluation evaluate(const learning::Model& model, const DataSet& data, const std::vector<std::size_t>& problems,
                    const std::vector<std::size_t>& ks, const DataSet* training,
                    const std::vector<std::size_t>& training_problems) {
  const learning::Predictor predictor(model);
  std::map<std::string, std::int32_t> places;
  for (std::size_t i = 0; i < model.candidates.size(); ++i) {
    places[model.candidates[i].name] = static_cast<std::int32_t>(i);
  }
  std::vector<std::int32_t> place_in_model;
  for (const learning::ModelCandidate& candidate : data.candidates) {
    const auto found = places.find(candidate.name);
    place_in_model.push_back(found != places.end() ? found->second : -1);
  }
  std::optional<NearestNeighbour> nearest;
  if (training != nullptr) nearest.emplace(*training, training_problems);

  Evaluation result;
  result.problems = problems.size();
  result.has_nearest = nearest.has_value();
  std::vector<double> sure, answered, shortlists, by_default, by_commonest, by_nearest;
  std::map<std::size_t, std::vector<double>> top, guarded;
  const auto count = static_cast<double>(std::max<std::size_t>(problems.size(), 1));
  for (const std::size_t p : problems) {
    const MeasuredProblem& problem = data.problems[p];
    std::vector<learning::Offer> offers;
    std::vector<double> regrets;
    std::optional<double> of_default;  // nothing where it was not measured
    std::optional<double> of_commonest;
    for (const Measurement& each : problem.measurements) {
      const learning::ModelCandidate& candidate = data.candidates[each.candidate];
      const double regret = finite(std::log(each.time / problem.best));
      if (each.candidate == data.default_candidate) of_default = regret;
      if (place_in_model[each.candidate] == static_cast<std::int32_t>(model.commonest)) of_commonest = regret;
      bool known = model.kind == learning::ModelKind::ensemble || place_in_model[each.candidate] >= 0;
      for (std::size_t v = 0; v < candidate.values.size(); ++v) {
        known = known && !(data.candidate[v].categorical() && candidate.values[v] < 0);
      }
      if (!known) continue;
      offers.push_back({place_in_model[each.candidate], candidate.values.data()});
      regrets.push_back(regret);
    }
    if (of_default) by_default.push_back(*of_default);
    // What was not measured cannot be judged; the default stands in.
    if (const auto common = of_commonest ? of_commonest : of_default) by_commonest.push_back(*common);
    if (nearest) {
      const double of_nearest = log_regret(data, problem, nearest->winner(problem));
      by_nearest.push_back(std::isfinite(of_nearest) ? of_nearest : of_default.value_or(log_of_failure));
    }
    const learning::Choice choice = predictor.choose(problem.values, offers);
    if (choice.order.size() < 2) ++result.unranked;
    const auto best_of = [&](std::size_t picks, double start) {
      for (std::size_t i = 0; i < std::min(picks, choice.order.size()); ++i) {
        start = std::min(start, regrets[choice.order[i]]);
      }
      return start;
    };
    for (const std::size_t k : ks) {
      top[k].push_back(best_of(k, log_of_failure));
      guarded[k].push_back(best_of(k, of_default.value_or(log_of_failure)));
    }
    if (choice.confidence == Confidence::sure) {
      result.coverage += 1 / count;
      sure.push_back(regrets[choice.order.front()]);
    } else if (choice.confidence == Confidence::shortlist) {
      result.shortlisted += 1 / count;
    } else {
      ++result.unsure[choice.reason];
    }
    if (choice.confidence == Confidence::sure) {
      answered.push_back(sure.back());
    } else if (of_default) {
      answered.push_back(*of_default);
    }
    if (of_default || choice.shortlist > 0) {
      shortlists.push_back(best_of(choice.shortlist, of_default.value_or(log_of_failure)));
    }
    result.shortlist_length += static_cast<double>(choice.shortlist) / count;
  }
  result.sure = regret_of(std::move(sure));
  result.answered = regret_of(std::move(answered));
  result.shortlists = regret_of(std::move(shortlists));
  result.by_default = regret_of(std::move(by_default));
  result.by_commonest = regret_of(std::move(by_commonest));
  result.by_nearest = regret_of(std::move(by_nearest));
  for (const std::size_t k : ks) {
    result.top[k] = regret_of(std::move(top[k]));
    result.guarded[k] = regret_of(std::move(guarded[k]));
  }
  return result;
}

}  // namespace hone::tools::learn
