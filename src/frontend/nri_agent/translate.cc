#include "frontend/nri_agent/translate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "host/cgroup/cgroup_names.h"
#include "model/resources.h"

namespace berth::nri_agent {
namespace {

constexpr std::string_view kRestarts = "io.kubernetes.container.restartCount";
constexpr std::int64_t kUsualPeriod = 100'000;  // microseconds
constexpr std::uint64_t kFewestShares = 2;      // a kubelet's for no request at all
constexpr std::int64_t kMostMilli = 1'000'000'000;

/// Of shares, which are rounded down from thousandths of a CPU: the only whole number that gives them.
std::int64_t MilliOfShares(std::uint64_t shares) {
  if (shares <= kFewestShares) return 0;
  return static_cast<std::int64_t>(std::min<std::uint64_t>((shares * 1000 + 1023) / 1024, kMostMilli));
}

std::optional<std::int64_t> MilliOfQuota(const nri::Resources& resources) {
  if (resources.cpu_quota.value_or(-1) <= 0) return std::nullopt;
  const auto period = static_cast<std::int64_t>(resources.cpu_period.value_or(kUsualPeriod));
  if (period <= 0 || *resources.cpu_quota > INT64_MAX / 1000) return std::nullopt;
  return std::min(*resources.cpu_quota * 1000 / period, kMostMilli);
}

/// "2MB" of a runtime is Kubernetes' "hugepages-2Mi". nullopt: no size.
std::optional<std::string> HugePagesOf(std::string_view size) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kUnits = {
      {{"KB", "Ki"}, {"MB", "Mi"}, {"GB", "Gi"}}};
  for (const auto& [theirs, ours] : kUnits)
    if (size.ends_with(theirs)) {
      std::string out = "hugepages-" + std::string(size.substr(0, size.size() - theirs.size())) + std::string(ours);
      return PageSizeOf(out) ? std::optional(std::move(out)) : std::nullopt;
    }
  return std::nullopt;
}

bool HasComponent(std::string_view path, std::string_view word) {
  for (std::size_t at = path.find(word); at != std::string_view::npos; at = path.find(word, at + 1)) {
    const bool begins = at == 0 || path[at - 1] == '/' || path[at - 1] == '-';
    const std::size_t end = at + word.size();
    if (begins && (end == path.size() || path[end] == '/' || path[end] == '-' || path[end] == '.')) return true;
  }
  return false;
}

}  // namespace

std::string UidOf(const nri::Pod& pod) { return pod.uid.empty() ? pod.id : pod.uid; }

Pod PodOf(const nri::Pod& pod) {
  Pod out;
  out.uid = UidOf(pod);
  out.name = pod.name;
  out.namespace_ = pod.name_space;
  out.labels = pod.labels;
  out.annotations = pod.annotations;
  out.runtime_class = pod.handler;
  out.status_qos = HasComponent(pod.cgroup_parent, "besteffort")  ? QosClass::kBestEffort
                   : HasComponent(pod.cgroup_parent, "burstable") ? QosClass::kBurstable
                                                                  : QosClass::kGuaranteed;
  return out;
}

Container ContainerOf(const nri::Container& container, QosClass qos) {
  Container out;
  out.name = container.name;
  Resources& resources = out.resources;
  const nri::Resources& theirs = container.resources;
  if (const auto limit = MilliOfQuota(theirs)) resources.limits["cpu"] = Quantity::FromMilli(*limit);
  if (const std::int64_t milli = MilliOfShares(theirs.cpu_shares.value_or(0)); milli > 0)
    resources.requests["cpu"] = Quantity::FromMilli(milli);
  if (theirs.memory_limit.value_or(0) > 0) resources.limits["memory"] = Quantity::FromBytes({*theirs.memory_limit});
  for (const auto& [size, bytes] : theirs.hugepages)
    if (const auto name = HugePagesOf(size); name && bytes > 0 && bytes <= static_cast<std::uint64_t>(INT64_MAX))
      resources.limits[*name] = resources.requests[*name] = Quantity::FromBytes({static_cast<std::int64_t>(bytes)});
  if (qos != QosClass::kGuaranteed) return out;
  if (const auto limit = resources.limits.find("cpu"); limit != resources.limits.end())
    resources.requests["cpu"] = limit->second;
  else if (const auto request = resources.requests.find("cpu"); request != resources.requests.end())
    resources.limits["cpu"] = request->second;  // of a kubelet that sets no quota
  if (const auto limit = resources.limits.find("memory"); limit != resources.limits.end())
    resources.requests["memory"] = limit->second;
  return out;
}

/// As the kubelet wrote it into `cgroup_parent`: with systemd a slice, or the path of one.
std::optional<std::string> GroupOf(const nri::Pod& pod, std::string_view root) {
  std::string path = pod.cgroup_parent;
  if (path.ends_with(".slice")) {
    auto slice = cgroup::PathOf(cgroup::Driver::kSystemd, cgroup::ComponentsOf(cgroup::Driver::kSystemd, path));
    if (!slice) return std::nullopt;
    path = *std::move(slice);
  }
  if (!path.starts_with('/')) return std::nullopt;
  for (const std::string_view component : Split(std::string_view(path).substr(1), '/'))
    if (component.empty() || component == "." || component == "..") return std::nullopt;
  if (root == "/") return path.substr(1);
  if (!path.starts_with(root) || path.size() <= root.size() + 1 || path[root.size()] != '/') return std::nullopt;
  return path.substr(root.size() + 1);
}

int AttemptOf(const nri::Container& container) {
  const auto count = container.annotations.find(std::string(kRestarts));
  return count == container.annotations.end() ? 0 : std::max(0, ParseDecimal<int>(count->second).value_or(0));
}

}  // namespace berth::nri_agent
