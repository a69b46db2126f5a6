#include "host/cgroup/systemd_units.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/id_set.h"
#include "base/text.h"
#include "host/cgroup/control_files.h"

namespace berth::cgroup {
namespace {

constexpr std::uint64_t kInfinity = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kPercent = 10'000;  // µs of a second

using Properties = std::vector<Property>;

/// Control files that hold one number or "max".
struct NumberFile {
  std::string_view file;
  std::string_view property;
};
constexpr std::array kNumbers = {
    NumberFile{"cpu.weight", "CPUWeight"},   NumberFile{"memory.max", "MemoryMax"},
    NumberFile{"memory.min", "MemoryMin"},   NumberFile{"memory.low", "MemoryLow"},
    NumberFile{"memory.high", "MemoryHigh"}, NumberFile{"memory.swap.max", "MemorySwapMax"},
    NumberFile{"pids.max", "TasksMax"},
};

/// Bit n of byte n / 8 stands for id n.
template <class Set>
Result<Properties> SetProperty(std::string_view name, std::string_view text) {
  BERTH_TRY(const Set ids, Set::Parse(text));
  std::vector<std::uint8_t> bits;
  for (const auto id : ids) {
    const auto n = static_cast<std::size_t>(id);
    if (bits.size() <= n / 8) bits.resize(n / 8 + 1);
    bits[n / 8] = static_cast<std::uint8_t>(bits[n / 8] | (1U << n % 8));
  }
  return Properties{{std::string(name), std::move(bits)}};
}

Result<Properties> QuotaProperties(std::string_view text) {
  BERTH_TRY(const CpuMax max, ParseCpuMax(text));
  const std::int64_t period = max.period.count();
  if (period <= 0) return Fail(Code::kInvalid, "'" + Printable(text, 60) + "' has no period");
  const std::uint64_t quota = max.quota ? QuotaPerSecond(max.quota->count(), period) : kInfinity;
  return Properties{{"CPUQuotaPerSecUSec", quota}, {"CPUQuotaPeriodUSec", static_cast<std::uint64_t>(period)}};
}

std::string_view LastOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

}  // namespace

bool IsScope(std::string_view unit) { return unit.ends_with(".scope"); }

std::optional<std::string> UnitOf(std::string_view path) {
  const std::string_view last = LastOf(path);
  if (!last.ends_with(".slice") && !IsScope(last) && !last.ends_with(".service")) return std::nullopt;
  const std::string_view above = path.substr(0, path.size() - last.size());
  for (const std::string_view part : Split(above, '/'))
    if (!part.empty() && !part.ends_with(".slice")) return std::nullopt;
  return std::string(last);
}

std::string SliceOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "-.slice" : std::string(LastOf(path.substr(0, slash)));
}

std::vector<Property> NewSlice(std::string_view path) {
  return {{"Description", "Berth " + std::string(LastOf(path))},
          {"DefaultDependencies", false},
          {"MemoryAccounting", true},
          {"TasksAccounting", true}};
}

Result<std::vector<Property>> NewScope(std::string_view path, int pid, std::string_view cpus) {
  Properties out;
  if (!cpus.empty()) {
    BERTH_TRY(out, PropertiesFor("cpuset.cpus", cpus));
  }
  for (Property property :
       Properties{{"Description", "Berth " + std::string(LastOf(path))},
                  {"Slice", SliceOf(path)},
                  {"DefaultDependencies", false},
                  {"CollectMode", std::string("inactive-or-failed")},  // a failed one would keep its name taken
                  {"Delegate", true},
                  {"TasksMax", kInfinity},  // otherwise systemd's default for all units
                  {"PIDs", std::vector<std::uint32_t>{static_cast<std::uint32_t>(pid)}}})
    out.push_back(std::move(property));
  return out;
}

Result<std::vector<Property>> PropertiesFor(std::string_view file, std::string_view text) {
  text = Trim(text);
  if (file == "cpuset.cpus") return SetProperty<CpuSet>("AllowedCPUs", text);
  if (file == "cpuset.mems") return SetProperty<NodeSet>("AllowedMemoryNodes", text);
  if (file == "cpu.max") return QuotaProperties(text);
  for (const NumberFile& known : kNumbers) {
    if (file != known.file) continue;
    if (text == "max") return Properties{{std::string(known.property), kInfinity}};
    const auto number = ParseDecimal<std::uint64_t>(text);
    if (!number) return Fail(Code::kInvalid, "'" + Printable(text, 60) + "' is no value of " + std::string(file));
    return Properties{{std::string(known.property), *number}};
  }
  return Properties();
}

std::uint64_t QuotaPerSecond(std::int64_t quota_us, std::int64_t period_us) {
  const std::int64_t per_second = quota_us / period_us * kSecond + quota_us % period_us * kSecond / period_us;
  const std::int64_t percents = std::max<std::int64_t>(1, (per_second + kPercent - 1) / kPercent);
  return static_cast<std::uint64_t>(percents * kPercent);
}

}  // namespace berth::cgroup
