#include "host/cgroup/group_dirs.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"

namespace berth::cgroup {
namespace {

constexpr std::size_t kMaxName = 255;
constexpr std::array<std::string_view, 12> kFilePrefixes = {"cgroup.",  "cpu.",     "cpuset.", "memory.",
                                                            "pids.",    "hugetlb.", "io.",     "cpuacct.",
                                                            "freezer.", "rdma.",    "misc.",   "blkio."};

/// Control files by their names; cgroups never have such a name (CheckComponent refuses them).
bool LooksLikeFile(std::string_view name) {
  if (name == "tasks" || name == "notify_on_release" || name == "release_agent") return true;
  return std::any_of(kFilePrefixes.begin(), kFilePrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

Result<void> CheckComponent(std::string_view name) {
  const auto bad = [&](std::string_view why) {
    return Fail(Code::kInvalid, "'" + Printable(name, 80) + "' cannot be the name of a cgroup: " + std::string(why));
  };
  if (name.empty()) return bad("it is empty");
  if (name == "." || name == "..") return bad("it would lead elsewhere");
  if (name.size() > kMaxName) return bad("it is longer than 255 bytes");
  for (const char c : name) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    if (!fine) return bad("only letters, digits, '-', '.' and '_' are allowed");
  }
  if (LooksLikeFile(name)) return bad("the kernel keeps such names for its control files");
  return {};
}

Result<std::vector<std::string>> GroupsIn(os::Fs& fs, const std::string& dir) {
  const auto names = fs.List(dir);
  if (!names) {
    if (names.error().code == Code::kNotFound) return std::vector<std::string>();
    return std::unexpected(names.error());
  }
  std::vector<std::string> out;
  for (const std::string& name : *names) {
    if (LooksLikeFile(name)) continue;
    BERTH_TRY(const bool is_cgroup, fs.Exists(dir + "/" + name + "/cgroup.procs"));
    if (is_cgroup) out.push_back(name);
  }
  return out;
}

}  // namespace berth::cgroup
