// Links the installed hone::hip and asks for a device that is not there.
#include <cstdio>

#include <hone/error.hpp>
#include <hone/hip.hpp>

int main() {
  try {
    hone::hip_device(hone::hip_device_count());
  } catch (const hone::Error& error) {
    std::printf("%s\n", error.what());
    return error.code() == hone::Errc::no_device ? 0 : 1;
  }
  return 1;
}
