#include <fmt/format.h>

#include <bit>
#include <hone/error.hpp>

#include "kernels/learning/model.hpp"

namespace hone {

std::string environment_class(const Environment& environment) {
  return fmt::format("{}/{}", environment.vendor, environment.architecture);
}

namespace learning {
namespace {

class LearnedHeuristic final : public Heuristic {
 public:
  LearnedHeuristic(Model model, const ProblemType& type) : type_(type), predictor_(std::move(model)) {
    const Model& own = predictor_.model();
    places_.resize(type.fields().size(), npos);
    for (std::size_t i = 0; i < own.problem.size(); ++i) {
      const auto field = type.index_of(own.problem[i].name);
      if (!field) {
        throw Error(Errc::invalid_model, fmt::format("the model has a variable '{}', which is no field of {}",
                                                     own.problem[i].name, type.operation()));
      }
      places_[*field] = i;
    }
  }

  bool immediate() const noexcept override { return predictor_.model().kind != ModelKind::ensemble; }

  Advice advise(const Problem& problem, const Environment& environment,
                const std::function<bool(const Pick&)>& usable) const override {
    const Model& model = predictor_.model();
    if (&problem.type() != &type_) return {.reason = "the model is for another operation"};
    if (model.environment_class.empty() || model.environment_class != environment_class(environment)) {
      return {.reason = fmt::format("the model is for the environment class '{}'", model.environment_class)};
    }
    std::vector<double> values(model.problem.size());
    for (std::size_t field = 0; field < places_.size(); ++field) {
      const std::uint64_t word = problem.words()[field];
      if (places_[field] != npos) {
        values[places_[field]] = value_of(type_.fields()[field], model.problem[places_[field]], word);
      } else if (word != type_.fields()[field].default_word) {
        return {.reason = fmt::format("the model does not know the field {}", type_.fields()[field].name)};
      }
    }
    std::vector<Offer> offers;
    for (const Offer& offer : predictor_.offers()) {
      if (usable(model.candidates[static_cast<std::size_t>(offer.candidate)].pick)) offers.push_back(offer);
    }
    const Choice choice = predictor_.choose(values, offers);
    Advice advice{.confidence = choice.confidence, .reason = choice.reason};
    for (std::size_t i = 0; i < choice.shortlist; ++i) {
      const Offer& offer = offers[choice.order[i]];
      advice.picks.push_back(model.candidates[static_cast<std::size_t>(offer.candidate)].pick);
    }
    return advice;
  }

 private:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  static double value_of(const Field& field, const Variable& variable, std::uint64_t word) {
    switch (field.kind) {
      case FieldKind::symbol:
        return word < field.symbols.size() ? category_value(variable, field.symbols[word]) : -1;
      case FieldKind::real:
        return std::bit_cast<double>(word);
      case FieldKind::integer:
      case FieldKind::boolean:
        break;
    }
    return static_cast<double>(static_cast<std::int64_t>(word));
  }

  const ProblemType& type_;
  Predictor predictor_;
  std::vector<std::size_t> places_;  // of each field among the model's variables
};

}  // namespace

std::shared_ptr<const Heuristic> make_heuristic(Model model, const ProblemType& type) {
  if (model.operation != type.operation()) {
    throw Error(Errc::invalid_model,
                fmt::format("the model is for the operation '{}', not '{}'", model.operation, type.operation()));
  }
  check(model);
  return std::make_shared<const LearnedHeuristic>(std::move(model), type);
}

}  // namespace learning
}  // namespace hone
