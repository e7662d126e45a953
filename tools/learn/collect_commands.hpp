// hone learn generate and hone learn export: from problems to trials to a data set.
#pragma once

namespace CLI {
class App;
}

namespace hone::tools::learn {

void add_collect_commands(CLI::App& learn, int& exit_status);

}  // namespace hone::tools::learn
