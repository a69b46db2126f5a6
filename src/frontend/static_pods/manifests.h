// Pod manifest reconciliation: the pods that the sources want to run here, compared with the pods there are.
#ifndef BERTH_FRONTEND_STATIC_PODS_MANIFESTS_H_
#define BERTH_FRONTEND_STATIC_PODS_MANIFESTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/pod_sources/source.h"
#include "frontend/static_pods/static_pod_context.h"
#include "node/core/node_core.h"

namespace berth::pods {

/// True when the record was made for a pod of this shape: name, QoS class, containers, requests.
bool RecordFits(const PodRecord& record, const Pod& pod);

/// Thread: the loop's only.
class Manifests {
 public:
  /// `context` outlives this.
  explicit Manifests(StaticPodContext& context) : context_(context), node_(context.node()) {}

  /// The source has something new.
  void Take(pod_sources::Snapshot snapshot);
  /// All manifests were read well once: pods without one may be ended before that is so again.
  bool ready() const { return ready_; }
  /// They were in the newest snapshot too: what has no manifest is not wanted.
  bool complete() const { return ready_ && is_complete_; }
  /// From now on nothing is wanted.
  void StopAll() { stopping_ = true; }
  bool stopping() const { return stopping_; }
  const std::map<std::string, std::string>& files() const { return files_; }  ///< full name -> manifest file
  /// Snapshot::storage of the newest one; never null.
  std::shared_ptr<const std::string> storage() const { return storage_; }
  std::size_t held_bytes() const { return held_bytes_; }  ///< likewise
  /// Its manifest as the source holds it, when the pod is in force just like that; else a copy of the pod.
  std::shared_ptr<const Pod> Share(const ManagedPod& managed) const;
  /// Some pod of this name is ending and another one of that name will follow it.
  bool OneFollows() const;
  /// What is wrong in manifests now, a sentence each.
  std::vector<std::string> Problems() const;

  /// Claims pods that are wanted and ends those that are not any more. Nothing before the first snapshot.
  void Match(os::MonoTime now);
  /// A manifest stands behind a pod that was found.
  void Claim(ManagedPod& managed, const Pod& pod, os::MonoTime now);
  /// Takes in what is wanted and not known yet, and returns all pods that wait to be decided, in the order of their
  /// creation (uids). A new version of a pod waits until the old one is gone.
  std::vector<std::string> TakeIn();

 private:
  using Reported = std::set<std::pair<std::string, std::string>>;  // file, message
  void Report(const std::vector<pod_sources::SourceProblem>& list, Reported& known, const char* reason);
  void MatchOne(const std::string& uid, ManagedPod& managed, os::MonoTime now);
  void TakeUid(std::shared_ptr<const Pod>& pod, const std::string& identity) const;
  bool IsResize(const ManagedPod& managed, const Pod& wanted) const;
  const std::string& IdentityOf(const std::string& full_name) const;
  const Pod* FindWanted(const std::string& uid, const ManagedPod& managed) const;

  StaticPodContext& context_;
  core::Node& node_;
  bool ready_ = false;
  bool is_complete_ = false;
  bool stopping_ = false;
  std::map<std::string, std::shared_ptr<const Pod>> wanted_;  // by full name; never null
  std::map<std::string, std::string> identities_;
  std::set<std::string> gone_;  // full names that were not wanted for a moment since the last Match
  std::uint64_t arrivals_ = 0;
  std::map<std::string, std::string> files_;  // full name -> path
  std::shared_ptr<const std::string> storage_ = std::make_shared<const std::string>();
  std::size_t held_bytes_ = 0;
  Reported problems_;
  Reported warnings_;
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_MANIFESTS_H_
