// Strictness options for reading pods.
#ifndef BERTH_MANIFEST_POD_OPTIONS_H_
#define BERTH_MANIFEST_POD_OPTIONS_H_

#include <cstddef>
#include <limits>
#include <string>

namespace berth::manifest {

/// Who will run the pods.
enum class RunBy {
  kNobody,   ///< they are only looked at: nothing is said about fields that bear on running them
  kProcess,  ///< as plain processes
  kCri,      ///< a container runtime
};

struct PodOptions {
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

  /// Refuse what only an API server can resolve (environment from secrets and configmaps); false: warn, for pods that
  /// are only looked at, as in a simulation.
  bool to_be_run = true;
  RunBy run_by = RunBy::kNobody;
  /// Refuse what the field table says is not carried out; false: warn of it.
  bool refuse_unsupported = true;
  /// Make pods of the templates of Deployments and other workloads; false: they are left out, with a warning.
  bool templates = false;
  /// Pods that one text may hold: reading ends at the first beyond. kAnyNumber: likewise as many values, for programs
  /// that only look at pods and give the memory for it.
  std::size_t most_pods = 1'000;
  /// Of the node that nodeAffinity of PersistentVolumes is judged for; "": it is not.
  std::string node_name = {};
  /// PersistentVolumes and claims that stand beside the text: as ParsedPods::storage of other files.
  std::string storage = {};
};

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_POD_OPTIONS_H_
