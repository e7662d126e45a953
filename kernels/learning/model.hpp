// A learned model: what was learned, from what, and for what it is good.
#pragma once

#include <cstdint>
#include <hone/heuristic.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/learning/ensemble.hpp"
#include "kernels/learning/features.hpp"
#include "kernels/learning/tree.hpp"

namespace hone::learning {

enum class ModelKind : std::uint8_t {
  tree,         // of the problem's features; a leaf names candidates
  scored_tree,  // of a problem's and a candidate's features; a leaf is a score, more is better
  ensemble,     // of a problem's and a candidate's features; the sum predicts log(time / best time)
};
constexpr std::array<std::string_view, 3> symbols(ModelKind) noexcept { return {"tree", "scored_tree", "ensemble"}; }

// The range of a numeric variable in the training data.
struct Bound {
  double low = 0;
  double high = 0;
  friend bool operator==(const Bound&, const Bound&) = default;
};

// A candidate of the training data.
struct ModelCandidate {
  std::string name;
  Pick pick;
  std::vector<double> values = {};  // one for each candidate variable
  friend bool operator==(const ModelCandidate&, const ModelCandidate&) = default;
};

struct Leaf {
  std::vector<std::uint16_t> order = {};  // the candidates worth measuring, best first
  bool sure = false;                      // of the first
  double regret = 1;                      // geometric mean of its time over the best time
  double over_5 = 0;                      // share of problems where it loses more than 5 %
  std::uint64_t problems = 0;             // that the two figures were taken from
  friend bool operator==(const Leaf&, const Leaf&) = default;
};

// The chance that a candidate wins by more than the tie margin against all that are predicted to be better, when its
// prediction is at least `gap` above the best prediction. By ascending gap; the chance falls.
struct ChanceStep {
  double gap = 0;
  double chance = 0;
  friend bool operator==(const ChanceStep&, const ChanceStep&) = default;
};

// What validation data said about the answers that are given as sure.
struct Quality {
  std::uint64_t problems = 0;
  double coverage = 0;  // share of problems with a sure answer
  double regret = 1;    // geometric mean
  double over_5 = 0;    // share of sure answers that lose more than 5 %
  friend bool operator==(const Quality&, const Quality&) = default;
};

struct Model {
  ModelKind kind = ModelKind::tree;
  std::string operation;
  std::string environment_class;  // "": not known; then no environment fits
  std::string rule;               // "accuracy" or "regret"
  std::string data_hash;          // of the training data, 16 hexadecimal digits
  Quality quality;

  std::vector<Variable> problem;
  std::vector<Bound> bounds;  // one for each of them; of one with categories: unused
  std::vector<Variable> candidate;
  std::vector<Feature> features;
  std::vector<std::string> preconditions;  // expressions of the problem's variables that must not be 0
  std::vector<ModelCandidate> candidates;
  std::uint32_t default_candidate = 0;
  std::uint32_t commonest = 0;  // the most frequent winner of the training data

  Tree tree;                   // of both kinds of trees
  std::vector<Leaf> leaves;    // of a tree
  std::vector<double> scores;  // of a scored tree, one for each leaf
  double threshold = 0;        // of a scored tree: sure where best / second score is above it

  Ensemble ensemble;
  std::vector<ChanceStep> chances;  // of an ensemble
  double least_chance = 0;          // a shortlist ends where the chance falls below
  std::uint32_t longest = 0;        // candidates in a shortlist at most
  bool may_be_sure = false;         // whether a shortlist of one was good enough on validation data

  // Set by generated code, in place of `tree` and `ensemble`.
  std::uint32_t (*compiled_leaf)(const double* values) = nullptr;
  const EnsembleTables* compiled_tables = nullptr;
};

// The value of a categorical variable; -1 for a category that the model has not seen.
double category_value(const Variable& variable, std::string_view category) noexcept;

// A candidate that may be chosen.
struct Offer {
  std::int32_t candidate = -1;     // its place in the model's candidates; -1: not among them
  const double* values = nullptr;  // one for each candidate variable
};

struct Choice {
  Confidence confidence = Confidence::unsure;
  std::vector<std::uint32_t> order;  // all offers that the model can rank, best first
  std::size_t shortlist = 0;         // of these that are worth measuring, also when sure; 0 when unsure
  const char* reason = "";           // why it is unsure
};

// A model ready to be asked. Immutable and thread-safe.
class Predictor {
 public:
  // Throws Error(invalid_option) for expressions that do not parse. Other errors of a model are found by check().
  explicit Predictor(Model model);

  const Model& model() const noexcept { return model_; }

  // `problem`: one value for each problem variable. The order is given also where the model is unsure because the
  // problem lies outside its range, so that it can be judged there.
  Choice choose(std::span<const double> problem, std::span<const Offer> offers) const;

  // The model's own candidates as offers.
  std::vector<Offer> offers() const;

 private:
  const char* objection(std::span<const double> problem) const noexcept;
  void choose_by_leaf(std::span<const double> values, std::span<const Offer> offers, Choice& choice) const;
  void choose_by_score(std::span<const double> problem, std::span<const Offer> offers, Choice& choice) const;
  void choose_by_ensemble(std::span<const double> problem, std::span<const Offer> offers, Choice& choice) const;

  Model model_;
  Features features_;
  std::vector<Expression> preconditions_;
};

// Throws Error(invalid_model) where the parts do not fit together: an index out of range, a tree that is none, a table
// of another length, a number that is not finite.
void check(const Model& model);

// The model as a heuristic for problems of the type. Throws Error(invalid_model) when it is for another operation, or a
// variable is not a field.
std::shared_ptr<const Heuristic> make_heuristic(Model model, const ProblemType& type);

}  // namespace hone::learning
