// The ledger: all placements in force on a node, and the pools they were taken from. A plain value.
//
// One decision changes it by one LedgerDelta, which is saved as one durable record before anything is applied.
#ifndef BERTH_MODEL_LEDGER_H_
#define BERTH_MODEL_LEDGER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/quantity.h"
#include "base/units.h"
#include "model/placement.h"
#include "model/pod.h"

namespace berth {

/// Counters of one memory type on one node (rules/memory#counters). total = reserved for system + allocatable
/// (+ huge pages, for "memory"); allocatable = reserved + free.
struct MemoryTable {
  Bytes total{};
  Bytes system_reserved{};
  Bytes allocatable{};
  Bytes reserved{};
  Bytes free{};
  friend bool operator==(const MemoryTable&, const MemoryTable&) = default;
};

struct MemoryNodeState {
  int assignments = 0;  ///< number of blocks on this node
  NodeSet cells;        ///< the group the node belongs to; itself when single or unused
  std::map<std::string, MemoryTable, std::less<>> types;
  friend bool operator==(const MemoryNodeState&, const MemoryNodeState&) = default;
};

/// What ordinary init containers of the pod being admitted leave for the ones after them (rules/cpu#init-reuse,
/// rules/memory#init-reuse, rules/devices#init-reuse).
/// The kubelet keeps one pod's entry at a time and only in memory; here it lives with the pod.
struct Reusable {
  CpuSet cpus;
  std::map<std::pair<NodeSet, std::string>, Bytes> memory;
  std::map<std::string, std::vector<std::string>> devices;  ///< resource -> ids, sorted
  friend bool operator==(const Reusable&, const Reusable&) = default;
};

/// One admitted pod.
struct PodRecord {
  std::string uid;
  std::string namespace_;
  std::string name;
  QosClass qos = QosClass::kBestEffort;
  std::uint64_t sequence = 0;         ///< order of admission, from Ledger::next_sequence
  ResourceList requests;              ///< of the whole pod, for the node-level fit check and for explanations
  std::vector<Placement> placements;  ///< every container, init containers first, in spec order
  Reusable reusable;
  std::string rule{};  ///< of the settings' podPolicies it was admitted under; "": it asked for nothing of its own
  /// Made from what ran or from a kubelet's files: names, requests and containers that hold nothing may be missing.
  bool partial = false;
  /// What each container may use now, by name: a manifest may ask for something else by then (rules/resize). Empty: as
  /// the pod was when it was admitted, by a berthd that did not keep it.
  std::map<std::string, Resources, std::less<>> allocated{};
  /// Of its manifest without what a resize changes (pod_sources::Snapshot::identities); "": not known.
  std::string identity{};
  std::set<std::string> restarts{};  ///< ids of attempts that have to end for the last resize; may be gone
  friend bool operator==(const PodRecord&, const PodRecord&) = default;
};

/// A pool of the settings' cpuPools as it is now: rules/pools. There while a container runs in it.
struct CpuPool {
  CpuSet cpus;    ///< its containers run on these
  CpuSet idle{};  ///< siblings of these, on which nobody runs
  friend bool operator==(const CpuPool&, const CpuPool&) = default;
};
using CpuPools = std::map<std::string, CpuPool, std::less<>>;  ///< by name

struct Ledger {
  std::uint64_t revision = 0;  ///< number of deltas applied
  std::uint64_t next_sequence = 1;
  std::string cpu_policy;                    ///< policy it was made under ("none", "static")
  std::string memory_policy;                 ///< "None", "Static"
  CpuSet shared;                             ///< shared pool ("default set"); empty only under CPU policy none
  std::map<NumaId, MemoryNodeState> memory;  ///< empty under memory policy None
  std::map<std::string, PodRecord, std::less<>> pods;  ///< by uid
  CpuPools pools{};                                    ///< named ones; their CPUs are neither shared nor exclusive
  friend bool operator==(const Ledger&, const Ledger&) = default;
};

using PodEntry = decltype(Ledger::pods)::value_type;  ///< uid and record

/// The difference one decision makes.
struct LedgerDelta {
  std::optional<PodRecord> put;              ///< this pod's record as it is now
  std::optional<std::string> removed;        ///< uid of the pod that is gone
  CpuSet shared;                             ///< the shared pool afterwards
  std::map<NumaId, MemoryNodeState> memory;  ///< nodes that changed, as they are now
  CpuPools pools{};                          ///< named pools that changed, as they are now; without CPUs: gone
  friend bool operator==(const LedgerDelta&, const LedgerDelta&) = default;
};

/// Applies a delta made from exactly this ledger; revision grows by one.
void Apply(Ledger& ledger, const LedgerDelta& delta);

/// Union of all exclusive CPUs of a pod.
CpuSet ExclusiveCpus(const PodRecord& pod);
/// Union of all exclusive CPUs of all pods.
CpuSet ExclusiveCpus(const Ledger& ledger);
/// "CPU pool batch".
std::string PoolText(std::string_view name);
/// All CPUs of a named pool, those that are left idle too.
CpuSet HeldCpus(const CpuPool& pool);
/// Union of those of all named pools.
CpuSet PooledCpus(const Ledger& ledger);
/// What is not for the shared pool: exclusive CPUs and those of named pools.
CpuSet TakenCpus(const Ledger& ledger);
/// The named pool the container runs in; nullptr: none.
const CpuPool* FindPool(const Ledger& ledger, const Placement& placement);
/// Union of the CPUs that the pod's containers run on in named pools.
CpuSet PooledCpus(const Ledger& ledger, const PodRecord& pod);
/// What a container runs on: CPUs of its own (and beside them the shared pool, if it is mixed), its named pool's, or
/// its part of the shared pool, which is `shared`.
CpuSet CpusOf(const Ledger& ledger, const Placement& placement, const CpuSet& shared);
/// "4-7", "4-7 + shared", "CPU pool batch", "shared": what it runs on, for tables.
std::string CpusText(const Placement& placement);
/// "2-5", "2,4 (3,5 left idle)".
std::string CpusText(const CpuPool& pool);
/// Thousandths of CPUs that the pod's containers ask of a named pool at most at a time; nullopt: none of them is in it.
std::optional<std::int64_t> AskedOfPool(const PodRecord& pod, std::string_view pool);
/// "namespace/name".
std::string FullName(const PodRecord& pod);
/// The pod called "namespace/name"; nullptr if none.
const PodRecord* FindPod(const Ledger& ledger, std::string_view full_name);
/// Every pod with its uid, by sequence; by uid among equal ones, which only a damaged ledger has. The entries are the
/// ledger's.
std::vector<const PodEntry*> InOrderOfAdmission(const Ledger& ledger);
/// The pod's placement of that container; nullptr if none.
const Placement* FindPlacement(const PodRecord& pod, std::string_view container);

}  // namespace berth

#endif  // BERTH_MODEL_LEDGER_H_
