// Compiles in processes of their own: a compiler that crashes, hangs or eats the memory fails one request.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "workers/compile/compiler.hpp"
#include "workers/isolation/child_process.hpp"

namespace hone::workers {

struct ChildCompilerOptions {
  std::vector<std::string> program;  // path and arguments; its main calls serve_compiler
  std::string version;
  std::chrono::milliseconds timeout{60'000};            // of a request
  std::uint64_t memory_bytes = std::uint64_t{2} << 30;  // that a process can use; 0: no limit
};

// As many processes as threads ask at the same time; they are kept.
class ChildCompiler final : public Compiler {
 public:
  explicit ChildCompiler(ChildCompilerOptions options);

  const std::string& version() const noexcept override { return options_.version; }
  Code compile(const CompileRequest& request) override;

 private:
  // One that is idle, or a new one; `fresh`: a new one.
  std::unique_ptr<ChildProcess> take(bool fresh);
  void give_back(std::unique_ptr<ChildProcess> process);
  std::optional<Reply> ask(ChildProcess& process, const CompileRequest& request) const;

  const ChildCompilerOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ChildProcess>> idle_;
};

// The other side: answers requests by `compile`, which returns code or throws what the request's failure says, until
// the asking process is gone. Returns at once when the process was not started by a ChildCompiler.
void serve_compiler(int argc, char** argv, const std::function<Code(const CompileRequest&)>& compile);

}  // namespace hone::workers
