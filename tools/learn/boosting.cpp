#include "tools/learn/boosting.hpp"

#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <hone/error.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace hone::tools::learn {
namespace {

void call(int result) {
  if (result != 0) throw Error(Errc::invalid_option, fmt::format("XGBoost: {}", XGBGetLastError()));
}

struct Free {
  void operator()(void* booster) const noexcept { XGBoosterFree(booster); }
};
struct FreeMatrix {
  void operator()(void* matrix) const noexcept { XGDMatrixFree(matrix); }
};

// One tree in breadth-first order, so that siblings are neighbours.
void append_tree(const nlohmann::json& json, learning::Ensemble& ensemble) {
  const auto left = json.at("left_children").get<std::vector<int>>();
  const auto right = json.at("right_children").get<std::vector<int>>();
  const auto feature = json.at("split_indices").get<std::vector<int>>();
  const auto condition = json.at("split_conditions").get<std::vector<float>>();
  const auto first = static_cast<std::uint32_t>(ensemble.nodes.size());
  struct Entry {
    int node;
    std::uint32_t depth;
  };
  std::vector<Entry> entries{{0, 0}};
  std::uint32_t depth = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto node = static_cast<std::size_t>(entries[i].node);
    depth = std::max(depth, entries[i].depth);
    if (left.at(node) < 0) {
      ensemble.nodes.push_back({std::numeric_limits<float>::infinity(), 0, static_cast<std::uint16_t>(i)});
      ensemble.values.push_back(condition.at(node));
      continue;
    }
    // XGBoost goes left where the value is less than the condition, hone where it is at most the threshold.
    const float threshold = std::nextafter(condition.at(node), -std::numeric_limits<float>::infinity());
    if (entries.size() + 2 > std::numeric_limits<std::uint16_t>::max()) {
      throw Error(Errc::invalid_model, "a tree of the ensemble has too many nodes");
    }
    ensemble.nodes.push_back(
        {threshold, static_cast<std::uint16_t>(feature.at(node)), static_cast<std::uint16_t>(entries.size())});
    ensemble.values.push_back(0);
    entries.push_back({left.at(node), entries[i].depth + 1});
    entries.push_back({right.at(node), entries[i].depth + 1});
  }
  ensemble.trees.push_back({first, depth});
}

}  // namespace

learning::Ensemble from_xgboost(const std::string& text) {
  learning::Ensemble ensemble;
  try {
    const auto json = nlohmann::json::parse(text);
    const auto& learner = json.at("learner");
    ensemble.base = std::stof(learner.at("learner_model_param").at("base_score").get<std::string>());
    for (const auto& tree : learner.at("gradient_booster").at("model").at("trees")) append_tree(tree, ensemble);
  } catch (const nlohmann::json::exception& error) {
    throw Error(Errc::invalid_model, fmt::format("XGBoost's model is not as expected: {}", error.what()));
  }
  return ensemble;
}

learning::Ensemble boost(const Matrix& features, const std::vector<float>& targets, const BoostingOptions& options) {
  const std::vector<float> values(features.values.begin(), features.values.end());
  DMatrixHandle matrix_handle = nullptr;
  call(XGDMatrixCreateFromMat(values.data(), features.rows, features.columns, std::numeric_limits<float>::quiet_NaN(),
                              &matrix_handle));
  const std::unique_ptr<void, FreeMatrix> matrix(matrix_handle);
  call(XGDMatrixSetFloatInfo(matrix.get(), "label", targets.data(), targets.size()));
  BoosterHandle booster_handle = nullptr;
  call(XGBoosterCreate(&matrix_handle, 1, &booster_handle));
  const std::unique_ptr<void, Free> booster(booster_handle);
  const std::pair<const char*, std::string> parameters[] = {
      {"objective", "reg:squarederror"},
      {"tree_method", "hist"},
      {"base_score", "0"},
      {"nthread", "1"},
      {"verbosity", "0"},
      {"seed", fmt::format("{}", options.seed)},
      {"max_depth", fmt::format("{}", options.max_depth)},
      {"eta", fmt::format("{}", options.learning_rate)},
      {"min_child_weight", fmt::format("{}", options.min_child_weight)},
      {"subsample", fmt::format("{}", options.subsample)},
      {"colsample_bytree", fmt::format("{}", options.subsample)},
  };
  for (const auto& [name, value] : parameters) call(XGBoosterSetParam(booster.get(), name, value.c_str()));
  for (std::uint32_t i = 0; i < options.trees; ++i) {
    call(XGBoosterUpdateOneIter(booster.get(), static_cast<int>(i), matrix.get()));
  }
  bst_ulong length = 0;
  const char* text = nullptr;
  call(XGBoosterSaveModelToBuffer(booster.get(), R"({"format": "json"})", &length, &text));
  return from_xgboost(std::string(text, length));
}

}  // namespace hone::tools::learn
