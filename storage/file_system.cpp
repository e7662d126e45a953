#include "storage/file_system.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace hone::storage {

std::optional<std::string_view> network_file_system(long type) noexcept {
  // From statfs(2) and linux/magic.h.
  static constexpr std::array<std::pair<unsigned long, std::string_view>, 14> known{{
      {0x6969, "NFS"},
      {0x517B, "SMB"},
      {0xFF534D42, "CIFS"},
      {0xFE534D42, "SMB2"},
      {0x01021997, "9P"},
      {0x00C36400, "Ceph"},
      {0x5346414F, "AFS"},
      {0x6B414653, "AFS"},
      {0x73757245, "Coda"},
      {0x0BD00BD0, "Lustre"},
      {0x47504653, "GPFS"},
      {0x7461636F, "OCFS2"},
      {0x01161970, "GFS2"},
      {0x65735546, "FUSE"},
  }};
  for (const auto& [magic, name] : known) {
    if (magic == (static_cast<unsigned long>(type) & 0xFFFFFFFFul)) return name;
  }
  return {};
}

long file_system_type(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path place = std::filesystem::absolute(path, ignored);
  for (;;) {
    struct statfs status {};
    if (::statfs(place.c_str(), &status) == 0) return static_cast<long>(status.f_type);
    if (!place.has_relative_path()) return 0;
    place = place.parent_path();
  }
}

bool reserve_blocks(const std::string& path, long bytes) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return false;
  struct stat status {};
  int failure = ::fstat(descriptor, &status) == 0 ? 0 : errno;
  // Whole already: left alone, others may be using it.
  if (failure == 0 && (status.st_size < bytes || status.st_blocks * 512 < bytes)) {
    failure = ::posix_fallocate(descriptor, 0, bytes);
  }
  ::close(descriptor);
  errno = failure;
  return failure == 0;
}

}  // namespace hone::storage
