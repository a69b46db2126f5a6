#include "testing/seen_groups.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
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

/// Folder by folder: an iterator over all of them is at its end when one cannot be opened any more.
std::vector<fs::directory_entry> EntriesBelow(const fs::path& top) {
  std::vector<fs::directory_entry> out;
  std::error_code error;
  for (fs::directory_iterator it(top, error), end; !error && it != end; it.increment(error)) {
    out.push_back(*it);
    std::error_code gone;
    if (it->is_symlink(gone) || !it->is_directory(gone)) continue;
    std::ranges::move(EntriesBelow(it->path()), std::back_inserter(out));
  }
  return out;
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
  for (const fs::directory_entry& entry : EntriesBelow(top))
    if (entry.is_directory(error)) out.push_back(entry.path().string());
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
