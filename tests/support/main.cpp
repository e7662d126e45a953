// GoogleTest's main for every test program. The variables HONE_* of whoever runs the tests are taken away first: they
// are settings of engines (an unknown one is an error), and a test states its own.

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("HONE_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
