// Which controllers this host offers, where they are mounted and how: from mountinfo, never from assumptions.
#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/mounts.h"

namespace berth::cgroup {
namespace {

constexpr std::string_view kAccounting = "cpuacct";

/// In the order values are written. `lack`: what is not possible without it; empty: Berth cannot run without it.
struct KnownController {
  std::string_view name;
  std::string_view lack;
};
constexpr std::array kKnown = {
    KnownController{"cpuset", ""},
    KnownController{"cpu", "CPU shares and quotas cannot be set"},
    KnownController{"memory", "memory limits cannot be set"},
    KnownController{"pids", "limits on the number of processes cannot be set"},
    KnownController{"hugetlb", "limits on huge pages are not enforced"},
};

/// Writable before read-only, whole hierarchies before parts of one, then as listed.
const Mount* Best(const std::vector<const Mount*>& mounts) {
  const auto rank = [](const Mount* m) { return std::pair(m->read_only, m->root != "/"); };
  const auto it =
      std::min_element(mounts.begin(), mounts.end(), [&](const Mount* a, const Mount* b) { return rank(a) < rank(b); });
  return it == mounts.end() ? nullptr : *it;
}

const Mount* BestV2(const std::vector<Mount>& mounts) {
  std::vector<const Mount*> fitting;
  for (const Mount& m : mounts)
    if (m.v2) fitting.push_back(&m);
  return Best(fitting);
}

const Mount* BestV1(const std::vector<Mount>& mounts, std::string_view controller) {
  std::vector<const Mount*> fitting;
  for (const Mount& m : mounts)
    if (std::find(m.controllers.begin(), m.controllers.end(), controller) != m.controllers.end()) fitting.push_back(&m);
  return Best(fitting);
}

std::unexpected<Error> NoCpuset(const Mount* v2) {
  std::string cure =
      "mount one: 'mount -t cgroup2 none /sys/fs/cgroup', or on v1 'mount -t cgroup -o cpuset none "
      "/sys/fs/cgroup/cpuset'";
  if (v2 != nullptr) {
    cure = "cgroup2 at " + v2->point +
           " does not offer it: delegate it to this part of the tree (systemd: "
           "Delegate=cpuset), or boot without it on v1";
  }
  return Fail(Code::kUnsupported, "no cgroup hierarchy with the cpuset controller is mounted; " + cure);
}

}  // namespace

std::string_view Name(Version version) {
  switch (version) {
    case Version::kV1: return "v1";
    case Version::kV2: return "v2";
    case Version::kHybrid: return "hybrid";
  }
  return "v2";
}

Result<Layout> ParseLayout(std::string_view mountinfo, std::string_view v2_controllers) {
  BERTH_TRY(const std::vector<Mount> mounts, FindMounts(mountinfo));
  const Mount* v2 = BestV2(mounts);
  const auto offered = SplitWords(v2_controllers);
  Layout out;
  bool any_v1 = false;
  for (const KnownController& known : kKnown) {
    const Mount* mount = BestV1(mounts, known.name);
    any_v1 = any_v1 || mount != nullptr;
    if (mount == nullptr && v2 != nullptr && std::find(offered.begin(), offered.end(), known.name) != offered.end())
      mount = v2;
    if (mount == nullptr) {
      if (known.lack.empty()) return NoCpuset(v2);
      out.warnings.push_back("no cgroup controller '" + std::string(known.name) + "': " + std::string(known.lack));
      continue;
    }
    out.controllers.push_back({.controller = std::string(known.name),
                               .mount = mount->point,
                               .v2 = mount->v2,
                               .root = mount->root,
                               .read_only = mount->read_only});
  }
  const Mount* const accounting = BestV1(mounts, kAccounting);
  const Mount* const cpu = BestV1(mounts, "cpu");
  if (accounting != nullptr && cpu != nullptr && accounting->point != cpu->point)
    out.accounting = ControllerMount{.controller = std::string(kAccounting),
                                     .mount = accounting->point,
                                     .v2 = false,
                                     .root = accounting->root,
                                     .read_only = accounting->read_only};
  out.version = !any_v1 ? Version::kV2 : v2 == nullptr ? Version::kV1 : Version::kHybrid;
  // On a hybrid host the unified hierarchy is not worth a directory per container for huge pages alone.
  if (out.version == Version::kHybrid && out.controllers.back().controller == "hugetlb" && out.controllers.back().v2) {
    out.controllers.pop_back();
    out.warnings.push_back("cgroup controller 'hugetlb' is on the unified hierarchy of a hybrid host: " +
                           std::string(kKnown.back().lack));
  }
  return out;
}

Result<Layout> DiscoverLayout(os::Fs& root_fs) {
  BERTH_TRY(const std::string mountinfo, root_fs.Read("proc/self/mountinfo"));
  BERTH_TRY(const std::vector<Mount> mounts, FindMounts(mountinfo));
  std::string offered;
  if (const Mount* v2 = BestV2(mounts)) {
    BERTH_TRY(offered, root_fs.Read(v2->point + "/cgroup.controllers"));
  }
  return ParseLayout(mountinfo, offered);
}

}  // namespace berth::cgroup
