#include "tools/learn/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone::tools::learn {
namespace {

using Json = nlohmann::ordered_json;

std::string optional_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.6f}", *value) : std::string("NaN");
}

Json json_of(const Regret& regret) {
  return {{"geomean_regret", regret.mean}, {"p95", regret.p95}, {"worst", regret.worst}, {"over_5", regret.over_5}};
}

std::string line(const std::string& name, const Regret& regret) {
  return fmt::format("{:<34} {:>9.5f} {:>9.4f} {:>9.3f} {:>8.2f} %\n", name, regret.mean, regret.p95, regret.worst,
                     100 * regret.over_5);
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

// Time lost in percent against candidates measured.
std::string plot(const Evaluation& evaluation) {
  constexpr double width = 640, height = 320, left = 60, bottom = 40, top = 20;
  double highest = 0.001;
  const auto reach = [&](const Regret& regret) { highest = std::max(highest, regret.mean - 1); };
  for (const auto& [k, regret] : evaluation.top) reach(regret);
  for (const auto& [k, regret] : evaluation.guarded) reach(regret);
  const double last = evaluation.top.empty() ? 1 : static_cast<double>(evaluation.top.rbegin()->first);
  highest = std::min(highest, 0.5);
  const auto x = [&](double k) { return left + (width - left - 20) * (last > 1 ? (k - 1) / (last - 1) : 0.5); };
  const auto y = [&](double mean) {
    return height - bottom - (height - bottom - top) * std::min(1.0, (mean - 1) / highest);
  };
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"regret against evaluations\">\n",
                                width, height);
  for (int i = 0; i <= 4; ++i) {
    const double mean = 1 + highest * i / 4;
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.2f} %</text>\n",
        left, width - 20, y(mean), left - 6, y(mean) + 4, 100 * (mean - 1));
  }
  const auto curve = [&](const std::map<std::size_t, Regret>& regrets, const char* style) {
    std::string points;
    for (const auto& [k, regret] : regrets) {
      points += fmt::format("{:.1f},{:.1f} ", x(static_cast<double>(k)), y(regret.mean));
    }
    svg += fmt::format("<polyline class=\"{}\" points=\"{}\"/>\n", style, points);
  };
  curve(evaluation.top, "top");
  curve(evaluation.guarded, "guarded");
  for (const auto& [k, regret] : evaluation.top) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x(static_cast<double>(k)),
                       height - bottom + 16, k);
  }
  const auto level = [&](const Regret& regret, const char* style) {
    if (regret.mean - 1 > highest) return;
    svg += fmt::format("<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{2:.1f}\" y1=\"{3:.1f}\" y2=\"{3:.1f}\"/>\n", style,
                       left, width - 20, y(regret.mean));
  };
  level(evaluation.by_default, "default");
  level(evaluation.by_commonest, "commonest");
  if (evaluation.has_nearest) level(evaluation.by_nearest, "nearest");
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">candidates measured</text>\n</svg>\n",
                     (width + left) / 2, height - 6);
  return svg;
}

}  // namespace

std::string accuracy_table(const AccuracyResult& result) {
  std::string text =
      "max_depth min_samples_leaf dataset correct wrong unsure total max_wrong_speedup gman_wrong_speedup threshold\n";
  const std::string depth = result.max_depth ? fmt::format("{:.1f}", static_cast<double>(*result.max_depth)) : "NaN";
  for (const AccuracyRow& row : result.rows) {
    text +=
        fmt::format("{} {} {} {} {} {} {} {} {} {:.6f}\n", depth, result.min_samples_leaf, row.split, row.correct,
                    row.wrong, row.unsure, row.correct + row.wrong + row.unsure, optional_text(row.max_wrong_speedup),
                    optional_text(row.mean_wrong_speedup), result.model.threshold);
  }
  return text;
}

Json accuracy_json(const AccuracyResult& result) {
  Json rows = Json::array();
  for (const AccuracyRow& row : result.rows) {
    Json json{{"dataset", row.split},
              {"correct", row.correct},
              {"wrong", row.wrong},
              {"unsure", row.unsure},
              {"total", row.correct + row.wrong + row.unsure}};
    json["max_wrong_speedup"] = row.max_wrong_speedup ? Json(*row.max_wrong_speedup) : Json();
    json["gman_wrong_speedup"] = row.mean_wrong_speedup ? Json(*row.mean_wrong_speedup) : Json();
    rows.push_back(std::move(json));
  }
  return {{"max_depth", result.max_depth ? Json(*result.max_depth) : Json()},
          {"min_samples_leaf", result.min_samples_leaf},
          {"leaves", result.model.scores.size()},
          {"threshold", result.model.threshold},
          {"rows", rows}};
}

