#include "tools/learn/learn_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <hone/error.hpp>
#include <memory>
#include <numeric>

#include "kernels/learning/model_file.hpp"
#include "tools/command_callback.hpp"
#include "tools/learn/accuracy_rule.hpp"
#include "tools/learn/collect_commands.hpp"
#include "tools/learn/csv.hpp"
#include "tools/learn/emit.hpp"
#include "tools/learn/ranking_rule.hpp"
#include "tools/learn/regret_rule.hpp"
#include "tools/learn/report.hpp"
#include "tools/learn/training.hpp"

namespace hone::tools {
namespace {

using namespace learn;
namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> data;
  std::string operation;
  std::string rule = "regret";
  std::string kind = "auto";
  std::string out;
  std::string candidates;
  std::string environment_class;
  std::vector<std::string> preconditions;
  std::optional<std::uint64_t> split_seed;
  std::string model;
  std::string space = "heuristics";
  std::string name;
  std::string include;
  std::vector<std::size_t> shortlist = {1, 3, 5, 10};
  bool held_out = false;
  bool json = false;
};

int complain(const DataSet& data) {
  for (const std::string& complaint : data.complaints) fmt::print(stderr, "{}\n", complaint);
  if (!data.complaints.empty()) fmt::print(stderr, "{} lines were left out\n", data.complaints.size());
  if (data.skipped > 0) {
    fmt::print(stderr, "{} problems were left out: fewer than two candidates, or none that works\n", data.skipped);
  }
  return data.complaints.empty() ? 0 : 1;
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) {
    throw Error(Errc::invalid_option, fmt::format("{} cannot be written: {}", file.string(), std::strerror(errno)));
  }
}

void write_results(const Options& options, const learning::Model& model, const std::string& text,
                   const nlohmann::ordered_json& json, const Evaluation& evaluation) {
  if (options.out.empty()) return;
  std::error_code error;
  fs::create_directories(options.out, error);
  const fs::path directory = options.out;
  learning::write_model(model, (directory / (model.operation + ".model")).string());
  write(directory / "report.txt", text);
  write(directory / "report.json", json.dump(2) + "\n");
  write(directory / "report.html", html_report(model, evaluation, text));
  // Data that names candidates by an id can then be judged wherever it lies.
  const fs::path ids = options.candidates.empty() ? fs::path(options.data.front()).parent_path() / "choices.csv"
                                                  : fs::path(options.candidates);
  if (model.kind == learning::ModelKind::ensemble && fs::exists(ids)) {
    write(directory / "choices.csv", read_file(ids.string()));
  }
}

void set_preconditions(learning::Model& model, const Options& options) {
  model.preconditions = options.preconditions;
  const learning::Predictor parses(model);
}

bool wants_ensemble(const Options& options, const DataSet& data) {
  if (options.kind == "ensemble") return true;
  // A tree's leaf says something only about candidates that were measured for most of its problems.
  constexpr std::size_t few = 16;
  return options.kind == "auto" && data.candidates.size() > few;
}

int train(const Options& options) {
  DataSet data = read_data_set(options.data, {.operation = options.operation,
                                              .candidates = options.candidates,
                                              .environment_class = options.environment_class});
  const int status = complain(data);
  const Recipe recipe = recipe_for(options.operation, data);
  if (options.split_seed || !has_splits(data)) split_by_seed(data, recipe, options.split_seed.value_or(1));

  learning::Model model;
  std::string text;
  nlohmann::ordered_json json;
  if (options.rule == "accuracy") {
    AccuracyResult result = learn_by_accuracy(data, recipe);
    model = std::move(result.model);
    result.model = model;
    text = accuracy_table(result) + "\n";
    json["accuracy"] = accuracy_json(result);
    const AccuracyRow& row = result.rows[1];
    const auto total = static_cast<double>(row.correct + row.wrong + row.unsure);
    model.quality = {row.correct + row.wrong + row.unsure, static_cast<double>(row.correct + row.wrong) / total, 1, 0};
  } else {
    model = wants_ensemble(options, data) ? learn_ranking(data, recipe) : learn_by_regret(data, recipe);
  }
  set_preconditions(model, options);
  std::vector<std::size_t> ks(std::min<std::size_t>(10, data.candidates.size()));
  std::iota(ks.begin(), ks.end(), std::size_t{1});
  const Evaluation evaluation =
      evaluate(model, data, problems_of(data, Split::test), ks, &data, problems_of(data, Split::train));
  text += text_report(model, evaluation, "held-out test problems");
  json["test"] = json_report(model, evaluation);
  if (model.kind == learning::ModelKind::ensemble && !options.held_out && !options.out.empty()) {
    model = retrain_on_all(model, data);
    text += "the model written is trained on all of the data, test problems included\n";
  }
  write_results(options, model, text, json, evaluation);
  fmt::print("{}", options.json ? json.dump(2) + "\n" : text);
  return status;
}

