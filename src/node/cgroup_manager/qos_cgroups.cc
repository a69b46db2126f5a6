#include "node/cgroup_manager/qos_cgroups.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "host/cgroup/node_values.h"
#include "host/cgroup/value_lines.h"

namespace berth::cgroup_manager {

Result<void> QosCgroups::Make(const Ledger& ledger) {
  BERTH_RETURN_IF_ERROR(site_.ReadSettings());
  BERTH_RETURN_IF_ERROR(MakeOwn());
  return MakeTiers(ledger);
}

Result<void> QosCgroups::MakeOwn() {
  site_.set_has_own_groups(true);
  Result<void> made;
  for (const std::string& path : site_.OwnGroups()) {
    if (made) made = site_.tree().Create(path);
    if (made) table_.Watch(path);
  }
  site_.tree().LetGo(site_.names().Own());  // berthd is in it
  site_.set_has_own_groups(made.has_value());
  return made;
}

Result<void> QosCgroups::MakeTiers(const Ledger& ledger) {
  for (const QosClass qos : site_.tiers()) {
    BERTH_RETURN_IF_ERROR(site_.tree().Create(site_.names().Qos(qos)));
    table_.Watch(site_.names().Qos(qos));
  }
  return Update(ledger);
}

Result<void> QosCgroups::Update(const Ledger& ledger, std::vector<Repaired>* edited) {
  for (const QosClass qos : site_.tiers()) BERTH_RETURN_IF_ERROR(UpdateTier(qos, ledger, edited));
  return {};
}

Result<void> QosCgroups::UpdateTier(QosClass qos, const Ledger& ledger, std::vector<Repaired>* edited) {
  const std::string path = site_.names().Qos(qos);
  CgroupValues values;
  if (qos == QosClass::kGuaranteed) {
    values = cgroup::NodeValues(site_.shares(), ledger);
    values.memory_max.reset();  // LimitAllPods
  } else {
    values = cgroup::TierValues(site_.shares(), qos, ledger);
  }
  values = cgroup::WithControllersOf(site_.tree().layout(), std::move(values));
  if (values.memory_max) {  // v1 refuses a limit below the usage, v2 kills for it
    BERTH_TRY(const auto used, site_.tree().MemoryUsage(path));
    if (used && *used > *values.memory_max) values.memory_max = *used + site_.options().page;
  }
  return WriteTier(path, values, edited);
}

Result<void> QosCgroups::WriteTier(const std::string& path, const CgroupValues& values, std::vector<Repaired>* edited) {
  CgroupValues limit;  // that of all pods is written apart from the rest
  limit.memory_max = values.memory_max;
  const bool only_limit = values == limit;
  const auto last = written_.find(path);
  if (edited != nullptr && last != written_.end()) {
    BERTH_TRY(const CgroupValues before, site_.tree().Read(path));
    CgroupValues wanted = last->second;
    if (only_limit) {
      wanted = {};
      wanted.memory_max = last->second.memory_max;
    } else if (!values.memory_max) {
      wanted.memory_max.reset();
    }
    for (const ValueLine& line : cgroup::Compare(wanted, before, site_.tree().layout(), {}, site_.options().page))
      if (!line.Same())
        edited->push_back({path, fmt::format("{} was {}, must be {}", line.file, line.found, line.wanted)});
  }
  BERTH_RETURN_IF_ERROR(site_.tree().Write(path, values));
  CgroupValues& now = written_[path];
  const std::optional<Bytes> before_limit = now.memory_max;
  if (!only_limit) now = values;
  now.memory_max = values.memory_max ? values.memory_max : before_limit;
  return {};
}

Result<void> QosCgroups::Lift(const Ledger& ledger) {
  for (const QosClass qos : site_.tiers()) {
    const std::string path = site_.names().Qos(qos);
    const CgroupValues wanted = qos == QosClass::kGuaranteed ? cgroup::NodeValues(site_.shares(), ledger)
                                                             : cgroup::TierValues(site_.shares(), qos, ledger);
    BERTH_TRY(const CgroupValues found, site_.tree().Read(path));
    const CgroupValues lifts = cgroup::Lifts(wanted, found, cgroup::UnsetTierValues(qos));
    if (lifts != CgroupValues()) BERTH_RETURN_IF_ERROR(site_.tree().Write(path, lifts));
  }
  return {};
}

std::string QosCgroups::LimitAllPods(std::vector<Repaired>* edited) {
  if (site_.tiers().empty()) return "";
  const std::string all = site_.names().Qos(QosClass::kGuaranteed);
  CgroupValues values;
  values.memory_max = cgroup::NodeValues(site_.shares(), Ledger()).memory_max;
  values = cgroup::WithControllersOf(site_.tree().layout(), values);
  if (!values.memory_max) return "";
  const auto used = site_.tree().MemoryUsage(all);
  std::string why = used ? "" : used.error().message;
  if (used && *used && **used > *values.memory_max) {
    why = fmt::format("the pods use more memory than the {} bytes that are not reserved", values.memory_max->v);
  } else if (used) {
    if (const auto written = WriteTier(all, values, edited); !written && !site_.IsUnderWay(written.error()))
      why = written.error().message;
  }
  return why.empty() ? why : why + "; the memory limit of all pods stays as it was";
}

Result<void> QosCgroups::RemoveAll() {
  site_.set_has_own_groups(false);
  if (!site_.tiers().empty()) BERTH_RETURN_IF_ERROR(site_.tree().Remove(site_.names().Qos(QosClass::kGuaranteed)));
  return site_.names().own_is_named() ? Result<void>() : site_.tree().Remove(site_.names().Own());
}

}  // namespace berth::cgroup_manager
