#include "kernels/learning/model_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <hone/error.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace hone::learning {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view magic = "hone-model 1 ";

[[noreturn]] void fail(const std::string& what) { throw Error(Errc::invalid_model, what); }

const Json& member(const Json& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  if (!json.is_object() || found == json.end()) fail(fmt::format("the model has no member \"{}\"", name));
  return *found;
}

template <class T>
T value(const Json& json, const char* name) {
  const Json& found = member(json, name);
  try {
    return found.get<T>();
  } catch (const Json::exception& error) {
    fail(fmt::format("member \"{}\" of the model: {}", name, error.what()));
  }
}

template <class Symbols>
std::size_t symbol(const Json& json, const char* name, const Symbols& accepted) {
  const auto text = value<std::string>(json, name);
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    if (accepted[i] == text) return i;
  }
  fail(fmt::format("member \"{}\" of the model: '{}' is not known", name, text));
}

Json json_of(const std::vector<Variable>& variables) {
  Json json = Json::array();
  for (const Variable& variable : variables) {
    json.push_back({{"name", variable.name}, {"categories", variable.categories}});
  }
  return json;
}

std::vector<Variable> variables_of(const Json& json, const char* name) {
  std::vector<Variable> variables;
  for (const Json& each : member(json, name)) {
    variables.push_back({value<std::string>(each, "name"), value<std::vector<std::string>>(each, "categories")});
  }
  return variables;
}

Json json_of(const Quality& quality) {
  return {{"problems", quality.problems},
          {"coverage", quality.coverage},
          {"regret", quality.regret},
          {"over_5", quality.over_5}};
}

Json json_of(const ModelCandidate& candidate) {
  Json json{{"name", candidate.name}, {"solver", candidate.pick.solver}, {"version", candidate.pick.version}};
  json["configuration"] = candidate.pick.configuration ? Json(*candidate.pick.configuration) : Json();
  json["values"] = candidate.values;
  return json;
}

ModelCandidate candidate_of(const Json& json) {
  ModelCandidate candidate{value<std::string>(json, "name"),
                           {value<std::string>(json, "solver"), value<std::uint32_t>(json, "version")},
                           value<std::vector<double>>(json, "values")};
  if (!member(json, "configuration").is_null()) {
    candidate.pick.configuration = value<std::string>(json, "configuration");
  }
  return candidate;
}

Json json_of(const Leaf& leaf) {
  return {{"order", leaf.order},
          {"sure", leaf.sure},
          {"regret", leaf.regret},
          {"over_5", leaf.over_5},
          {"problems", leaf.problems}};
}

Leaf leaf_entry(const Json& json) {
  return {value<std::vector<std::uint16_t>>(json, "order"), value<bool>(json, "sure"), value<double>(json, "regret"),
          value<double>(json, "over_5"), value<std::uint64_t>(json, "problems")};
}

Json json_of(const Tree& tree) {
  Json json = Json::array();
  for (const TreeNode& node : tree) {
    json.push_back(node.feature == TreeNode::leaf ? Json{node.left}
                                                  : Json{node.feature, node.threshold, node.left, node.right});
  }
  return json;
}

Tree tree_of(const Json& json) {
  Tree tree;
  for (const Json& each : json) {
    if (!each.is_array() || (each.size() != 1 && each.size() != 4))
      fail("a node of the tree has neither 1 nor 4 items");
    if (each.size() == 1) {
      tree.push_back({TreeNode::leaf, 0, each[0].get<std::uint32_t>(), 0});
    } else {
      tree.push_back({each[0].get<std::int32_t>(), each[1].get<double>(), each[2].get<std::uint32_t>(),
                      each[3].get<std::uint32_t>()});
    }
  }
  return tree;
}

// A leaf's threshold is infinite, which JSON cannot say: null.
Json json_of(const Ensemble& ensemble) {
  Json json{{"base", ensemble.base}};
  Json trees = Json::array();
  for (const EnsembleTree& tree : ensemble.trees) trees.push_back({tree.first, tree.depth});
  Json thresholds = Json::array();
  Json features = Json::array();
  Json children = Json::array();
  for (const EnsembleNode& node : ensemble.nodes) {
    thresholds.push_back(std::isinf(node.threshold) ? Json() : Json(node.threshold));
    features.push_back(node.feature);
    children.push_back(node.left);
  }
  json["trees"] = std::move(trees);
  json["thresholds"] = std::move(thresholds);
  json["features"] = std::move(features);
  json["children"] = std::move(children);
  json["values"] = ensemble.values;
  return json;
}

Ensemble ensemble_of(const Json& json) {
  Ensemble ensemble;
  ensemble.base = value<float>(json, "base");
  for (const auto& tree : value<std::vector<std::array<std::uint32_t, 2>>>(json, "trees")) {
    ensemble.trees.push_back({tree[0], tree[1]});
  }
  const Json& thresholds = member(json, "thresholds");
  const auto features = value<std::vector<std::uint16_t>>(json, "features");
  const auto children = value<std::vector<std::uint16_t>>(json, "children");
  if (features.size() != thresholds.size() || children.size() != thresholds.size()) {
    fail("the ensemble's tables differ in length");
  }
  for (std::size_t i = 0; i < features.size(); ++i) {
    const float threshold =
        thresholds[i].is_null() ? std::numeric_limits<float>::infinity() : thresholds[i].get<float>();
    ensemble.nodes.push_back({threshold, features[i], children[i]});
  }
  ensemble.values = value<std::vector<float>>(json, "values");
  return ensemble;
}

