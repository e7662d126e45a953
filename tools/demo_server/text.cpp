#include "tools/demo_server/text.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <hone/error.hpp>
#include <iterator>
#include <string>

namespace hone::demo {
namespace {

namespace fs = std::filesystem;

// FNV-1a (Fowler, Noll and Vo): the same numbers on every machine.
std::uint32_t hash(std::string_view word) noexcept {
  std::uint32_t value = 2166136261u;
  for (const char c : word) value = (value ^ static_cast<unsigned char>(c)) * 16777619u;
  return value;
}

// Bytes of a UTF-8 letter count as letters.
bool in_word(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0;
}

[[noreturn]] void reject(const fs::path& path, const std::string& what) {
  throw Error(Errc::invalid_option, "--text " + path.string() + ": " + what);
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) reject(path, "the file cannot be read; give a text file or a folder of them");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) reject(path, "reading failed; give a text file or a folder of them");
  if (text.find('\0') != std::string::npos) reject(path, "this is not a text; give a text file or a folder of them");
  return text;
}

std::vector<fs::path> files_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) reject(path, "there is no such file; give a text file or a folder of them");
  if (!fs::is_directory(status)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  }
  if (error) reject(path, "the folder cannot be read: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<Sentence> split_sentences(std::string_view text, std::size_t longest, std::uint32_t vocabulary) {
  std::vector<Sentence> sentences;
  Sentence sentence;
  const auto end_sentence = [&] {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
    sentence.clear();
  };
  int newlines = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      newlines += c == '\n' ? 1 : 0;
      if (newlines == 2) end_sentence();
      ++i;
      continue;
    }
    newlines = 0;
    std::string word(1, c);
    for (++i; in_word(c) && i < text.size() && in_word(text[i]); ++i) word += text[i];
    for (char& letter : word) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    sentence.push_back(hash(word) % vocabulary);
    const bool last = c == '!' || c == '?' || (c == '.' && (i == text.size() || !in_word(text[i])));
    if (last || sentence.size() == longest) end_sentence();
  }
  end_sentence();
  return sentences;
}

std::vector<Sentence> read_sentences(const fs::path& path, std::size_t longest, std::uint32_t vocabulary) {
  std::vector<Sentence> sentences;
  for (const fs::path& file : files_of(path)) {
    std::vector<Sentence> more = split_sentences(read_text(file), longest, vocabulary);
    std::move(more.begin(), more.end(), std::back_inserter(sentences));
  }
  if (sentences.empty()) reject(path, "there is no sentence in it; give a text file or a folder of them");
  return sentences;
}

std::vector<Sentence> spread(std::vector<Sentence> sentences, std::size_t count) {
  if (sentences.size() <= count) return sentences;
  std::vector<Sentence> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(std::move(sentences[i * sentences.size() / count]));
  return chosen;
}

}  // namespace hone::demo
