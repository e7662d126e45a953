// Work on whole databases: check, salvage, compact, merge, build.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "storage/store.hpp"

namespace hone::storage {

// Called now and then during long work, on the calling thread.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Entries of each named database, in the order of `table_names` in database.hpp.
struct TableCount {
  std::string name;
  std::uint64_t entries = 0;
};

struct CheckReport {
  std::vector<TableCount> tables;  // whole entries
  std::vector<Damage> damage;      // every page and value that is not as it should be
};

// Goes over every page and every value. A database in use is checked as of now. Throws StoreError when there is nothing
// to be checked: no file, or no hone database.
CheckReport check(const std::string& path, const Progress& progress = {});

// What a database says about itself.
struct DatabaseFacts {
  unsigned format = 0;
  std::string identity;  // 32 hexadecimal digits, made with the database
  std::uint64_t file_bytes = 0;
  std::uint64_t used_bytes = 0;  // pages in use and pages to be reused
  std::vector<TableCount> tables;
};
DatabaseFacts facts(const std::string& path);

// Gives every whole entry of the database as the change that puts it: environments, records, trials, quarantine, then
// binaries. Damaged ones are counted and left out. Throws StoreError.
struct VisitCounts {
  std::uint64_t given = 0;
  std::uint64_t damaged = 0;
};
VisitCounts visit(const std::string& path, const std::function<void(Change)>& change, const Progress& progress = {});

// Commits what it is given in large transactions. Throws StoreError; what add() threw for is not committed.
class BulkWriter {
 public:
  // Opens or makes the database.
  explicit BulkWriter(const std::string& path);
  ~BulkWriter();
  void add(Change change);
  // Commits the rest.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Adds what `source` holds to the database `target`, which is made when it is missing. Better records win, see
// replaces() in nearest.hpp.
VisitCounts merge(const std::string& target, const std::string& source, const Progress& progress = {});

// Copies all that is whole in a damaged database to the new database `target`, which must not exist. When pages are
// damaged, entries are also taken from pages that no tree reaches any more; these may be older states of an entry.
struct RepairCounts {
  std::uint64_t saved = 0;
  std::uint64_t salvaged = 0;  // from unreachable pages
  std::uint64_t damaged = 0;   // values and pages that were given up
};
RepairCounts repair(const std::string& path, const std::string& target, const Progress& progress = {});

// Rewrites the data file without free pages. Throws StoreError when another process or an engine has it open.
struct CompactCounts {
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
};
CompactCounts compact(const std::string& path, const Progress& progress = {});

// Writes the environments, problems, records and binaries of the sources (better records win) into one new file that is
// to be opened as a system database.
VisitCounts build(const std::string& file, const std::vector<std::string>& sources, bool with_trials,
                  const Progress& progress = {});

}  // namespace hone::storage
