// Writes a C++ file with configurations of the kernels along rows that cover all pairs of values, for both types:
// write_row_instances FILE.
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "kernels/covering_sample.hpp"
#include "kernels/hip/row_kernel.hpp"
#include "tests/kernels/hip/instance_definitions.hpp"

namespace {

void write(std::ostream& out, std::string& table, hone::DataType type, const hone::Configuration& configuration,
           int number) {
  const hone::testing::DefinitionLines lines(hone::hip::row_definitions(type, configuration));
  fmt::print(out, "{}", lines.define);
  for (const char* kernel : {"softmax", "layernorm"}) {
    fmt::print(out, "namespace {}_{} {{\n#include \"kernels/{}/hip/{}.hip.hpp\"\n}}\n", kernel, number, kernel, kernel);
  }
  fmt::print(out, "{}", lines.undefine);
  table += fmt::format("    {{\"{}\", {}, &softmax_{}::softmax, &layernorm_{}::layernorm}},\n", configuration.text(),
                       type == hone::f16, number, number);
}

}  // namespace

int main(int, char** arguments) {
  std::ofstream out(arguments[1]);
  // The arguments' headers come first, outside of every namespace.
  fmt::print(out,
             "#include \"tests/support/work_item_emulator.hpp\"\n#include \"tests/kernels/hip/row_instance.hpp\"\n"
             "namespace hone::hip {{\nnamespace {{\n");
  std::string table;
  int number = 0;
  for (const hone::DataType type : {hone::f32, hone::f16}) {
    const auto space = hone::hip::row_search_space(hone::row_layout(4096, 1 << 16, 0, 0), type, {});
    for (const auto& configuration : hone::covering_sample(space, 60).configurations) {
      write(out, table, type, configuration, number++);
    }
  }
  fmt::print(
      out,
      "const RowInstance all[] = {{\n{}}};\n}}\nstd::span<const RowInstance> row_instances() {{ return all; }}\n}}\n",
      table);
  return out ? 0 : 1;
}
