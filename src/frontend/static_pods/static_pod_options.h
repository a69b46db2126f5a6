// Options of static pods: folders, addresses and rules that only pods have whose containers Berth starts.
#ifndef BERTH_FRONTEND_STATIC_PODS_STATIC_POD_OPTIONS_H_
#define BERTH_FRONTEND_STATIC_PODS_STATIC_POD_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/engine.h"
#include "base/quantity.h"
#include "frontend/static_pods/node_rules.h"
#include "frontend/static_pods/volumes.h"
#include "host/os/work_notes.h"

namespace berth::pods {

struct StaticPodOptions {
  std::vector<std::string> node_addresses;  ///< the first is its hostIP
  ResourceList storage;                     ///< allocatable of what the engine does not know of
  NodeRules rules;
  VolumeFolders volumes;
  std::string log_dir;           ///< containers log to <log_dir>/<namespace>_<name>_<uid>/<container>/<attempt>.log
  bool seccomp_default = false;  ///< who names no profile gets RuntimeDefault
  std::uint64_t log_max_bytes = 10U << 20;
  int log_max_files = 5;
  os::WorkNotes* work_notes = nullptr;  ///< keep pods that berthd died of from being tried again; outlives the pods
  allocator::QueueRules queue;
  std::string notes;  ///< folder of frontend/static_pods/pod_folder_index.h; "": nothing is noted nor mounted, and
                      ///< nothing of earlier pods removed
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_STATIC_POD_OPTIONS_H_
