// Pod folder index on disk, for the cleanup of orphaned pods: what a berthd that is killed cannot remove any more is
// known to the next one. One link per pod, DIR/<uid>, that leads to the folder of its logs.
#ifndef BERTH_FRONTEND_STATIC_PODS_POD_FOLDER_INDEX_H_
#define BERTH_FRONTEND_STATIC_PODS_POD_FOLDER_INDEX_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace berth::pods {

struct NotedPod {
  std::string uid;
  std::string log_folder;
};

/// Before the first folder of a pod is made; noted already: nothing is done. Errors: of the file system.
Result<void> NotePod(const std::string& dir, const NotedPod& pod);
/// Not noted: success.
void ForgetNote(const std::string& dir, const std::string& uid);
/// All that are noted, by uid. Notes that are not of this form are left out.
std::vector<NotedPod> NotedPods(const std::string& dir);

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_POD_FOLDER_INDEX_H_
