#include "tools/learn/trial_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <hone/error.hpp>
#include <hone/trial.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

namespace hone::tools::learn {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "hone-trials";
constexpr int format_version = 1;
constexpr std::array<FieldKind, 4> kinds = {FieldKind::integer, FieldKind::boolean, FieldKind::real, FieldKind::symbol};
constexpr std::array<const char*, 4> kind_names = {"integer", "boolean", "real", "symbol"};

std::string field_text(const Field& field, std::uint64_t word) {
  switch (field.kind) {
    case FieldKind::symbol:
      return word < field.symbols.size() ? field.symbols[word] : "";
    case FieldKind::real:
      return fmt::format("{}", std::bit_cast<double>(word));
    case FieldKind::integer:
    case FieldKind::boolean:
      break;
  }
  return fmt::format("{}", static_cast<std::int64_t>(word));
}

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw Error(Errc::invalid_option, fmt::format("{}:1: {}", file, what));
}

struct Head {
  std::vector<std::string> fields;
  std::string default_solver;
};

Head read_head(const std::string& file, std::string_view line, const ReadOptions& options, DataSetBuilder& builder) {
  Head head;
  try {
    const Json json = Json::parse(line.substr(2));
    if (json.at("format") != format_name || json.at("version") != format_version) {
      fail(file, fmt::format("the head is of format {} version {}, not {} version {}", json.at("format").dump(),
                             json.at("version").dump(), format_name, format_version));
    }
    if (json.at("time_unit") != "ns") fail(file, "the head's time_unit is not ns");
    const auto operation = json.at("operation").get<std::string>();
    if (operation != options.operation) {
      fail(file, fmt::format("the data is of the operation '{}', not '{}'", operation, options.operation));
    }
    builder.set_environment_class(json.at("environment_class").get<std::string>());
    for (const Json& field : json.at("fields")) head.fields.push_back(field.at("name").get<std::string>());
    head.default_solver = json.at("solvers").at(0).get<std::string>();
  } catch (const Json::exception& error) {
    fail(file, fmt::format("the head is not as hone learn export writes it: {}", error.what()));
  }
  return head;
}

// "mr=6,order=ikj" as parameters of a candidate. Prefixed, because a problem may have a field of the same name.
std::map<std::string, std::string> parameters_of(const std::string& configuration) {
  std::map<std::string, std::string> parameters;
  std::string_view rest = configuration;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    parameters[fmt::format("parameter_{}", pair.substr(0, equals))] = std::string(pair.substr(equals + 1));
  }
  return parameters;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

class Reading {
 public:
  Reading(CsvTable& table, const Head& head, DataSetBuilder& builder) : table_(table), builder_(builder) {
    for (const std::string& field : head.fields) fields_.push_back(table.need(field));
    builder.set_fields(head.fields, table.file());
    builder.set_default(head.default_solver);
    solver_ = table.need("solver");
    version_ = table.need("version");
    configuration_ = table.need("configuration");
    default_ = table.need("default");
    status_ = table.need("status");
    time_ = table.need("time_ns");
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      if (const std::string& name = table.columns()[i]; name.starts_with(fact_prefix)) {
        facts_.emplace_back(name.substr(std::string_view(fact_prefix).size()), i);
      }
    }
  }

  void run() {
    for (const CsvTable::Line& line : table_.lines()) {
      if (const auto measurement = read(line)) keep(line, *measurement);
    }
    for (const auto& [key, problem] : problems_) order_.emplace(problem.line->number, &problem);
    for (const auto& [number, problem] : order_) {
      builder_.add(table_, *problem->line, fields_, Split::none, problem->measurements);
    }
  }

 private:
  struct Pending {
    const CsvTable::Line* line = nullptr;
    std::vector<Measurement> measurements = {};
  };

  std::optional<Measurement> read(const CsvTable::Line& line) {
    const auto complain = [&](std::size_t column, const std::string& reason) {
      builder_.complain(table_.complaint(line, column, reason));
      return std::optional<Measurement>();
    };
    const std::string& status = line.fields[status_];
    const auto statuses = symbols(TrialStatus{});
    if (std::find(statuses.begin(), statuses.end(), status) == statuses.end()) {
      return complain(status_, fmt::format("'{}' is no outcome of a trial", status));
    }
    if (status == "not_applicable") return {};
    const auto version = parse_number(line.fields[version_]);
    if (!version || *version < 0 || *version > 4294967295.0 || *version != std::floor(*version)) {
      return complain(version_, fmt::format("'{}' is no version", line.fields[version_]));
    }
    double time = INFINITY;
    if (status == "ok") {
      const auto number = parse_number(line.fields[time_]);
      if (!number || std::isnan(*number)) return complain(time_, fmt::format("'{}' is no time", line.fields[time_]));
      if (*number <= 0) return complain(time_, fmt::format("the time {} is not positive", line.fields[time_]));
      time = *number;
    }
    const std::string& configuration = line.fields[configuration_];
    const bool is_default = line.fields[default_] == "1";
    NamedCandidate candidate(line.fields[solver_]);
    candidate.pick.version = static_cast<std::uint32_t>(*version);
    if (!is_default) {
      candidate.name += fmt::format("{{{}}}", configuration);
      candidate.pick.configuration = configuration;
      candidate.parameters = parameters_of(configuration);
      for (const auto& [name, column] : facts_) {
        const std::string& text = line.fields[column];
        if (text.empty()) continue;
        const auto value = parse_integer(text);
        if (!value) return complain(column, fmt::format("'{}' is no whole number", text));
        candidate.facts[name] = *value;
      }
    }
    candidate.parameters["solver"] = candidate.pick.solver;
    return Measurement{builder_.candidate(candidate), time};
  }

  // The newest trial of a candidate counts.
  void keep(const CsvTable::Line& line, const Measurement& measurement) {
    std::string key;
    for (const std::size_t field : fields_) key += line.fields[field] + '\n';
    Pending& problem = problems_[key];
    if (problem.line == nullptr) problem.line = &line;
    for (Measurement& each : problem.measurements) {
      if (each.candidate == measurement.candidate) {
        each = measurement;
        return;
      }
    }
    problem.measurements.push_back(measurement);
  }

  CsvTable& table_;
  DataSetBuilder& builder_;
  std::vector<std::size_t> fields_;
  std::size_t solver_, version_, configuration_, default_, status_, time_;
  std::vector<std::pair<std::string, std::size_t>> facts_;  // name and column
  std::map<std::string, Pending> problems_;
  std::map<std::size_t, const Pending*> order_;
};

