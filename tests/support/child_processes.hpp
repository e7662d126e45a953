// What /proc says of a process and its children.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace hone::test {

// 'R', 'S', 'Z' ...; ' ' when there is no such process. `parent` gets its parent's id.
inline char state_of(pid_t process, pid_t* parent = nullptr) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return ' ';
  std::istringstream rest(text.substr(name_end + 1));
  char state = ' ';
  pid_t id = 0;
  rest >> state >> id;
  if (parent != nullptr) *parent = id;
  return state;
}

// Zombies included.
inline std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t id = std::atoi(entry.path().filename().c_str());
    pid_t parent = 0;
    if (id > 0 && state_of(id, &parent) != ' ' && parent == process) children.push_back(id);
  }
  return children;
}

// What the descriptors of a process lead to.
inline std::multiset<std::string> open_files(pid_t process) {
  std::multiset<std::string> files;
  const std::string folder = "/proc/" + std::to_string(process) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && target.string().find("/fd") == std::string::npos) files.insert(target.string());
  }
  return files;
}

inline std::size_t thread_count(pid_t process) {
  const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(process) + "/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

}  // namespace hone::test
