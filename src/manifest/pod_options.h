// Strictness options for reading pods.
#ifndef BERTH_MANIFEST_POD_OPTIONS_H_
#define BERTH_MANIFEST_POD_OPTIONS_H_

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "model/pod.h"

namespace berth::manifest {

/// Who will run the pods.
enum class RunBy {
  kNobody,   ///< they are only looked at: nothing is said about fields that bear on running them
  kProcess,  ///< as plain processes
  kCri,      ///< a container runtime
};

/// What is wrong with one field of a pod.
struct FieldProblem {
  std::string path;  ///< below the pod: "spec.runtimeClassName"
  std::string text;
  friend bool operator==(const FieldProblem&, const FieldProblem&) = default;
};

struct PodOptions {
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

  /// Refuse what only an API server can resolve (environment from secrets and configmaps); false: warn, for pods that
  /// are only looked at, as in a simulation.
  bool to_be_run = true;
  RunBy run_by = RunBy::kNobody;
  /// Refuse what the field table says is not carried out; false: warn of it.
  bool refuse_unsupported = true;
  /// The host has SELinux: a container runtime sets labels; false: it ignores them, and they are warned of.
  bool se_linux = true;
  /// A CNI plug-in of the container runtime is told the annotations of pods, and so may give them more networks.
  bool cni_reads_annotations = false;
  /// A CNI plug-in of the container runtime is told the bandwidth that the annotations of pods say.
  bool cni_limits_bandwidth = false;
  /// Problems that a pod has on this node only, told together with those of the manifest; empty: none are looked for.
  std::function<std::vector<FieldProblem>(const Pod&)> on_node = nullptr;
  /// Another pod of the node that has this path of the host as a volume, by its full name; "": none has. Asked of the
  /// volume of a claim that is ReadWriteOncePod; empty: it is not.
  std::function<std::string(const Pod&, const std::string& path)> other_user = nullptr;
  /// Resources that devices of the node are asked for by; empty: they are not known.
  std::vector<std::string> device_resources = {};
  /// Make pods of the templates of Deployments and other workloads; false: they are left out, with a warning.
  bool templates = false;
  /// Nothing is done with the pods: what is told of them says what would be.
  bool dry_run = false;
  /// Where the text is from, such as its file's path: of it are the names of objects with a generateName. "": they are
  /// of the text itself, and another text makes other objects.
  std::string origin = "";
  /// Pods that one text may hold: reading ends at the first beyond. kAnyNumber: likewise as many values, for programs
  /// that only look at pods and give the memory for it.
  std::size_t most_pods = 1'000;
  /// Of the node that the pods are for: nodeAffinity of PersistentVolumes is judged for it, and a spec.nodeName that
  /// names another one is warned of; "": neither.
  std::string node_name = {};
  /// PersistentVolumes and claims that stand beside the text: as ParsedPods::storage of other files.
  std::string storage = {};
};

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_POD_OPTIONS_H_