std::set<std::string> fact_names(const std::vector<ExportedTrial>& trials) {
  std::set<std::string> names;
  for (const ExportedTrial& each : trials) {
    for (const auto& [name, value] : each.trial.facts) names.insert(name);
  }
  return names;
}

}  // namespace

void write_trial_table(std::ostream& out, const ProblemType& type, const Environment& environment,
                       const std::vector<std::string>& solvers, const std::vector<ExportedTrial>& trials) {
  Json fields = Json::array();
  std::string columns;
  for (const Field& field : type.fields()) {
    const auto kind = std::find(kinds.begin(), kinds.end(), field.kind) - kinds.begin();
    Json described{{"name", field.name}, {"kind", kind_names[static_cast<std::size_t>(kind)]}};
    if (field.kind == FieldKind::symbol) described["symbols"] = field.symbols;
    fields.push_back(std::move(described));
    columns += field.name + ",";
  }
  Json environment_facts = Json::object();
  for (const auto& [name, value] : environment.facts) environment_facts[name] = value;
  const Json head{{"format", format_name},
                  {"version", format_version},
                  {"operation", type.operation()},
                  {"time_unit", "ns"},
                  {"environment_class", environment_class(environment)},
                  {"environment",
                   {{"vendor", environment.vendor},
                    {"architecture", environment.architecture},
                    {"device", environment.device},
                    {"facts", environment_facts}}},
                  {"fields", fields},
                  {"solvers", solvers}};
  out << "# " << head.dump() << '\n'
      << columns << "solver,version,configuration,default,status,time_ns,low_ns,high_ns,samples,reason";
  const std::set<std::string> facts = fact_names(trials);
  for (const std::string& name : facts) out << ',' << csv_field(fact_prefix + name);
  out << '\n';
  for (const ExportedTrial& each : trials) {
    const storage::RecordedCandidate& candidate = each.trial.candidate;
    for (std::size_t i = 0; i < type.fields().size(); ++i) {
      out << field_text(type.fields()[i], each.problem.words()[i]) << ',';
    }
    const bool worked = each.trial.status == TrialStatus::ok && candidate.timing.known();
    out << fmt::format("{},{},{},{},{},{},{},{},{},{}", csv_field(candidate.candidate.solver),
                       candidate.candidate.version, csv_field(candidate.candidate.configuration),
                       each.is_default ? 1 : 0, symbols(TrialStatus{})[static_cast<std::size_t>(each.trial.status)],
                       worked ? fmt::format("{:.1f}", candidate.timing.median.count()) : "inf",
                       worked ? fmt::format("{:.1f}", candidate.timing.low.count()) : "inf",
                       worked ? fmt::format("{:.1f}", candidate.timing.high.count()) : "inf", candidate.timing.samples,
                       csv_field(each.trial.reason));
    for (const std::string& name : facts) {
      const auto fact = each.trial.facts.find(name);
      out << ',' << (fact == each.trial.facts.end() ? "" : std::to_string(fact->second));
    }
    out << '\n';
  }
}

void read_trial_table(const std::string& file, std::string_view text, const ReadOptions& options,
                      DataSetBuilder& builder) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) fail(file, "there are no lines after the head");
  const Head head = read_head(file, text.substr(0, end), options, builder);
  CsvTable table(file, text.substr(end + 1), 2);
  for (const std::string& complaint : table.complaints()) builder.complain(complaint);
  Reading(table, head, builder).run();
}

}  // namespace hone::tools::learn
