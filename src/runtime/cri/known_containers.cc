#include "runtime/cri/known_containers.h"

#include <algorithm>

#include "runtime/cri/cri_specs.h"

namespace berth::cri {
namespace {

using runtime::ContainerState;
using runtime::ContainerStatus;

constexpr int kRefusalsToTell = 5;  // of updates, in a row

}  // namespace

void KnownContainers::Take(const ContainerStatus& status, const std::optional<std::string>& recorded) {
  Known& known = known_[status.id];
  known.status = status;
  if (recorded) known.recorded = recorded;
  known.since = looks_;
}

Seen KnownContainers::Compare(const std::vector<ContainerEntry>& list, std::uint64_t look) const {
  std::map<std::string_view, ContainerEntry::State> states;
  for (const ContainerEntry& entry : list) states.emplace(entry.id, entry.state);
  Seen out;
  for (const auto& [id, known] : known_) {
    if (known.status.state != ContainerState::kRunning || known.since >= look) continue;
    const auto found = states.find(id);
    if (found == states.end()) {
      ContainerStatus& gone = out.vanished.emplace_back(known.status);
      gone.state = ContainerState::kUnknown;
      gone.message = "the runtime does not know it any more";
    } else if (found->second != ContainerEntry::State::kRunning) {
      out.ended.push_back(id);
    } else if (known.status.started_at.empty()) {  // the runtime could not be asked when it was started
      out.untold.push_back(id);
    }
  }
  return out;
}

std::vector<ContainerStatus> KnownContainers::List() const {
  std::vector<ContainerStatus> out;
  for (const auto& [id, known] : known_) out.push_back(known.status);
  return out;
}

const ContainerStatus* KnownContainers::Find(std::string_view id) const {
  const auto it = known_.find(id);
  return it == known_.end() ? nullptr : &it->second.status;
}

Result<std::optional<std::string>> KnownContainers::Forget(std::string_view id) {
  const auto it = known_.find(id);
  if (it == known_.end()) return std::nullopt;
  if (it->second.status.state == ContainerState::kRunning)
    return Fail(Code::kConflict, "container " + it->first.substr(0, 12) + " runs: it cannot be forgotten");
  std::string uid = it->second.status.pod_uid;
  known_.erase(it);
  return uid;
}

void KnownContainers::ForgetPod(std::string_view uid) {
  std::erase_if(wanted_cpus_, [&](const auto& entry) { return entry.first.first == uid; });
  std::erase_if(wanted_values_, [&](const auto& entry) { return entry.first.first == uid; });
}

void KnownContainers::Want(const std::string& uid, const std::string& container, std::string cpus) {
  wanted_cpus_[{uid, container}] = std::move(cpus);
}

void KnownContainers::WantValues(const std::string& uid, const std::string& container, Resources values) {
  values.cpus.clear();
  wanted_values_[{uid, container}] = std::move(values);
}

std::string KnownContainers::Wanted(const std::string& uid, const std::string& container) const {
  const auto it = wanted_cpus_.find({uid, container});
  return it == wanted_cpus_.end() ? "" : it->second;
}

std::vector<std::string> KnownContainers::UpdatesDue() {
  std::vector<std::string> out;
  for (auto& [id, known] : known_) {
    if (known.updating || known.status.state != ContainerState::kRunning) continue;
    const std::string wanted = Wanted(known.status.pod_uid, known.status.container);
    const bool same_cpus = wanted.empty() || known.recorded == wanted;
    if (same_cpus && !wanted_values_.contains({known.status.pod_uid, known.status.container})) continue;
    known.updating = true;
    out.push_back(id);
  }
  return out;
}

std::optional<Resources> KnownContainers::UpdateBegins(std::string_view id) const {
  const auto it = known_.find(id);
  if (it == known_.end()) return std::nullopt;
  const runtime::ContainerStatus& status = it->second.status;
  Resources out;
  if (const auto values = wanted_values_.find({status.pod_uid, status.container}); values != wanted_values_.end())
    out = values->second;
  out.cpus = Wanted(status.pod_uid, status.container);
  return out;
}

std::optional<std::string> KnownContainers::UpdateEnded(std::string_view id, const Resources& sent,
                                                        const Result<void>& done) {
  const auto it = known_.find(id);
  if (it == known_.end()) return std::nullopt;
  Resources values = sent;
  values.cpus.clear();
  const auto wanted = wanted_values_.find({it->second.status.pod_uid, it->second.status.container});
  if (done && wanted != wanted_values_.end() && wanted->second == values) wanted_values_.erase(wanted);
  Known& known = it->second;
  known.updating = false;
  known.recorded = done ? std::optional(sent.cpus) : std::nullopt;
  known.refused = done || done.error().code == Code::kNotFound ? 0 : known.refused + 1;
  // CPUs it shall not have any more are refused by its pod's group, which is narrowed first. The next try has the new
  // ones, so that a few refusals say nothing.
  if (known.refused != kRefusalsToTell) return std::nullopt;
  return "container " + it->first.substr(0, 12) + ": " + done.error().message + "; tried again";
}

std::vector<ContainerEntry> OfNoUse(const std::vector<ContainerEntry>& found) {
  std::map<std::pair<std::string, std::string>, std::uint32_t> newest;
  for (const ContainerEntry& entry : found) {
    if (entry.state == ContainerEntry::State::kCreated) continue;
    std::uint32_t& attempt = newest[{LabelOf(entry, kPodUid), LabelOf(entry, kContainerName)}];
    attempt = std::max(attempt, entry.attempt);
  }
  std::vector<ContainerEntry> out;
  std::ranges::copy_if(found, std::back_inserter(out), [&](const ContainerEntry& entry) {
    if (entry.state == ContainerEntry::State::kCreated) return true;
    return entry.state == ContainerEntry::State::kExited &&
           entry.attempt < newest[{LabelOf(entry, kPodUid), LabelOf(entry, kContainerName)}];
  });
  return out;
}

}  // namespace berth::cri
