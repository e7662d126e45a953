#include "tools/demo_server/matrix_product.hpp"

#include <hone/device.hpp>
#include <hone/error.hpp>
#include <utility>

namespace hone::demo {
namespace {

class EngineProduct final : public Product {
 public:
  EngineProduct(Engine& engine, const gemm::Problem& problem) : engine_(engine), problem_(problem) {}
  std::error_code run(Stream& stream, const Arguments& arguments) noexcept override {
    return engine_.find(problem_).run(stream, arguments);
  }

 private:
  Engine& engine_;
  Problem problem_;
};

class EngineProducts final : public MatrixProduct {
 public:
  explicit EngineProducts(Engine& engine) : engine_(engine) {}
  std::unique_ptr<Product> product(const gemm::Problem& problem) override {
    return std::make_unique<EngineProduct>(engine_, problem);
  }

 private:
  Engine& engine_;
};

class SolverProduct final : public Product {
 public:
  explicit SolverProduct(std::shared_ptr<const Invoker> invoker) : invoker_(std::move(invoker)) {}
  std::error_code run(Stream& stream, const Arguments& arguments) noexcept override {
    return invoker_->run(stream, arguments);
  }

 private:
  std::shared_ptr<const Invoker> invoker_;
};

class SolverProducts final : public MatrixProduct {
 public:
  explicit SolverProducts(const std::string& name) {
    for (const auto& candidate : gemm::operation()->solvers()) {
      if (candidate->id() == name) solver_ = candidate;
    }
    if (!solver_) throw Error(Errc::invalid_option, "gemm has no solver '" + name + "' on this machine");
  }

  std::unique_ptr<Product> product(const gemm::Problem& typed) override {
    const Problem problem(typed);
    if (const Refusal refusal = solver_->applicable(problem, *device_)) {
      throw Error(Errc::not_applicable, std::string(solver_->id()) + ": " + *refusal);
    }
    return std::make_unique<SolverProduct>(
        solver_->prepare(problem, solver_->default_configuration(problem, *device_), *device_));
  }

 private:
  std::shared_ptr<Device> device_ = host_device();
  std::shared_ptr<const Solver> solver_;
};

}  // namespace

std::unique_ptr<MatrixProduct> engine_products(Engine& engine) { return std::make_unique<EngineProducts>(engine); }

std::unique_ptr<MatrixProduct> solver_products(const std::string& solver) {
  return std::make_unique<SolverProducts>(solver);
}

}  // namespace hone::demo
