// The cluster of tools/cluster, for tests that need more of it than its API.
#ifndef BERTH_INTEGRATION_TEST_CLUSTER_H_
#define BERTH_INTEGRATION_TEST_CLUSTER_H_

#include <cstdlib>
#include <string>

#include "testing/fixtures.h"

namespace berth::testkit {

inline std::string KubernetesProgram(const std::string& name) { return SourcePath("build/kubernetes/bin/" + name); }

/// Tells the cluster in `dir` of the objects in a file of the checkout. False: it did not take them.
inline bool ApplyFile(const std::string& dir, const std::string& file) {
  const std::string command = KubernetesProgram("kubectl") + " --kubeconfig " + dir + "/kubeconfig apply -f " +
                              SourcePath(file) + " >/dev/null";
  return std::system(command.c_str()) == 0;
}

/// Where the kind NodeState is defined.
inline constexpr const char* kNodeStates = "packaging/kubernetes/kinds/nodestates.yaml";

}  // namespace berth::testkit

#endif  // BERTH_INTEGRATION_TEST_CLUSTER_H_
