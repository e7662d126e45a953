// A compiler for tests of ChildCompiler: the text of a request says what it does to its process.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <vector>

#include "workers/compile/child_compiler.hpp"

namespace {

// As without a sanitizer, which would handle the signal.
void crash() {
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
}

hone::workers::Code compile(const hone::workers::CompileRequest& request) {
  const std::string& text = request.source;
  if (text == "crash") crash();
  if (text == "exit") std::exit(3);
  if (text == "hang") {
    for (;;) pause();
  }
  if (text == "refuse") throw std::runtime_error("line 7: it makes no sense");
  if (text == "nothing") return {};
  if (text == "flood") {
    for (int i = 0; i < 100000; ++i) std::puts("warning: a line that nobody reads");
  }
  if (text == "take memory") {
    std::vector<std::vector<char>> taken;
    for (;;) taken.emplace_back(64 << 20, 'x');
  }
  if (text == "crash once") {
    static const char* const marker = request.options.at(0).c_str();
    if (access(marker, F_OK) != 0) {
      std::fclose(std::fopen(marker, "w"));
      crash();
    }
  }
  // Everything that it was asked, and by which process it was answered.
  std::string code = request.name + "|" + request.architecture + "|" + text;
  for (const std::string& option : request.options) code += "|" + option;
  code += "|" + std::to_string(getpid());
  const auto* bytes = reinterpret_cast<const std::byte*>(code.data());
  return {bytes, bytes + code.size()};
}

}  // namespace

int main(int argc, char** argv) {
  hone::workers::serve_compiler(argc, argv, compile);
  return 1;
}
