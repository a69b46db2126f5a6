#include "frontend/static_pods/manifests.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "model/resize_changes.h"

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

namespace {

/// What the manifest asks for beyond it is a resize.
void TakeAllocated(Pod& pod, const PodRecord& record) {
  SetAllocated(pod, record.allocated);
  if (record.allocated.empty()) return;
  std::map<std::string, int, std::less<>> own;
  for (const Placement& placement : record.placements)
    if (placement.cpus) own.emplace(placement.container, placement.cpus->Count());
  SetOwnCpus(pod, own);
}

/// Its manifest says what it wants now: the newest counts, and what is being saved comes first.
void WantResize(ManagedPod& managed, const Pod& wanted) {
  if (managed.saving || !managed.Is<Admitted>()) return;
  const bool in_progress = managed.resize && managed.resize->state == PendingResize::State::kInProgress;
  if (managed.pod == wanted) {
    if (managed.resize && !in_progress) managed.resize.reset();
  } else if (!managed.resize ||
             (managed.resize->wanted != wanted && (!in_progress || !managed.resize->why.reason.empty()))) {
    managed.resize.emplace(PendingResize{.wanted = wanted});
  }
}

/// An earlier berthd may have ended before all containers were restarted that have to be.
void ResumeResize(ManagedPod& managed, const PodRecord& record) {
  if (!managed.Is<Admitted>()) return;
  PendingResize resize{.wanted = managed.pod, .state = PendingResize::State::kInProgress};
  std::ranges::copy_if(record.restarts, std::inserter(resize.restarts, resize.restarts.end()),
                       [&](const std::string& id) { return managed.lifecycle->Runs(id); });
  if (!resize.restarts.empty()) managed.resize = std::move(resize);
}

bool IsEnding(const Pods& pods, const std::string& uid) {
  const auto found = pods.find(uid);
  return found != pods.end() && found->second.Is<Ending>();
}

}  // namespace

void Manifests::Take(pod_sources::Snapshot snapshot) {
  Report(snapshot.problems, problems_, "FailedValidation");
  Report(snapshot.warnings, warnings_, "ManifestWarning");
  if (!snapshot.ready) return;
  ready_ = true;
  is_complete_ = snapshot.complete;
  std::map<std::string, std::shared_ptr<const Pod>> wanted;
  identities_ = std::move(snapshot.identities);
  for (std::shared_ptr<const Pod>& pod : snapshot.pods) {
    std::string name = FullName(*pod);
    TakeUid(pod, IdentityOf(name));
    wanted.insert_or_assign(std::move(name), std::move(pod));
  }
  for (const auto& [name, pod] : wanted_)
    if (!wanted.contains(name)) gone_.insert(name);
  wanted_ = std::move(wanted);
  context_.documents().Set(std::move(snapshot.documents));
  files_ = std::move(snapshot.files);
  storage_ = std::make_shared<const std::string>(std::move(snapshot.storage));
  held_bytes_ = snapshot.held_bytes;
}

const std::string& Manifests::IdentityOf(const std::string& full_name) const {
  static const std::string kUnknown;
  const auto found = identities_.find(full_name);
  return found == identities_.end() ? kUnknown : found->second;
}

/// A pod whose manifest asks for other amounts is the pod it was: it keeps the uid by which its groups, its records and
/// its runtime know it, though a manifest like this one makes another.
void Manifests::TakeUid(std::shared_ptr<const Pod>& pod, const std::string& identity) const {
  if (identity.empty()) return;
  std::optional<std::string> uid;
  for (const auto& [known, managed] : node_.pods())
    if (managed.identity == identity && !managed.Is<Ending>()) uid = known;
  for (const auto& [known, record] : node_.allocations().newest().pods)
    if (!uid && record.identity == identity && !IsEnding(node_.pods(), known)) uid = known;
  if (!uid) uid = node_.checkpoints().UidOf(identity);
  if (!uid || *uid == pod->uid || IsEnding(node_.pods(), *uid)) return;
  Pod known(*pod);
  known.uid = *std::move(uid);
  known.annotations["kubernetes.io/config.hash"] = known.uid;
  pod = std::make_shared<const Pod>(std::move(known));
}

/// Each once, as long as it is there.
void Manifests::Report(const std::vector<pod_sources::SourceProblem>& list, Reported& known, const char* reason) {
  Reported current;
  for (const pod_sources::SourceProblem& problem : list) {
    if (!known.contains({problem.file, problem.message}))
      node_.events().Warning(reason, problem.source + "/" + problem.file, problem.message);
    current.emplace(problem.file, problem.message);
  }
  known = std::move(current);
}

std::vector<std::string> Manifests::Problems() const {
  constexpr std::size_t kMost = 100;
  constexpr std::size_t kLongest = 2'000;
  std::vector<std::string> out;
  for (const auto& [file, message] : problems_) {
    if (out.size() == kMost) {
      out.push_back("and " + std::to_string(problems_.size() - kMost) +
                    " more problems of manifests: mend these first, or see berth events");
      break;
    }
    out.push_back(message.size() <= kLongest ? message : message.substr(0, kLongest) + "...");
  }
  return out;
}

