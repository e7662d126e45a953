#include <hone/search_space.hpp>
