// Everything of hone's core; built-in operations have headers of their own (hone/gemm.hpp).
#pragma once

#include <hone/engine.hpp>
#include <hone/isolation.hpp>
