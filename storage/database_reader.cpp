#include "storage/database_reader.hpp"

#include <fmt/format.h>

#include "storage/nearest.hpp"
#include "storage/page.hpp"

namespace hone::storage {
namespace {

bool has_prefix(ByteView key, ByteView prefix) noexcept {
  return key.size() >= prefix.size() && compare_keys(key.first(prefix.size()), prefix) == 0;
}

}  // namespace

std::string place(Table table, ByteView key) {
  std::string text = fmt::format("{} ", table_names[static_cast<std::size_t>(table)]);
  if (table == Table::meta) return text.append(reinterpret_cast<const char*>(key.data()), key.size());
  for (const std::byte byte : key) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

void DamageLog::add(std::string where, std::string what) noexcept {
  try {
    std::lock_guard lock(mutex_);
    if (reported_.size() >= most_places || !reported_.insert(where).second) return;
    fresh_.push_back({fmt::format("{}: {}", path_, where), std::move(what)});
  } catch (const std::bad_alloc&) {
    return;  // a report that memory is too short for is made at the next meeting
  }
}

std::vector<Damage> DamageLog::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(fresh_, {});
}

std::size_t DamageLog::mark() {
  std::lock_guard lock(mutex_);
  return fresh_.size();
}

void DamageLog::forget_since(std::size_t mark) {
  std::lock_guard lock(mutex_);
  for (; fresh_.size() > mark; fresh_.pop_back()) reported_.erase(fresh_.back().where.substr(path_.size() + 2));
}

std::optional<Tree> DatabaseReader::tree(const Snapshot& snapshot, Table table) {
  const auto index = static_cast<std::size_t>(table);
  {
    std::shared_lock lock(mutex_);
    if (roots_.transaction == snapshot.transaction && roots_.trees[index]) return *roots_.trees[index];
  }
  // Only this one: the first read after every commit of anybody comes here.
  const std::optional<Tree> found = file_.tree(snapshot, table_names[index]);
  std::unique_lock lock(mutex_);
  if (roots_.transaction != snapshot.transaction) roots_ = {snapshot.transaction, {}};
  roots_.trees[index] = found;
  return found;
}

void DatabaseReader::scan(const Snapshot& snapshot, Table table, ByteView from, const PageFile::Visit& visit) {
  if (const std::optional<Tree> root = tree(snapshot, table)) file_.scan(snapshot, *root, from, visit);
}

Bytes DatabaseReader::last_key(const Snapshot& snapshot, Table table) {
  const std::optional<Tree> root = tree(snapshot, table);
  return root ? file_.last_key(snapshot, *root) : Bytes();
}

std::optional<Environment> DatabaseReader::environment(const Snapshot& snapshot, std::uint64_t id) {
  {
    std::shared_lock lock(mutex_);
    if (const auto known = environments_.find(id); known != environments_.end()) return known->second;
  }
  const NumberKey wanted = number_key(id);
  std::optional<Environment> found;
  scan(snapshot, Table::environments, wanted, [&](ByteView key, ByteView value) {
    if (compare_keys(key, wanted) != 0) return false;
    std::string why;
    found = decode_environment(key, value, &why);
    if (!found) damage_.add(place(Table::environments, key), why);
    return false;
  });
  if (found) {
    std::unique_lock lock(mutex_);
    environments_.emplace(id, *found);
  }
  return found;
}

std::optional<Found> DatabaseReader::find(const Snapshot& snapshot, const ProblemKey& key, std::string_view problem,
                                          const Environment& here) {
  const std::uint64_t id = here.id();
  const auto decode = [&](ByteView entry, ByteView value) -> std::optional<Record> {
    std::string why;
    std::optional<Record> record = decode_record(entry, value, &why);
    if (record && record->problem != problem) {
      why = fmt::format("it belongs to another problem, {}", record->problem);
      record.reset();
    }
    if (!record) damage_.add(place(Table::records, entry), why);
    return record;
  };
  std::optional<Found> best;
  const RecordKey exact = record_key(key, id);
  scan(snapshot, Table::records, exact, [&](ByteView entry, ByteView value) {
    if (compare_keys(entry, exact) != 0) return false;
    if (std::optional<Record> record = decode(entry, value)) best = Found{std::move(*record), EnvironmentMatch::same};
    return false;
  });
  if (best) return best;

  const ByteView prefix = ByteView(exact).first(problem_key_size);
  Nearness best_nearness;
  scan(snapshot, Table::records, prefix, [&](ByteView entry, ByteView value) {
    if (!has_prefix(entry, prefix)) return false;
    if (compare_keys(entry, exact) == 0) return true;
    std::optional<Record> record = decode(entry, value);
    if (!record) return true;
    Nearness nearness;
    if (const std::optional<Environment> there = environment(snapshot, record->environment)) {
      nearness.match = match(here, *there);
      nearness.newer_facts = newer_facts(here, *there);
    }
    nearness.measured = record->measured;
    nearness.date = record->date;
    if (!best || nearer(nearness, best_nearness)) {
      best = Found{std::move(*record), nearness.match};
      best_nearness = nearness;
    }
    return true;
  });
  return best;
}

template <class Value, class Decode>
std::vector<Value> DatabaseReader::collect(const Snapshot& snapshot, Table table, ByteView prefix, Decode decode) {
  std::vector<Value> result;
  scan(snapshot, table, prefix, [&](ByteView key, ByteView value) {
    if (!has_prefix(key, prefix)) return false;
    std::string why;
    if (std::optional<Value> decoded = decode(key, value, &why)) {
      result.push_back(std::move(*decoded));
    } else {
      damage_.add(place(table, key), why);
    }
    return true;
  });
  return result;
}

std::vector<Quarantined> DatabaseReader::quarantined(const Snapshot& snapshot, const ProblemKey& key,
                                                     std::uint64_t environment) {
  return collect<Quarantined>(snapshot, Table::quarantine, record_key(key, environment), decode_quarantined);
}

std::vector<Trial> DatabaseReader::trials(const Snapshot& snapshot, const ProblemKey& key, std::uint64_t environment) {
  return collect<Trial>(snapshot, Table::trials, record_key(key, environment), decode_trial);
}

std::vector<Found> DatabaseReader::sample(const Snapshot& snapshot, const ProblemKey& key, std::string_view operation,
                                          const Environment& here, std::size_t limit) {
  std::vector<Found> result;
  const std::uint64_t id = here.id();
  const RecordKey begin = record_key(key, 0);
  const auto scan_from = [&](ByteView from, const auto& ends) {
    scan(snapshot, Table::records, from, [&](ByteView entry, ByteView value) {
      if (limit == 0 || ends(entry)) return false;
      --limit;
      std::string why;
      std::optional<Record> record = decode_record(entry, value, &why);
      if (!record) {
        damage_.add(place(Table::records, entry), why);
      } else if (is_of(record->problem, operation)) {
        EnvironmentMatch matched = EnvironmentMatch::same;
        if (record->environment != id) {
          const std::optional<Environment> there = environment(snapshot, record->environment);
          matched = there ? match(here, *there) : EnvironmentMatch::other;
        }
        result.push_back({std::move(*record), matched});
      }
      return true;
    });
  };
  scan_from(begin, [](ByteView) { return false; });
  scan_from({}, [&](ByteView entry) { return compare_keys(entry, begin) >= 0; });
  return result;
}

std::optional<Binary> DatabaseReader::binary(const Snapshot& snapshot, const std::array<std::uint8_t, 16>& key) {
  std::vector<Binary> found = collect<Binary>(snapshot, Table::binaries, std::as_bytes(std::span(key)), decode_binary);
  if (found.empty()) return {};
  return std::move(found.front());
}

}  // namespace hone::storage
