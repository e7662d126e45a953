// The first thing that a process started as a ChildProcess does.
#pragma once

#include <cstddef>
#include <span>

namespace hone::workers {

// The memory shared with the process that has started this one, which from now on dies with it, leaves no core dumps,
// yields to others and keeps to its memory; empty, and nothing done, when the arguments' end is not ChildProcess's.
std::span<std::byte> begin_child_side(int argc, char** argv);

}  // namespace hone::workers
