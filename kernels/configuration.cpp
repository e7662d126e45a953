#include <algorithm>
#include <hone/candidate.hpp>
#include <hone/configuration.hpp>
#include <hone/error.hpp>

namespace hone {

Configuration::Configuration(std::shared_ptr<const std::vector<Parameter>> parameters, std::vector<std::int64_t> values)
    : parameters_(std::move(parameters)), values_(std::move(values)) {}

std::int64_t Configuration::at(std::string_view name) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if ((*parameters_)[i].name == name) return values_[i];
  }
  throw Error(Errc::invalid_option, "the configuration has no parameter '" + std::string(name) + "'");
}

std::string Configuration::text() const {
  std::string text;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Parameter& parameter = (*parameters_)[i];
    if (i > 0) text += ',';
    text += parameter.name;
    text += '=';
    const auto place = std::find(parameter.values.begin(), parameter.values.end(), values_[i]);
    if (!parameter.labels.empty() && place != parameter.values.end()) {
      text += parameter.labels[static_cast<std::size_t>(place - parameter.values.begin())];
    } else {
      text += std::to_string(values_[i]);
    }
  }
  return text;
}

std::string to_string(const Candidate& candidate) {
  return candidate.configuration.empty() ? candidate.solver : candidate.solver + '{' + candidate.configuration + '}';
}

std::string_view to_string(Provenance provenance) noexcept {
  switch (provenance) {
    case Provenance::user:
      return "user";
    case Provenance::hint:
      return "hint";
    case Provenance::system:
      return "system";
    case Provenance::model:
      return "model";
    case Provenance::fallback:
      return "fallback";
  }
  return "unknown";
}

}  // namespace hone