Json json_of(const Model& model) {
  Json json;
  json["kind"] = symbols(ModelKind{})[static_cast<std::size_t>(model.kind)];
  json["operation"] = model.operation;
  json["environment_class"] = model.environment_class;
  json["rule"] = model.rule;
  json["data_hash"] = model.data_hash;
  json["quality"] = json_of(model.quality);
  json["problem"] = json_of(model.problem);
  json["bounds"] = Json::array();
  for (const Bound& bound : model.bounds) json["bounds"].push_back({bound.low, bound.high});
  json["candidate"] = json_of(model.candidate);
  json["features"] = Json::array();
  for (const Feature& feature : model.features) json["features"].push_back({feature.name, feature.expression});
  json["preconditions"] = model.preconditions;
  json["candidates"] = Json::array();
  for (const ModelCandidate& candidate : model.candidates) json["candidates"].push_back(json_of(candidate));
  json["default_candidate"] = model.default_candidate;
  json["commonest"] = model.commonest;
  if (model.kind == ModelKind::ensemble) {
    json["ensemble"] = json_of(model.ensemble);
    json["chances"] = Json::array();
    for (const ChanceStep& step : model.chances) json["chances"].push_back({step.gap, step.chance});
    json["least_chance"] = model.least_chance;
    json["longest"] = model.longest;
    json["may_be_sure"] = model.may_be_sure;
    return json;
  }
  json["tree"] = json_of(model.tree);
  if (model.kind == ModelKind::tree) {
    json["leaves"] = Json::array();
    for (const Leaf& leaf : model.leaves) json["leaves"].push_back(json_of(leaf));
  } else {
    json["scores"] = model.scores;
    json["threshold"] = model.threshold;
  }
  return json;
}

Model model_of(const Json& json) {
  Model model;
  model.kind = static_cast<ModelKind>(symbol(json, "kind", symbols(ModelKind{})));
  model.operation = value<std::string>(json, "operation");
  model.environment_class = value<std::string>(json, "environment_class");
  model.rule = value<std::string>(json, "rule");
  model.data_hash = value<std::string>(json, "data_hash");
  const Json& quality = member(json, "quality");
  model.quality = {value<std::uint64_t>(quality, "problems"), value<double>(quality, "coverage"),
                   value<double>(quality, "regret"), value<double>(quality, "over_5")};
  model.problem = variables_of(json, "problem");
  for (const auto& bound : value<std::vector<std::array<double, 2>>>(json, "bounds")) {
    model.bounds.push_back({bound[0], bound[1]});
  }
  model.candidate = variables_of(json, "candidate");
  for (auto& feature : value<std::vector<std::array<std::string, 2>>>(json, "features")) {
    model.features.push_back({std::move(feature[0]), std::move(feature[1])});
  }
  model.preconditions = value<std::vector<std::string>>(json, "preconditions");
  for (const Json& each : member(json, "candidates")) model.candidates.push_back(candidate_of(each));
  model.default_candidate = value<std::uint32_t>(json, "default_candidate");
  model.commonest = value<std::uint32_t>(json, "commonest");
  if (model.kind == ModelKind::ensemble) {
    model.ensemble = ensemble_of(member(json, "ensemble"));
    for (const auto& step : value<std::vector<std::array<double, 2>>>(json, "chances")) {
      model.chances.push_back({step[0], step[1]});
    }
    model.least_chance = value<double>(json, "least_chance");
    model.longest = value<std::uint32_t>(json, "longest");
    model.may_be_sure = value<bool>(json, "may_be_sure");
    return model;
  }
  model.tree = tree_of(member(json, "tree"));
  if (model.kind == ModelKind::tree) {
    for (const Json& each : member(json, "leaves")) model.leaves.push_back(leaf_entry(each));
  } else {
    model.scores = value<std::vector<double>>(json, "scores");
    model.threshold = value<double>(json, "threshold");
  }
  return model;
}

}  // namespace

std::string hash_of(std::string_view text) { return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())); }

std::string to_text(const Model& model) {
  const std::string body = json_of(model).dump() + "\n";
  return fmt::format("{}{}\n{}", magic, hash_of(body), body);
}

Model from_text(std::string_view text) {
  const std::size_t line = text.find('\n');
  if (!text.starts_with("hone-model ") || line == std::string_view::npos) fail("this is no model of hone");
  if (!text.starts_with(magic)) fail("the model is of another format version; train it again with this hone");
  const std::string_view body = text.substr(line + 1);
  if (text.substr(magic.size(), line - magic.size()) != hash_of(body)) {
    fail("the model is damaged: its hash does not fit; write it again by hone learn train");
  }
  Model model;
  try {
    model = model_of(Json::parse(body));
  } catch (const Json::exception& error) {
    fail(fmt::format("the model does not parse: {}", error.what()));
  }
  check(model);
  try {
    const Predictor parses(model);
  } catch (const Error& error) {
    fail(error.what());
  }
  return model;
}

Model read_model(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(fmt::format("{} cannot be read: {}", file, std::strerror(errno)));
  std::ostringstream text;
  text << stream.rdbuf();
  try {
    return from_text(std::move(text).str());
  } catch (const Error& error) {
    fail(fmt::format("{}: {}", file, error.what()));
  }
}

void write_model(const Model& model, const std::string& file) {
  std::ofstream stream(file, std::ios::binary);
  stream << to_text(model);
  stream.close();
  if (!stream) throw Error(Errc::invalid_option, fmt::format("{} cannot be written: {}", file, std::strerror(errno)));
}

}  // namespace hone::learning

namespace hone {

std::shared_ptr<const Heuristic> load_heuristic(const std::string& file, const ProblemType& type) {
  try {
    return learning::make_heuristic(learning::read_model(file), type);
  } catch (const Error& error) {
    const std::string what = error.what();
    throw Error(Errc::invalid_model, what.starts_with(file) ? what : fmt::format("{}: {}", file, what));
  }
}

}  // namespace hone
