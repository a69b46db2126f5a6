// The cluster of tools/cluster, as its tests see it.
#ifndef BERTH_INTEGRATION_TEST_CLUSTER_H_
#define BERTH_INTEGRATION_TEST_CLUSTER_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "host/os/fs.h"
#include "kubernetes/kube_client/access.h"
#include "kubernetes/kube_client/kube_client.h"
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

/// An object of the core's group; "": all of them.
inline kube::Target TargetOf(const std::string& plural, const std::string& name = "", const std::string& space = "",
                             const std::string& subresource = "") {
  return {.resource = {.plural = plural}, .namespace_ = space, .name = name, .subresource = subresource};
}
inline kube::Target NodeStateOf(const std::string& node) {
  return {.resource = {.group = "berth.dev", .version = "v1alpha1", .plural = "nodestates"},
          .namespace_ = {},
          .name = node,
          .subresource = {}};
}

/// A test with a namespace of its own in the cluster that $BERTH_CLUSTER names. It is skipped without one.
class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const dir = std::getenv("BERTH_CLUSTER");
    if (dir == nullptr) GTEST_SKIP() << "needs BERTH_CLUSTER, a folder of tools/cluster";
    dir_ = dir;
    auto fs = os::OpenFs("/");
    ASSERT_TRUE(fs);
    fs_ = *std::move(fs);
    auto access = kube::LoadKubeconfig(*fs_, dir_ + "/kubeconfig");
    ASSERT_TRUE(access) << access.error().message;
    access_ = *std::move(access);
    auto client = kube::Client::Make(access_);
    ASSERT_TRUE(client) << client.error().message;
    client_ = *std::move(client);
    static int count = 0;
    run_ = std::to_string(::getpid()) + "-" + std::to_string(count++);
    space_ = "berth-test-" + run_;
    const auto made = client_->Create(
        TargetOf("namespaces"), R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + space_ + R"("}})");
    ASSERT_TRUE(made) << made.error().message;
  }
  void TearDown() override {
    if (client_ == nullptr) return;
    const auto removed = client_->Delete(TargetOf("namespaces", space_));
    EXPECT_TRUE(removed) << removed.error().message;
  }

  std::string dir_;
  std::unique_ptr<os::Fs> fs_;
  kube::Access access_;
  std::unique_ptr<kube::Client> client_;
  std::string run_;    ///< names nobody else's
  std::string space_;  ///< the namespace
};

}  // namespace berth::testkit

#endif  // BERTH_INTEGRATION_TEST_CLUSTER_H_
