#include "daemon/leftover_groups.h"

#include <string_view>
#include <vector>

#include "base/text.h"

namespace berth::daemon {
namespace {

constexpr int kDeepest = 16;

/// Mount points of cgroup hierarchies that show the whole hierarchy.
std::vector<std::string> Hierarchies(os::Fs& root_fs) {
  std::vector<std::string> out;
  const auto text = root_fs.Read("proc/self/mountinfo");
  if (!text) return out;
  for (const std::string_view line : Split(*text, '\n')) {
    const std::size_t dash = line.find(" - ");
    const std::vector<std::string_view> words = SplitWords(line);
    if (dash == std::string_view::npos || words.size() < 5 || words[3] != "/") continue;
    const std::string_view type = line.substr(dash + 3);
    if (type.starts_with("cgroup ") || type.starts_with("cgroup2 ")) out.emplace_back(words[4]);
  }
  return out;
}

void RemoveBelow(os::Fs& root_fs, const std::string& dir, int depth) {
  if (depth > kDeepest) return;
  if (const auto names = root_fs.List(dir))
    for (const std::string& name : *names)
      // Control files hold a dot, groups of pods and containers need not: only what can be listed is a group.
      if (root_fs.Exists(dir + "/" + name + "/cgroup.procs").value_or(false))
        RemoveBelow(root_fs, dir + "/" + name, depth + 1);
  [[maybe_unused]] const auto removed = root_fs.RemoveDir(dir);  // not empty: stays
}

}  // namespace

void RemoveLeftoverGroups(os::Fs& root_fs, const std::string& path) {
  if (path.size() < 2 || !path.starts_with('/')) return;
  for (const std::string& mount : Hierarchies(root_fs))
    if (root_fs.Exists(mount + path).value_or(false)) RemoveBelow(root_fs, mount + path, 0);
}

}  // namespace berth::daemon
