// Writes a C++ file with configurations of the convolution's kernel that cover all pairs of values, with types,
// layouts, filters, bias and activations in turn: write_conv2d_instances FILE.
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "kernels/conv2d/hip/kernel.hpp"
#include "kernels/covering_sample.hpp"
#include "tests/kernels/hip/instance_definitions.hpp"

namespace {

using namespace hone::conv2d;

void write(std::ostream& out, std::string& table, const Problem& p, const hone::Configuration& configuration,
           int number) {
  const hone::testing::DefinitionLines lines(hip::definitions(p, configuration));
  fmt::print(out, "namespace instance_{} {{\n{}#include \"kernels/conv2d/hip/conv2d.hip.hpp\"\n{}}}\n", number,
             lines.define, lines.undefine);
  table += fmt::format("    {{\"{}\", \"{}\", &instance_{}::conv2d}},\n", hone::Problem(p).text(), configuration.text(),
                       number);
}

}  // namespace

int main(int, char** arguments) {
  std::ofstream out(arguments[1]);
  fmt::print(out,
             "#include \"tests/support/work_item_emulator.hpp\"\n#include \"tests/kernels/hip/conv2d_instance.hpp\"\n"
             "namespace hone::conv2d::hip {{\nnamespace {{\n");
  std::string table;
  int number = 0;
  constexpr std::int64_t filters[][2] = {{3, 3}, {1, 1}, {2, 5}};
  for (const hone::DataType type : {hone::f32, hone::f16}) {
    for (const ImageLayout layout : {ImageLayout::nchw, ImageLayout::nhwc}) {
      Problem p{.batch = 16, .channels = 64, .height = 64, .width = 64, .filters = 512, .type = type, .layout = layout};
      p.filter_height = p.filter_width = 1;
      const auto sample = hone::covering_sample(hip::search_space(p, {}), 100, static_cast<std::uint64_t>(number));
      for (std::size_t i = 0; i < sample.configurations.size() && i < 28; ++i) {
        p.filter_height = filters[number % 3][0];
        p.filter_width = filters[number % 3][1];
        p.bias = number % 2 != 0;
        p.activation = static_cast<hone::Activation>(number / 2 % 3);
        write(out, table, p, sample.configurations[i], number++);
      }
    }
  }
  fmt::print(out, "const Instance all[] = {{\n{}}};\n}}\nstd::span<const Instance> instances() {{ return all; }}\n}}\n",
             table);
  return out ? 0 : 1;
}
