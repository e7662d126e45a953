// A new operation with two solvers: the sum of every row of a matrix.
#include <cstdio>
#include <numeric>

#include <hone/hone.hpp>

struct RowSum {  // the problem: its fields are listed once
  static constexpr std::string_view operation = "row_sum";
  std::int64_t rows = 0, columns = 0;
  template <class Self, class Visitor>
  static constexpr void fields(Self& self, Visitor&& visit) {
    visit("rows", self.rows);
    visit("columns", self.columns);
  }
};

template <int accumulators>  // a solver: this many independent sums hide the latency of an addition
struct Summing : hone::SolverFor<RowSum> {
  std::string_view id() const noexcept override { return accumulators == 1 ? "plain" : "unrolled"; }
  hone::Refusal applicable(const RowSum& p, const hone::Device&) const override {
    if (p.columns % accumulators != 0) return "columns must be a multiple of 8";
    return {};
  }
  std::shared_ptr<const hone::Invoker> prepare(const RowSum& p, const hone::Configuration&,
                                               hone::Device&) const override {
    return hone::make_invoker([p](hone::Stream&, const hone::Arguments& operands) {
      for (std::int64_t row = 0; row < p.rows; ++row) {
        const float* x = operands.get<float>(0) + row * p.columns;
        float sums[accumulators] = {};
        for (std::int64_t i = 0; i < p.columns; i += accumulators)
          for (int j = 0; j < accumulators; ++j) sums[j] += x[i + j];
        operands.get<float>(1)[row] = std::accumulate(sums, sums + accumulators, 0.0F);
      }
      return std::error_code();
    });
  }
};

struct RowSumOperation : hone::OperationFor<RowSum> {  // what the solvers have in common
  RowSumOperation() : OperationFor({std::make_shared<Summing<1>>(), std::make_shared<Summing<8>>()}, "plain") {}
  hone::Refusal validate(const RowSum& p) const override {
    if (p.rows < 1 || p.columns < 1 || p.rows > (1 << 30) / p.columns) return "rows and columns: 1 to 2^30 elements";
    return {};
  }
  std::vector<hone::Operand> operands(const RowSum& p) const override {
    return {{"x", hone::OperandRole::input, hone::f32, static_cast<std::size_t>(p.rows * p.columns)},
            {"sums", hone::OperandRole::output, hone::f32, static_cast<std::size_t>(p.rows)}};
  }
  void reference(const RowSum& p, std::span<const std::span<std::byte>> operands) const override {
    const auto* x = reinterpret_cast<const float*>(operands[0].data());
    auto* sums = reinterpret_cast<float*>(operands[1].data());
    for (std::int64_t row = 0; row < p.rows; ++row, x += p.columns)
      sums[row] = static_cast<float>(std::accumulate(x, x + p.columns, 0.0));
  }
  hone::ErrorBound error_bound(const RowSum& p) const override { return {.absolute = 1e-6 * static_cast<double>(p.columns)}; }
};

int main() {
  hone::Engine engine;
  engine.add(hone::host_device());
  engine.add(std::make_shared<RowSumOperation>());
  const RowSum problem{.rows = 64, .columns = 4096};
  std::vector<float> x(64 * 4096, 0.5F), sums(64);
  const auto stream = hone::host_stream();
  const auto answer = engine.find(problem);  // at once
  answer.run(*stream, {x.data(), sums.data()});
  std::printf("at once: %s, sums[0] = %g\n", hone::to_string(answer.candidate()).c_str(), sums[0]);
  engine.drain(std::chrono::seconds(60));  // a server would go on serving
  std::printf("honed:   %s\n", hone::to_string(engine.find(problem).candidate()).c_str());
}