int evaluate_model(const Options& options) {
  const learning::Model model = learning::read_model(options.model);
  if (!options.operation.empty() && options.operation != model.operation) {
    throw Error(Errc::invalid_model, fmt::format("{} is for the operation '{}', not '{}'", options.model,
                                                 model.operation, options.operation));
  }
  std::string candidates = options.candidates;
  if (candidates.empty() && !fs::exists(fs::path(options.data.front()).parent_path() / "choices.csv")) {
    const fs::path beside_model = fs::path(options.model).parent_path() / "choices.csv";
    if (fs::exists(beside_model)) candidates = beside_model.string();
  }
  const DataSet data =
      read_data_set(options.data, {.operation = model.operation, .candidates = candidates, .model = &model});
  const int status = complain(data);
  std::vector<std::size_t> problems;
  for (std::size_t i = 0; i < data.problems.size(); ++i) {
    if (data.problems[i].split != Split::dropped) problems.push_back(i);
  }
  const Evaluation evaluation = evaluate(model, data, problems, options.shortlist);
  if (options.json) {
    fmt::print("{}\n", json_report(model, evaluation).dump(2));
  } else {
    fmt::print("{}", text_report(model, evaluation, options.data.front()));
  }
  return status;
}

int emit_model(const Options& options) {
  const learning::Model model = learning::read_model(options.model);
  const std::string name = options.name.empty() ? model.operation : options.name;
  const std::string include = options.include.empty() ? name + ".hpp" : options.include;
  const EmittedCode code = emit(model, options.space, name, include);
  const fs::path directory = options.out;
  std::error_code error;
  fs::create_directories(directory, error);
  write(directory / (name + ".hpp"), code.header);
  write(directory / (name + ".cpp"), code.source);
  return 0;
}

void add_train(CLI::App& learn, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      learn.add_subcommand("train", "Learn a model from measurements and judge it on held-out problems");
  command->add_option("data", options->data, "Files of hone learn export, or tables of times")->required();
  command->add_option("--operation", options->operation, "The operation that the data is of")->required();
  command->add_option("--rule", options->rule, "What is optimised: time lost, or winners named")
      ->check(CLI::IsMember({"accuracy", "regret"}))
      ->capture_default_str();
  command
      ->add_option("--model", options->kind, "One tree, or an ensemble over pairs; auto: by the number of candidates")
      ->check(CLI::IsMember({"auto", "tree", "ensemble"}))
      ->capture_default_str();
  command->add_option("--out", options->out, "Directory for OPERATION.model and the report as text, JSON and HTML");
  command->add_option("--split-seed", options->split_seed,
                      "Draw the splits by this seed (default: the data's split column, else 1)");
  command->add_option("--candidates", options->candidates,
                      "Table of candidates by id (default: choices.csv beside the data)");
  command->add_option("--environment-class", options->environment_class,
                      "Environments that the model is for (default: what the data's head says)");
  command->add_option("--require", options->preconditions, "A condition on fields outside of which the model is unsure")
      ->allow_extra_args(false);
  command->add_flag("--held-out", options->held_out, "Write the ensemble that was judged, not one trained on all data");
  command->add_flag("--json", options->json, "Print the report as JSON");
  set_callback(command, "hone learn", exit_status, [options] { return train(*options); });
}

void add_evaluate(CLI::App& learn, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = learn.add_subcommand("evaluate", "Judge a model on measured problems");
  command->add_option("model", options->model, "A file written by hone learn train")->required();
  command->add_option("data", options->data, "Files as hone learn train reads them")->required();
  command->add_option("--operation", options->operation, "The operation that the model must be for");
  command->add_option("--shortlist", options->shortlist, "Numbers of candidates to measure")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--candidates", options->candidates,
                      "Table of candidates by id (default: choices.csv beside the data, else beside the model)");
  command->add_flag("--json", options->json,
                    "Print JSON: problems, default, and top and guarded by number of candidates");
  set_callback(command, "hone learn", exit_status, [options] { return evaluate_model(*options); });
}

void add_emit(CLI::App& learn, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* command = learn.add_subcommand("emit", "Write a model as C++");
  command->add_option("model", options->model, "A file written by hone learn train")->required();
  command->add_option("--out", options->out, "Directory for NAME.hpp and NAME.cpp")->required();
  command->add_option("--namespace", options->space, "Namespace that NAME is put in")->capture_default_str();
  command->add_option("--name", options->name, "Name of the heuristic (default: the operation)");
  command->add_option("--include", options->include, "How the source includes the header (default: NAME.hpp)");
  set_callback(command, "hone learn", exit_status, [options] { return emit_model(*options); });
}

}  // namespace

void add_learn_command(CLI::App& app, int& exit_status) {
  CLI::App* learn = app.add_subcommand("learn", "Learn heuristics from trials, judge them, and turn them into code");
  learn->require_subcommand(1);
  add_collect_commands(*learn, exit_status);
  add_train(*learn, exit_status);
  add_evaluate(*learn, exit_status);
  add_emit(*learn, exit_status);
}

}  // namespace hone::tools
