// A data file of any bytes: read, checked and salvaged without a crash.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "storage/database.hpp"
#include "storage/page_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hone::storage;
  static const int file = ::memfd_create("fuzz", 0);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  const auto ignore = [](ByteView, ByteView) { return true; };
  try {
    const PageFile pages(file);
    pages.salvage(ignore);
    const Snapshot snapshot = pages.newest();
    for (const char* name : table_names) {
      if (const auto tree = pages.tree(snapshot, name)) {
        pages.scan(snapshot, *tree, {}, ignore, [](const DamagedPage&) {});
        pages.last_key(snapshot, *tree);
      }
    }
    pages.check_structure(snapshot);
  } catch (const DamagedPage&) {
    return 0;
  }
  return 0;
}
