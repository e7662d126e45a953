#include "engine/plan.hpp"

namespace hone::engine {
namespace {

Work plan_by_mode(Provenance known, const Policy& policy) noexcept {
  const Work nothing;
  Work tune{.task = Task::tune, .search_parameters = policy.tune_parameters};
  switch (policy.find_mode.value()) {
    case FindMode::fast:
      return nothing;
    case FindMode::normal:
      return tune;
    case FindMode::hybrid:
      return known == Provenance::fallback ? tune : nothing;
    case FindMode::dynamic_hybrid:
      tune.may_compile = false;
      return known == Provenance::fallback ? tune : nothing;
    case FindMode::trust_verify:
    case FindMode::trust_verify_full:
      tune.boxed = policy.find_mode == FindMode::trust_verify;
      if (known == Provenance::fallback) return tune;
      if (known == Provenance::user && !policy.revalidate_user_records) return nothing;
      tune.task = Task::verify;
      return tune;
  }
  return nothing;
}

}  // namespace

bool verifies(const Policy& policy) noexcept {
  return policy.find_mode == FindMode::trust_verify || policy.find_mode == FindMode::trust_verify_full;
}

Work plan(Provenance known, const Policy& policy, bool complete) noexcept {
  Work work = plan_by_mode(known, policy);
  work.resume = work.task == Task::tune && (known == Provenance::fallback || (known == Provenance::user && !complete));
  switch (policy.enforce.value()) {
    case Enforce::none:
      return work;
    case Enforce::search:
      if (known == Provenance::user) return work;
      return {.task = Task::tune, .search_parameters = true, .boxed = work.boxed};
    case Enforce::db_update:
      return {.task = Task::tune, .search_parameters = false, .boxed = work.boxed};
    case Enforce::search_db_update:
      return {.task = Task::tune, .search_parameters = true, .boxed = work.boxed};
    case Enforce::db_clean:
      return {.forget_records = true};
  }
  return work;
}

Policy apply(const Policy& policy, const CallOptions& options) {
  Policy changed = policy;
  const auto take = [](auto& knob, const auto& choice) {
    using Value = std::decay_t<decltype(knob.value())>;
    if (choice) knob = Knob<Value>(*choice, Origin::call);
  };
  take(changed.find_mode, options.find_mode);
  take(changed.enforce, options.enforce);
  take(changed.tolerance, options.tolerance);
  take(changed.max_tuning_time, options.max_tuning_time);
  take(changed.max_evaluations, options.max_evaluations);
  take(changed.tune_parameters, options.tune_parameters);
  return changed;
}

}  // namespace hone::engine
