#include "workers/tuning.hpp"

#include <algorithm>
#include <deque>
#include <limits>

#include "workers/finals.hpp"
#include "workers/race.hpp"
#include "workers/ranking.hpp"
#include "workers/search/stop_rule.hpp"
#include "workers/search/strategy.hpp"
#include "workers/solver_call.hpp"
#include "workers/validation.hpp"

namespace hone::workers {
namespace {

constexpr std::size_t finalists = 3;
// The share of the wall time that the search may take; the rest is for the confirmation.
constexpr double search_share = 0.8;

// One solver's space while it is searched.
struct SpaceSearch {
  std::shared_ptr<const Solver> solver;
  SearchSpace space;
  bool compiles = false;
  std::unique_ptr<Strategy> strategy = {};
  std::uint64_t points = 0;                               // suggested
  double best = std::numeric_limits<double>::infinity();  // score
  bool exhausted = false;

  // The less, the sooner its turn: a solver twice as slow as the best gets a quarter of the points. A few points are
  // free, and one that never worked counts as ten times as slow.
  double debt(double best_score) const {
    constexpr std::uint64_t free_points = 3;
    const double slowness = points < free_points ? 1 : std::min(10.0, best / best_score);
    return static_cast<double>(points + 1) * slowness * slowness;
  }
};

// A candidate whose turn comes before the search, or why it cannot be named.
struct Turn {
  Candidate candidate;
  std::string refusal = {};
};

// What a search suggested, until it is evaluated.
struct Suggestion {
  SpaceSearch* search = nullptr;
  Configuration configuration;
  Candidate candidate;
};

class Tuning {
 public:
  Tuning(const TuneJob& job, Evaluation& evaluation, Outcome& outcome)
      : job_(job), evaluation_(evaluation), outcome_(outcome), ranking_(evaluation, job.tie_margin) {}

  void run() {
    const std::vector<Turn> turns = first_turns();
    prepare_ahead(turns, 0);
    // Whatever the budget: without a time of the incumbent nothing could be said at the end.
    if (evaluation_.supervisor().proceed()) evaluate_now(job_.incumbent);
    evaluate_in_turn(turns);
    if (job_.search_parameters) search();
    evaluation_.end_ahead();
    if (outcome_.stop == StopReason::cancelled) return;
    if (outcome_.stop == StopReason::none) outcome_.stop = StopReason::exhausted;
    confirm();
  }

 private:
  bool within_budget() {
    if (outcome_.stop != StopReason::none) return false;
    if (!evaluation_.supervisor().proceed()) {
      outcome_.stop = StopReason::cancelled;
      return false;
    }
    const Budget& budget = job_.budget;
    const StopRule rule{.evaluations = budget.evaluations,
                        .patience = budget.patience,
                        .wall_time = std::chrono::ceil<std::chrono::nanoseconds>(search_share * budget.wall_time)};
    outcome_.stop = stop_reason(rule, {.evaluations = evaluation_.evaluations(),
                                       .without_improvement = without_improvement_,
                                       .elapsed = evaluation_.supervisor().busy()});
    return outcome_.stop == StopReason::none;
  }

  bool may_use(const Solver* solver) const {
    if (job_.may_compile || !solver) return true;
    std::string reason;
    // One that cannot even tell is left to the evaluation, which records why.
    return !call_solver([&] { return solver->compiles(job_.subject.problem); }, reason).value_or(false);
  }

  std::optional<double> evaluate(const Candidate& candidate) {
    if (evaluation_.known(candidate) || !within_budget()) return {};
    return evaluate_now(candidate);
  }

  std::optional<double> evaluate_now(const Candidate& candidate) {
    Entrant* entrant = evaluation_.enter(candidate);
    const auto score = entrant ? ranking_.add(*entrant) : std::nullopt;
    if (evaluation_.known(candidate)) {
      scores_.emplace_back(candidate, score);
      evaluation_.report_last();
    }
    if (candidate == job_.incumbent) incumbent_ = entrant;
    return score;
  }

