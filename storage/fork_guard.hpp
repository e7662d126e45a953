// Notices that the process was forked: LMDB environments and locks must not be used in a child.
#pragma once

namespace hone::storage {

// Made in the process that owns something; costs nanoseconds to ask. Children made by raw clone(2) are not noticed.
class ForkGuard {
 public:
  ForkGuard() noexcept : generation_(current()) {}
  bool forked() const noexcept { return generation_ != current(); }

 private:
  static unsigned current() noexcept;
  unsigned generation_;
};

}  // namespace hone::storage
