#include "tools/learn/data_set_builder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <hone/error.hpp>
#include <set>

#include "kernels/learning/model_file.hpp"

namespace hone::tools::learn {

std::string DataSetBuilder::learning_hash(std::string_view bytes) { return learning::hash_of(bytes); }

void DataSetBuilder::set_fields(const std::vector<std::string>& fields, const std::string& file) {
  if (fields_.empty()) fields_ = fields;
  if (fields_ != fields) {
    throw Error(Errc::invalid_option, fmt::format("{} has the problem fields {}, an earlier file has {}", file,
                                                  fmt::join(fields, ", "), fmt::join(fields_, ", ")));
  }
}

std::uint32_t DataSetBuilder::candidate(const NamedCandidate& candidate) {
  const auto [place, added] = places_.try_emplace(candidate.name, static_cast<std::uint32_t>(candidates_.size()));
  if (added) {
    candidates_.push_back(candidate);
    return place->second;
  }
  CodeFacts& facts = candidates_[place->second].facts;
  for (const auto& [name, value] : candidate.facts) {
    const auto [fact, missing] = facts.try_emplace(name, value);
    if (!missing) fact->second = std::max(fact->second, value);
  }
  return place->second;
}

bool DataSetBuilder::add(const CsvTable& table, const CsvTable::Line& line, const std::vector<std::size_t>& columns,
                         Split split, std::vector<Measurement> measurements) {
  const auto categories = categorical_fields(options_.operation);
  Row row{.measurements = std::move(measurements), .split = split, .line = line.number};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& text = line.fields[columns[i]];
    if (text.empty()) {
      complain(table.complaint(line, columns[i], "it is empty"));
      return false;
    }
    if (const auto number = parse_number(text);
        number && !std::isfinite(*number) &&
        std::find(categories.begin(), categories.end(), fields_[i]) == categories.end()) {
      complain(table.complaint(line, columns[i], fmt::format("'{}' is not a finite number", text)));
      return false;
    }
    row.texts.push_back(text);
  }
  row.complaint_place = fmt::format("{}:{}", table.file(), line.number);
  rows_.push_back(std::move(row));
  return true;
}

learning::Variable DataSetBuilder::variable_of(
    const std::string& name, bool category,
    const std::function<void(const std::function<void(const std::string&)>&)>& each) const {
  std::set<std::string> categories;
  each([&](const std::string& text) { categories.insert(text); });
  const bool numbers = std::all_of(categories.begin(), categories.end(),
                                   [](const std::string& text) { return text.empty() || parse_number(text); });
  if (numbers && !category) return {name};
  return {name, {categories.begin(), categories.end()}};
}

void DataSetBuilder::describe_problems(DataSet& data) {
  if (options_.model != nullptr) {
    data.problem = options_.model->problem;
    for (const learning::Variable& variable : data.problem) {
      if (std::find(fields_.begin(), fields_.end(), variable.name) == fields_.end()) {
        throw Error(Errc::invalid_option, fmt::format("the data has no field '{}', which the model needs; it has: {}",
                                                      variable.name, fmt::join(fields_, ", ")));
      }
    }
    return;
  }
  const auto categories = categorical_fields(options_.operation);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const bool category = std::find(categories.begin(), categories.end(), fields_[i]) != categories.end();
    data.problem.push_back(variable_of(fields_[i], category, [&](const auto& visit) {
      for (const Row& row : rows_) visit(row.texts[i]);
    }));
  }
}

void DataSetBuilder::describe_candidates(DataSet& data) {
  for (NamedCandidate& candidate : candidates_) {
    for (const auto& [name, value] : candidate.facts) {
      candidate.parameters[fact_prefix + name] = std::to_string(value);
    }
  }
  std::set<std::string> names;
  for (const NamedCandidate& candidate : candidates_) {
    for (const auto& [name, text] : candidate.parameters) names.insert(name);
  }
  if (options_.model != nullptr) {
    data.candidate = options_.model->candidate;
  } else {
    for (const std::string& name : names) {
      data.candidate.push_back(variable_of(name, false, [&](const auto& visit) {
        for (const NamedCandidate& candidate : candidates_) {
          const auto found = candidate.parameters.find(name);
          visit(found != candidate.parameters.end() ? found->second : "");
        }
      }));
    }
  }
  for (const NamedCandidate& named : candidates_) {
    learning::ModelCandidate candidate{named.name, named.pick};
    for (const learning::Variable& variable : data.candidate) {
      const auto found = named.parameters.find(variable.name);
      const std::string text = found != named.parameters.end() ? found->second : "";
      candidate.values.push_back(variable.categorical() ? learning::category_value(variable, text)
                                                        : parse_number(text).value_or(0));
    }
    data.candidates.push_back(std::move(candidate));
  }
  for (std::size_t i = 0; i < data.candidates.size(); ++i) {
    if (data.candidates[i].name == default_) data.default_candidate = static_cast<std::uint32_t>(i);
  }
}

void DataSetBuilder::take_rows(DataSet& data) {
  std::vector<std::size_t> places;
  for (const learning::Variable& variable : data.problem) {
    places.push_back(
        static_cast<std::size_t>(std::find(fields_.begin(), fields_.end(), variable.name) - fields_.begin()));
  }
  for (Row& row : rows_) {
    MeasuredProblem problem{.measurements = std::move(row.measurements), .split = row.split, .line = row.line};
    bool whole = true;
    for (std::size_t i = 0; i < data.problem.size() && whole; ++i) {
      const std::string& text = row.texts[places[i]];
      if (data.problem[i].categorical()) {
        problem.values.push_back(learning::category_value(data.problem[i], text));
      } else if (const auto number = parse_number(text)) {
        problem.values.push_back(*number);
      } else {
        complain(
            fmt::format("{}: field \"{}\": '{}' is not a number", row.complaint_place, data.problem[i].name, text));
        whole = false;
      }
    }
    if (!whole) continue;
    problem.best = INFINITY;
    for (const Measurement& each : problem.measurements) problem.best = std::min(problem.best, each.time);
    if (problem.measurements.size() < 2 || !std::isfinite(problem.best)) {
      ++data.skipped;
      continue;
    }
    data.problems.push_back(std::move(problem));
  }
}

DataSet DataSetBuilder::finish() {
  DataSet data;
  data.operation = options_.operation;
  data.environment_class = options_.environment_class.empty() ? environment_class_ : options_.environment_class;
  data.hash = learning::hash_of(bytes_);
  if (candidates_.size() < 2) {
    throw Error(Errc::invalid_option,
                fmt::format("the data has {} candidate{}; there is nothing to choose: at least two are needed",
                            candidates_.size(), candidates_.size() == 1 ? "" : "s"));
  }
  describe_problems(data);
  describe_candidates(data);
  take_rows(data);
  data.complaints = std::move(complaints_);
  if (data.problems.empty()) {
    throw Error(Errc::invalid_option,
                fmt::format("the data has no usable problem: each needs times of at least two candidates{}{}",
                            data.complaints.empty() ? "" : "; the first complaint: ",
                            data.complaints.empty() ? "" : data.complaints.front()));
  }
  return data;
}

}  // namespace hone::tools::learn
