// Whole databases as lines of JSON, out and in.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "storage/maintenance.hpp"

namespace hone::tools {

// Writes every whole entry of the database at `path` as a line to `out`. Lines are made on several threads and written
// in the order of the entries. Throws Error when `out` cannot be written; `name` stands for it in the message.
storage::VisitCounts export_lines(const std::string& path, std::FILE* out, const std::string& name,
                                  const storage::Progress& progress);

// Stores every line of `in` that holds an entry, in order; says on standard error of each other one which it is and
// why. Lines are read on several threads. Of a file whose size is known, `progress` gets the bytes.
struct ImportCounts {
  std::uint64_t used = 0;
  std::uint64_t skipped = 0;
};
ImportCounts import_lines(std::FILE* in, const std::string& name, storage::BulkWriter& writer,
                          const storage::Progress& progress);

}  // namespace hone::tools
