#include "tools/learn/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/learn/data_set.hpp"

namespace hone::tools::learn {
namespace {

using learning::Feature;

// A feature whose name is its expression reads best where it is short.
std::vector<Feature> plain(std::initializer_list<const char*> names) {
  std::vector<Feature> features;
  for (const char* name : names) features.push_back({name, name});
  return features;
}

void append(std::vector<Feature>& to, std::vector<Feature> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

const std::vector<Feature> products = {{"m_k", "m * k"},
                                       {"m_n", "m * n"},
                                       {"k_n", "k * n"},
                                       {"k_over_m_n", "k / (m * n)"},
                                       {"arithmetic_intensity", "m * k * n / (m * k + k * n + m * n)"}};

std::vector<Feature> divisibility(std::initializer_list<int> divisors) {
  std::vector<Feature> features;
  for (const char* dimension : {"m", "k", "n"}) {
    for (const int divisor : divisors) {
      features.push_back(
          {fmt::format("{}_multiple_of_{}", dimension, divisor), fmt::format("{} % {} == 0", dimension, divisor)});
    }
  }
  return features;
}

// The features of the published heuristic for padding matrix products in PyTorch (pull request 128643).
Recipe pad_mm() {
  Recipe recipe{.group_by = {"m", "k", "n"}, .default_candidate = "orig"};
  recipe.problem_features = plain({"m", "k", "n", "s10", "s11", "s20", "s21", "m_pad", "k_pad", "n_pad"});
  recipe.problem_features.push_back({"alignment", "8 - 4 * (dtype == 'f32')"});
  append(recipe.problem_features, products);
  append(recipe.problem_features,
         {{"dimensions_to_pad", "(m_pad != 0) + (k_pad != 0) + (n_pad != 0)"},
          {"bf16_performance_hit", "k > 1024 * m and k > 1024 * n and dtype == 'bf16'"},
          {"innermost_1_needs_padding", "(s10 == 1 and m_pad != 0) or (s11 == 1 and k_pad != 0)"},
          {"innermost_2_needs_padding", "(s20 == 1 and k_pad != 0) or (s21 == 1 and n_pad != 0)"},
          {"operand_1_contiguous", "s10 == k and s11 == 1"},
          {"operand_2_contiguous", "s20 == n and s21 == 1"}});
  append(recipe.problem_features, divisibility({2, 4, 8, 16, 32}));
  recipe.one_hot = {"dtype", "prepadded1", "prepadded2", "tf32", "candidate"};
  return recipe;
}

std::vector<Feature> matrix_product_features() {
  std::vector<Feature> features = plain({"m", "k", "n"});
  append(features, {{"log_m_n", "log2(m * n)"},
                    {"log_m_k", "log2(m * k)"},
                    {"log_k_n", "log2(k * n)"},
                    {"log_m_k_n", "log2(m * k * n)"},
                    {"arithmetic_intensity", "m * k * n / (m * k + k * n + m * n)"},
                    {"k_over_m_plus_n", "k / (m + n)"}});
  return features;
}

// Products of two matrices by one of many tiled kernels or the vendor's library. The number of tiles is set in relation
// to the 108 multiprocessors of the device that the data is from; on another one it still orders the candidates.
Recipe tiled_product(const char* library) {
  Recipe recipe{.group_by = {"m", "k", "n"}, .default_candidate = library};
  recipe.problem_features = matrix_product_features();
  append(recipe.problem_features, {{"left_row_major", "s11 == 1"},
                                   {"right_row_major", "s21 == 1"},
                                   {"alignment", "(k % 8 == 0) + 2 * (n % 8 == 0) + 4 * (m % 8 == 0)"}});
  append(recipe.problem_features, divisibility({16}));
  append(recipe.candidate_features, plain({"block_m", "block_k", "block_n", "num_stages", "num_warps"}));
  append(recipe.candidate_features,
         {{"triton", "kind == 'triton'"},
          {"tile", "block_m * block_n"},
          {"tile_per_thread", "block_m * block_n / (32 * max(num_warps, 1))"},
          {"tile_depth", "block_m * block_n * block_k"},
          {"tile_shape", "block_m / max(block_n, 1)"},
          {"waste_m", "ceil(m / max(block_m, 1)) * block_m / m"},
          {"waste_n", "ceil(n / max(block_n, 1)) * block_n / n"},
          {"tiles", "ceil(m / max(block_m, 1)) * ceil(n / max(block_n, 1)) * (kind == 'triton')"},
          {"waves", "ceil(m / max(block_m, 1)) * ceil(n / max(block_n, 1)) / 108 * (kind == 'triton')"},
          {"whole_waves", "ceil(ceil(m / max(block_m, 1)) * ceil(n / max(block_n, 1)) / 108) * (kind == 'triton')"},
          {"wave_waste",
           "ceil(ceil(m / max(block_m, 1)) * ceil(n / max(block_n, 1)) / 108) / "
           "(ceil(m / max(block_m, 1)) * ceil(n / max(block_n, 1)) / 108) * (kind == 'triton')"},
          {"k_steps", "ceil(k / max(block_k, 1)) * (kind == 'triton')"},
          {"wave_steps",
           "ceil(ceil(m / max(block_m, 1)) * ceil(n / max(block_n, 1)) / 108) * ceil(k / max(block_k, 1)) * "
           "(kind == 'triton')"},
          {"shared_memory", "num_stages * (block_m + block_n) * block_k"}});
  recipe.one_hot = {"dt1", "dt2", "tf32"};
  return recipe;
}

// hone's own matrix product, on the host.
Recipe gemm() {
  Recipe recipe{.group_by = {"m", "n", "k"}};
  recipe.problem_features = matrix_product_features();
  append(recipe.problem_features, {{"transpose_a", "transpose_a"},
                                   {"transpose_b", "transpose_b"},
                                   {"reads_c", "beta != 0"},
                                   {"bias", "bias"},
                                   {"batch", "batch"},
                                   {"m_over_n", "m / n"},
                                   {"least_dimension", "min(m, min(n, k))"},
                                   {"bytes_b", "4 * k * n"},
                                   {"waste_m_8", "ceil(m / 8) * 8 / m"},
                                   {"waste_n_16", "ceil(n / 16) * 16 / n"}});
  append(recipe.problem_features, divisibility({8, 16}));
  recipe.one_hot = {"activation", "solver"};
  return recipe;
}

// Every variable as it is.
Recipe raw(const DataSet& data) {
  Recipe recipe;
  const auto take = [&](const std::vector<learning::Variable>& variables, std::vector<Feature>& features) {
    for (const learning::Variable& variable : variables) {
      if (variable.categorical()) {
        recipe.one_hot.push_back(variable.name);
      } else {
        features.push_back({variable.name, variable.name});
      }
    }
  };
  take(data.problem, recipe.problem_features);
  take(data.candidate, recipe.candidate_features);
  return recipe;
}

}  // namespace

std::vector<std::string> categorical_fields(const std::string& operation) {
  if (operation == "pad_mm") return {"dtype", "prepadded1", "prepadded2", "tf32"};
  if (operation == "mm" || operation == "mixedmm") return {"dt1", "dt2", "tf32"};
  return {};
}

std::string default_candidate_of(const std::string& operation) {
  if (operation == "pad_mm") return "orig";
  if (operation == "mm") return "extern_mm";
  if (operation == "mixedmm") return "extern_fallback_mixed_mm";
  return "";
}

Recipe recipe_for(const std::string& operation, const DataSet& data) {
  Recipe recipe = operation == "pad_mm"    ? pad_mm()
                  : operation == "mm"      ? tiled_product("extern_mm")
                  : operation == "mixedmm" ? tiled_product("extern_fallback_mixed_mm")
                  : operation == "gemm"    ? gemm()
                                           : raw(data);
  recipe.operation = operation;
  if (operation == "gemm") {
    // A solver's parameters, whatever they are.
    for (const learning::Variable& variable : data.candidate) {
      if (!variable.categorical()) recipe.candidate_features.push_back({variable.name, variable.name});
    }
  }
  recipe.categories = categorical_fields(operation);
  return recipe;
}

namespace {

// A feature that asks for a category which the data has not says nothing about it.
bool names_unknown_category(const Feature& feature, const std::vector<learning::Variable>& variables) {
  const std::string& text = feature.expression;
  for (std::size_t quote = text.find('\''); quote != std::string::npos;) {
    const std::size_t end = text.find('\'', quote + 1);
    const std::string label = text.substr(quote + 1, end - quote - 1);
    if (std::none_of(variables.begin(), variables.end(), [&](const learning::Variable& variable) {
          return std::find(variable.categories.begin(), variable.categories.end(), label) != variable.categories.end();
        })) {
      return true;
    }
    quote = text.find('\'', end + 1);
  }
  return false;
}

}  // namespace

std::vector<learning::Feature> features_of(const Recipe& recipe, const DataSet& data, bool with_candidates) {
  std::vector<Feature> features = recipe.problem_features;
  const auto write_out = [&](const std::vector<learning::Variable>& variables) {
    for (const learning::Variable& variable : variables) {
      if (std::find(recipe.one_hot.begin(), recipe.one_hot.end(), variable.name) == recipe.one_hot.end()) continue;
      for (const std::string& category : variable.categories) {
        std::string name = fmt::format("{}_is_{}", variable.name, category);
        std::replace_if(
            name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
        features.push_back({std::move(name), fmt::format("{} == '{}'", variable.name, category)});
      }
    }
  };
  write_out(data.problem);
  if (with_candidates) {
    append(features, recipe.candidate_features);
    write_out(data.candidate);
  }
  std::erase_if(features, [all = learning::join(data.problem, data.candidate)](const Feature& feature) {
    return names_unknown_category(feature, all);
  });
  return features;
}

}  // namespace hone::tools::learn
