#include "tools/learn/ranking_rule.hpp"

#include <algorithm>
#include <cmath>
#include <hone/error.hpp>

#include "tools/learn/evaluation.hpp"
#include "tools/learn/training.hpp"

namespace hone::tools::learn {
namespace {

learning::Ensemble train(const DataSet& data, const std::vector<learning::Feature>& features,
                         const std::vector<std::size_t>& problems, const RankingOptions& options) {
  if (problems.empty()) {
    throw Error(Errc::invalid_option, "a split of the data has no problems; give it more data or another --split-seed");
  }
  const Matrix rows = measurement_rows(data, features, problems);
  std::vector<float> targets;
  targets.reserve(rows.rows);
  for (const std::size_t i : problems) {
    const MeasuredProblem& problem = data.problems[i];
    for (const Measurement& each : problem.measurements) {
      targets.push_back(static_cast<float>(std::min(options.cap, std::log(each.time / problem.best))));
    }
  }
  return boost(rows, targets, options.boosting);
}

// Lets the model order the candidates of each validation problem, and learns how often each further one pays.
void calibrate(const DataSet& data, const std::vector<std::size_t>& problems, learning::Model& model) {
  const Matrix rows = measurement_rows(data, model.features, problems);
  const std::vector<float> values(rows.values.begin(), rows.values.end());
  std::vector<float> scores(rows.rows);
  learning::evaluate(model.ensemble.tables(), values.data(), rows.columns, rows.rows, scores.data());
  std::vector<Attempt> attempts;
  std::size_t row = 0;
  for (const std::size_t i : problems) {
    const MeasuredProblem& problem = data.problems[i];
    std::vector<std::pair<float, double>> ordered;
    for (const Measurement& each : problem.measurements) {
      ordered.emplace_back(scores[row++], std::log(each.time / problem.best));
    }
    std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    double best = ordered.front().second;
    for (std::size_t c = 1; c < ordered.size(); ++c) {
      attempts.push_back({static_cast<double>(ordered[c].first) - static_cast<double>(ordered.front().first),
                          best - ordered[c].second > log_tie});
      best = std::min(best, ordered[c].second);
    }
  }
  model.chances = falling_chances(std::move(attempts));
}

}  // namespace

std::vector<learning::ChanceStep> falling_chances(std::vector<Attempt> attempts, std::size_t classes) {
  std::stable_sort(attempts.begin(), attempts.end(), [](const Attempt& a, const Attempt& b) { return a.gap < b.gap; });
  struct Class {
    double gap, won, count;
  };
  std::vector<Class> pooled;
  for (std::size_t c = 0; c < classes; ++c) {
    const std::size_t begin = attempts.size() * c / classes;
    const std::size_t end = attempts.size() * (c + 1) / classes;
    if (begin == end) continue;
    Class next{attempts[begin].gap, 0, static_cast<double>(end - begin)};
    for (std::size_t i = begin; i < end; ++i) next.won += attempts[i].won ? 1 : 0;
    while (!pooled.empty() && pooled.back().won * next.count <= next.won * pooled.back().count) {
      next = {pooled.back().gap, pooled.back().won + next.won, pooled.back().count + next.count};
      pooled.pop_back();
    }
    pooled.push_back(next);
  }
  std::vector<learning::ChanceStep> steps;
  for (const Class& each : pooled) {
    if (steps.empty() || each.gap > steps.back().gap) steps.push_back({each.gap, each.won / each.count});
  }
  return steps;
}

learning::Model learn_ranking(const DataSet& data, const Recipe& recipe, const RankingOptions& options) {
  const auto training = problems_of(data, Split::train);
  const auto validation = problems_of(data, Split::validation);
  learning::Model model = describe(data, features_of(recipe, data, true), training);
  model.kind = learning::ModelKind::ensemble;
  model.rule = "regret";
  model.ensemble = train(data, model.features, training, options);
  if (validation.empty()) {
    throw Error(Errc::invalid_option, "a split of the data has no problems; give it more data or another --split-seed");
  }
  calibrate(data, validation, model);
  model.least_chance = options.least_chance;
  model.longest = options.longest;
  // A list of one is a sure answer only where it was good enough on enough validation problems.
  model.may_be_sure = true;
  const Evaluation judged = evaluate(model, data, validation, {});
  model.quality = {judged.problems, judged.coverage, judged.sure.mean, judged.sure.over_5};
  constexpr double enough = 50;
  model.may_be_sure = judged.coverage * static_cast<double>(judged.problems) >= enough && judged.sure.mean <= 1.002 &&
                      judged.sure.over_5 <= 0.005;
  if (!model.may_be_sure) model.quality = {.problems = judged.problems};
  return model;
}

learning::Model retrain_on_all(const learning::Model& model, const DataSet& data, const RankingOptions& options) {
  std::vector<std::size_t> problems;
  for (std::size_t i = 0; i < data.problems.size(); ++i) {
    if (data.problems[i].split != Split::dropped) problems.push_back(i);
  }
  learning::Model all = model;
  const learning::Model described = describe(data, model.features, problems);
  all.bounds = described.bounds;
  all.commonest = described.commonest;
  all.ensemble = train(data, model.features, problems, options);
  return all;
}

}  // namespace hone::tools::learn
