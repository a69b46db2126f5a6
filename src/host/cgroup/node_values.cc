#include "host/cgroup/node_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/problems.h"
#include "base/text.h"
#include "model/resources.h"

namespace berth::cgroup {
namespace {

constexpr Bytes kUnlimitedHugePages{std::int64_t{1} << 62};

bool Enforced(const NodeShares& node, std::string_view what) {
  return std::ranges::find(node.enforce, what) != node.enforce.end();
}

/// Sum of the pods' requests; `pods`: how many count.
struct Sum {
  Quantity amount;
  int pods = 0;
};

Sum Requests(const Ledger& ledger, QosClass qos, std::string_view resource) {
  Sum out;
  for (const auto& [uid, pod] : ledger.pods) {
    if (pod.qos != qos) continue;
    ++out.pods;
    out.amount += AmountOf(pod.requests, resource);
  }
  return out;
}

std::string Described(const Sum& sum, QosClass qos, std::string_view resource) {
  return fmt::format("{} requests of {} {} pod{}: {}", resource, sum.pods, Name(qos), sum.pods == 1 ? "" : "s",
                     sum.amount.ToString());
}

void AddReason(Reasons* why, const char* value, std::string text) {
  if (why != nullptr) why->insert_or_assign(value, std::move(text));
}

/// Capacity less reservations, no eviction threshold, whatever is enforced.
Quantity Unreserved(const NodeShares& node, std::string_view resource) {
  Quantity out = AmountOf(node.capacity, resource) - AmountOf(node.system_reserved, resource) -
                 AmountOf(node.kube_reserved, resource);
  return out.Sign() < 0 ? Quantity() : out;
}

/// The capacity when "pods" is not enforced.
Quantity ForPods(const NodeShares& node, std::string_view resource) {
  return Enforced(node, "pods") ? Unreserved(node, resource) : AmountOf(node.capacity, resource);
}

std::string WhyForPods(const NodeShares& node, std::string_view resource) {
  const Quantity capacity = AmountOf(node.capacity, resource);
  if (!Enforced(node, "pods")) return fmt::format("capacity {} ('pods' is not enforced)", capacity.ToString());
  return fmt::format("capacity {} - system reserved {} - kube reserved {} = {}", capacity.ToString(),
                     AmountOf(node.system_reserved, resource).ToString(),
                     AmountOf(node.kube_reserved, resource).ToString(), ForPods(node, resource).ToString());
}

/// A share of `amount`, by whole percent, rounded down.
std::int64_t Percent(const Quantity& amount, int percent) {
  const std::int64_t whole = amount.Value();
  return whole / 100 * percent + whole % 100 * percent / 100;
}

void SetQosReserved(const NodeShares& node, QosClass qos, const Ledger& ledger, Reasons* why, CgroupValues& out) {
  if (!node.qos_reserved_memory) return;
  const int percent = *node.qos_reserved_memory;
  const Quantity all = Unreserved(node, "memory");
  const Sum guaranteed = Requests(ledger, QosClass::kGuaranteed, "memory");
  std::int64_t limit = all.Value() - Percent(guaranteed.amount, percent);
  std::string text = fmt::format("unreserved {} - {} % of {}", all.ToString(), percent,
                                 Described(guaranteed, QosClass::kGuaranteed, "memory"));
  if (qos == QosClass::kBestEffort) {
    const Sum burstable = Requests(ledger, QosClass::kBurstable, "memory");
    limit -= Percent(burstable.amount, percent);
    text += fmt::format(" - {} % of {}", percent, Described(burstable, QosClass::kBurstable, "memory"));
  }
  out.memory_max = Bytes{std::max<std::int64_t>(0, limit)};
  AddReason(why, "memory_max", fmt::format("{} = {}", text, out.memory_max->v));
}

/// memory.low of Burstable pods, for their class and for all pods.
void SetLow(const NodeShares& node, const Sum& burstable, Reasons* why, CgroupValues& out) {
  out.memory_low = Bytes{node.tiered_reservation ? burstable.amount.Value() : 0};
  AddReason(
      why, "memory_low",
      node.tiered_reservation ? Described(burstable, QosClass::kBurstable, "memory") : "memoryReservationPolicy None");
}

CgroupValues ReservedValues(const ResourceList& reserved, bool compressible, bool memory_qos, Reasons& why) {
  CgroupValues out;
  const MilliCpu cpu{AmountOf(reserved, "cpu").MilliValue()};
  if (cpu.v > 0) {
    out.shares = SharesOf(cpu);
    why["shares"] = ReasonForShares("reserved CPU", cpu);
  }
  if (compressible) return out;
  if (const Bytes memory{AmountOf(reserved, "memory").Value()}; memory.v > 0) {
    out.memory_max = memory;
    why["memory_max"] = "reserved memory " + AmountOf(reserved, "memory").ToString();
    if (memory_qos) {
      out.memory_min = memory;
      why["memory_min"] = "its memory limit, kept for it under MemoryQoS";
    }
  }
  if (const std::int64_t pids = AmountOf(reserved, "pid").Value(); pids > 0) {
    out.pids_max = pids;
    why["pids_max"] = fmt::format("reserved pid {}", pids);
  }
  out.hugetlb.emplace();
  why["hugetlb"] = "none is reserved";
  return out;
}

}  // namespace

Result<NodeShares> SharesOfNode(const KubeletConfiguration& config, const KubeletRules& rules, ResourceList capacity,
                                std::optional<std::int64_t> pids, int listed_cpus, bool v2) {
  NodeShares out{.capacity = std::move(capacity),
                 .system_reserved = config.system_reserved,
                 .kube_reserved = config.kube_reserved,
                 .enforce = config.enforce_node_allocatable,
                 .qos_reserved_memory = std::nullopt,
                 .memory_qos = v2 && FeatureEnabled(config, "MemoryQoS", rules.version),
                 .memory_qos_beta = rules.memory_qos_beta,
                 .tiered_reservation = config.memory_reservation_policy == "TieredReservation"};
  if (pids) out.capacity["pid"] = Quantity::FromUnits(*pids);
  if (listed_cpus >= 0) {
    out.system_reserved["cpu"] = Quantity::FromUnits(listed_cpus);
    out.kube_reserved.erase("cpu");
  }
  if (config.qos_reserved.empty() || !FeatureEnabled(config, "QOSReserved", rules.version)) return out;
  Problems problems;
  for (const auto& [name, text] : config.qos_reserved) {
    if (name != "memory") {
      problems.Add(
          BadSetting("qosReserved", "'" + Printable(name, 60) + "' cannot be reserved; only memory can").error());
      continue;
    }
    const auto percent = text.ends_with('%') ? ParseDecimal<int>(std::string_view(text).substr(0, text.size() - 1))
                                             : std::optional<int>();
    if (!percent || *percent < 0 || *percent > 100)
      problems.Add(BadSetting("qosReserved.memory", "'" + Printable(text, 60) + "' is no share of 0% to 100%").error());
    else
      out.qos_reserved_memory = *percent;
  }
  BERTH_RETURN_IF_ERROR(problems.Done());
  return out;
}

CgroupValues NodeValues(const NodeShares& node, const Ledger& ledger, Reasons* why) {
  CgroupValues out;
  const MilliCpu cpu{ForPods(node, "cpu").MilliValue()};
  out.shares = SharesOf(cpu);
  AddReason(why, "shares", WhyForPods(node, "cpu") + "; " + ReasonForShares("for pods", cpu));
  if (const Bytes memory{ForPods(node, "memory").Value()}; memory.v > 0) {
    out.memory_max = memory;
    AddReason(why, "memory_max", WhyForPods(node, "memory"));
  }
  if (const std::int64_t pids = ForPods(node, "pid").Value(); pids > 0) {
    out.pids_max = pids;
    AddReason(why, "pids_max", WhyForPods(node, "pid"));
  }
  ResourceList pages;
  for (const auto& [name, amount] : node.capacity)
    if (IsHugePages(name)) pages.insert_or_assign(name, ForPods(node, name));
  AddHugePages(pages, out.hugetlb.emplace());
  AddReason(why, "hugetlb", "huge pages of the node");
  if (node.memory_qos) {
    Sum guaranteed = Requests(ledger, QosClass::kGuaranteed, "memory");
    const Sum burstable = Requests(ledger, QosClass::kBurstable, "memory");
    out.memory_min = Bytes{node.tiered_reservation ? (guaranteed.amount + burstable.amount).Value() : 0};
    AddReason(why, "memory_min",
              node.tiered_reservation ? Described(guaranteed, QosClass::kGuaranteed, "memory") + " + " +
                                            Described(burstable, QosClass::kBurstable, "memory")
                                      : "memoryReservationPolicy None");
    if (node.memory_qos_beta) SetLow(node, burstable, why, out);
  }
  return out;
}

CgroupValues TierValues(const NodeShares& node, QosClass qos, const Ledger& ledger, Reasons* why) {
  CgroupValues out;
  const bool burstable = qos == QosClass::kBurstable;
  const Sum cpu = burstable ? Requests(ledger, qos, "cpu") : Sum();
  out.shares = SharesOf({cpu.amount.MilliValue()});
  AddReason(why, "shares",
            burstable ? Described(cpu, qos, "CPU") + "; " + ReasonForShares("in sum", {cpu.amount.MilliValue()})
                      : ReasonForShares("CPU of BestEffort pods", {0}));
  if (burstable && node.memory_qos) SetLow(node, Requests(ledger, qos, "memory"), why, out);
  SetQosReserved(node, qos, ledger, why, out);
  out.hugetlb.emplace();
  out.hugetlb_others = kUnlimitedHugePages;
  AddReason(why, "hugetlb", "not limited per class");
  return out;
}

CgroupValues UnsetTierValues(QosClass qos) {
  CgroupValues out;
  if (qos == QosClass::kGuaranteed) out.memory_min = Bytes{0};
  if (qos != QosClass::kBestEffort) out.memory_low = Bytes{0};
  if (qos != QosClass::kGuaranteed) out.memory_max = Bytes{-1};
  return out;
}

CgroupValues UnsetReservedValues() {
  constexpr std::uint64_t kShares = 1024;
  constexpr std::uint64_t kWeight = 100;  // not what the kubelet's formula makes of these shares
  CgroupValues out;
  out.shares = kShares;
  out.weight = kWeight;
  out.memory_max = Bytes{-1};
  out.memory_min = Bytes{0};
  out.pids_max = -1;
  out.hugetlb.emplace();
  out.hugetlb_others = kUnlimitedHugePages;
  return out;
}

Result<std::vector<ReservedGroup>> ReservedGroups(const KubeletConfiguration& config, const NodeShares& node) {
  struct Kind {
    std::string_view enforce, what;
    const std::string& group;
    const ResourceList& reserved;
    std::string_view setting;
  };
  const Kind kinds[] = {
      {"system-reserved", "System Reserved", config.system_reserved_cgroup, node.system_reserved, "systemReserved"},
      {"kube-reserved", "Kube Reserved", config.kube_reserved_cgroup, node.kube_reserved, "kubeReserved"},
  };
  std::vector<ReservedGroup> out;
  for (const Kind& kind : kinds) {
    const bool compressible = Enforced(node, std::string(kind.enforce) + "-compressible");
    if (!compressible && !Enforced(node, kind.enforce)) continue;
    ReservedGroup group{.what = std::string(kind.what) + (compressible ? " Compressible" : ""),
                        .group = kind.group,
                        .values = {},
                        .why = {}};
    if (kind.reserved.empty())
      return Fail(Code::kInvalid, fmt::format("\"{}\" cgroup is not configured properly: set {} to what is reserved, "
                                              "or take {} out of enforceNodeAllocatable",
                                              kind.group, kind.setting, kind.enforce));
    group.values = ReservedValues(kind.reserved, compressible, node.memory_qos, group.why);
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace berth::cgroup
