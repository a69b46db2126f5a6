// What the kubelet would put into a pod's and a container's cgroup (spec devices-cgroups 1.2, 1.6, 1.7, 6.2).
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "cgroup/cgroup.h"

namespace berth::cgroup {
namespace {

using std::chrono::microseconds;

constexpr std::int64_t kMinShares = 2;
constexpr std::int64_t kMaxShares = 262'144;
constexpr std::int64_t kSharesPerCpu = 1024;
constexpr std::int64_t kMilliPerCpu = 1000;
constexpr std::int64_t kMinQuotaUs = 1000;
constexpr std::uint64_t kMaxWeight = 10'000;
constexpr std::string_view kHugePagePrefix = "hugepages-";

/// a * b / c, truncated, for values >= 0; capped when the product does not fit.
std::int64_t MulDiv(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product / c;
  return __builtin_mul_overflow(a / c, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

const Quantity* Find(const ResourceList& list, std::string_view name) {
  const auto it = list.find(name);
  return it == list.end() ? nullptr : &it->second;
}

MilliCpu CpuOf(const ResourceList& list) {
  const Quantity* q = Find(list, "cpu");
  return {q == nullptr ? 0 : q->MilliValue()};
}

Bytes MemoryOf(const ResourceList& list) {
  const Quantity* q = Find(list, "memory");
  return {q == nullptr ? 0 : q->Value()};
}

bool NonZero(const ResourceList& list, std::string_view name) {
  const Quantity* q = Find(list, name);
  return q != nullptr && !q->IsZero();
}

/// Whether every container has a limit of `name`: app containers their own, init containers with the sidecars before
/// them (a sidecar's limit can thus stand for an init container without one, as in the kubelet).
bool EveryContainerLimits(const Pod& pod, std::string_view name) {
  for (const Container& c : pod.containers)
    if (!NonZero(c.resources.limits, name)) return false;
  bool sidecars = false;
  for (const Container& c : pod.init_containers) {
    const bool own = NonZero(c.resources.limits, name);
    if (!own && !sidecars) return false;
    if (c.restartable_init) sidecars = sidecars || own;
  }
  return true;
}

bool LimitDeclared(const Pod& pod, std::string_view name) {
  return (pod.resources && NonZero(pod.resources->limits, name)) || EveryContainerLimits(pod, name);
}

void AddHugePages(const ResourceList& list, std::map<Bytes, Bytes>& out) {
  for (const auto& [name, amount] : list) {
    if (!name.starts_with(kHugePagePrefix)) continue;
    const auto size = Quantity::Parse(std::string_view(name).substr(kHugePagePrefix.size()));
    if (size && size->Sign() > 0) out[Bytes{size->Value()}] = Bytes{amount.Value()};
  }
}

/// The container's own limit, else the pod's.
const Quantity* EffectiveLimit(const Pod& pod, const Container& container, std::string_view name) {
  if (NonZero(container.resources.limits, name)) return Find(container.resources.limits, name);
  if (pod.resources && NonZero(pod.resources->limits, name)) return Find(pod.resources->limits, name);
  return nullptr;
}

}  // namespace

std::uint64_t SharesOf(MilliCpu request) {
  if (request.v <= 0) return kMinShares;
  return static_cast<std::uint64_t>(std::clamp(MulDiv(request.v, kSharesPerCpu, kMilliPerCpu), kMinShares, kMaxShares));
}

std::uint64_t WeightOfShares(std::uint64_t shares) {
  if (shares == 0) return 0;
  if (shares <= kMinShares) return 1;
  if (shares >= kMaxShares) return kMaxWeight;
  const double l = std::log2(static_cast<double>(shares));
  return static_cast<std::uint64_t>(std::ceil(std::pow(10.0, (l * l + 125.0 * l) / 612.0 - 7.0 / 34.0)));
}

std::uint64_t TierWeightOfShares(std::uint64_t shares) {
  if (shares == 0) return 0;
  if (shares >= kMaxShares) return kMaxWeight;
  return 1 + (std::max<std::uint64_t>(shares, kMinShares) - kMinShares) * (kMaxWeight - 1) / (kMaxShares - kMinShares);
}

std::optional<microseconds> QuotaOf(MilliCpu limit, microseconds period) {
  if (limit.v <= 0) return std::nullopt;
  return microseconds(std::max(MulDiv(limit.v, period.count(), kMilliPerCpu), kMinQuotaUs));
}

std::string QosPath(QosClass qos) {
  switch (qos) {
    case QosClass::kGuaranteed: return "kubepods";
    case QosClass::kBurstable: return "kubepods/burstable";
    case QosClass::kBestEffort: return "kubepods/besteffort";
  }
  return "kubepods";
}

std::string PodPath(QosClass qos, std::string_view uid) { return QosPath(qos) + "/pod" + std::string(uid); }

CgroupValues PodValues(const Pod& pod, bool has_exclusive_cpus, const ValueOptions& options) {
  const QosClass qos = QosOf(pod);
  const ResourceList requests = PodRequests(pod);
  const ResourceList limits = PodLimits(pod);
  CgroupValues out;
  out.shares = SharesOf(qos == QosClass::kBestEffort ? MilliCpu{0} : CpuOf(requests));

  const bool guaranteed = qos == QosClass::kGuaranteed;
  if (guaranteed || (qos == QosClass::kBurstable && LimitDeclared(pod, "cpu"))) {
    const bool unlimited = !options.cpu_cfs_quota || has_exclusive_cpus;
    out.cpu_max =
        CpuMax{.quota = unlimited ? std::nullopt : QuotaOf(CpuOf(limits), options.period), .period = options.period};
  }
  if (guaranteed || (qos == QosClass::kBurstable && LimitDeclared(pod, "memory")))
    if (const Bytes memory = MemoryOf(limits); memory.v > 0) out.memory_max = memory;
  if (options.pod_pids_limit > 0) out.pids_max = options.pod_pids_limit;
  AddHugePages(requests, out.hugetlb.emplace());
  return out;
}

CgroupValues ContainerValues(const Pod& pod, const Container& container, bool exclusive, std::optional<CpuSet> cpus,
                             std::optional<NodeSet> mems, const ValueOptions& options) {
  const Quantity* cpu_request = Find(container.resources.requests, "cpu");
  const Quantity* cpu_limit = EffectiveLimit(pod, container, "cpu");
  const Quantity* memory_limit = EffectiveLimit(pod, container, "memory");
  const MilliCpu limit{cpu_limit == nullptr ? 0 : cpu_limit->MilliValue()};

  CgroupValues out;
  out.cpus = std::move(cpus);
  out.mems = std::move(mems);
  out.shares = SharesOf(cpu_request != nullptr ? MilliCpu{cpu_request->MilliValue()} : limit);
  out.weight = WeightOfShares(*out.shares);
  if (options.cpu_cfs_quota) {
    out.cpu_max = CpuMax{.quota = exclusive ? std::nullopt : QuotaOf(limit, options.period), .period = options.period};
  }
  if (memory_limit != nullptr && memory_limit->Sign() > 0) {
    out.memory_max = Bytes{memory_limit->Value()};
    out.swap_max = Bytes{0};
  }
  auto& pages = out.hugetlb.emplace();
  if (pod.resources) AddHugePages(pod.resources->limits, pages);
  AddHugePages(container.resources.limits, pages);
  return out;
}

}  // namespace berth::cgroup
