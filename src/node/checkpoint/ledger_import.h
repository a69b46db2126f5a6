// Ledger import: from a kubelet's state files, or from what runs when no file is left.
// Pure. Rules and limits, for operators: docs/how-to/adopt-a-kubelet-node.md and docs/how-to/change-a-node.md.
#ifndef BERTH_NODE_CHECKPOINT_LEDGER_IMPORT_H_
#define BERTH_NODE_CHECKPOINT_LEDGER_IMPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "model/ledger.h"
#include "model/running.h"
#include "node/checkpoint/kubelet_devices.h"
#include "node/checkpoint/kubelet_files.h"

namespace berth::checkpoint {

/// Files that are there.
struct KubeletFiles {
  std::optional<KubeletCpuState> cpu;
  std::optional<KubeletMemoryState> memory;
  std::optional<KubeletDeviceState> devices;
};

struct LedgerImport {
  Ledger ledger;                   ///< its pods are `partial`
  std::vector<std::string> notes;  ///< what could not be taken over or is only guessed, a sentence each
};

/// Name of the placement that holds what a kubelet gave to a pod as a whole.
inline constexpr std::string_view kWholePod = "(pod)";

/// What the files say, pod by pod. `running`: groups found on the node; they give the QoS class, the pods that only
/// share the pool, and the pods of V1 files, which name containers by id. nullptr: nobody looked; a container of a V1
/// file is then a pod by itself, with its id for a uid.
LedgerImport ImportKubelet(const KubeletFiles& files, const std::vector<RunningGroup>* running);

/// A ledger for what runs, when no file tells. `empty`: the node without pods; `reserved`: its reserved CPUs; `own`:
/// the CPUs of Berth's own group, which is always in the shared pool (empty: not known). A container of a Guaranteed
/// pod whose CPUs no container of another pod and nobody in the shared pool may use has them for itself; all others
/// share the pool. Memory and devices cannot be seen and are not booked.
LedgerImport RebuildLedger(const Ledger& empty, const CpuSet& reserved, const CpuSet& own,
                           const std::vector<RunningGroup>& running);

/// The placement a group of a partial record belongs to: by name, else the only one whose CPUs are the group's or hold
/// them. nullptr: it shares the pool.
const Placement* PlacementOf(const PodRecord& record, const std::string& group, const CpuSet& cpus);

}  // namespace berth::checkpoint

#endif  // BERTH_NODE_CHECKPOINT_LEDGER_IMPORT_H_
