#include "node/checkpoint/ledger_import.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "node/checkpoint/alloc_response.h"

namespace berth::checkpoint {
namespace {

PodRecord& RecordOf(Ledger& ledger, const std::string& uid) {
  const auto [at, added] = ledger.pods.try_emplace(uid);
  PodRecord& record = at->second;
  if (added) {
    record.uid = uid;
    record.namespace_ = "unknown";
    record.name = uid;
    record.partial = true;
    record.sequence = ledger.next_sequence++;
  }
  return record;
}

Placement& PlacementIn(PodRecord& record, const std::string& container) {
  const auto at = std::ranges::find(record.placements, container, &Placement::container);
  if (at != record.placements.end()) return *at;
  return record.placements.emplace_back(Placement{.container = container});
}

const RunningGroup* GroupWithId(const std::vector<RunningGroup>& running, const std::string& id) {
  const auto at = std::ranges::find_if(running, [&](const RunningGroup& g) { return g.name.contains(id); });
  return at == running.end() ? nullptr : &*at;
}

/// CPUs of a container that a V1 file names by its id.
void TakeCpusById(const std::string& id, const CpuSet& cpus, const std::vector<RunningGroup>* running,
                  LedgerImport& out) {
  if (running == nullptr) {
    if (!cpus.empty()) PlacementIn(RecordOf(out.ledger, id), id).cpus = cpus;
    out.notes.push_back("the file is of version 1, which does not say which pod container " + id + " belongs to");
    return;
  }
  const RunningGroup* group = GroupWithId(*running, id);
  if (group == nullptr) {
    out.notes.push_back("container " + id + " does not run here any more; its CPUs " + FormatIds(cpus) +
                        " go to the shared pool");
    out.ledger.shared |= cpus;
  } else if (!cpus.empty()) {
    PlacementIn(RecordOf(out.ledger, group->uid), group->name).cpus = cpus;
  }
}

void TakeCpus(const KubeletCpuState& file, const std::vector<RunningGroup>* running, LedgerImport& out) {
  out.ledger.cpu_policy = file.policy.empty() ? "none" : file.policy;
  if (out.ledger.cpu_policy == "static") out.ledger.shared = file.default_cpus;
  for (const auto& [uid, containers] : file.entries)
    for (const auto& [name, cpus] : containers)
      if (!cpus.empty()) PlacementIn(RecordOf(out.ledger, uid), name).cpus = cpus;
  for (const auto& [id, cpus] : file.by_container_id) TakeCpusById(id, cpus, running, out);
  for (const auto& [uid, cpus] : file.pods) {
    PodRecord& record = RecordOf(out.ledger, uid);
    const CpuSet rest = cpus - ExclusiveCpus(record);
    if (rest.empty()) continue;
    PlacementIn(record, std::string(kWholePod)).cpus = rest;
    out.notes.push_back("pod " + uid + " holds CPUs " + FormatIds(rest) +
                        " as a whole; they stay its own until it ends");
  }
}

void TakeMemory(const KubeletMemoryState& file, LedgerImport& out) {
  out.ledger.memory_policy = file.policy.empty() ? "None" : file.policy;
  out.ledger.memory = file.nodes;
  for (const auto& [uid, containers] : file.entries)
    for (const auto& [name, blocks] : containers)
      if (!blocks.empty()) PlacementIn(RecordOf(out.ledger, uid), name).memory = blocks;
  for (const auto& [uid, blocks] : file.pods) {
    if (blocks.empty()) continue;
    PodRecord& record = RecordOf(out.ledger, uid);
    const bool held = std::ranges::any_of(record.placements, [](const Placement& p) { return p.memory.has_value(); });
    if (!held) PlacementIn(record, std::string(kWholePod)).memory = blocks;
  }
}

/// nullopt: the file has none, or none that can be read.
std::optional<DeviceAnswer> AnswerIn(const KubeletDeviceState::Entry& entry, LedgerImport& out) {
  if (!entry.response) return std::nullopt;
  auto answer = ParseAllocResponse(FromBase64(*entry.response).value_or(""));
  if (!answer) {
    out.notes.push_back("what the plugin of " + Printable(entry.resource, 80) + " answered for container " +
                        Printable(entry.container, 80) + " of pod " + Printable(entry.pod, 80) +
                        " cannot be read, and is left out: " + answer.error().message);
    return std::nullopt;
  }
  for (const auto& [node, ids] : *entry.devices) {
    const auto number = ParseDecimal<std::uint32_t>(node);
    if (!ids) continue;
    for (const std::string& id : *ids) {
      NodeSet& nodes = answer->nodes[id];
      if (number && *number <= kMaxId) nodes.Insert(NumaId{*number});
    }
  }
  return *std::move(answer);
}

void TakeDevices(const KubeletDeviceState& file, LedgerImport& out) {
  if (!file.entries) return;
  for (const KubeletDeviceState::Entry& entry : *file.entries) {
    if (!entry.devices) continue;
    std::set<std::string> ids;
    for (const auto& [node, list] : *entry.devices)
      if (list) ids.insert(list->begin(), list->end());
    if (ids.empty()) continue;
    std::vector<DeviceAssignment>& devices = PlacementIn(RecordOf(out.ledger, entry.pod), entry.container).devices;
    const auto at = std::ranges::find(devices, entry.resource, &DeviceAssignment::resource);
    DeviceAssignment& given =
        at != devices.end() ? *at : devices.emplace_back(DeviceAssignment{entry.resource, {}, std::nullopt});
    ids.insert(given.ids.begin(), given.ids.end());
    given.ids.assign(ids.begin(), ids.end());
    std::optional<DeviceAnswer> answer = AnswerIn(entry, out);
    if (given.answer && answer)
      given.answer->nodes.merge(answer->nodes);
    else if (answer)
      given.answer = std::move(answer);
    std::ranges::sort(devices, {}, &DeviceAssignment::resource);
  }
}

/// QoS classes, and the pods that hold nothing of their own.
void TakeGroups(const std::vector<RunningGroup>& running, LedgerImport& out) {
  for (const RunningGroup& group : running) {
    if (!group.busy && !out.ledger.pods.contains(group.uid)) continue;
    PodRecord& record = RecordOf(out.ledger, group.uid);
    record.qos = group.qos;
    if (record.placements.empty()) record.placements.push_back({.container = group.name});
  }
}

QosClass GuessQos(const PodRecord& record) {
  const bool pinned =
      std::ranges::any_of(record.placements, [](const Placement& p) { return p.cpus || p.memory.has_value(); });
  return pinned ? QosClass::kGuaranteed : QosClass::kBurstable;
}

bool MayShare(const RunningGroup& a, const RunningGroup& b) { return a.path == b.path || !b.busy; }

}  // namespace

LedgerImport ImportKubelet(const KubeletFiles& files, const std::vector<RunningGroup>* running) {
  LedgerImport out;
  out.ledger.cpu_policy = "none";
  out.ledger.memory_policy = "None";
  if (files.cpu) TakeCpus(*files.cpu, running, out);
  if (files.memory) TakeMemory(*files.memory, out);
  if (files.devices) TakeDevices(*files.devices, out);
  for (auto& [uid, record] : out.ledger.pods) record.qos = GuessQos(record);
  if (running != nullptr) TakeGroups(*running, out);
  out.ledger.revision = 1;
  return out;
}

LedgerImport RebuildLedger(const Ledger& empty, const CpuSet& reserved, const CpuSet& own,
                           const std::vector<RunningGroup>& running) {
  LedgerImport out{.ledger = empty, .notes = {}};
  // A group that may run everywhere says nothing about the pool.
  const CpuSet pool = empty.shared.IsSubsetOf(own) ? reserved : own;
  for (const RunningGroup& group : running) {
    if (!group.busy) continue;
    PodRecord& record = RecordOf(out.ledger, group.uid);
    record.qos = group.qos;
    Placement& placement = PlacementIn(record, group.name);
    const bool pinned = group.qos == QosClass::kGuaranteed && !group.cpus.empty() && !group.cpus.Intersects(pool) &&
                        group.cpus.IsSubsetOf(empty.shared) && !(out.ledger.shared - group.cpus).empty() &&
                        std::ranges::none_of(running, [&](const RunningGroup& other) {
                          return !MayShare(group, other) && other.cpus.Intersects(group.cpus);
                        });
    if (!pinned) continue;
    placement.cpus = group.cpus;
    out.ledger.shared -= group.cpus;
    out.notes.push_back(group.path + " runs alone on CPUs " + FormatIds(group.cpus) + " and keeps them");
  }
  if (!out.ledger.pods.empty()) ++out.ledger.revision;
  return out;
}

const Placement* PlacementOf(const PodRecord& record, const std::string& group, const CpuSet& cpus) {
  if (const Placement* named = FindPlacement(record, group)) return named;
  const Placement* found = nullptr;
  for (const Placement& placement : record.placements) {
    if (!placement.cpus || cpus.empty() || !cpus.IsSubsetOf(*placement.cpus)) continue;
    if (found != nullptr) return nullptr;
    found = &placement;
  }
  return found;
}

}  // namespace berth::checkpoint
