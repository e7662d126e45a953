#include "tools/devices_command.hpp"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <hone/device.hpp>
#include <hone/error.hpp>
#if HONE_WITH_HIP
#include <hone/hip.hpp>
#endif

#include "tools/command_callback.hpp"

namespace hone::tools {
namespace {

struct Found {
  std::vector<std::shared_ptr<Device>> devices = {host_device()};
  std::string hip;  // why there is no GPU; empty when there is one
};

Found find_devices() {
  Found found;
#if HONE_WITH_HIP
  try {
    int ordinal = 0;
    do {
      found.devices.push_back(hip_device(ordinal));
    } while (++ordinal < hip_device_count());
  } catch (const Error& error) {
    found.hip = error.what();
  }
#else
  found.hip = "this hone was built without " HONE_HIP_MISSING "; then configure and build again";
#endif
  return found;
}

void print_text(const Found& found) {
  for (const auto& device : found.devices) {
    const Environment& environment = device->environment();
    fmt::print("{}: {}, {}, {}\n", device->name(), environment.vendor, environment.architecture, environment.device);
    for (const auto& [name, value] : environment.facts) fmt::print("  {}: {}\n", name, value);
  }
  if (!found.hip.empty()) fmt::print("no GPU: {}\n", found.hip);
}

void print_json(const Found& found) {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const auto& device : found.devices) {
    const Environment& environment = device->environment();
    devices.push_back({{"name", device->name()},
                       {"vendor", environment.vendor},
                       {"architecture", environment.architecture},
                       {"device", environment.device},
                       {"facts", environment.facts}});
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"devices", devices}, {"no_gpu", found.hip}}.dump(2));
}

}  // namespace

void add_devices_command(CLI::App& app, int& exit_status) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("devices", "Print the devices of this machine as records name them, or why there is no GPU");
  command->add_flag("--json", *json, "Print JSON");
  command->footer("Examples:\n  hone devices\n  hone devices --json");
  set_callback(command, "hone devices", exit_status, [json] {
    const Found found = find_devices();
    *json ? print_json(found) : print_text(found);
    return 0;
  });
}

}  // namespace hone::tools
