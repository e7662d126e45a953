// Compilers of GPU code, and the cache in front of them.
#pragma once

#include <cstdint>
#include <future>
#include <hone/binary_cache.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hone::workers {

struct CompileRequest {
  std::string name;  // for messages
  std::string source;
  std::vector<std::string> options;  // definitions and the rest, in order
  std::string architecture;          // "gfx90a:sramecc+:xnack-"
};
using Code = std::vector<std::byte>;

// Thread-safe.
class Compiler {
 public:
  virtual ~Compiler() = default;
  // Names the compiler: other versions give other code. Known without compiling anything.
  virtual const std::string& version() const noexcept = 0;
  // Throws std::runtime_error saying why there is no code, in the compiler's words where it has some.
  virtual Code compile(const CompileRequest& request) = 0;
};

struct CompileCounts {
  std::uint64_t compiled = 0;
  std::uint64_t failed = 0;
  std::uint64_t from_cache = 0;
};

// Thread-safe.
class CachingCompiler {
 public:
  explicit CachingCompiler(std::unique_ptr<Compiler> compiler);

  // Null: no cache.
  void use(std::shared_ptr<BinaryCache> cache);

  struct Result {
    std::shared_ptr<const Code> code;
    bool from_cache = false;
  };
  // From the cache, or compiled; what several threads ask for at the same time is compiled once. Throws as Compiler
  // does.
  Result compile(const CompileRequest& request);
  // The same without asking the cache, for code from it that turned out to be useless.
  Result compile_again(const CompileRequest& request);

  CompileCounts counts() const;
  // Requests that are being compiled or wait for that.
  int waiting() const;

  // Of everything that the code depends on.
  static BinaryCache::Key key_of(const CompileRequest& request, std::string_view compiler_version);

 private:
  struct Compiled {
    std::shared_ptr<const Code> code;
    std::string failure;
  };
  Result compile_once(const CompileRequest& request, const BinaryCache::Key& key);
  Compiled run(const CompileRequest& request, const BinaryCache::Key& key);

  const std::unique_ptr<Compiler> compiler_;
  mutable std::mutex mutex_;
  std::map<BinaryCache::Key, std::shared_future<Compiled>> in_progress_;
  std::shared_ptr<BinaryCache> cache_;
  CompileCounts counts_;
  int waiting_ = 0;
};

}  // namespace hone::workers
