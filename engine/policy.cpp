#include <hone/policy.hpp>

#include <algorithm>
#include <array>

#include <unistd.h>

#include <fmt/format.h>

#include <hone/engine.hpp>
#include <hone/error.hpp>

#include "engine/isolation_check.hpp"
#include "engine/knob_format.hpp"

namespace hone {
namespace {

using engine::Format;
using std::chrono::nanoseconds;

// The one list of knobs: calls visit(member, name, variable, format, meaning) for each.
template <class Policy_, class Visitor>
void visit_knobs(Policy_& p, Visitor&& visit) {
  visit(p.find_mode, "find_mode", "HONE_FIND_MODE", Format<FindMode>{}, "what the background does for a problem");
  visit(p.enforce, "enforce", "HONE_ENFORCE", Format<Enforce>{}, "what is done to stored records");
  visit(p.tolerance, "tolerance", "HONE_TOLERANCE", Format<double>{0, 10},
        "accepted excess of measured over reported time");
  visit(p.tie_margin, "tie_margin", "HONE_TIE_MARGIN", Format<double>{0, 1},
        "a rival must be faster by more than this share");
  visit(p.verify_candidates, "verify_candidates", "HONE_VERIFY_CANDIDATES", Format<std::uint64_t>{1, false, false},
        "candidates evaluated by a verification");
  visit(p.tune_parameters, "tune_parameters", "HONE_TUNE_PARAMETERS", Format<bool>{},
        "whether tuning searches parameters or only chooses between solvers");
  visit(p.patience, "patience", "HONE_PATIENCE", Format<std::uint64_t>{1},
        "evaluations without improvement after which a search stops");
  visit(p.max_tuning_time, "max_tuning_time", "HONE_MAX_TUNING_TIME", Format<nanoseconds>{},
        "wall time to tune one problem");
  visit(p.max_evaluations, "max_evaluations", "HONE_MAX_EVALUATIONS", Format<std::uint64_t>{1},
        "evaluations to tune one problem");
  visit(p.background_share, "background_share", "HONE_BACKGROUND_SHARE", Format<double>{0, 1, true},
        "share of wall time that each worker may be busy");
  visit(p.max_buffer_bytes, "max_buffer_bytes", "HONE_MAX_BUFFER_BYTES", Format<std::uint64_t>{1 << 16, true, false},
        "memory for each worker's private buffers");
  visit(p.revalidate_user_records, "revalidate_user_records", "HONE_REVALIDATE", Format<bool>{},
        "whether stored user records are verified again");
  visit(p.adopt, "adopt", "HONE_ADOPT", Format<Adopt>{}, "whether upgrades are published at once or offered first");
  visit(p.cache_state, "cache_state", "HONE_CACHE_STATE", Format<CacheState>{}, "the caches in measurements");
  visit(p.payback_time, "payback_time", "HONE_PAYBACK_TIME", Format<nanoseconds>{},
        "time in which a job must be expected to save what it costs");
  visit(p.isolate, "isolate", "HONE_ISOLATE", Format<bool>{}, "whether candidates are measured in their own process");
}

template <class Options, class Visitor>
void visit_engine_knobs(Options& o, Visitor&& visit) {
  visit(o.database, "database", "HONE_DATABASE", Format<std::string>{}, "directory of the user database");
  visit(o.log_level, "log_level", "HONE_LOG_LEVEL", Format<LogLevel>{}, "the least serious messages that are logged");
}

template <class T>
void set_preset(Knob<T>& knob, T value) {
  knob = Knob<T>(value, Origin::preset);
}

void check_consistency(const Policy& policy) {
  const Enforce enforce = policy.enforce;
  if ((enforce == Enforce::search || enforce == Enforce::search_db_update) && !policy.tune_parameters.value()) {
    throw Error(Errc::invalid_option,
                "enforce asks for a search but tune_parameters (HONE_TUNE_PARAMETERS) forbids it: set it to true, or "
                "enforce (HONE_ENFORCE) to none, db_update or db_clean");
  }
}

}  // namespace

Policy Policy::serving() {
  Policy p;
  set_preset(p.find_mode, FindMode::trust_verify);
  set_preset(p.enforce, Enforce::none);
  set_preset(p.tolerance, 0.15);
  set_preset(p.tie_margin, 0.02);
  set_preset(p.verify_candidates, std::uint64_t{4});
  set_preset(p.tune_parameters, true);
  set_preset(p.patience, std::uint64_t{30});
  set_preset(p.max_tuning_time, nanoseconds(std::chrono::seconds(10)));
  set_preset(p.max_evaluations, std::uint64_t{200});
  set_preset(p.background_share, 0.10);
  set_preset(p.max_buffer_bytes, std::uint64_t{1} << 30);
  set_preset(p.revalidate_user_records, false);
  set_preset(p.adopt, Adopt::automatic);
  set_preset(p.cache_state, CacheState::warm);
  set_preset(p.payback_time, nanoseconds(std::chrono::hours(24)));
  set_preset(p.isolate, false);
  return p;
}

Policy Policy::benchmark() {
  Policy p = serving();
  set_preset(p.tolerance, 0.05);
  set_preset(p.tie_margin, 0.01);
  set_preset(p.verify_candidates, std::uint64_t{8});
  set_preset(p.patience, std::uint64_t{200});
  set_preset(p.max_tuning_time, nanoseconds(std::chrono::minutes(10)));
  set_preset(p.max_evaluations, unlimited);
  set_preset(p.background_share, 1.0);
  set_preset(p.max_buffer_bytes, std::uint64_t{4} << 30);
  set_preset(p.revalidate_user_records, true);
  set_preset(p.payback_time, nanoseconds::max());
  return p;
}

Policy Policy::frozen() {
  Policy p = serving();
  set_preset(p.find_mode, FindMode::fast);
  return p;
}

Policy Policy::offline() {
  Policy p = benchmark();
  set_preset(p.find_mode, FindMode::normal);
  set_preset(p.revalidate_user_records, false);
  return p;
}

Variables environment_variables() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (!text.starts_with("HONE_") || equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

namespace {

void apply(EngineOptions& options, const Variables& variables) {
  std::vector<std::string_view> known;
  const auto apply_to = [&](auto& knob, std::string_view name, std::string_view variable, const auto& format,
                            std::string_view) {
    using Value = std::decay_t<decltype(knob.value())>;
    known.push_back(variable);
    for (const auto& [given, text] : variables) {
      if (given != variable) continue;
      Value value{};
      if (!format.parse(text, value) || !format.accepted(value)) {
        throw Error(Errc::invalid_option, fmt::format("{}={}: it takes {}", variable, text, format.accepts()));
      }
      if (knob.origin() != Origin::program) knob = Knob<Value>(value, Origin::environment);
    }
    if (!format.accepted(knob.value())) {
      throw Error(Errc::invalid_option,
                  fmt::format("{} = {}: it takes {}", name, format.print(knob.value()), format.accepts()));
    }
  };
  visit_knobs(options.policy, apply_to);
  visit_engine_knobs(options, apply_to);
  for (const auto& [given, text] : variables) {
    if (std::find(known.begin(), known.end(), given) == known.end()) {
      throw Error(Errc::invalid_option,
                  fmt::format("unknown variable {}; hone knows {}", given, fmt::join(known, ", ")));
    }
  }
  check_consistency(options.policy);
}

}  // namespace

EngineOptions resolve(EngineOptions options, const Variables& variables) {
  apply(options, variables);
  engine::check_isolation(options.policy, !options.isolation_program.empty());
  return options;
}

Policy resolve(Policy policy, const Variables& variables) {
  EngineOptions options;
  options.policy = std::move(policy);
  apply(options, variables);
  return options.policy;
}

std::vector<KnobDescription> describe(const EngineOptions& options) {
  std::vector<KnobDescription> knobs;
  const auto add = [&](const auto& knob, std::string_view name, std::string_view variable, const auto& format,
                       std::string_view meaning) {
    knobs.push_back({std::string(name), std::string(variable), format.print(knob.value()), knob.origin(),
                     format.accepts(), std::string(meaning)});
  };
  visit_knobs(options.policy, add);
  visit_engine_knobs(options, add);
  return knobs;
}

}  // namespace hone
