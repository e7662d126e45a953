// How near two environments are, and which of two records is better. Pure functions.
#pragma once

#include <hone/environment.hpp>

#include "storage/record.hpp"
#include "storage/store.hpp"

namespace hone::storage {

// The class of `other` as seen from `here`. An empty name of vendor, architecture or device never matches: some drivers
// report none.
EnvironmentMatch match(const Environment& here, const Environment& other) noexcept;

// Sum over the facts that both have and that differ: +1 where `other`'s version is newer, -1 where it is older.
// Versions compare by their numbers in order; other facts do not count.
int newer_facts(const Environment& here, const Environment& other) noexcept;

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

// Whether `incoming` replaces `kept`, both of one problem and environment, when databases are merged: measured beats
// predicted; then the lower time where the intervals do not overlap; then the newer date; then, so that two databases
// give the same result in either order, the lower median and the lesser name.
bool replaces(const Record& incoming, const Record& kept) noexcept;

}  // namespace hone::storage
