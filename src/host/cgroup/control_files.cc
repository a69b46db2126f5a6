#include "host/cgroup/control_files.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace berth::cgroup {
namespace {

using std::chrono::microseconds;

/// v1 reports "no limit" as the largest multiple of the page size; pages have at most 64 KiB.
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() - 0xffff;

std::unexpected<Error> Bad(std::string_view what, std::string_view text) {
  return Fail(Code::kInvalid, "not " + std::string(what) + ": '" + Printable(text, 60) + "'");
}

std::string_view Line(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<CpuMax> ParseCpuMax(std::string_view text) {
  constexpr std::string_view kWhat = "a CPU quota and period";
  const auto fields = Split(Line(text), ' ');
  if (fields.size() != 2) return Bad(kWhat, text);
  const auto period = ParseDecimal<std::int64_t>(fields[1]);
  if (!period || *period <= 0) return Bad(kWhat, text);
  CpuMax out{.quota = std::nullopt, .period = microseconds(*period)};
  if (fields[0] == "max") return out;
  const auto quota = ParseDecimal<std::int64_t>(fields[0]);
  if (!quota || *quota <= 0) return Bad(kWhat, text);
  out.quota = microseconds(*quota);
  return out;
}

std::string FormatCpuMax(const CpuMax& value) {
  return (value.quota ? std::to_string(value.quota->count()) : "max") + " " + std::to_string(value.period.count());
}

Result<Bytes> ParseLimit(std::string_view text) {
  const std::string_view line = Line(text);
  if (line == "max" || line == "-1") return Bytes{-1};
  const auto value = ParseDecimal<std::uint64_t>(line);
  if (!value) return Bad("an amount of bytes", text);
  if (*value >= static_cast<std::uint64_t>(kUnlimited)) return Bytes{-1};
  return Bytes{static_cast<std::int64_t>(*value)};
}

std::string FormatLimit(Bytes limit, bool v2) {
  if (limit.v >= 0) return std::to_string(limit.v);
  return v2 ? "max" : "-1";
}

Result<std::int64_t> ParsePidsMax(std::string_view text) {
  if (Line(text) == "max") return -1;
  const auto value = ParseDecimal<std::int64_t>(Line(text));
  if (!value || *value < 0) return Bad("a number of processes", text);
  return *value;
}

std::string FormatPidsMax(std::int64_t value) {
  return value < 0 ? "max" : std::to_string(std::max<std::int64_t>(value, 1));
}

Result<std::int64_t> ParseNumber(std::string_view text) {
  const auto value = ParseDecimal<std::int64_t>(Line(text));
  if (!value) return Bad("a number", text);
  return *value;
}

Result<std::vector<int>> ParsePids(std::string_view text) {
  std::vector<int> out;
  for (const std::string_view word : SplitWords(text)) {
    const auto pid = ParseDecimal<int>(word);
    if (!pid || *pid < 0) return Bad("a list of process ids", text);
    if (*pid != 0) out.push_back(*pid);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::optional<std::int64_t> ParseField(std::string_view text, std::string_view name) {
  for (const std::string_view line : Split(text, '\n')) {
    const auto words = SplitWords(line);
    if (words.size() >= 2 && words[0] == name) return ParseDecimal<std::int64_t>(words[1]);
  }
  return std::nullopt;
}

std::string HugePageName(Bytes size) {
  constexpr std::int64_t kKb = 1 << 10;
  constexpr std::int64_t kMb = 1 << 20;
  constexpr std::int64_t kGb = 1 << 30;
  if (size.v >= kGb) return std::to_string(size.v / kGb) + "GB";
  if (size.v >= kMb) return std::to_string(size.v / kMb) + "MB";
  return std::to_string(size.v / kKb) + "KB";
}

Result<Bytes> ParseHugePageDir(std::string_view name) {
  constexpr std::string_view kPrefix = "hugepages-";
  constexpr std::string_view kSuffix = "kB";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix) || name.size() < kPrefix.size() + kSuffix.size())
    return Bad("a huge page size", name);
  const auto kib =
      ParseDecimal<std::int64_t>(name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
  if (!kib || *kib <= 0 || *kib > (std::int64_t{1} << 40)) return Bad("a huge page size", name);
  return KiB(*kib);
}

}  // namespace berth::cgroup
