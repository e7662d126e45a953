#include "tools/learn/regret_rule.hpp"

#include <algorithm>
#include <cmath>
#include <hone/error.hpp>
#include <numeric>

#include "tools/learn/training.hpp"

namespace hone::tools::learn {
namespace {

using learning::Leaf;

constexpr double cap = 0.2;            // of log(time / best): beyond, a loss is a loss
constexpr double least_chance = 0.02;  // that one more candidate wins: below, it is not worth measuring

// Capped losses of every candidate for every problem named.
Matrix losses(const DataSet& data, std::span<const std::size_t> problems) {
  Matrix result(problems.size(), data.candidates.size());
  std::fill(result.values.begin(), result.values.end(), cap);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const MeasuredProblem& problem = data.problems[problems[i]];
    for (const Measurement& each : problem.measurements) {
      result.row(i)[each.candidate] = std::min(cap, std::log(each.time / problem.best));
    }
  }
  return result;
}

struct Sample {
  std::vector<std::size_t> problems;
  Matrix rows;
  Matrix loss;

  Sample(const DataSet& data, const std::vector<learning::Feature>& features, Split split)
      : problems(problems_of(data, split)), rows(problem_rows(data, features, problems)), loss(losses(data, problems)) {
    if (problems.empty()) {
      throw Error(Errc::invalid_option,
                  "a split of the data has no problems; give it more data or another --split-seed");
    }
  }
};

// The rows of a leaf, of training and validation data together.
struct LeafRows {
  std::vector<const double*> losses;
};

// Candidates in the order in which each adds most: the first loses least on average, every further one wins most often
// against the best of those before it. Ends where the next one wins too rarely.
std::vector<std::uint16_t> order_of(const LeafRows& leaf, std::size_t candidates) {
  std::vector<std::uint16_t> order;
  std::vector<double> best(leaf.losses.size(), cap);
  while (order.size() < candidates) {
    double most = -1;
    std::size_t next = 0;
    std::size_t wins = 0;
    for (std::size_t c = 0; c < candidates; ++c) {
      if (std::find(order.begin(), order.end(), c) != order.end()) continue;
      double saved = 0;
      std::size_t won = 0;
      for (std::size_t i = 0; i < best.size(); ++i) {
        saved += std::max(0.0, best[i] - leaf.losses[i][c]);
        won += best[i] - leaf.losses[i][c] > log_tie ? 1U : 0U;
      }
      if (saved > most) {
        most = saved;
        next = c;
        wins = won;
      }
    }
    if (!order.empty() && static_cast<double>(wins) < least_chance * static_cast<double>(best.size())) break;
    order.push_back(static_cast<std::uint16_t>(next));
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], leaf.losses[i][next]);
  }
  return order;
}

class LeafJudge {
 public:
  LeafJudge(const CutTree& tree, const Sample& train, const Sample& validation, std::size_t candidates)
      : validation_(validation), leaf_rows_(tree.means.size()), leaves_(tree.means.size()), risk_(tree.means.size()) {
    const auto collect = [&](const Sample& sample, std::vector<std::uint32_t>* numbers) {
      for (std::size_t i = 0; i < sample.rows.rows; ++i) {
        const std::uint32_t leaf = learning::leaf_of(tree.tree, sample.rows.row(i));
        leaf_rows_[leaf].losses.push_back(sample.loss.row(i));
        if (numbers != nullptr) numbers->push_back(leaf);
      }
    };
    collect(train, nullptr);
    collect(validation, &leaf_of_validation_);
    for (std::size_t i = 0; i < leaves_.size(); ++i) judge(leaf_rows_[i], candidates, leaves_[i], risk_[i]);
  }

  // Leaves become sure from the least risky on, as long as the validation answers together stay within the limits.
  // Returns the share of validation problems with a sure answer.
  double choose(const RegretLimits& limits) {
    std::vector<std::size_t> order(leaves_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return risk_[a] < risk_[b]; });
    std::vector<double> problems(leaves_.size());
    std::vector<double> loss(leaves_.size());
    std::vector<double> over(leaves_.size());
    for (std::size_t i = 0; i < leaf_of_validation_.size(); ++i) {
      const std::size_t leaf = leaf_of_validation_[i];
      const double regret = validation_.loss.row(i)[leaves_[leaf].order.front()];
      problems[leaf] += 1;
      loss[leaf] += regret;
      over[leaf] += regret > log_of_5_percent ? 1 : 0;
    }
    double all_problems = 0;
    double all_loss = 0;
    double all_over = 0;
    std::size_t sure = 0;
    for (std::size_t i = 0; i < order.size() && risk_[order[i]] <= limits.leaf_risk; ++i) {
      all_problems += problems[order[i]];
      all_loss += loss[order[i]];
      all_over += over[order[i]];
      if (all_problems == 0 || all_over > limits.over_5 * all_problems ||
          all_loss > std::log(limits.regret) * all_problems) {
        continue;
      }
      sure = i + 1;
      quality_ = {leaf_of_validation_.size(), all_problems / static_cast<double>(leaf_of_validation_.size()),
                  std::exp(all_loss / all_problems), all_over / all_problems};
    }
    for (std::size_t i = 0; i < sure; ++i) leaves_[order[i]].sure = true;
    return quality_.coverage;
  }

  const std::vector<Leaf>& leaves() const noexcept { return leaves_; }
  const learning::Quality& quality() const noexcept { return quality_; }

 private:
  static void judge(const LeafRows& rows, std::size_t candidates, Leaf& leaf, double& risk) {
    leaf.order = order_of(rows, candidates);
    leaf.problems = rows.losses.size();
    double loss = 0;
    double over = 0;
    for (const double* row : rows.losses) {
      loss += row[leaf.order.front()];
      over += row[leaf.order.front()] > log_of_5_percent ? 1 : 0;
    }
    const auto count = static_cast<double>(std::max<std::size_t>(rows.losses.size(), 1));
    leaf.regret = std::exp(loss / count);
    leaf.over_5 = over / count;
    // A leaf with few problems has shown little: smoothed as if a third of one more problem had lost.
    risk = (over + 0.3) / (count + 1);
  }

  const Sample& validation_;
  std::vector<LeafRows> leaf_rows_;
  std::vector<std::uint32_t> leaf_of_validation_;
  std::vector<Leaf> leaves_;
  std::vector<double> risk_;
  learning::Quality quality_{.problems = 0};
};

}  // namespace

learning::Model learn_by_regret(const DataSet& data, const Recipe& recipe, const RegretLimits& limits) {
  const auto features = features_of(recipe, data, false);
  const Sample train(data, features, Split::train);
  const Sample validation(data, features, Split::validation);
  learning::Model model = describe(data, features, train.problems);
  model.kind = learning::ModelKind::tree;
  model.rule = "regret";
  double best = -1;
  for (const std::size_t leaf : {10, 20, 40}) {
    const GrownTree grown = grow(train.rows, train.loss, {.max_depth = 16, .min_samples_leaf = leaf});
    for (const std::uint32_t depth : {6U, 8U, 10U, 12U, 16U}) {
      const CutTree tree = cut(grown, depth);
      LeafJudge judge(tree, train, validation, data.candidates.size());
      const double coverage = judge.choose(limits);
      if (coverage <= best) continue;
      best = coverage;
      model.tree = tree.tree;
      model.leaves = judge.leaves();
      model.quality = judge.quality();
    }
  }
  return model;
}

}  // namespace hone::tools::learn
