// Why a database cannot be used, and what to do about it.
#pragma once

#include <fmt/format.h>

#include <hone/error.hpp>
#include <string>

namespace hone::storage {

class StoreError : public Error {
 public:
  StoreError(Errc code, std::string cause, std::string remedy)
      : Error(code, fmt::format("{}; {}", cause, remedy)), cause_(std::move(cause)), remedy_(std::move(remedy)) {}
  const std::string& cause() const noexcept { return cause_; }
  const std::string& remedy() const noexcept { return remedy_; }

 private:
  std::string cause_;
  std::string remedy_;
};

}  // namespace hone::storage
