#include "tools/db_exchange.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <future>
#include <hone/error.hpp>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tools/db_json.hpp"

namespace hone::tools {
namespace {

using namespace storage;

constexpr std::size_t chunk_size = 1024;  // entries or lines

// Tasks that run on threads of their own, and whose results are taken in order; a few at a time.
template <class Result, class Take>
class InOrder {
 public:
  explicit InOrder(Take take) : take_(std::move(take)) {}

  template <class Task>
  void add(Task task) {
    if (running_.size() >= most_) take_first();
    running_.push_back(std::async(std::launch::async, std::move(task)));
  }
  void finish() {
    while (!running_.empty()) take_first();
  }

 private:
  void take_first() {
    Result result = running_.front().get();
    running_.pop_front();
    take_(std::move(result));
  }

  Take take_;
  const std::size_t most_ = std::max(2u, std::thread::hardware_concurrency());
  std::deque<std::future<Result>> running_;
};

std::string lines_of(const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes) {
    text += to_json(change).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    text += '\n';
  }
  return text;
}

// Standard input through iostreams would be read byte by byte.
class LineReader {
 public:
  explicit LineReader(std::FILE* in) : in_(in) {}
  ~LineReader() { std::free(line_); }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Valid until the next call; nothing at the end.
  std::optional<std::string_view> next() {
    const ssize_t size = ::getline(&line_, &capacity_, in_);
    if (size < 0) return {};
    std::string_view text(line_, static_cast<std::size_t>(size));
    if (text.ends_with('\n')) text.remove_suffix(1);
    return text;
  }

 private:
  std::FILE* in_;
  char* line_ = nullptr;
  std::size_t capacity_ = 0;
};

struct Line {
  std::uint64_t number = 0;
  std::string text;
};

struct Parsed {
  std::vector<Change> changes;
  std::vector<std::pair<std::uint64_t, std::string>> bad;  // number of the line and reason
};

Parsed parse(const std::vector<Line>& lines) {
  Parsed parsed;
  for (const Line& line : lines) {
    try {
      parsed.changes.push_back(change_of_line(line.text));
    } catch (const BadLine& bad) {
      parsed.bad.emplace_back(line.number, bad.what());
    }
  }
  return parsed;
}

}  // namespace

VisitCounts export_lines(const std::string& path, std::FILE* out, const std::string& name, const Progress& progress) {
  const auto require = [&](bool written) {
    if (written) return;
    throw Error(Errc::store_unavailable,
                fmt::format("{} could not be written as a whole: {}", name, std::strerror(errno)));
  };
  const auto write = [&](const std::string& text) {
    require(std::fwrite(text.data(), 1, text.size(), out) == text.size());
  };
  InOrder<std::string, decltype(write)> chunks(write);
  std::vector<Change> waiting;
  const auto pass_on = [&] { chunks.add([changes = std::exchange(waiting, {})] { return lines_of(changes); }); };
  const VisitCounts counts = visit(
      path,
      [&](Change change) {
        waiting.push_back(std::move(change));
        if (waiting.size() == chunk_size) pass_on();
      },
      progress);
  pass_on();
  chunks.finish();
  require(std::fflush(out) == 0);
  return counts;
}

ImportCounts import_lines(std::FILE* in, const std::string& name, BulkWriter& writer, const Progress& progress) {
  ImportCounts counts;
  const auto take = [&](Parsed parsed) {
    for (const auto& [number, reason] : parsed.bad) fmt::print(stderr, "{}:{}: {}\n", name, number, reason);
    counts.used += parsed.changes.size();
    counts.skipped += parsed.bad.size();
    for (Change& change : parsed.changes) writer.add(std::move(change));
  };
  InOrder<Parsed, decltype(take)> chunks(take);
  std::vector<Line> waiting;
  const auto pass_on = [&] { chunks.add([lines = std::exchange(waiting, {})] { return parse(lines); }); };
  LineReader reader(in);
  std::uint64_t number = 0, bytes = 0;
  struct stat status {};
  const bool known = ::fstat(::fileno(in), &status) == 0 && S_ISREG(status.st_mode);
  while (const auto line = reader.next()) {
    ++number;
    bytes += line->size() + 1;
    if (line->find_first_not_of(" \t\r") == std::string_view::npos) continue;
    waiting.push_back({number, std::string(*line)});
    if (waiting.size() < chunk_size) continue;
    pass_on();
    const auto total = static_cast<std::uint64_t>(status.st_size);
    if (known && progress) progress(std::min(bytes, total), total);
  }
  pass_on();
  chunks.finish();
  if (std::ferror(in) != 0) {
    throw Error(Errc::store_unavailable,
                fmt::format("{} could not be read to its end: {}", name, std::strerror(errno)));
  }
  return counts;
}

}  // namespace hone::tools
