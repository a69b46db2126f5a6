// Which controllers this host offers, where they are mounted and how: from mountinfo, never from assumptions.
#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "cgroup/cgroup.h"

namespace berth::cgroup {
namespace {

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

/// One line of mountinfo that shows a cgroup hierarchy.
struct Mount {
  std::string point;
  std::string root;
  bool v2 = false;
  bool read_only = false;
  std::vector<std::string> controllers;  ///< v1 only
};

/// Undoes mountinfo's octal escapes (blank, tab, newline, backslash).
std::string Unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool HasOption(std::string_view options, std::string_view wanted) {
  const auto all = Split(options, ',');
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

/// Fields: id parent major:minor root point options optional... "-" type source super-options. nullopt: no cgroup
/// mount.
Result<std::optional<Mount>> ParseMountLine(std::string_view line) {
  const auto words = SplitWords(line);
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 6 || dash - words.begin() < 6 || words.end() - dash < 3)
    return Fail(Code::kInvalid, "not a line of mountinfo: '" + Printable(line) + "'");
  const std::string_view type = dash[1];
  if (type != "cgroup" && type != "cgroup2") return std::optional<Mount>();
  const std::string_view super = words.end() - dash > 3 ? dash[3] : std::string_view();
  Mount mount{.point = Unescape(words[4]),
              .root = Unescape(words[3]),
              .v2 = type == "cgroup2",
              .read_only = HasOption(words[5], "ro") || HasOption(super, "ro"),
              .controllers = {}};
  if (!mount.v2)
    for (const KnownController& known : kKnown)
      if (HasOption(super, known.name)) mount.controllers.emplace_back(known.name);
  return std::optional(std::move(mount));
}

/// All cgroup mounts; of several at one point the last one is what the path shows.
Result<std::vector<Mount>> FindMounts(std::string_view mountinfo) {
  std::vector<Mount> out;
  for (const std::string_view line : Split(mountinfo, '\n')) {
    if (Trim(line).empty()) continue;
    BERTH_TRY(auto mount, ParseMountLine(line));
    if (!mount) continue;
    std::erase_if(out, [&](const Mount& old) { return old.point == mount->point; });
    out.push_back(*std::move(mount));
  }
  return out;
}

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
