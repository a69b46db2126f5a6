// Registry credentials for an image from a pod's imagePullSecrets. Pure.
#ifndef BERTH_RUNTIME_CRI_PULL_SECRETS_H_
#define BERTH_RUNTIME_CRI_PULL_SECRETS_H_

#include <string>
#include <string_view>
#include <vector>

#include "model/pod.h"
#include "runtime/cri/cri_values.h"
#include "runtime/lifecycle/env.h"

namespace berth::cri {

struct PullSecrets {
  /// Of all secrets, without doubles: the longest name of a registry first, as a kubelet tries them.
  std::vector<Credentials> credentials;
  /// Of each secret that is not there or cannot be read, why; none quotes what is in it.
  std::vector<std::string> problems;
};

/// Those for `image` among the documents of the pod's namespace: of type kubernetes.io/dockerconfigjson, or the older
/// kubernetes.io/dockercfg. A registry's name may have a port, a path that the image's name begins with, and "*" within
/// the labels of its host. Images without a registry are of index.docker.io.
PullSecrets PullSecretsFor(const Pod& pod, std::string_view image, const runtime::NodeFacts& node);

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_PULL_SECRETS_H_
