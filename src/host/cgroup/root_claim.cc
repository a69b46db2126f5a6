#include "host/cgroup/root_claim.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "host/os/path.h"

namespace berth::cgroup {
namespace {

constexpr os::Millis kClaimPatience{2'000};

bool IsGroup(const std::string& dir) { return ::access((dir + "/cgroup.procs").c_str(), F_OK) == 0; }
bool IsThere(const std::string& dir) { return ::access(dir.c_str(), F_OK) == 0; }

/// From the hierarchy's own root to `dir`. Directories that are not there do not end the way up: a parent may be.
std::vector<std::string> WayTo(std::string dir) {
  std::vector<std::string> out;
  for (; dir.size() > 1 && (IsGroup(dir) || !IsThere(dir)); dir = os::FolderOf(dir)) out.insert(out.begin(), dir);
  return out;
}

}  // namespace

Result<void> RootClaim::Take(const Layout& layout, const Names& names) {
  const std::string pods = names.Qos(QosClass::kGuaranteed);
  const std::string own = layout.controllers.front().mount + names.root() + (pods.empty() ? "" : "/" + pods);
  for (const std::string& dir : WayTo(own)) {
    if (held_.contains(dir) || !IsThere(dir)) continue;
    auto lock = os::LockFile::TakeDirectory(dir, dir == own ? os::Hold::kAlone : os::Hold::kTogether, kClaimPatience);
    if (!lock) {
      if (lock.error().code == Code::kInUse)
        lock.error().message += dir == own ? ": another berthd uses this cgroup root, or one inside it"
                                           : ": another berthd has its pods there, and this cgroup root is inside them";
      if (lock.error().code == Code::kInUse)
        lock.error().message += "; stop it, or give this one a root of its own (--cgroup-root)";
      return std::unexpected(std::move(lock).error());
    }
    held_.emplace(dir, *std::move(lock));
  }
  return {};
}

}  // namespace berth::cgroup
