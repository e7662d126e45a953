// What training and evaluation print: text, JSON and one self-contained HTML page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/learn/accuracy_rule.hpp"
#include "tools/learn/evaluation.hpp"

namespace hone::tools::learn {

// The seed's table: max_depth min_samples_leaf dataset correct wrong unsure total max_wrong_speedup gman_wrong_speedup
// threshold.
std::string accuracy_table(const AccuracyResult& result);
nlohmann::ordered_json accuracy_json(const AccuracyResult& result);

std::string text_report(const learning::Model& model, const Evaluation& evaluation, const std::string& title);
nlohmann::ordered_json json_report(const learning::Model& model, const Evaluation& evaluation);
// With a plot of the regret against the number of candidates that are measured.
std::string html_report(const learning::Model& model, const Evaluation& evaluation, const std::string& text);

}  // namespace hone::tools::learn