void Manifests::Claim(ManagedPod& managed, const Pod& pod, os::MonoTime now) {
  managed.pod = pod;
  context_.StateOf(pod.uid).words.reset();
  managed.claimed = true;
  managed.identity = IdentityOf(FullName(pod));
  const auto record = node_.allocations().ledger().pods.find(pod.uid);
  const bool known = record != node_.allocations().ledger().pods.end();
  if (known) TakeAllocated(managed.pod, record->second);
  const PodCheckpoint* const life = node_.checkpoints().Find(pod.uid);
  const std::string admitted_at = life != nullptr ? life->admitted_at : "";
  if (life != nullptr && life->evicted)
    managed.stage = Rejected{.why = *life->evicted, .admitted_at = admitted_at};
  else if (known)
    managed.stage = Admitted{.at = admitted_at.empty() ? os::FormatTime(node_.clock().Wall()) : admitted_at};
  else
    managed.stage = Waiting{};  // it runs, but its place has to be decided again
  managed.lifecycle.emplace(context_.NewLifecycle(pod));
  node_.RestoreLifecycle(managed, now);
  if (known) ResumeResize(managed, record->second);
  WantResize(managed, pod);
}

void Manifests::Match(os::MonoTime now) {
  if (!ready_ && !stopping_) return;
  for (auto& [uid, managed] : node_.pods()) {
    if (managed.Is<Ending>() || managed.Is<Foreign>()) continue;
    if (managed.saving && !managed.claimed) continue;  // being completed by its manifest
    MatchOne(uid, managed, now);
    if (const auto file = files_.find(FullName(managed.pod)); file != files_.end()) managed.file = file->second;
  }
  gone_.clear();
}

/// Of a pod that runs, or is about to. What holds no place is decided anew instead.
bool Manifests::IsResize(const ManagedPod& managed, const Pod& wanted) const {
  return managed.Is<Admitted>() && !managed.identity.empty() && managed.identity == IdentityOf(FullName(wanted));
}

std::shared_ptr<const Pod> Manifests::Share(const ManagedPod& managed) const {
  const auto wanted = wanted_.find(FullName(managed.pod));
  return wanted != wanted_.end() && *wanted->second == managed.pod ? wanted->second
                                                                   : std::make_shared<const Pod>(managed.pod);
}

bool Manifests::OneFollows() const {
  return std::ranges::any_of(node_.pods(), [&](const auto& entry) {
    return entry.second.template Is<Ending>() && wanted_.contains(FullName(entry.second.pod));
  });
}

/// What neither ledger nor manifest names has only its uid for a name.
const Pod* Manifests::FindWanted(const std::string& uid, const ManagedPod& managed) const {
  if (stopping_) return nullptr;
  auto wanted = wanted_.find(FullName(managed.pod));
  if (wanted == wanted_.end() && !managed.claimed)
    wanted = std::ranges::find_if(wanted_, [&](const auto& w) { return w.second->uid == uid; });
  return wanted != wanted_.end() && wanted->second->uid == uid ? wanted->second.get() : nullptr;
}

void Manifests::MatchOne(const std::string& uid, ManagedPod& managed, os::MonoTime now) {
  const Pod* const wanted = FindWanted(uid, managed);
  if (wanted == nullptr) {
    if (managed.claimed || is_complete_ || stopping_) End(managed, now);
    return;
  }
  if (managed.claimed) {  // one that was deleted and made again is another one, whatever it is called
    if (gone_.contains(FullName(managed.pod))) return End(managed, now);
    if (managed.pod != *wanted && !IsResize(managed, *wanted)) return End(managed, now);
    return WantResize(managed, *wanted);
  }
  const auto record = node_.allocations().ledger().pods.find(uid);
  if (record != node_.allocations().ledger().pods.end() && record->second.partial)
    node_.recovery().Complete(managed, *wanted, now,
                              [this](ManagedPod& same, const Pod& pod, os::MonoTime then) { Claim(same, pod, then); });
  else if (record == node_.allocations().ledger().pods.end() || RecordFits(record->second, *wanted) ||
           (!record->second.allocated.empty() && record->second.identity == IdentityOf(FullName(*wanted))))
    Claim(managed, *wanted, now);
  else
    End(managed, now);
}

std::vector<std::string> Manifests::TakeIn() {
  std::vector<std::string> out;
  if (!ready_ || stopping_) return out;
  std::vector<const std::pair<const std::string, std::shared_ptr<const Pod>>*> order;
  for (const auto& wanted : wanted_) order.push_back(&wanted);
  std::ranges::stable_sort(order, {}, [](const auto* wanted) { return wanted->second->creation_timestamp; });
  std::set<std::string> names;
  for (const auto& [uid, managed] : node_.pods()) names.insert(FullName(managed.pod));
  for (const auto* wanted : order) {
    const std::string& name = wanted->first;
    const Pod& pod = *wanted->second;
    auto it = node_.pods().find(pod.uid);
    if (it == node_.pods().end()) {
      if (names.contains(name)) continue;
      ManagedPod managed{.pod = pod, .claimed = true};
      managed.identity = IdentityOf(name);
      if (const auto file = files_.find(name); file != files_.end()) managed.file = file->second;
      if (const PodCheckpoint* const life = node_.checkpoints().Find(pod.uid); life != nullptr && life->evicted)
        managed.stage = Rejected{.why = *life->evicted, .admitted_at = life->admitted_at};
      managed.arrival = ++arrivals_;
      it = node_.pods().emplace(pod.uid, std::move(managed)).first;
      names.insert(name);
    }
    if (it->second.Is<Waiting>() && !it->second.saving) out.push_back(pod.uid);
  }
  return out;
}

}  // namespace berth::pods
