#include "pods/manifests.h"

#include <algorithm>

namespace berth::pods {

bool RecordFits(const PodRecord& record, const Pod& pod) {
  if (record.namespace_ != pod.namespace_ || record.name != pod.name || record.qos != QosOf(pod)) return false;
  std::vector<std::pair<std::string, ContainerKind>> have;
  std::vector<std::pair<std::string, ContainerKind>> want;
  for (const Placement& placement : record.placements) have.emplace_back(placement.container, placement.kind);
  ForEachContainer(pod,
                   [&](const Container& container, ContainerKind kind) { want.emplace_back(container.name, kind); });
  return have == want && record.requests == PodRequests(pod);
}

void Manifests::Take(source::Snapshot snapshot) {
  Report(snapshot.problems, problems_, "FailedValidation");
  Report(snapshot.warnings, warnings_, "ManifestWarning");
  if (!snapshot.ready) return;
  ready_ = true;
  is_complete_ = snapshot.complete;
  std::map<std::string, Pod> wanted;
  for (Pod& pod : snapshot.pods) {
    std::string name = FullName(pod);
    wanted.insert_or_assign(std::move(name), std::move(pod));
  }
  for (const auto& [name, pod] : wanted_)
    if (!wanted.contains(name)) gone_.insert(name);
  wanted_ = std::move(wanted);
  parts_.documents.Set(std::move(snapshot.documents));
  files_ = std::move(snapshot.files);
}

/// Each once, as long as it is there.
void Manifests::Report(const std::vector<source::SourceProblem>& list, Reported& known, const char* reason) {
  Reported current;
  for (const source::SourceProblem& problem : list) {
    if (!known.contains({problem.file, problem.message}))
      parts_.events.Warning(reason, problem.source + "/" + problem.file, problem.message);
    current.emplace(problem.file, problem.message);
  }
  known = std::move(current);
}

std::vector<std::string> Manifests::Problems() const {
  std::vector<std::string> out;
  for (const auto& [file, message] : problems_) out.push_back(message);
  return out;
}

void Manifests::Claim(ManagedPod& managed, const Pod& pod, os::MonoTime now) {
  managed.pod = pod;
  managed.words.reset();
  managed.claimed = true;
  const Life* const life = parts_.lives.Find(pod.uid);
  const std::string admitted_at = life != nullptr ? life->admitted_at : "";
  if (life != nullptr && life->evicted)
    managed.stage = Rejected{.why = *life->evicted, .admitted_at = admitted_at};
  else if (parts_.keeper.ledger().pods.contains(pod.uid))
    managed.stage = Admitted{.at = admitted_at.empty() ? os::FormatTime(parts_.clock.Wall()) : admitted_at};
  else
    managed.stage = Waiting{};  // it runs, but its place has to be decided again
  managed.lifecycle.emplace(parts_.NewLifecycle(pod));
  parts_.Recover(managed, now);
}

void Manifests::Match(os::MonoTime now) {
  if (!ready_ && !stopping_) return;
  for (auto& [uid, managed] : parts_.pods) {
    if (managed.Is<Ending>() || managed.Is<Foreign>()) continue;
    if (managed.saving && !managed.claimed) continue;  // being completed by its manifest
    MatchOne(uid, managed, now);
    if (const auto file = files_.find(FullName(managed.pod)); file != files_.end()) managed.file = file->second;
  }
  gone_.clear();
}

bool Manifests::OneFollows() const {
  return std::ranges::any_of(parts_.pods, [&](const auto& entry) {
    return entry.second.template Is<Ending>() && wanted_.contains(FullName(entry.second.pod));
  });
}

/// What neither ledger nor manifest names has only its uid for a name.
const Pod* Manifests::FindWanted(const std::string& uid, const ManagedPod& managed) const {
  if (stopping_) return nullptr;
  auto wanted = wanted_.find(FullName(managed.pod));
  if (wanted == wanted_.end() && !managed.claimed)
    wanted = std::ranges::find_if(wanted_, [&](const auto& w) { return w.second.uid == uid; });
  return wanted != wanted_.end() && wanted->second.uid == uid ? &wanted->second : nullptr;
}

void Manifests::MatchOne(const std::string& uid, ManagedPod& managed, os::MonoTime now) {
  const Pod* const wanted = FindWanted(uid, managed);
  if (wanted == nullptr) {
    if (managed.claimed || is_complete_ || stopping_) End(managed, now);
    return;
  }
  if (managed.claimed) {  // one that was deleted and made again is another one, whatever it is called
    if (managed.pod != *wanted || gone_.contains(FullName(managed.pod))) End(managed, now);
    return;
  }
  const auto record = parts_.keeper.ledger().pods.find(uid);
  if (record != parts_.keeper.ledger().pods.end() && record->second.partial)
    complete_(managed, *wanted, now);
  else if (record == parts_.keeper.ledger().pods.end() || RecordFits(record->second, *wanted))
    Claim(managed, *wanted, now);
  else
    End(managed, now);
}

std::vector<std::string> Manifests::TakeIn() {
  std::vector<std::string> out;
  if (!ready_ || stopping_) return out;
  std::vector<const std::pair<const std::string, Pod>*> order;
  for (const auto& wanted : wanted_) order.push_back(&wanted);
  std::ranges::stable_sort(order, {}, [](const auto* wanted) { return wanted->second.creation_timestamp; });
  std::set<std::string> names;
  for (const auto& [uid, managed] : parts_.pods) names.insert(FullName(managed.pod));
  for (const auto* wanted : order) {
    const auto& [name, pod] = *wanted;
    auto it = parts_.pods.find(pod.uid);
    if (it == parts_.pods.end()) {
      if (names.contains(name)) continue;
      ManagedPod managed{.pod = pod, .claimed = true};
      if (const auto file = files_.find(name); file != files_.end()) managed.file = file->second;
      if (const Life* const life = parts_.lives.Find(pod.uid); life != nullptr && life->evicted)
        managed.stage = Rejected{.why = *life->evicted, .admitted_at = life->admitted_at};
      managed.arrival = ++arrivals_;
      it = parts_.pods.emplace(pod.uid, std::move(managed)).first;
      names.insert(name);
    }
    if (it->second.Is<Waiting>() && !it->second.saving) out.push_back(pod.uid);
  }
  return out;
}

}  // namespace berth::pods
