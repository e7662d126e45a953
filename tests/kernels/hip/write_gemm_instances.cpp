// Writes a C++ file with configurations of the gemm kernel that cover all pairs of values, with types, transposes, bias
// and activations in turn: write_gemm_instances FILE.
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "kernels/covering_sample.hpp"
#include "kernels/gemm/hip/kernel.hpp"
#include "tests/kernels/hip/instance_definitions.hpp"

namespace {

using namespace hone::gemm;

void write(std::ostream& out, std::string& table, const Problem& p, const hone::Configuration& configuration,
           int number) {
  const hone::testing::DefinitionLines lines(hip::definitions(p, configuration));
  fmt::print(out, "namespace instance_{} {{\n{}#include \"kernels/gemm/hip/gemm.hip.hpp\"\n{}}}\n", number,
             lines.define, lines.undefine);
  table +=
      fmt::format("    {{\"{}\", \"{}\", &instance_{}::gemm, {}}},\n", hone::Problem(p).text(), configuration.text(),
                  number, configuration.at("split_k") > 1 ? fmt::format("&instance_{}::gemm_join", number) : "nullptr");
}

// A small problem's, so that a search on an emulated device finds some of what it asks for.
void write_searched(std::ostream& out, std::string& table, int& number) {
  const Problem p{.m = 8, .n = 8, .k = 8};
  hone::hip::DeviceLimits limits;
  limits.work_item_registers = 512;
  write(out, table, p, hip::default_configuration(p, limits), number++);
  const auto sample = hone::covering_sample(hip::search_space(p, limits), 60);
  for (std::size_t i = 0; i < 60; ++i) write(out, table, p, sample.configurations[i], number++);
}

}  // namespace

int main(int, char** arguments) {
  std::ofstream out(arguments[1]);
  fmt::print(out,
             "#include \"tests/support/work_item_emulator.hpp\"\n#include \"tests/kernels/hip/gemm_instance.hpp\"\n"
             "namespace hone::gemm::hip {{\nnamespace {{\n");
  std::string table;
  int number = 0;
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const hone::DataType type : {hone::f32, hone::f16}) {
        Problem p{.m = 512, .n = 512, .k = 1024, .type = type, .transpose_a = transpose_a, .transpose_b = transpose_b};
        const auto sample = hone::covering_sample(hip::search_space(p, {}), 100, static_cast<std::uint64_t>(number));
        // An eighth of each sample: the whole is tested for what it covers, and compiled for the devices.
        for (std::size_t i = 0; i < sample.configurations.size() && i < 16; ++i) {
          p.bias = number % 2 != 0;
          p.activation = static_cast<Activation>(number % 3);
          write(out, table, p, sample.configurations[i], number++);
        }
      }
    }
  }
  write_searched(out, table, number);
  fmt::print(out, "const Instance all[] = {{\n{}}};\n}}\nstd::span<const Instance> instances() {{ return all; }}\n}}\n",
             table);
  return out ? 0 : 1;
}
