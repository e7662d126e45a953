// Compiles a GPU kernel during the build: precompile NAMESPACE FUNCTION TEXT OUTPUT ARCHITECTURE...
// OUTPUT is C++: NAMESPACE::FUNCTION(architecture) is the code for it.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "workers/compile/hiprtc.hpp"

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_array(std::ostream& out, const std::string& name, const hone::workers::Code& code) {
  fmt::print(out, "const unsigned char {}[] = {{", name);
  for (std::size_t i = 0; i < code.size(); ++i) {
    fmt::print(out, "{}{},", i % 32 == 0 ? "\n" : "", static_cast<unsigned>(code[i]));
  }
  fmt::print(out, "}};\n");
}

void write(std::ostream& out, const std::string& space, const std::string& function, const std::string& text, int count,
           char** architectures) {
  fmt::print(out, "#include <cstddef>\n#include <span>\n#include <string_view>\n\nnamespace {} {{\nnamespace {{\n",
             space);
  std::string choices;
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("code_{}", architectures[i]);
    write_array(out, name,
                hone::workers::compile_by_hiprtc({.name = function, .source = text, .architecture = architectures[i]}));
    choices +=
        fmt::format("  if (architecture == \"{}\") return std::as_bytes(std::span({}));\n", architectures[i], name);
  }
  fmt::print(out,
             "}}  // namespace\n\nstd::span<const std::byte> {}(std::string_view architecture) noexcept {{\n{}  return "
             "{{}};\n}}\n}}  // namespace {}\n",
             function, choices, space);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) {
    fmt::print(stderr, "usage: precompile NAMESPACE FUNCTION TEXT OUTPUT ARCHITECTURE...\n");
    return 2;
  }
  try {
    std::ofstream out(arguments[4]);
    write(out, arguments[1], arguments[2], read(arguments[3]), count - 5, arguments + 5);
    out.close();
    if (out) return 0;
    fmt::print(stderr, "precompile: cannot write {}\n", arguments[4]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "precompile: {}\n", error.what());
  }
  std::remove(arguments[4]);
  return 1;
}
