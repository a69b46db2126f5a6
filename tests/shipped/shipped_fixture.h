// A node whose kubelet is this test: pods of DaemonSets and Deployments, over CRI on a real containerd, as their
// templates say. Not the node's are the folders of hosts, which are this test's, and the root of groups.
#ifndef BERTH_TESTS_SHIPPED_SHIPPED_FIXTURE_H_
#define BERTH_TESTS_SHIPPED_SHIPPED_FIXTURE_H_

#include <map>
#include <string>

#include "daemon_nri_fixture.h"
#include "objects.h"

namespace berth {

struct ShippedPod {
  YAML::Node spec;  ///< of the template
  std::map<std::string, std::string> annotations;
  cri::SandboxSpec sandbox_spec;
  std::string sandbox;
  std::map<std::string, std::string> containers;  ///< id by name
};

struct ShippedTest : DaemonNriTest {
  void SetUp() override;

  /// Has tools/make_image make an image of that name (localhost/berth/node:TAG, localhost/berth/scheduler:TAG), and the
  /// runtime import it.
  void Import(const std::string& image);
  /// A pod of the object's template: volumes, sandbox, init containers to their end, containers. A test failure where
  /// the kubelet would not start it. An image that the node has not is made. `image`: another one than the template's.
  ShippedPod StartPod(const Objects& objects, const YAML::Node& object, const std::string& uid,
                      const std::string& image = "");
  /// SIGTERM, the pod's grace, then all of it removed. Exit status of its container.
  int StopPod(const ShippedPod& pod);
  /// What a probe of the pod's only container says now; "": it passes.
  std::string Probe(const ShippedPod& pod, const std::string& probe) const;
  /// The startup probe passes, then the readiness probe.
  bool BecomesReady(const ShippedPod& pod);
  /// The container's first process.
  int PidOf(const ShippedPod& pod) const;
  std::string LogOfPod(const ShippedPod& pod) const;
  /// Where this test has what the node has at `path`.
  std::string OnHost(const std::string& path) const;

 private:
  std::map<std::string, std::string> Volumes(const Objects& objects, const ShippedPod& pod, const std::string& uid);
  std::string Files(const YAML::Node& config_map, const std::string& uid) const;
  cri::ContainerSpec SpecOf(const YAML::Node& container, const ShippedPod& pod,
                            const std::map<std::string, std::string>& volumes) const;
  std::string Make(const YAML::Node& container, const ShippedPod& pod,
                   const std::map<std::string, std::string>& volumes);
};

}  // namespace berth

#endif  // BERTH_TESTS_SHIPPED_SHIPPED_FIXTURE_H_
