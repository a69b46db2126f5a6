#include "cgroup/membership.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

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

}  // namespace berth::cgroup
