#include "host/cgroup/pod_cgroup_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "model/resources.h"

namespace berth::cgroup {
namespace {

using std::chrono::microseconds;

constexpr std::int64_t kSharesPerCpu = 1024;
constexpr std::int64_t kMilliPerCpu = 1000;
constexpr std::int64_t kMinQuotaUs = 1000;
constexpr std::uint64_t kMaxWeight = 10'000;

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

MilliCpu CpuOf(const ResourceList& list) { return {AmountOf(list, "cpu").MilliValue()}; }
Bytes MemoryOf(const ResourceList& list) { return {AmountOf(list, "memory").Value()}; }

bool NonZero(const ResourceList& list, std::string_view name) { return !AmountOf(list, name).IsZero(); }

/// The container's own limit, else the pod's.
const Quantity* EffectiveLimit(const Pod& pod, const Container& container, std::string_view name) {
  if (NonZero(container.resources.limits, name)) return Find(container.resources.limits, name);
  if (pod.resources && NonZero(pod.resources->limits, name)) return Find(pod.resources->limits, name);
  return nullptr;
}

/// Collects reasons, if somebody wants them.
class Note {
 public:
  explicit Note(Reasons* why) : why_(why) {}
  template <class Text>
  void operator()(const char* value, Text text) const {
    if (why_ != nullptr) why_->insert_or_assign(value, text());
  }

