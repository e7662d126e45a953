#include "kernels/learning/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hone::learning {
namespace {

// Not-a-number would leave a leaf of an ensemble.
float feature_value(double value) noexcept {
  return std::isnan(value) ? std::numeric_limits<float>::lowest() : static_cast<float>(value);
}

double chance_at(const std::vector<ChanceStep>& steps, double gap) noexcept {
  double chance = 1;
  for (const ChanceStep& step : steps) {
    if (gap < step.gap) break;
    chance = step.chance;
  }
  return chance;
}

}  // namespace

double category_value(const Variable& variable, std::string_view category) noexcept {
  for (std::size_t i = 0; i < variable.categories.size(); ++i) {
    if (variable.categories[i] == category) return static_cast<double>(i);
  }
  return -1;
}

Predictor::Predictor(Model model) : model_(std::move(model)) {
  features_ = Features(model_.problem, model_.candidate, model_.features);
  for (const std::string& text : model_.preconditions) {
    preconditions_.push_back(Expression::parse(text, model_.problem));
  }
}

std::vector<Offer> Predictor::offers() const {
  std::vector<Offer> offers;
  for (std::size_t i = 0; i < model_.candidates.size(); ++i) {
    offers.push_back({static_cast<std::int32_t>(i), model_.candidates[i].values.data()});
  }
  return offers;
}

const char* Predictor::objection(std::span<const double> problem) const noexcept {
  for (std::size_t i = 0; i < model_.problem.size(); ++i) {
    if (model_.problem[i].categorical()) {
      if (!(problem[i] >= 0)) return "a field has a category that the training data had not";
    } else if (!(problem[i] >= model_.bounds[i].low && problem[i] <= model_.bounds[i].high)) {
      return "a field lies outside the range of the training data";
    }
  }
  for (const Expression& precondition : preconditions_) {
    if (precondition.evaluate(problem.data()) == 0) return "a precondition of the model does not hold";
  }
  return nullptr;
}

Choice Predictor::choose(std::span<const double> problem, std::span<const Offer> offers) const {
  Choice choice;
  switch (model_.kind) {
    case ModelKind::tree:
      choose_by_leaf(problem, offers, choice);
      break;
    case ModelKind::scored_tree:
      choose_by_score(problem, offers, choice);
      break;
    case ModelKind::ensemble:
      choose_by_ensemble(problem, offers, choice);
      break;
  }
  if (choice.order.size() < 2) {
    choice.confidence = Confidence::unsure;
    choice.reason = "there are fewer than two candidates that the model knows";
  }
  if (const char* objection = this->objection(problem)) {
    choice.confidence = Confidence::unsure;
    choice.reason = objection;
  }
  if (choice.confidence == Confidence::unsure) choice.shortlist = 0;
  return choice;
}

void Predictor::choose_by_leaf(std::span<const double> values, std::span<const Offer> offers, Choice& choice) const {
  std::uint32_t number = 0;
  if (model_.compiled_leaf != nullptr) {
    number = model_.compiled_leaf(values.data());
  } else {
    std::vector<double> row(features_.size());
    features_.of_problem(values.data(), row.data());
    number = leaf_of(model_.tree, row.data());
  }
  const Leaf& leaf = model_.leaves[number];
  for (const std::uint16_t candidate : leaf.order) {
    for (std::size_t i = 0; i < offers.size(); ++i) {
      if (offers[i].candidate == candidate) choice.order.push_back(static_cast<std::uint32_t>(i));
    }
  }
  choice.shortlist = choice.order.size();
  // What the leaf is sure of may not be on offer.
  const bool first = !choice.order.empty() && offers[choice.order.front()].candidate == leaf.order.front();
  if (leaf.sure && first) {
    choice.confidence = Confidence::sure;
  } else if (model_.candidates.size() > 2 && choice.shortlist > 0) {
    choice.confidence = Confidence::shortlist;
  } else {
    choice.reason = "similar problems of the training data had different winners";
  }
  // Every other candidate the model knows, so that an order always is one of all.
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (offers[i].candidate < 0) continue;
    const auto place = static_cast<std::uint32_t>(i);
    if (std::find(choice.order.begin(), choice.order.end(), place) == choice.order.end()) choice.order.push_back(place);
  }
}

void Predictor::choose_by_score(std::span<const double> problem, std::span<const Offer> offers, Choice& choice) const {
  std::vector<double> values(problem.begin(), problem.end());
  values.resize(features_.variables());
  std::vector<double> row(features_.size());
  features_.of_problem(values.data(), row.data());
  std::vector<double> scores(offers.size());
  for (std::size_t i = 0; i < offers.size(); ++i) {
    std::copy_n(offers[i].values, model_.candidate.size(),
                values.begin() + static_cast<std::ptrdiff_t>(problem.size()));
    std::uint32_t leaf = 0;
    if (model_.compiled_leaf != nullptr) {
      leaf = model_.compiled_leaf(values.data());
    } else {
      features_.of_candidate(values.data(), row.data());
      leaf = leaf_of(model_.tree, row.data());
    }
    scores[i] = model_.scores[leaf];
  }
  choice.order.resize(offers.size());
  std::iota(choice.order.begin(), choice.order.end(), 0U);
  std::stable_sort(choice.order.begin(), choice.order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
  if (choice.order.size() > 1 && scores[choice.order[0]] / scores[choice.order[1]] > model_.threshold) {
    choice.confidence = Confidence::sure;
    choice.shortlist = 1;
  } else {
    choice.reason = "the best two predictions are too near to each other";
  }
}

void Predictor::choose_by_ensemble(std::span<const double> problem, std::span<const Offer> offers,
                                   Choice& choice) const {
  const std::size_t size = features_.size();
  std::vector<double> values(problem.begin(), problem.end());
  values.resize(features_.variables());
  std::vector<double> row(size);
  features_.of_problem(values.data(), row.data());
  std::vector<float> rows(size * offers.size());
  for (std::size_t i = 0; i < offers.size(); ++i) {
    std::copy_n(offers[i].values, model_.candidate.size(),
                values.begin() + static_cast<std::ptrdiff_t>(problem.size()));
    features_.of_candidate(values.data(), row.data());
    std::transform(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * size), feature_value);
  }
  std::vector<float> scores(offers.size());
  evaluate(model_.compiled_tables != nullptr ? *model_.compiled_tables : model_.ensemble.tables(), rows.data(), size,
           offers.size(), scores.data());
  choice.order.resize(offers.size());
  std::iota(choice.order.begin(), choice.order.end(), 0U);
  std::stable_sort(choice.order.begin(), choice.order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return scores[a] < scores[b]; });
  while (choice.shortlist < std::min<std::size_t>(choice.order.size(), model_.longest)) {
    const double gap =
        static_cast<double>(scores[choice.order[choice.shortlist]]) - static_cast<double>(scores[choice.order[0]]);
    if (choice.shortlist > 0 && chance_at(model_.chances, gap) < model_.least_chance) break;
    ++choice.shortlist;
  }
  choice.confidence = choice.shortlist == 1 && model_.may_be_sure ? Confidence::sure : Confidence::shortlist;
}

}  // namespace hone::learning
