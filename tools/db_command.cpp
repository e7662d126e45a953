#include "tools/db_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <hone/error.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "storage/maintenance.hpp"
#include "tools/db_exchange.hpp"
#include "tools/db_json.hpp"
#include "tools/db_progress.hpp"

namespace hone::tools {
namespace {

using namespace storage;

struct Options {
  std::string database;
  std::string problem;
  std::string file = "-";
  std::string source, target;
  std::vector<std::string> sources;
  std::string operation, solver, environment, containing;
  std::size_t limit = 0;
  bool json = false, measured = false, predicted = false, with_trials = false;
};

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

const Record* record_in(const Change& change) {
  const auto* merge = std::get_if<MergeRecord>(&change);
  return merge == nullptr ? nullptr : &merge->record;
}

int stats(const Options& o) {
  const DatabaseFacts all = facts(o.database);
  std::map<std::string, std::uint64_t> operations;
  std::uint64_t predicted = 0, partial = 0;
  const VisitCounts counts = visit(o.database, [&](const Change& change) {
    const Record* record = record_in(change);
    if (record == nullptr) return;
    ++operations[record->problem.substr(0, record->problem.find(' '))];
    predicted += !record->measured;
    partial += !record->complete;
  });
  if (o.json) {
    nlohmann::ordered_json json{{"format", all.format},         {"identity", all.identity},
                                {"file_bytes", all.file_bytes}, {"used_bytes", all.used_bytes},
                                {"predicted", predicted},       {"partial", partial},
                                {"damaged", counts.damaged}};
    for (const TableCount& table : all.tables) json["entries"][table.name] = table.entries;
    json["operations"] = operations;
    fmt::print("{}\n", dump(json));
    return counts.damaged == 0 ? 0 : 1;
  }
  fmt::print("format {}, identity {}\n{} bytes in the file\n", all.format, all.identity, all.file_bytes);
  for (const TableCount& table : all.tables) fmt::print("{:>12} {}\n", table.entries, table.name);
  for (const auto& [operation, count] : operations) fmt::print("{:>12} records of {}\n", count, operation);
  fmt::print("{:>12} records predicted by a model, {} of searches that were cut short\n", predicted, partial);
  if (counts.damaged > 0) fmt::print("{} damaged entries or pages: see `hone db check`\n", counts.damaged);
  return counts.damaged == 0 ? 0 : 1;
}

bool selected(const Options& o, const Record& record) {
  if (!o.operation.empty() && record.problem.substr(0, record.problem.find(' ')) != o.operation) return false;
  if (!o.solver.empty() && record.best.candidate.solver != o.solver) return false;
  if (!o.environment.empty() && environment_text(record.environment) != o.environment) return false;
  if (!o.containing.empty() && record.problem.find(o.containing) == std::string::npos) return false;
  if (o.measured && !record.measured) return false;
  return !o.predicted || !record.measured;
}

int list(const Options& o) {
  std::size_t shown = 0;
  if (!o.json)
    fmt::print("{:<16}  {:>14}  {:<9}  {:<40}  {}\n", "ENVIRONMENT", "MEDIAN NS", "KNOWN", "BEST", "PROBLEM");
  const VisitCounts counts = visit(o.database, [&](const Change& change) {
    const Record* record = record_in(change);
    if (record == nullptr || !selected(o, *record) || (o.limit > 0 && shown >= o.limit)) return;
    ++shown;
    if (o.json) {
      fmt::print("{}\n", dump(to_json(change)));
    } else {
      fmt::print("{:<16}  {:>14.1f}  {:<9}  {:<40}  {}\n", environment_text(record->environment),
                 record->best.timing.median.count(), record->measured ? "measured" : "predicted",
                 to_string(record->best.candidate), record->problem);
    }
  });
  return counts.damaged == 0 ? 0 : 1;
}

int show(const Options& o) {
  std::size_t shown = 0;
  std::map<std::uint64_t, Environment> environments;
  std::set<std::uint64_t> used;
  visit(o.database, [&](const Change& change) {
    const auto line = [&](const std::string& problem, std::uint64_t environment) {
      if (problem != o.problem) return;
      ++shown;
      used.insert(environment);
      fmt::print("{}\n", to_json(change).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    };
    if (const auto* e = std::get_if<PutEnvironment>(&change)) environments[e->environment.id()] = e->environment;
    if (const auto* r = std::get_if<MergeRecord>(&change)) line(r->record.problem, r->record.environment);
    if (const auto* t = std::get_if<MergeTrial>(&change)) line(t->trial.problem, t->trial.environment);
    if (const auto* q = std::get_if<PutQuarantine>(&change)) line(q->quarantined.problem, q->quarantined.environment);
  });
  for (const std::uint64_t id : used) {
    if (const auto known = environments.find(id); known != environments.end()) {
      fmt::print("{}\n", dump(to_json(PutEnvironment{known->second})));
    }
  }
  if (shown > 0) return 0;
  fmt::print(stderr,
             "hone db show: {} holds nothing on \"{}\"; `hone db list` gives the problems as they are written\n",
             o.database, o.problem);
  return 1;
}

int check_database(const Options& o) {
  CheckReport report;
  {
    ProgressBar bar("checking");
    report = check(o.database, bar.progress());
  }
  for (const TableCount& table : report.tables) fmt::print("{:>12} whole {}\n", table.entries, table.name);
  for (const Damage& damage : report.damage) fmt::print("{}: {}\n", damage.where, damage.what);
  if (report.damage.empty()) {
    fmt::print("no damage\n");
    return 0;
  }
  fmt::print("{} places are damaged; `hone db repair {} NEW` saves the rest\n", report.damage.size(), o.database);
  return 1;
}

int repair_database(const Options& o) {
  RepairCounts counts;
  {
    ProgressBar bar("repairing");
    counts = repair(o.source, o.target, bar.progress());
  }
  fmt::print("{} entries saved, {} more found in unreachable pages, {} places given up; the new database is {}\n",
             counts.saved, counts.salvaged, counts.damaged, o.target);
  return counts.damaged == 0 ? 0 : 1;
}

int compact_database(const Options& o) {
  ProgressBar bar("compacting");
  const CompactCounts counts = compact(o.database, bar.progress());
  fmt::print("{} bytes, {} before\n", counts.bytes_after, counts.bytes_before);
  return 0;
}

// The named file, or a standard stream for "-".
std::unique_ptr<std::FILE, void (*)(std::FILE*)> open_file(const std::string& name, const char* mode,
                                                           std::FILE* standard) {
  if (name == "-") return {standard, [](std::FILE*) {}};
  std::FILE* file = std::fopen(name.c_str(), mode);
  if (file == nullptr) {
    throw Error(Errc::store_unavailable, fmt::format("{} cannot be opened: {}", name, std::strerror(errno)));
  }
  return {file, [](std::FILE* f) { std::fclose(f); }};
}

int export_database(const Options& o) {
  const auto file = open_file(o.file, "wb", stdout);
  VisitCounts counts;
  {
    ProgressBar bar("exporting");
    counts = export_lines(o.database, file.get(), o.file == "-" ? "standard output" : o.file, bar.progress());
  }
  fmt::print(stderr, "{} entries exported\n", counts.given);
  if (counts.damaged == 0) return 0;
  fmt::print(stderr, "{} damaged entries or pages left out: see `hone db check`\n", counts.damaged);
  return 1;
}

int import_database(const Options& o) {
  const auto file = open_file(o.file, "rb", stdin);
  BulkWriter writer(o.database);
  ImportCounts counts;
  {
    ProgressBar bar("importing");
    counts = import_lines(file.get(), o.file == "-" ? "standard input" : o.file, writer, bar.progress());
    writer.finish();
  }
  fmt::print(stderr, "{} entries imported, {} lines skipped\n", counts.used, counts.skipped);
  return counts.skipped == 0 ? 0 : 1;
}

int merge_databases(const Options& o) {
  std::uint64_t damaged = 0;
  for (const std::string& source : o.sources) {
    VisitCounts counts;
    {
      ProgressBar bar("merging " + source);
      counts = merge(o.target, source, bar.progress());
    }
    fmt::print("{}: {} entries looked at, {} damaged\n", source, counts.given, counts.damaged);
    damaged += counts.damaged;
  }
  return damaged == 0 ? 0 : 1;
}

int forget(const Options& o) {
  std::vector<Forget> places;
  visit(o.database, [&](const Change& change) {
    const auto add = [&](const std::string& problem, const ProblemKey& key, std::uint64_t environment) {
      if (problem != o.problem) return;
      if (!o.environment.empty() && environment_text(environment) != o.environment) return;
      places.push_back({key, environment});
    };
    if (const auto* r = std::get_if<MergeRecord>(&change)) add(r->record.problem, r->record.key, r->record.environment);
    if (const auto* t = std::get_if<MergeTrial>(&change)) add(t->trial.problem, t->trial.key, t->trial.environment);
    if (const auto* q = std::get_if<PutQuarantine>(&change)) {
      add(q->quarantined.problem, q->quarantined.key, q->quarantined.environment);
    }
  });
  BulkWriter writer(o.database);
  for (const Forget& place : places) writer.add(place);
  writer.finish();
  fmt::print("{} entries forgotten\n", places.size());
  return places.empty() ? 1 : 0;
}

int build_database(const Options& o) {
  VisitCounts counts;
  {
    ProgressBar bar("building");
    counts = build(o.target, o.sources, o.with_trials, bar.progress());
  }
  fmt::print("{} from {} entries, {} damaged left out\n", o.target, counts.given, counts.damaged);
  return counts.damaged == 0 ? 0 : 1;
}

}  // namespace

void add_db_command(CLI::App& app, int& exit_status) {
  const auto options = std::make_shared<Options>();
  CLI::App* db = app.add_subcommand("db", "Look into databases and look after them");
  db->require_subcommand(1);
  const auto command = [&](const char* name, const char* description, const char* example, int (*run)(const Options&)) {
    CLI::App* sub = db->add_subcommand(name, description);
    sub->footer(fmt::format("Example:\n  {}", example));
    sub->callback([options, run, name, &exit_status] {
      try {
        exit_status = run(*options);
      } catch (const std::exception& error) {
        fmt::print(stderr, "hone db {}: {}\n", name, error.what());
        exit_status = 2;
      }
    });
    return sub;
  };
  const auto with_database = [&](CLI::App* sub) {
    sub->add_option("-d,--database", options->database, "The database's directory, or a system database's file")
        ->envname("HONE_DATABASE")
        ->required();
    return sub;
  };
  const auto environment_option = [&](CLI::App* sub) {
    sub->add_option("--environment", options->environment, "Only this environment: 16 hexadecimal digits");
  };

  CLI::App* sub =
      with_database(command("stats", "Count what a database holds", "hone db stats -d /var/lib/app/hone", stats));
  sub->add_flag("--json", options->json, "Print JSON");

  sub = with_database(
      command("list", "List records", "hone db list -d /var/lib/app/hone --operation gemm --limit 20", list));
  sub->add_option("--operation", options->operation, "Only problems of this operation");
  sub->add_option("--solver", options->solver, "Only records whose best candidate is of this solver");
  sub->add_option("--containing", options->containing, "Only problems whose text contains this");
  environment_option(sub);
  CLI::Option* measured = sub->add_flag("--measured", options->measured, "Only measured records");
  sub->add_flag("--predicted", options->predicted, "Only records that a model predicted")->excludes(measured);
  sub->add_option("--limit", options->limit, "At most so many");
  sub->add_flag("--json", options->json, "Print JSON, one record a line");

  sub = with_database(command("show", "Show all that is known of one problem",
                              "hone db show -d /var/lib/app/hone \"gemm m=16 n=768 k=3072\"", show));
  sub->add_option("problem", options->problem, "The problem's canonical text")->required();

  with_database(
      command("check", "Check every page and every value", "hone db check -d /var/lib/app/hone", check_database));

  sub = command("repair", "Save what is whole in a damaged database", "hone db repair /var/lib/app/hone /tmp/saved",
                repair_database);
  sub->add_option("from", options->source, "The damaged database")->required();
  sub->add_option("new", options->target, "The new database: a directory that does not exist")->required();

  with_database(command("compact", "Rewrite a database without the space that deleted entries left",
                        "hone db compact -d /var/lib/app/hone", compact_database));

  sub = with_database(command("export", "Write all entries as lines of JSON",
                              "hone db export -d /var/lib/app/hone - | gzip > hone.jsonl.gz", export_database));
  sub->add_option("file", options->file, "The file, or - for standard output")->capture_default_str();

  sub = with_database(command("import", "Read lines of JSON; better records win",
                              "zcat hone.jsonl.gz | hone db import -d /var/lib/app/hone -", import_database));
  sub->add_option("file", options->file, "The file, or - for standard input")->capture_default_str();

  sub = command("merge", "Add what other databases hold; better records win", "hone db merge all node1 node2",
                merge_databases);
  sub->add_option("target", options->target, "The database that grows; made when missing")->required();
  sub->add_option("sources", options->sources, "The databases that are read")->required();

  sub = with_database(command("forget", "Remove a problem's records, trials and quarantine",
                              "hone db forget -d /var/lib/app/hone \"gemm m=16 n=768 k=3072\"", forget));
  sub->add_option("problem", options->problem, "The problem's canonical text")->required();
  environment_option(sub);

  sub = command("build", "Make a system database: one file, opened read-only and without locks",
                "hone db build gfx90a.hone /var/lib/app/hone", build_database);
  sub->add_option("file", options->target, "The new file")->required();
  sub->add_option("sources", options->sources, "The databases to take from")->required();
  sub->add_flag("--with-trials", options->with_trials, "Take the trials too, for learning");
}

}  // namespace hone::tools
