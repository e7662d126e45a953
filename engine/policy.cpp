#include <hone/policy.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <unistd.h>

#include <hone/error.hpp>

namespace hone {
namespace {

using std::chrono::nanoseconds;

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// How one type of knob is written, read and bounded.
template <class T>
struct Format {  // enumerations
  std::string accepts() const { return fmt::format("one of {}", fmt::join(symbols(T{}), ", ")); }
  bool parse(std::string_view text, T& value) const {
    const auto names = symbols(T{});
    const auto place = std::find(names.begin(), names.end(), text);
    if (place == names.end()) return false;
    value = static_cast<T>(place - names.begin());
    return true;
  }
  bool accepted(T value) const { return static_cast<std::size_t>(value) < symbols(T{}).size(); }
  std::string print(T value) const {
    return accepted(value) ? std::string(symbols(T{})[static_cast<std::size_t>(value)]) : std::string("?");
  }
};

template <>
struct Format<bool> {
  std::string accepts() const { return "true or false"; }
  bool parse(std::string_view text, bool& value) const {
    if (text != "true" && text != "false" && text != "1" && text != "0") return false;
    value = text == "true" || text == "1";
    return true;
  }
  bool accepted(bool) const { return true; }
  std::string print(bool value) const { return value ? "true" : "false"; }
};

template <>
struct Format<double> {
  double least = 0;
  double most = 0;
  bool above_least = false;
  std::string accepts() const {
    return fmt::format("a number from {} to {}{}", least, most, above_least ? fmt::format(", not {}", least) : "");
  }
  bool parse(std::string_view text, double& value) const { return parse_number(text, value); }
  bool accepted(double value) const { return (above_least ? value > least : value >= least) && value <= most; }
  std::string print(double value) const { return fmt::format("{}", value); }
};

template <>
struct Format<std::uint64_t> {
  std::uint64_t least = 0;
  bool bytes = false;
  bool may_be_unlimited = true;
  std::string accepts() const {
    return fmt::format("{} of at least {}{}{}", bytes ? "bytes" : "a whole number", least,
                       bytes ? " (suffixes KiB, MiB, GiB)" : "", may_be_unlimited ? ", or unlimited" : "");
  }
  bool parse(std::string_view text, std::uint64_t& value) const {
    if (may_be_unlimited && text == "unlimited") {
      value = unlimited;
      return true;
    }
    unsigned shift = 0;
    if (bytes) {
      for (const auto& [suffix, bits] : {std::pair{"KiB", 10u}, std::pair{"MiB", 20u}, std::pair{"GiB", 30u}}) {
        if (!text.ends_with(suffix)) continue;
        text.remove_suffix(3);
        shift = bits;
      }
    }
    if (!parse_number(text, value) || value > (unlimited >> shift)) return false;
    value <<= shift;
    return true;
  }
  bool accepted(std::uint64_t value) const { return value >= least && (may_be_unlimited || value != unlimited); }
  std::string print(std::uint64_t value) const {
    if (value == unlimited) return "unlimited";
    if (bytes && value != 0) {
      if (value % (1ull << 30) == 0) return fmt::format("{}GiB", value >> 30);
      if (value % (1ull << 20) == 0) return fmt::format("{}MiB", value >> 20);
    }
    return fmt::format("{}", value);
  }
};

template <>
struct Format<nanoseconds> {
  std::string accepts() const { return "a time such as 10s, 250ms or 5min, more than zero, or unlimited"; }
  bool parse(std::string_view text, nanoseconds& value) const {
    if (text == "unlimited") {
      value = nanoseconds::max();
      return true;
    }
    double factor = 0;
    for (const auto& [suffix, seconds] : {std::pair{"ms", 1e-3}, std::pair{"us", 1e-6}, std::pair{"min", 60.0},
                                          std::pair{"h", 3600.0}, std::pair{"s", 1.0}}) {
      if (!text.ends_with(suffix)) continue;
      text.remove_suffix(std::string_view(suffix).size());
      factor = seconds;
      break;
    }
    double number = 0;
    if (factor == 0 || !parse_number(text, number)) return false;
    const double ns = number * factor * 1e9;
    if (!(ns >= 1) || ns >= static_cast<double>(nanoseconds::max().count())) return false;
    value = nanoseconds(static_cast<nanoseconds::rep>(ns));
    return true;
  }
  bool accepted(nanoseconds value) const { return value > nanoseconds::zero(); }
  std::string print(nanoseconds value) const {
    if (value == nanoseconds::max()) return "unlimited";
    if (value % std::chrono::minutes(1) == nanoseconds::zero())
      return fmt::format("{}min", value / std::chrono::minutes(1));
    if (value % std::chrono::seconds(1) == nanoseconds::zero())
      return fmt::format("{}s", value / std::chrono::seconds(1));
    return fmt::format("{}ms", std::chrono::duration<double, std::milli>(value).count());
  }
};

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
}

// Variables that are options of the engine and not knobs of a policy.
constexpr std::array<std::string_view, 2> engine_variables = {"HONE_DATABASE", "HONE_LOG_LEVEL"};

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

Policy resolve(Policy policy, const Variables& variables) {
  std::vector<std::string_view> known(engine_variables.begin(), engine_variables.end());
  visit_knobs(
      policy, [&](auto& knob, std::string_view name, std::string_view variable, const auto& format, std::string_view) {
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
      });
  for (const auto& [given, text] : variables) {
    if (std::find(known.begin(), known.end(), given) == known.end()) {
      throw Error(Errc::invalid_option,
                  fmt::format("unknown variable {}; hone knows {}", given, fmt::join(known, ", ")));
    }
  }
  check_consistency(policy);
  return policy;
}

std::vector<KnobDescription> describe(const Policy& policy) {
  std::vector<KnobDescription> knobs;
  visit_knobs(policy, [&](const auto& knob, std::string_view name, std::string_view variable, const auto& format,
                          std::string_view meaning) {
    knobs.push_back({std::string(name), std::string(variable), format.print(knob.value()), knob.origin(),
                     format.accepts(), std::string(meaning)});
  });
  return knobs;
}

}  // namespace hone
