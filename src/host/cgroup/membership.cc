#include "host/cgroup/membership.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "host/os/path.h"

namespace berth::cgroup {

bool Membership::Has(std::string_view controller) const {
  const std::vector<std::string_view> names = Split(controllers, ',');
  return std::ranges::find(names, controller) != names.end();
}

std::optional<Membership> ParseMembership(std::string_view line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return Membership{.controllers = line.substr(first + 1, second - first - 1), .path = line.substr(second + 1)};
}

bool IsOf(const Membership& group, const ControllerMount& mount) {
  return mount.v2 ? group.v2() : group.Has(mount.controller);
}

std::optional<std::string_view> WithinMount(const ControllerMount& mount, std::string_view path) {
  if (path.contains("/..")) return std::nullopt;  // outside of this process's cgroup namespace
  if (mount.root == "/") return path;
  if (!os::IsAtOrBelow(path, mount.root)) return std::nullopt;
  path.remove_prefix(mount.root.size());
  return path.empty() ? "/" : path;
}

}  // namespace berth::cgroup
