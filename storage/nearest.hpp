// How near two environments are, and which of two records is better. Pure functions.
#pragma once

#include <hone/environment.hpp>
#include <string_view>

#include "storage/record.hpp"
#include "storage/store.hpp"

namespace hone::storage {

// The class of `other` as seen from `here`. An empty name of vendor, architecture or device never matches: some drivers
// report none.
EnvironmentMatch match(const Environment& here, const Environment& other) noexcept;

// Sum over the facts that both have and that differ: +1 where `other`'s version is newer, -1 where it is older.
// Versions compare by their numbers in order; other facts do not count.
int newer_facts(const Environment& here, const Environment& other) noexcept;

// Whether a problem's canonical text is of the operation.
bool is_of(std::string_view problem, std::string_view operation) noexcept;

// Another environment's claim to be the answer `here`: compare with >. Better class first, then newer libraries, then
// measured before predicted, then the newer date.
struct Nearness {
  EnvironmentMatch match = EnvironmentMatch::other;
  int newer_facts = 0;
  bool measured = false;
  std::chrono::sys_seconds date{};
  friend bool operator==(const Nearness&, const Nearness&) = default;
};
bool nearer(const Nearness& a, const Nearness& b) noexcept;

// Whether `incoming` replaces `kept` when databases are merged, both of one key. Each is a total order on all values of
// one key, so that any number of databases give the same result in any order and grouping, and again when merged twice.
//
// Records: measured beats predicted, and a known time one that is not known. Then the lower time, as the upper end of
// its interval and in steps of 2 %: a record that is surely faster by more than a step always wins. Within a step the
// newer one wins. ("Lower where the intervals do not overlap, else newer" would depend on the order of merging: of
// three records in a row that overlap only with their neighbours, each may win.) What is left is decided by the bytes.
bool replaces(const Record& incoming, const Record& kept);
// The newer; then the greater bytes.
bool replaces(const Quarantined& incoming, const Quarantined& kept);
bool replaces(const Binary& incoming, const Binary& kept);

}  // namespace hone::storage
