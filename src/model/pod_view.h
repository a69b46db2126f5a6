// A pod and its containers as others see them: what is wanted, what it holds, how it runs. Plain values; what the pods
// resource service, a web page and `berth pods` show.
#ifndef BERTH_MODEL_POD_VIEW_H_
#define BERTH_MODEL_POD_VIEW_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/quantity.h"
#include "base/time_text.h"
#include "model/event.h"
#include "model/kubelet_version.h"
#include "model/placement.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth {

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed };
std::string_view Name(PodPhase phase);  ///< "Pending", "Running", "Succeeded", "Failed"

enum class ContainerPhase { kWaiting, kRunning, kExited };
std::string_view Name(ContainerPhase phase);  ///< "waiting", "running", "exited"

/// One start of a container. Times are RFC 3339 as the runtime gave them, "" when it did not.
struct ContainerRun {
  int pid = 0;                   ///< 0: it does not run, or has none
  std::optional<int> exit_code;  ///< nullopt: it has not ended, or nobody knows
  std::string started_at;
  std::string finished_at;
  std::string log_path;
  friend bool operator==(const ContainerRun&, const ContainerRun&) = default;
};

/// How the newest start of a container ended.
struct ContainerEnd {
  int attempt = 0;  ///< counts starts from 0
  std::optional<int> exit_code;
  std::string reason;  ///< "Completed", "Error", "OOMKilled", ...
  std::string message;
  std::string finished_at;  ///< RFC 3339
  friend bool operator==(const ContainerEnd&, const ContainerEnd&) = default;
};

/// What the ledger gives a container.
struct ContainerPlace {
  std::optional<CpuSet> cpus;  ///< its own; nullopt: it runs in the shared pool
  bool mixed = false;          ///< the shared pool beside `cpus`
  CpuSet node_cpus{};          ///< of the NUMA nodes it asked to be kept to: PartOfPool; empty: it did not
  std::string pool{};          ///< named pool it runs in; "": none
  CpuSet pool_cpus{};          ///< of that pool
  bool known = true;           ///< false: the pod's record does not name it, and nothing is known of the next three
  NodeSet memory_nodes;        ///< empty: not pinned
  std::vector<DeviceAssignment> devices;
  bool devices_reported = false;  ///< `devices` are a kubelet's, by its pod resources; the ledger has none
  std::optional<TopologyHint> hint;
  std::string cgroup;  ///< path below the cgroup root
  friend bool operator==(const ContainerPlace&, const ContainerPlace&) = default;
};

struct ContainerView {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  std::string image;
  std::string id;  ///< the runtime's, of the newest start; "": never started
  ContainerPhase phase = ContainerPhase::kWaiting;
  /// Why it waits or how it ended: "PodInitializing", "CrashLoopBackOff", "Completed", ...
  std::string reason;
  std::string message;
  std::optional<ContainerRun> last;  ///< newest start; nullopt: never started
  int restarts = 0;
  bool started = false;                  ///< it runs, and its startup probe succeeded if it has one
  bool ready = false;                    ///< started, and its readiness probe says so; of an init container: it is done
  std::optional<ContainerEnd> last_end;  ///< nullopt: the newest start has not ended
  std::optional<ContainerPlace> place;   ///< nullopt: the pod holds nothing
  friend bool operator==(const ContainerView&, const ContainerView&) = default;
};

/// A resize that is not done: a pod's condition of that kind.
struct ResizeView {
  bool in_progress = false;  ///< condition PodResizeInProgress; false: PodResizePending
  std::string reason;        ///< "Deferred", "Infeasible"; in progress: "", or "Error" when something stands in its way
  std::string message;
  std::vector<std::string> details;  ///< in an operator's words
  ResourceList requests;             ///< of the whole pod, as it shall be
  friend bool operator==(const ResizeView&, const ResizeView&) = default;
};

/// What a pod's requests are known from.
enum class RequestsFrom {
  kManifest,
  kApiServer,  ///< of a kubelet's pod: its spec
  kRuntime,    ///< likewise: what the runtime shows, from which some are inferred
};
std::string_view Name(RequestsFrom from);  ///< "manifest", "apiServer", "runtime"

struct PodView {
  std::string namespace_;
  std::string name;  ///< as on the node
  std::string uid;
  std::string source;  ///< "file", "http", ...; "": no manifest is known
  std::string file;    ///< manifest
  QosClass qos = QosClass::kBestEffort;
  PodPhase phase = PodPhase::kPending;
  bool ready = false;                   ///< condition Ready: all apps and sidecars are, and it has no readiness gates
  std::string reason;                   ///< why it waits, was refused or evicted; "Terminating"
  std::string message;                  ///< of the same
  std::vector<std::string> details;     ///< in an operator's words
  int queue_place = 0;                  ///< among the pods that wait for room, from 1; 0: it does not wait for it
  std::optional<WallTime> admitted_at;  ///< nullopt: not, or by a berthd before this boot
  ResourceList requests;                ///< of the whole pod
  ResourceList limits;                  ///< likewise; a resource that one container may use without a limit has none
  RequestsFrom requests_from = RequestsFrom::kManifest;
  std::vector<std::string> addresses;  ///< the first is its podIP; empty: none yet
  std::map<std::string, std::string> labels;
  std::vector<ContainerView> containers;
  std::optional<ResizeView> resize{};  ///< nullopt: it is as its manifest wants it
  friend bool operator==(const PodView&, const PodView&) = default;
};

/// "namespace/name".
std::string FullName(const PodView& pod);

/// The CPUs of a container without CPUs of its own: its named pool's, or its part of the shared pool.
CpuSet PoolCpusOf(const ContainerPlace& place, const CpuSet& shared);
/// The CPUs a container may use; nullopt: its pod holds nothing.
std::optional<CpuSet> CpusOf(const ContainerView& container, const CpuSet& shared);

/// Views of several pods belong together by the shared pool, which those without CPUs of their own run in.
struct PodList {
  std::vector<std::shared_ptr<const PodView>> pods;  ///< by namespace and name; never null
  CpuSet shared;                                     ///< CPUs of everything without CPUs of its own
};

/// All that is known about one pod.
struct PodDetails {
  std::shared_ptr<const PodView> view;                     ///< never null
  CpuSet shared;                                           ///< as in PodList
  Trace trace;                                             ///< of the last decision
  KubeletVersion kubelet_version = KubeletVersion::k1_36;  ///< as which that was made
  Pod manifest;
  std::vector<Event> events;  ///< oldest first
};

}  // namespace berth

#endif  // BERTH_MODEL_POD_VIEW_H_
