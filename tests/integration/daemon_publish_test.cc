// What a real berthd tells an API server of its node. The server is a small store; tests/integration has a real one,
// too, where a cluster is there (daemon_cluster_test.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>

#include "api/codec/node_state_json.h"
#include "daemon_fixture.h"
#include "kubernetes/node_publisher/fake_store_test.h"

namespace berth::testkit {
namespace {

using codec::Json;
using testing::HasSubstr;

struct DaemonPublishTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    node.Configure("topologyManagerPolicy: single-numa-node\n");
    std::ofstream(node.Dir("cluster.conf")) << kube::KubeconfigOf(store.access());
    Write("publish: {kubeconfig: cluster.conf}\n");
  }
  void Write(const std::string& settings) {
    std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n" << settings;
  }
  std::vector<std::string> Arguments() const { return {"--config", node.Dir("berth.yaml"), "--socket", node.socket()}; }
  /// CPUs that the published state has as shared; "": there is none, or it cannot be read.
  std::string Shared() {
    const auto state = codec::ReadNodeState(store.At(node_publisher::kStates).dump());
    return state ? FormatIds(state->ledger.shared) : "";
  }
  /// Of CPUs in the first zone.
  std::string Available() {
    const Json topology = store.At(node_publisher::kTopologies);
    if (topology.is_null()) return "";
    for (const Json& resource : topology["zones"][0]["resources"])
      if (resource["name"] == "cpu") return resource["available"];
    return "";
  }
  /// In whole CPUs: all but the reserved one, less `taken`.
  std::string Left(std::size_t taken) const {
    return std::to_string(CpuSet::Parse(ReadText("/sys/devices/system/cpu/online"))->Count() - 1 - taken);
  }

  node_publisher::Store store;
  DaemonFixture node;
};

TEST_F(DaemonPublishTest, ANodeIsPublishedAndEachChangeToo) {
  node.Start(Arguments());
  ASSERT_TRUE(node.Until("both are there", [&] { return Available() == Left(0) && !Shared().empty(); }));
  const std::string all = Shared();
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("own"); }));
  ASSERT_TRUE(node.Until("the state shows it", [&] { return Shared() != all; }));
  ASSERT_TRUE(node.Until("the topology shows it", [&] { return Available() == Left(1); }));

  ASSERT_EQ(0, node.Stop());
  const int looks = store.Calls("GET");
  node.Start(Arguments());
  ASSERT_TRUE(node.Until("the pod is known", [&] { return node.Runs("own"); }));
  ASSERT_TRUE(node.Until("berthd has looked", [&] { return store.Calls("GET") >= looks + 2; }));
  EXPECT_EQ(Available(), Left(1));
  EXPECT_EQ(store.repeated(), 0);

  node.RemovePod("own.yaml");
  ASSERT_TRUE(node.Until("the pod is gone", [&] { return Shared() == all && Available() == Left(0); }));
  EXPECT_EQ(store.repeated(), 0);
}

TEST_F(DaemonPublishTest, AServerThatRefusesKeepsNoPodWaitingAndIsSaid) {
  store.Refuse("PATCH", 403, "Forbidden");
  node.Start(Arguments());
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("own"); }));
  ASSERT_TRUE(node.Until("both failures are said", [&] { return node.CountEvents("PublishingFailed") == 2; }));
  EXPECT_THAT(node.Get("/v1/status").dump(), HasSubstr("NodeState may be out of date"));
  store.Refuse("", 0, "");
  ASSERT_TRUE(node.Until("it is right again", [&] { return node.CountEvents("Published") == 2; }));
  EXPECT_EQ(Available(), Left(1));
  EXPECT_THAT(node.Get("/v1/status").dump(), testing::Not(HasSubstr("out of date")));
  EXPECT_EQ(0, node.Stop());
}

TEST_F(DaemonPublishTest, OnlyWhatIsAskedForIsPublished) {
  Write("publish: {kubeconfig: cluster.conf, topology: false}\n");
  node.Start(Arguments());
  ASSERT_TRUE(node.Until("the state is there", [&] { return !Shared().empty(); }));
  EXPECT_TRUE(store.At(node_publisher::kTopologies).is_null());
}

TEST_F(DaemonPublishTest, AKubeconfigThatIsMissingIsFoundByTheCheckAndWaitedFor) {
  Write("publish: {kubeconfig: other.conf}\n");
  auto arguments = Arguments();
  arguments.push_back("--check-config");
  const auto checked = node.RunToEnd(arguments);
  EXPECT_NE(0, checked.status);
  EXPECT_THAT(checked.output, HasSubstr("publish.kubeconfig"));
  EXPECT_THAT(checked.output, HasSubstr("other.conf"));
  node.Start(Arguments());
  ASSERT_TRUE(node.Until("it is said", [&] { return node.CountEvents("PublishingFailed") == 2; }));
  std::ofstream(node.Dir("other.conf")) << ReadText(node.Dir("cluster.conf"));
  ASSERT_TRUE(node.Until("it is published", [&] { return !Shared().empty() && Available() == Left(0); }));
}

}  // namespace
}  // namespace berth::testkit