  // The given ones, then each solver's default.
  std::vector<Turn> first_turns() {
    std::vector<Turn> turns;
    for (const Candidate& candidate : job_.first) {
      if (may_use(find_solver(*job_.subject.operation, candidate.solver).get())) turns.push_back({candidate});
    }
    for (const auto& solver : job_.subject.operation->solvers()) {
      if (auto turn = default_turn(*solver)) turns.push_back(*std::move(turn));
    }
    return turns;
  }

  std::optional<Turn> default_turn(const Solver& solver) {
    if (!may_use(&solver)) return {};
    std::string reason;
    const auto applicable =
        call_solver([&] { return !solver.applicable(job_.subject.problem, evaluation_.device()).has_value(); }, reason);
    if (applicable && !*applicable) return {};
    auto candidate =
        call_solver([&] { return default_candidate(solver, job_.subject.problem, evaluation_.device()); }, reason);
    if (candidate) return Turn{*std::move(candidate)};
    return Turn{{std::string(solver.id()), solver.version(), ""}, std::move(reason)};
  }

  void evaluate_in_turn(const std::vector<Turn>& turns) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
      prepare_ahead(turns, i + 1);
      if (turns[i].refusal.empty()) {
        evaluate(turns[i].candidate);
      } else {
        evaluation_.refuse(turns[i].candidate, turns[i].refusal);
      }
    }
  }

  void prepare_ahead(const std::vector<Turn>& turns, std::size_t next) {
    const std::size_t end = std::min(turns.size(), next + evaluation_.supervisor().look_ahead());
    for (; next < end; ++next) {
      if (turns[next].refusal.empty()) evaluation_.prepare_ahead(turns[next].candidate);
    }
  }

  void search() {
    open_searches();
    while (true) {
      suggest_ahead();
      if (suggestions_.empty() || !within_budget()) return;
      const Suggestion next = std::move(suggestions_.front());
      suggestions_.pop_front();
      evaluate_point(next);
    }
  }

  // What is suggested before earlier outcomes are known is a worse guess: only as far ahead as compiling needs.
  void suggest_ahead() {
    std::uint64_t wanted = 1 + evaluation_.supervisor().look_ahead();
    if (const std::uint64_t most = job_.budget.evaluations; most > 0) {
      wanted = std::clamp<std::uint64_t>(most - std::min(most, evaluation_.evaluations()), 1, wanted);
    }
    while (suggestions_.size() < wanted) {
      SpaceSearch* next = nullptr;
      for (SpaceSearch& search : searches_) {
        if (search.exhausted) continue;
        if (!next || search.debt(ranking_.best_score()) < next->debt(ranking_.best_score())) next = &search;
      }
      if (!next || (!suggestions_.empty() && !next->compiles)) return;
      const auto configuration = next->strategy->suggest();
      if (!configuration) {
        next->exhausted = true;
        continue;
      }
      ++next->points;
      const Solver& solver = *next->solver;
      suggestions_.push_back(
          {next, *configuration, {std::string(solver.id()), solver.version(), configuration->text()}});
      if (next->compiles) evaluation_.prepare_ahead(suggestions_.back().candidate);
    }
  }

  void open_searches() {
    for (const auto& solver : job_.subject.operation->solvers()) {
      if (!may_use(solver.get())) continue;
      std::string reason;
      const auto space = call_solver(
          [&] {
            return solver->applicable(job_.subject.problem, evaluation_.device())
                       ? SearchSpace()
                       : solver->search_space(job_.subject.problem, evaluation_.device());
          },
          reason);
      if (!space || space->empty()) continue;
      SpaceSearch search{.solver = solver, .space = *space};
      search.compiles = call_solver([&] { return solver->compiles(job_.subject.problem); }, reason).value_or(false);
      search.strategy =
          make_strategy(strategy_names().front(), search.space, {.seed = job_.seed, .prior = prior_of(search)});
      for (const auto& [candidate, score] : scores_) {
        if (candidate.solver != solver->id() || candidate.version != solver->version()) continue;
        if (const auto configuration = search.space.parse(candidate.configuration)) {
          observe(search, *configuration, score);
        }
      }
      observe_past(search);
      searches_.push_back(std::move(search));
    }
  }

