#include "testing/seen_groups.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/text.h"

namespace berth::testkit {

namespace fs = std::filesystem;

std::string ReadIfThere(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<std::string> CgroupMounts() {
  std::error_code error;
  if (fs::exists(std::string(kCgroupMounts) + "/cgroup.controllers", error)) return {kCgroupMounts};
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(kCgroupMounts, error))
    if (entry.is_directory(error) && !entry.is_symlink(error)) out.push_back(entry.path().string());
  std::ranges::sort(out);
  return out;
}

bool SystemdMakesGroups() {
  std::error_code error;
  return fs::exists("/run/systemd/system", error) && CgroupMounts() == std::vector<std::string>{kCgroupMounts};
}

std::vector<std::string> GroupsBelow(const std::string& top) {
  std::vector<std::string> out;
  std::error_code error;
  if (!fs::is_directory(top, error)) return out;
  out.push_back(top);
  for (auto it = fs::recursive_directory_iterator(top, error); !error && it != fs::recursive_directory_iterator();
       it.increment(error))
    if (it->is_directory(error)) out.push_back(it->path().string());
  return out;
}

std::vector<int> PidsIn(const std::string& group) {
  std::vector<int> out;
  const std::string text = ReadIfThere(group + "/cgroup.procs");
  for (const std::string_view word : SplitWords(text))
    if (const auto pid = ParseDecimal<int>(word)) out.push_back(*pid);
  return out;
}

}  // namespace berth::testkit
