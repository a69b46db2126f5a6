#include "rpc/nri/versions.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace berth::nri {
namespace {

constexpr std::uint32_t kOldest = 0x7FF;       // up to RemoveContainer
constexpr std::uint32_t kFromNri010 = 0x3FFF;  // and up to ValidateContainerAdjustment
constexpr std::int64_t kUsualTimeoutMs = 2000;

using Version = std::pair<int, int>;

/// "1.7.24~ds1", "v2.1.9+unknown", "0.12": the first two numbers. 0.0 where there are none.
Version VersionOf(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view rest = text.substr(std::min(dot + 1, text.size()));
  const auto major = ParseDecimal<int>(text.substr(0, dot));
  const auto minor = ParseDecimal<int>(rest.substr(0, rest.find_first_not_of("0123456789")));
  return major && minor ? Version(*major, *minor) : Version(0, 0);
}

}  // namespace

std::uint32_t MaskOf(std::span<const Event> events) {
  std::uint32_t out = 0;
  for (const Event event : events)
    if (event != Event::kUnknown) out |= 1U << (static_cast<unsigned>(event) - 1U);
  return out;
}

std::uint32_t KnownEvents(const Runtime& runtime) {
  if (!runtime.nri_version.empty()) return VersionOf(runtime.nri_version) >= Version(0, 10) ? kFromNri010 : kOldest;
  return runtime.name == "containerd" && VersionOf(runtime.version) >= Version(2, 2) ? kFromNri010 : kOldest;
}

os::Millis ReconnectDelay(int failures, std::uint32_t random, os::Millis first) {
  constexpr std::int64_t kLongest = 5000;
  const std::int64_t longest = std::max(kLongest, std::int64_t{first.count()});
  const std::int64_t base = std::min(std::int64_t{first.count()} << std::clamp(failures - 1, 0, 10), longest);
  return os::Millis(base * 3 / 4 + random % (base / 2 + 1));
}

os::Millis AnswerTime(const Runtime& runtime) {
  constexpr std::int64_t kLeast = 10;
  constexpr std::int64_t kMost = 3'600'000;
  const std::int64_t timeout = runtime.request_timeout_ms > 0 ? runtime.request_timeout_ms : kUsualTimeoutMs;
  return os::Millis(std::clamp(std::min(timeout, kMost) * 4 / 5, kLeast, kMost));
}

}  // namespace berth::nri
