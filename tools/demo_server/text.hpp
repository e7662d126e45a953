// Sentences of a text, as numbers that an embedding table takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace hone::demo {

using Sentence = std::vector<std::uint32_t>;

// Words of letters and digits, in lower case, and every other visible character by itself, each hashed to a number
// below `vocabulary`. A sentence ends with '.', '!', '?' or an empty line; a longer one than `longest` tokens is cut
// into several.
std::vector<Sentence> split_sentences(std::string_view text, std::size_t longest, std::uint32_t vocabulary);

// The sentences of a file, or of all files of a folder in the order of their names (links are left out: they name a
// text twice). Throws hone::Error naming the path: missing, unreadable, not a text, or without a sentence.
std::vector<Sentence> read_sentences(const std::filesystem::path& path, std::size_t longest, std::uint32_t vocabulary);

// At most `count` of the sentences, spread evenly over the text.
std::vector<Sentence> spread(std::vector<Sentence> sentences, std::size_t count);

}  // namespace hone::demo
