// Models as files: a line with the format's version and a hash, then JSON. Doubles and floats are exact.
#pragma once

#include <string>
#include <string_view>

#include "kernels/learning/model.hpp"

namespace hone::learning {

std::string to_text(const Model& model);

// Throws Error(invalid_model) naming what is wrong: no model, another format version, a hash that does not fit, a
// member that is missing or of another type, or parts that do not fit together (see check).
Model from_text(std::string_view text);

// Throws Error(invalid_model) with the file's name.
Model read_model(const std::string& file);
// Throws Error(invalid_option) when the file cannot be written.
void write_model(const Model& model, const std::string& file);

// 16 lower-case hexadecimal digits of XXH3 of the text.
std::string hash_of(std::string_view text);

}  // namespace hone::learning
