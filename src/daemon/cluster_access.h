// The API server that a node is published to, and who berthd is there.
#ifndef BERTH_DAEMON_CLUSTER_ACCESS_H_
#define BERTH_DAEMON_CLUSTER_ACCESS_H_

#include "base/result.h"
#include "kube/access.h"
#include "manifest/manifest.h"

namespace berth::daemon {

/// From the kubeconfig of the settings, or the service account of the pod this program is in. Errors: as
/// kube::LoadKubeconfig and kube::LoadServiceAccount, with the setting's name.
Result<kube::Access> LoadClusterAccess(const manifest::PublishSettings& settings);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_CLUSTER_ACCESS_H_
