#include "kernels/gemm/host/library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hone::gemm::host {
namespace {

// Sanitizers abort the process on RTLD_DEEPBIND, which would bypass their interceptors.
bool sanitized() noexcept {
  for (const char* name : {"__asan_init", "__tsan_init", "__msan_init"}) {
    if (dlsym(RTLD_DEFAULT, name) != nullptr) return true;
  }
  return false;
}

std::string path_of(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

class Descriptor {
 public:
  explicit Descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const noexcept { return descriptor_; }
  void keep() noexcept { descriptor_ = -1; }

 private:
  int descriptor_;
};

// The dynamic linker tells files apart by inode, so a copy in memory is a library of its own.
void* open_copy(const std::string& path, int mode) {
  const Descriptor source(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Descriptor copy(memfd_create("hone", MFD_CLOEXEC));
  struct stat status {};
  if (source.get() < 0 || copy.get() < 0 || fstat(source.get(), &status) != 0) return nullptr;
  for (off_t done = 0; done < status.st_size;) {
    const ssize_t sent = sendfile(copy.get(), source.get(), &done, static_cast<std::size_t>(status.st_size - done));
    if (sent <= 0) return nullptr;
  }
  void* handle = dlopen(("/proc/self/fd/" + std::to_string(copy.get())).c_str(), mode);
  // It tells them apart by name, too: the number must not be used again as long as the library is loaded.
  if (handle != nullptr) copy.keep();
  return handle;
}

}  // namespace

std::unique_ptr<Library> Library::open(const std::vector<std::string>& files) {
  const int mode = RTLD_NOW | RTLD_LOCAL | (sanitized() ? 0 : RTLD_DEEPBIND);
  for (const std::string& file : files) {
    if (void* used = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
      const std::string path = path_of(used);
      dlclose(used);
      if (void* handle = open_copy(path, mode)) return std::unique_ptr<Library>(new Library(handle, path));
    } else if (void* handle = dlopen(file.c_str(), mode)) {
      return std::unique_ptr<Library>(new Library(handle, path_of(handle)));
    }
  }
  return nullptr;
}

void* Library::address(const char* name) const noexcept { return dlsym(handle_, name); }

}  // namespace hone::gemm::host
