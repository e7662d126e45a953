#include "workers/verification.hpp"

#include <algorithm>

#include "workers/finals.hpp"
#include "workers/race.hpp"

namespace hone::workers {
namespace {

class Verification {
 public:
  Verification(const VerifyJob& job, Evaluation& evaluation, Outcome& outcome)
      : job_(job), evaluation_(evaluation), outcome_(outcome) {}

  void run() {
    Entrant* claimed = evaluation_.enter(job_.claimed);
    if (claimed) {
      if (const Failure failure = evaluation_.sampler().warm_up(claimed->contestant)) {
        evaluation_.fail(*claimed, failure);
        claimed = nullptr;
      }
    }
    const std::vector<Entrant*> rivals = enter_rivals(claimed);
    if (stopped_) return;
    RaceRules rules{.tie_margin = job_.tie_margin, .proceed = [this] { return may_go_on(); }};
    if (claimed && job_.reported && job_.reported->count() > 0) {
      const double reported = job_.reported->count();
      rules.thresholds = {reported * (1 + job_.tolerance), reported / (1 + job_.tolerance)};
    }
    if (!run_finals(evaluation_, claimed, rivals, rules, outcome_)) note_stop();
  }

 private:
  // The rivals that are worth a comparison.
  std::vector<Entrant*> enter_rivals(Entrant*& claimed) {
    std::vector<Entrant*> rivals;
    double best = 1;
    for (const Candidate& candidate : job_.rivals) {
      if (evaluation_.known(candidate)) continue;
      if (!may_go_on()) {
        note_stop();
        break;
      }
      Entrant* rival = evaluation_.enter(candidate);
      if (!rival) continue;
      if (!claimed) {
        rivals.push_back(rival);
        continue;
      }
      const Screening screening = screen(evaluation_.sampler(), claimed->contestant, rival->contestant, best);
      if (screening.incumbent_failure) {
        evaluation_.fail(*claimed, screening.incumbent_failure);
        claimed = nullptr;
        rivals.push_back(rival);
      } else if (screening.failure) {
        evaluation_.fail(*rival, screening.failure);
      } else {
        evaluation_.record(*rival, screening.dropped);
        if (screening.dropped) continue;
        best = std::min(best, screening.ratio);
        rivals.push_back(rival);
      }
    }
    return rivals;
  }

  bool may_go_on() const {
    return evaluation_.supervisor().proceed() &&
           (job_.wall_time.count() == 0 || evaluation_.supervisor().busy() < job_.wall_time);
  }
  void note_stop() {
    stopped_ = true;
    outcome_.stop = evaluation_.supervisor().proceed() ? StopReason::wall_time : StopReason::cancelled;
  }

  const VerifyJob& job_;
  Evaluation& evaluation_;
  Outcome& outcome_;
  bool stopped_ = false;
};

}  // namespace

void verify(const VerifyJob& job, Evaluation& evaluation, Outcome& outcome) {
  Verification(job, evaluation, outcome).run();
}

}  // namespace hone::workers
