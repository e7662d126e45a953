// A shared library that is loaded for hone alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace hone::gemm::host {

// The BLAS libraries export the same names (sgemm_, cblas_sgemm) with different code and thread settings. So each is
// loaded with its symbols visible to itself only, and before those of the program; functions are taken by address.
// Where the program already uses the same file, a private copy is loaded: hone's thread count must not become the
// program's. Thread-safe. Stays loaded for the life of the process: such libraries own threads, and code may be
// running.
class Library {
 public:
  // The first of the file names that loads; nothing when none does.
  static std::unique_ptr<Library> open(const std::vector<std::string>& files);

  // The address of the named function; null when the library lacks it.
  template <class Function>
  Function* function(const char* name) const noexcept {
    return reinterpret_cast<Function*>(address(name));
  }
  // The file as it was found.
  const std::string& file() const noexcept { return file_; }

 private:
  Library(void* handle, std::string file) : handle_(handle), file_(std::move(file)) {}
  void* address(const char* name) const noexcept;

  void* handle_;
  std::string file_;
};

}  // namespace hone::gemm::host
