// Where the encoder's matrix products come from: hone's engine, or one solver alone.
#pragma once

#include <hone/engine.hpp>
#include <hone/gemm.hpp>
#include <memory>
#include <string>
#include <system_error>

namespace hone::demo {

// One problem, ready to run. One thread at a time.
class Product {
 public:
  virtual ~Product() = default;
  virtual std::error_code run(Stream& stream, const Arguments& arguments) noexcept = 0;
};

class MatrixProduct {
 public:
  virtual ~MatrixProduct() = default;
  virtual std::unique_ptr<Product> product(const gemm::Problem& problem) = 0;
};

// Asks the engine at every run, as a server does.
std::unique_ptr<MatrixProduct> engine_products(Engine& engine);

// The named solver of the operation, with its default configuration, for every problem. Throws hone::Error when there
// is none of that name; products throw it when the solver refuses a problem.
std::unique_ptr<MatrixProduct> solver_products(const std::string& solver);

}  // namespace hone::demo
