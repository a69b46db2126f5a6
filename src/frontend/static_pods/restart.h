// A pod's containers ended and started again where they are, because somebody wants that.
#ifndef BERTH_FRONTEND_STATIC_PODS_RESTART_H_
#define BERTH_FRONTEND_STATIC_PODS_RESTART_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace berth::pods {

/// Asks every app and sidecar of the pod that runs to end within its grace period, and has it started anew in the place
/// it has. Gives their names. Errors: kNotFound; kConflict: nothing of it runs, it is on its way out, or one of them
/// would not be started again by its restartPolicy. Nothing is done then.
///
/// Thread: the loop's only.
Result<std::vector<std::string>> RestartContainers(core::Node& node, const std::string& uid, os::MonoTime now);

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_RESTART_H_
