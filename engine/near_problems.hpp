// What is known of problems near one that is to be tuned: where its search starts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <hone/candidate.hpp>
#include <hone/problem.hpp>

#include "engine/resolver.hpp"
#include "storage/library.hpp"

namespace hone::engine {

// How far two problems of one operation are from each other: the sum over their fields. Integers: the absolute
// logarithm of their ratio to the base 2, and 1 where that says nothing (one of them is not positive). Reals: 1 where
// they differ. Booleans and symbols: infinite where they differ, since they stand for other kernels.
double distance(const Problem& a, const Problem& b) noexcept;

struct NearRecord {
  double distance = 0;
  storage::Record record;
};

// The records of the nearest problems that the databases know of, nearest first. A record of another environment counts
// as one doubling of a size farther for each class of EnvironmentMatch; this problem's own record here is left out.
// Beyond six doublings nothing is near. Looks at no more than 4,096 entries of each database: of a larger one a sample.
// Milliseconds; not for a caller's thread.
std::vector<NearRecord> near_records(const Site& site, const Problem& problem, storage::Library& library);

// Their best candidates in the same order, valid for this problem, each once, at most `count`.
std::vector<Candidate> near_candidates(const Site& site, const Problem& problem, std::span<const NearRecord> near,
                                       std::size_t count);

// The kept trials of the nearest of them that has enough to tell of a space, at most three doublings away: what a
// search may expect. None where there is no such one.
std::vector<storage::Trial> near_trials(std::span<const NearRecord> near, storage::Library& library, bool cold_cache);

}  // namespace hone::engine