  std::vector<PriorTrial> prior_of(const SpaceSearch& search) const {
    std::vector<PriorTrial> prior;
    for (const Trial& trial : job_.elsewhere) {
      if (!is_of(trial, *search.solver)) continue;
      auto configuration = search.space.parse(trial.candidate.configuration);
      if (!configuration) continue;
      std::optional<Strategy::Time> time;
      if (trial.status == TrialStatus::ok && trial.timing.known()) time = trial.timing.median;
      prior.push_back({std::move(*configuration), time});
    }
    return prior;
  }

  static bool is_of(const Trial& trial, const Solver& solver) {
    return trial.candidate.solver == solver.id() && trial.candidate.version == solver.version();
  }

  // An interrupted search goes on: its trials are observed and not made again. Their times are of another day; what the
  // incumbent took then and takes now is the common measure.
  void observe_past(SpaceSearch& search) {
    const auto then = std::find_if(job_.past.begin(), job_.past.end(), [&](const Trial& trial) {
      return trial.candidate == job_.incumbent && trial.timing.known();
    });
    const auto now =
        std::find_if(scores_.begin(), scores_.end(), [&](const auto& each) { return each.first == job_.incumbent; });
    if (then == job_.past.end() || now == scores_.end() || !now->second) return;
    for (const Trial& trial : job_.past) {
      if (!is_of(trial, *search.solver)) continue;
      if (evaluation_.known(trial.candidate)) continue;
      const auto configuration = search.space.parse(trial.candidate.configuration);
      if (!configuration) continue;
      const bool worked = trial.status == TrialStatus::ok && trial.timing.known();
      observe(search, *configuration,
              worked ? std::optional(*now->second * (trial.timing.median / then->timing.median)) : std::nullopt);
    }
  }

  void evaluate_point(const Suggestion& suggestion) {
    const Entrant* best_before = ranking_.best();
    const auto score = evaluate(suggestion.candidate);
    if (!evaluation_.known(suggestion.candidate)) return;
    observe(*suggestion.search, suggestion.configuration, score);
    without_improvement_ = ranking_.best() == best_before ? without_improvement_ + 1 : 0;
  }

  static void observe(SpaceSearch& search, const Configuration& configuration, std::optional<double> score) {
    if (!score) return search.strategy->observe(configuration, {});
    // Any scale will do for a strategy as long as it is the same for all.
    search.strategy->observe(configuration, Strategy::Time(*score * 1e6));
    search.best = std::min(search.best, *score);
  }

  void confirm() {
    RaceRules rules{.tie_margin = job_.tie_margin};
    // One long evaluation may have overrun the search's share; the confirmation has its own all the same.
    const auto own_share =
        std::chrono::duration_cast<std::chrono::nanoseconds>((1 - search_share) * job_.budget.wall_time);
    const auto end = std::max(job_.budget.wall_time, evaluation_.supervisor().busy() + own_share);
    rules.proceed = [this, end] { return job_.budget.wall_time.count() == 0 || evaluation_.supervisor().busy() < end; };
    if (incumbent_ && !incumbent_->contestant.invoker) incumbent_ = nullptr;
    if (!run_finals(evaluation_, incumbent_, ranking_.fastest(finalists, incumbent_), rules, outcome_) &&
        !evaluation_.supervisor().proceed()) {
      outcome_.stop = StopReason::cancelled;
    }
  }

  const TuneJob& job_;
  Evaluation& evaluation_;
  Outcome& outcome_;
  Ranking ranking_;
  Entrant* incumbent_ = nullptr;
  std::vector<std::pair<Candidate, std::optional<double>>> scores_;
  std::vector<SpaceSearch> searches_;
  std::deque<Suggestion> suggestions_;
  std::uint64_t without_improvement_ = 0;
};

}  // namespace

void tune(const TuneJob& job, Evaluation& evaluation, Outcome& outcome) { Tuning(job, evaluation, outcome).run(); }

}  // namespace hone::workers
