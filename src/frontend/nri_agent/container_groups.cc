#include "frontend/nri_agent/container_groups.h"

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "base/text.h"
#include "frontend/nri_agent/translate.h"

namespace berth::nri_agent {

void ContainerGroups::Find(const nri::Pod& pod, const std::vector<std::string>* listed) {
  const std::string uid = UidOf(pod);
  cgroup_manager::GroupTable& table = node_.groups().table();
  const std::string object = pods::ObjectOf(node_.pods()[uid].pod);
  if (!table.pods().contains(uid)) {
    const auto path = GroupOf(pod, node_.groups().site().names().root());
    if (!path) {
      node_.events().Warning("UnknownGroup", object,
                             fmt::format("its group is not below {}, where pods are looked for: {}; what others get is "
                                         "not kept free of it",
                                         node_.groups().site().names().root(), Printable(pod.cgroup_parent, 200)));
      return;
    }
    table.KnowPod(uid, *path);
  }
  if (!table.IdsOf(uid).contains(pod.id)) table.KnowId(uid, "", pod.id);
  for (const auto& [name, tracked_container] : tracked_.Know(uid).containers)
    if (tracked_container.runs && !tracked_container.ended && !table.IdsOf(uid).contains(tracked_container.id))
      table.KnowId(uid, name, tracked_container.id);
  cgroup_manager::RuntimeGroups& groups = node_.groups().runtime_groups();
  const Ledger& ledger = node_.allocations().ledger();
  if (auto found = listed == nullptr ? groups.Find(uid, ledger) : groups.FindAmong(uid, *listed, ledger);
      !found && found.error().code != Code::kNotFound)
    node_.events().Warning("FailedCgroupUpdate", object, found.error().message);
}

const std::string* ContainerGroups::PathOf(const ContainerKey& who) const {
  const cgroup_manager::GroupTable& table = node_.groups().table();
  const auto pod = table.pods().find(who.first);
  return pod == table.pods().end() ? nullptr : table.FindContainer(pod->second, who.first, who.second);
}

void ContainerGroups::Apply(const ContainerKey& who, cgroup_manager::Runs runs) {
  const std::string* const path = PathOf(who);
  if (path == nullptr) return;
  const auto put = node_.groups().cpusets().Put(*path, node_.allocations().ledger(), runs);
  if (!put && !node_.groups().site().IsUnderWay(put.error()))
    node_.events().Warning("FailedCgroupUpdate", "cgroup/" + *path, put.error().message);
}

void ContainerGroups::Confine(const std::string& path) {
  const auto most_of = [this](const cgroup_manager::ContainerGroup& who) {
    const cgroup_manager::Planner& planner = node_.groups().planner();
    CpuSet now = planner.CpusNow(who, node_.allocations().ledger(), node_.allocations().online());
    CpuSet soon = now & planner.CpusNow(who, node_.allocations().newest(), node_.allocations().online());
    return soon.empty() ? now : soon;
  };
  CpuSet most = most_of({});
  const std::string_view group = std::string_view(path).substr(path.rfind('/') + 1);
  for (const auto& [uid, pod] : tracked_.all())
    for (const auto& [name, tracked_container] : pod.containers)
      if (!tracked_container.id.empty() && tracked_container.placed && group.find(tracked_container.id) != group.npos)
        if (CpuSet own = most_of({uid, name}); !own.empty()) most = std::move(own);
  const auto now = node_.groups().site().tree().ReadCpus(path);
  if (!now || (!now->empty() && now->IsSubsetOf(most))) return;
  CgroupValues values;
  values.cpus = most;
  if (auto written = node_.groups().site().WriteUnlessGone(path, values); !written)
    node_.events().Warning("FailedCgroupUpdate", "cgroup/" + path, written.error().message);
}

CpuSet ContainerGroups::CpusOf(const ContainerKey& who) const {
  return node_.groups().planner().CpusNow({who.first, who.second}, node_.allocations().ledger(),
                                          node_.allocations().online());
}

nri::Resources ContainerGroups::ResourcesOf(const ContainerKey& who) const {
  nri::Resources out;
  if (const CpuSet cpus = CpusOf(who); !cpus.empty()) out.cpus = FormatIds(cpus);
  if (const auto mems = node_.groups().planner().NodesOf({who.first, who.second}, node_.allocations().ledger()))
    out.mems = FormatIds(*mems);
  return out;
}

}  // namespace berth::nri_agent
