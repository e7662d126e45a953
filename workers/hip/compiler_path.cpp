#include "workers/hip/compiler_path.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace hone::hip {

std::string compiler_path() {
  constexpr const char* name = "hone-hip-compiler";
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&compiler_path), &library) == 0) return name;
  std::error_code none;
  const auto folder = std::filesystem::weakly_canonical(library.dli_fname, none).parent_path();
  if (std::filesystem::exists(folder / name, none)) return folder / name;
  return folder / HONE_LIBRARY_TO_LIBEXEC / name;
}

}  // namespace hone::hip
