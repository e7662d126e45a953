#include "tools/learn/accuracy_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <hone/error.hpp>

#include "tools/learn/training.hpp"

namespace hone::tools::learn {
namespace {

using learning::Model;

// Judges trees on one split without computing its features again.
class Judged {
 public:
  Judged(const DataSet& data, const std::vector<learning::Feature>& features, Split split)
      : data_(data), problems_(problems_of(data, split)), rows_(measurement_rows(data, features, problems_)) {
    if (problems_.empty()) {
      throw Error(Errc::invalid_option,
                  "a split of the data has no problems; give it more data or another --split-seed");
    }
  }

  // Calls visit(ratio of the best to the second score, regret of the answer) for each problem.
  template <class Visitor>
  void answers(const CutTree& tree, Visitor visit) const {
    std::size_t row = 0;
    for (const std::size_t i : problems_) {
      const MeasuredProblem& problem = data_.problems[i];
      double best = 0;
      double second = 0;
      double time = 0;
      for (const Measurement& each : problem.measurements) {
        const double score = tree.means[learning::leaf_of(tree.tree, rows_.row(row++))][0];
        if (score > best) {
          second = best;
          best = score;
          time = each.time;
        } else {
          second = std::max(second, score);
        }
      }
      visit(best / second, time / problem.best);
    }
  }

  double threshold(const CutTree& tree) const {
    double threshold = 0;
    answers(tree, [&](double ratio, double regret) {
      if (regret > 1) threshold = std::max(threshold, ratio);
    });
    return threshold;
  }

  AccuracyRow count(const CutTree& tree, double threshold, std::string name) const {
    AccuracyRow row{.split = std::move(name)};
    double worst = 0;
    double logarithms = 0;
    answers(tree, [&](double ratio, double regret) {
      if (ratio <= threshold) {
        ++row.unsure;
      } else if (regret > 1) {
        ++row.wrong;
        worst = std::max(worst, regret);
        logarithms += std::log(regret);
      } else {
        ++row.correct;
      }
    });
    if (row.wrong > 0) {
      row.max_wrong_speedup = worst;
      row.mean_wrong_speedup = std::exp(logarithms / static_cast<double>(row.wrong));
    }
    return row;
  }

  const std::vector<std::size_t>& problems() const noexcept { return problems_; }
  const Matrix& rows() const noexcept { return rows_; }

 private:
  const DataSet& data_;
  std::vector<std::size_t> problems_;
  Matrix rows_;
};

// Mean time of the problem's candidates over the candidate's own.
Matrix scores(const DataSet& data, std::span<const std::size_t> problems, std::size_t rows) {
  Matrix targets(rows, 1);
  std::size_t row = 0;
  for (const std::size_t i : problems) {
    const auto& measurements = data.problems[i].measurements;
    double sum = 0;
    for (const Measurement& each : measurements) sum += each.time;
    for (const Measurement& each : measurements) {
      if (!std::isfinite(sum)) {
        throw Error(
            Errc::invalid_option,
            fmt::format("line {} of the data has a candidate that failed: the accuracy rule needs all times; use "
                        "--rule regret",
                        data.problems[i].line));
      }
      *targets.row(row++) = sum / static_cast<double>(measurements.size()) / each.time;
    }
  }
  return targets;
}

}  // namespace

AccuracyResult learn_by_accuracy(const DataSet& data, const Recipe& recipe) {
  if (data.candidates.size() != 2) {
    throw Error(Errc::invalid_option,
                fmt::format("the accuracy rule chooses between two candidates, the data has {}; use --rule regret",
                            data.candidates.size()));
  }
  const auto features = features_of(recipe, data, true);
  const Judged train(data, features, Split::train);
  const Judged validation(data, features, Split::validation);
  const Judged test(data, features, Split::test);
  const Matrix targets = scores(data, train.problems(), train.rows().rows);

  constexpr std::array<std::uint32_t, 8> depths = {5, 10, 13, 15, 17, 20, 23, UINT32_MAX};
  AccuracyResult best;
  CutTree best_tree;
  std::uint64_t most_correct = 0;
  for (const std::size_t leaf : {1, 2, 5, 10}) {
    const GrownTree grown = grow(train.rows(), targets, {.min_samples_leaf = leaf});
    for (const std::uint32_t depth : depths) {
      CutTree tree = cut(grown, depth);
      const double threshold = validation.threshold(tree);
      const std::uint64_t correct = validation.count(tree, threshold, "val").correct;
      if (!best_tree.tree.empty() && correct <= most_correct) continue;
      most_correct = correct;
      best_tree = std::move(tree);
      best.model.threshold = threshold;
      best.max_depth = depth == UINT32_MAX ? std::nullopt : std::optional(depth);
      best.min_samples_leaf = leaf;
    }
  }
  const double threshold = best.model.threshold;
  Model& model = best.model = describe(data, features, train.problems());
  model.kind = learning::ModelKind::scored_tree;
  model.rule = "accuracy";
  model.threshold = threshold;
  model.tree = best_tree.tree;
  for (const auto& means : best_tree.means) model.scores.push_back(means[0]);
  best.rows = {train.count(best_tree, threshold, "train"), validation.count(best_tree, threshold, "val"),
               test.count(best_tree, threshold, "test")};
  return best;
}

}  // namespace hone::tools::learn