std::string text_report(const learning::Model& model, const Evaluation& evaluation, const std::string& title) {
  std::string text = fmt::format("{}: {} problems, {} model by the rule {}\n", title, evaluation.problems,
                                 symbols(learning::ModelKind{})[static_cast<std::size_t>(model.kind)], model.rule);
  text += fmt::format("sure {:.1f} %, shortlist {:.1f} % (of {:.1f} candidates over all problems)",
                      100 * evaluation.coverage, 100 * evaluation.shortlisted, evaluation.shortlist_length);
  for (const auto& [reason, count] : evaluation.unsure) text += fmt::format("\nunsure {}: {}", count, reason);
  if (evaluation.unranked > 0) text += fmt::format("\n{} problems without two known candidates", evaluation.unranked);
  text += fmt::format("\n{:<34} {:>9} {:>9} {:>9} {:>10}\n", "time over best time", "mean", "p95", "worst", "over 5 %");
  if (evaluation.coverage > 0) text += line("sure answers", evaluation.sure);
  text += line("sure answers, else the default", evaluation.answered);
  text += line("answer or shortlist, and default", evaluation.shortlists);
  text += line("the default", evaluation.by_default);
  text += line("always the commonest winner", evaluation.by_commonest);
  if (evaluation.has_nearest) text += line("the nearest neighbour's winner", evaluation.by_nearest);
  for (const auto& [k, regret] : evaluation.top) text += line(fmt::format("first {} of the order", k), regret);
  for (const auto& [k, regret] : evaluation.guarded) text += line(fmt::format("first {} and the default", k), regret);
  return text;
}

Json json_report(const learning::Model& model, const Evaluation& evaluation) {
  Json json{{"operation", model.operation},
            {"rule", model.rule},
            {"kind", symbols(learning::ModelKind{})[static_cast<std::size_t>(model.kind)]},
            {"problems", evaluation.problems},
            {"unranked", evaluation.unranked},
            {"coverage", evaluation.coverage},
            {"shortlisted", evaluation.shortlisted},
            {"shortlist_length", evaluation.shortlist_length},
            {"sure", json_of(evaluation.sure)},
            {"answered", json_of(evaluation.answered)},
            {"shortlists", json_of(evaluation.shortlists)},
            {"default", json_of(evaluation.by_default)},
            {"commonest", json_of(evaluation.by_commonest)}};
  if (evaluation.has_nearest) json["nearest"] = json_of(evaluation.by_nearest);
  json["unsure"] = Json::object();
  for (const auto& [reason, count] : evaluation.unsure) json["unsure"][reason] = count;
  json["top"] = Json::object();
  json["guarded"] = Json::object();
  for (const auto& [k, regret] : evaluation.top) json["top"][std::to_string(k)] = json_of(regret);
  for (const auto& [k, regret] : evaluation.guarded) json["guarded"][std::to_string(k)] = json_of(regret);
  return json;
}

std::string html_report(const learning::Model& model, const Evaluation& evaluation, const std::string& text) {
  return fmt::format(R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{0}: learned heuristic</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }}
pre {{ overflow-x: auto; background: #f4f4f4; padding: 1rem; }}
svg {{ width: 100%; font-size: 11px; }}
polyline, line {{ fill: none; stroke-width: 2; }}
.grid {{ stroke: #ddd; stroke-width: 1; }}
.top {{ stroke: #c45a00; }} .guarded {{ stroke: #00608a; }}
.default {{ stroke: #777; stroke-dasharray: 6 4; }} .commonest {{ stroke: #777; stroke-dasharray: 2 4; }}
.nearest {{ stroke: #2a7a2a; stroke-dasharray: 6 4; }}
b.top {{ color: #c45a00; }} b.guarded {{ color: #00608a; }} b.nearest {{ color: #2a7a2a; }}
</style></head><body>
<h1>{0}</h1>
<p>Time lost against the best candidate, when the first k candidates of the model's order are measured:
<b class="top">these alone</b>, <b class="guarded">with the default among them</b>. Broken lines: the default (grey, long),
always the commonest winner (grey, short), <b class="nearest">the nearest neighbour's winner</b>; left out where they lie
above the plot.</p>
{1}
<pre>{2}</pre>
<p>Data {3}, environment class {4}.</p>
</body></html>
)",
                     escaped(model.operation), plot(evaluation), escaped(text), escaped(model.data_hash),
                     model.environment_class.empty() ? "not known" : escaped(model.environment_class));
}

}  // namespace hone::tools::learn