 private:
  Reasons* why_;
};

std::string Text(const ResourceList& list, std::string_view name) { return AmountOf(list, name).ToString(); }

std::string_view Origin(const Container& container, std::string_view name) {
  return NonZero(container.resources.limits, name) ? "" : " (the pod's)";
}

enum class Lift { kNone, kSwitchedOff, kExclusive };

std::string ReasonForQuota(std::string_view what, MilliCpu limit, microseconds period, Lift lift) {
  if (lift == Lift::kSwitchedOff) return "no quota: cpuCFSQuota is off";
  if (lift == Lift::kExclusive) return "no quota: it has CPUs of its own";
  if (limit.v <= 0) return "no CPU limit";
  const std::int64_t exact = MulDiv(limit.v, period.count(), kMilliPerCpu);
  std::string out = fmt::format("{} {}m × {} / {} = {} µs", what, limit.v, period.count(), kMilliPerCpu, exact);
  return exact < kMinQuotaUs ? out + fmt::format(", at least {} µs", kMinQuotaUs) : out;
}

void SetCpu(const Pod& pod, const Container& container, bool exclusive, const ValueOptions& options, const Note& note,
            CgroupValues& out) {
  const Quantity* request = Find(container.resources.requests, "cpu");
  const Quantity* given = EffectiveLimit(pod, container, "cpu");
  const MilliCpu limit{given == nullptr ? 0 : given->MilliValue()};
  const MilliCpu counted = request != nullptr ? MilliCpu{request->MilliValue()} : limit;
  out.shares = SharesOf(counted);
  out.weight = WeightOfShares(*out.shares);
  note("shares", [&] { return ReasonForShares(request != nullptr ? "CPU request" : "CPU limit", counted); });
  note("weight", [&] { return fmt::format("{} shares by the runtimes' formula", *out.shares); });
  if (!options.cpu_cfs_quota) return;
  const Lift lift = exclusive && options.lift_exclusive_quota ? Lift::kExclusive : Lift::kNone;
  out.cpu_max =
      CpuMax{.quota = lift == Lift::kNone ? QuotaOf(limit, options.period) : std::nullopt, .period = options.period};
  note("cpu_max", [&] { return ReasonForQuota("CPU limit", limit, options.period, lift); });
}

/// memory.high, where it is above the request (rules/cgroups#memory-qos).
void SetMemoryHigh(Bytes request, Bytes top, const ValueOptions& options, const Note& note, CgroupValues& out) {
  if (!options.throttling_factor) return;
  const double factor = *options.throttling_factor;
  const double exact = static_cast<double>(request.v) + static_cast<double>(top.v - request.v) * factor;
  const Bytes high{static_cast<std::int64_t>(exact / static_cast<double>(options.page.v)) * options.page.v};
  if (high <= request || high.v == 0) return;
  out.memory_high = high;
  note("memory_high",
       [&] { return fmt::format("{} + ({} - {}) × {}, down to a page", request.v, top.v, request.v, factor); });
}

/// The pod alone says how much memory its containers may use.
bool HasMemoryLimit(const Pod& pod) { return pod.resources && NonZero(pod.resources->limits, "memory"); }

/// memory.min, low and high of a container (rules/cgroups#memory-qos).
void SetMemoryQos(const Pod& pod, const Container& container, const ValueOptions& options, const Note& note,
                  CgroupValues& out) {
  const Bytes request = MemoryOf(container.resources.requests);
  const Bytes limit = MemoryOf(container.resources.limits);
  out.memory_min = Bytes{0};
  out.memory_low = Bytes{0};
  std::string why = "memoryReservationPolicy None";
  if (options.tiered_reservation && request.v != 0) {
    const bool guaranteed = QosOf(pod) == QosClass::kGuaranteed;
    (guaranteed ? out.memory_min : out.memory_low) = request;
    (guaranteed ? out.memory_low : out.memory_min).reset();
    why = fmt::format("memoryReservationPolicy TieredReservation: memory request {}", request.v);
  }
  if (out.memory_min) note("memory_min", [&] { return why; });
  if (out.memory_low) note("memory_low", [&] { return why; });
  if (request == limit && !(options.memory_qos_beta && request.v == 0)) return;
  if (options.memory_qos_beta && limit.v == 0 && HasMemoryLimit(pod)) return;
  SetMemoryHigh(request, limit.v > 0 ? limit : options.node_memory, options, note, out);
}

CgroupValues OfSandbox(MilliCpu counted, const ResourceList& limits, const ValueOptions& options) {
  CgroupValues out;
  out.shares = SharesOf(counted);
  if (options.cpu_cfs_quota)
    out.cpu_max = CpuMax{.quota = QuotaOf(CpuOf(limits), options.period), .period = options.period};
  if (const Bytes memory = MemoryOf(limits); memory.v > 0) out.memory_max = memory;
  return out;
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

void AddHugePages(const ResourceList& list, std::map<Bytes, Bytes>& out) {
  for (const auto& [name, amount] : list) {
    if (const auto size = PageSizeOf(name)) out[*size] = Bytes{amount.Value()};
  }
}

std::string ReasonForShares(std::string_view what, MilliCpu request) {
  const auto shares = static_cast<std::int64_t>(SharesOf(request));
  if (request.v <= 0) return fmt::format("{}: none, so the least: {}", what, kMinShares);
  std::string out = fmt::format("{} {}m × {} / {} = ", what, request.v, kSharesPerCpu, kMilliPerCpu);
  const std::int64_t exact = MulDiv(request.v, kSharesPerCpu, kMilliPerCpu);
  if (exact == shares) return out + std::to_string(shares);
  return out + fmt::format("{}, {}: {}", exact, exact < shares ? "at least" : "at most", shares);
}

ValueOptions OptionsOf(const KubeletConfiguration& config, const KubeletRules& rules, bool v2, Bytes node_memory) {
  return {.cpu_cfs_quota = config.cpu_cfs_quota,
          .period = std::chrono::duration_cast<microseconds>(config.cpu_cfs_quota_period),
          .pod_pids_limit = config.pod_pids_limit,
          .lift_exclusive_quota = FeatureEnabled(config, "DisableCPUQuotaWithExclusiveCPUs", rules.version),
          .oom_group = v2 && !config.single_process_oom_kill.value_or(false),
          .memory_qos = v2 && FeatureEnabled(config, "MemoryQoS", rules.version),
          .memory_qos_beta = v2 && rules.memory_qos_beta,
          .tiered_reservation = config.memory_reservation_policy == "TieredReservation",
          .throttling_factor =
              config.memory_throttling_factor ? config.memory_throttling_factor : rules.memory_throttling_factor,
          .node_memory = node_memory};
}

CgroupValues PodValues(const Pod& pod, bool has_exclusive_cpus, const ValueOptions& options, Reasons* why) {
  const QosClass qos = QosOf(pod);
  const ResourceList requests = PodRequests(pod);
  const ResourceList limits = PodLimits(pod);
  const Note note(why);
  CgroupValues out;
  const MilliCpu cpu = qos == QosClass::kBestEffort ? MilliCpu{0} : CpuOf(requests);
  out.shares = SharesOf(cpu);
  note("shares", [&] { return ReasonForShares("the pod's CPU request", cpu); });

  const bool guaranteed = qos == QosClass::kGuaranteed;
  if (guaranteed || (qos == QosClass::kBurstable && IsLimited(pod, "cpu"))) {
    const Lift lift = !options.cpu_cfs_quota                               ? Lift::kSwitchedOff
                      : has_exclusive_cpus && options.lift_exclusive_quota ? Lift::kExclusive
                                                                           : Lift::kNone;
    out.cpu_max = CpuMax{.quota = lift == Lift::kNone ? QuotaOf(CpuOf(limits), options.period) : std::nullopt,
                         .period = options.period};
    note("cpu_max", [&] { return ReasonForQuota("the pod's CPU limit", CpuOf(limits), options.period, lift); });
  }
  if (guaranteed || (qos == QosClass::kBurstable && IsLimited(pod, "memory")))
    if (const Bytes memory = MemoryOf(limits); memory.v > 0) {
      out.memory_max = memory;
      note("memory_max", [&] { return "the pod's memory limit " + Text(limits, "memory"); });
    }
  if (options.pod_pids_limit > 0) {
    out.pids_max = options.pod_pids_limit;
    note("pids_max", [&] { return fmt::format("podPidsLimit {}", options.pod_pids_limit); });
  }
  if (options.memory_qos && options.tiered_reservation && MemoryOf(requests).v > 0) {
    (guaranteed ? out.memory_min : out.memory_low) = MemoryOf(requests);
    note(guaranteed ? "memory_min" : "memory_low", [&] {
      return fmt::format("memoryReservationPolicy TieredReservation: the pod's memory request {}",
                         Text(requests, "memory"));
    });
  }
  if (options.memory_qos && options.memory_qos_beta && HasMemoryLimit(pod))
    SetMemoryHigh(MemoryOf(requests), MemoryOf(limits), options, note, out);
  AddHugePages(requests, out.hugetlb.emplace());
  note("hugetlb", [] { return std::string("the pod's requests; sizes not asked for: 0"); });
  return out;
}

CgroupValues ContainerValues(const Pod& pod, const Container& container, bool exclusive, std::optional<CpuSet> cpus,
                             std::optional<NodeSet> mems, const ValueOptions& options, Reasons* why) {
  const Note note(why);
  CgroupValues out;
  note("cpus", [&] { return std::string(exclusive ? "CPUs of its own" : "the shared pool"); });
  if (mems) note("mems", [] { return std::string("memory nodes it was placed on"); });
  out.cpus = std::move(cpus);
  out.mems = std::move(mems);
  SetCpu(pod, container, exclusive, options, note, out);
  if (const Quantity* limit = EffectiveLimit(pod, container, "memory"); limit != nullptr && limit->Sign() > 0) {
    out.memory_max = Bytes{limit->Value()};
    out.swap_max = Bytes{0};
    note("memory_max",
         [&] { return fmt::format("memory limit {}{}", limit->ToString(), Origin(container, "memory")); });
    note("swap_max", [] { return std::string("no swap"); });
  }
  if (options.oom_group) {
    out.oom_group = true;
    note("oom_group", [] { return std::string("singleProcessOOMKill is off: its processes end together"); });
  }
  if (options.memory_qos) {
    SetMemoryQos(pod, container, options, note, out);
  } else if (options.memory_qos_beta) {
    out.memory_high = Bytes{-1};
    note("memory_high", [] { return std::string("the gate MemoryQoS is off"); });
  }
  auto& pages = out.hugetlb.emplace();
  if (pod.resources) AddHugePages(pod.resources->limits, pages);
  AddHugePages(container.resources.limits, pages);
  note("hugetlb", [] { return std::string("its limits, else the pod's; sizes without: 0"); });
  return out;
}

CgroupValues UnsetPodValues() {
  CgroupValues out;
  out.pids_max = -1;
  out.memory_min = out.memory_low = Bytes{0};
  out.memory_high = Bytes{-1};
  return out;
}

CgroupValues UnsetContainerValues() {
  CgroupValues out;
  out.cpu_max = CpuMax{};
  out.memory_min = out.memory_low = Bytes{0};
  out.memory_high = Bytes{-1};
  out.oom_group = false;
  return out;
}

CgroupValues Lifts(const CgroupValues& wanted, const CgroupValues& found, const CgroupValues& unset) {
  CgroupValues out;
  const auto lift = [&](auto field) {
    if (!(wanted.*field) && unset.*field && found.*field && found.*field != unset.*field) out.*field = unset.*field;
  };
  lift(&CgroupValues::memory_max);
  lift(&CgroupValues::memory_min);
  lift(&CgroupValues::memory_low);
  lift(&CgroupValues::memory_high);
  lift(&CgroupValues::oom_group);
  lift(&CgroupValues::pids_max);
  if (!wanted.cpu_max && unset.cpu_max && found.cpu_max && found.cpu_max->quota)
    out.cpu_max = CpuMax{.quota = std::nullopt, .period = found.cpu_max->period};
  return out;
}

std::string SettingsText(const ValueOptions& options, std::optional<int> qos_reserved_memory) {
  constexpr int kFormulas = 1;  // another number when a formula changes
  return fmt::format(
      "formulas {}\ncpuCFSQuota {} {} {}\npodPidsLimit {}\noomGroup {}\nmemoryQoS {} {} {} {} {} {}\nqosReserved {}\n",
      kFormulas, options.cpu_cfs_quota, options.period.count(), options.lift_exclusive_quota, options.pod_pids_limit,
      options.oom_group, options.memory_qos, options.memory_qos_beta, options.tiered_reservation,
      options.throttling_factor.value_or(0), options.node_memory.v, options.page.v, qos_reserved_memory.value_or(-1));
}

CgroupValues SandboxOverhead(const Pod& pod, const ValueOptions& options) {
  return pod.overhead.empty() ? CgroupValues() : OfSandbox(CpuOf(pod.overhead), pod.overhead, options);
}

CgroupValues SandboxResources(const Pod& pod, const ValueOptions& options) {
  Pod bare = pod;
  bare.overhead.clear();
  const ResourceList requests = PodRequests(bare);
  const ResourceList limits = PodLimits(bare);
  return OfSandbox(CpuOf(requests.contains("cpu") ? requests : limits), limits, options);
}

}  // namespace berth::cgroup
