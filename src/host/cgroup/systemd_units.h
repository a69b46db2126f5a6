// Cgroups as systemd's units: which unit a cgroup belongs to, and the properties that stand for control files. Pure.
#ifndef BERTH_HOST_CGROUP_SYSTEMD_UNITS_H_
#define BERTH_HOST_CGROUP_SYSTEMD_UNITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace berth::cgroup {

/// A property of a unit, typed as on D-Bus: b, t, s, ay, au.
struct Property {
  std::string name;
  std::variant<bool, std::uint64_t, std::string, std::vector<std::uint8_t>, std::vector<std::uint32_t>> value;
  friend bool operator==(const Property&, const Property&) = default;
};

/// The unit whose cgroup this is, for a path below the mount ("kubepods.slice/kubepods-podx.slice"). nullopt: a plain
/// directory, as everything below a scope or service is: that is delegated, and systemd knows nothing of it.
std::optional<std::string> UnitOf(std::string_view path);
bool IsScope(std::string_view unit);
/// The slice a unit at `path` is in: "-.slice" at the top.
std::string SliceOf(std::string_view path);

/// What a new slice and a new scope are made with; the scope around the process `pid`, on `cpus` ("" for all).
std::vector<Property> NewSlice(std::string_view path);
Result<std::vector<Property>> NewScope(std::string_view path, int pid, std::string_view cpus);

/// Properties that say what `text` in the control file `file` ("cpu.max") says, as nearly as systemd can. Empty: it has
/// none for this file. Errors: kInvalid for a text that is none of the file's.
Result<std::vector<Property>> PropertiesFor(std::string_view file, std::string_view text);

/// CPU time per second that systemd is told for a quota. It keeps whole percents only and cuts off what is beyond, so
/// this is rounded up: 1500 µs of 100 ms are 1.5 %, told as 20'000 (2 %).
std::uint64_t QuotaPerSecond(std::int64_t quota_us, std::int64_t period_us);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_SYSTEMD_UNITS_H_
