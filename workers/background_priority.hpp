// Background work on the host's processor yields to the program's own.
#pragma once

namespace hone::workers {

// Cuts the calling thread's share of a busy processor. Linux keeps this setting by thread; it cannot be raised again
// without privilege, which a worker never wants. A program's main thread is nobody's worker and left as it is.
void yield_to_others() noexcept;

}  // namespace hone::workers
