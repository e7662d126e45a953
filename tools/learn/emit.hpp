// Models as C++: nested conditions on named features for trees, tables for ensembles.
#pragma once

#include <string>

#include "kernels/learning/model.hpp"

namespace hone::tools::learn {

struct EmittedCode {
  std::string header;
  std::string source;
};

// Two files for the model, in the namespace `space`::`name`: `const hone::learning::Model& model()`, and for trees
// `int sure_candidate(const double* values) noexcept`. `include`: how the source includes the header. The same model
// gives the same bytes. Throws Error(invalid_option) for names that are none in C++.
EmittedCode emit(const learning::Model& model, const std::string& space, const std::string& name,
                 const std::string& include);

}  // namespace hone::tools::learn
