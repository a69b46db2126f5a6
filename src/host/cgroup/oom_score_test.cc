#include "host/cgroup/oom_score.h"

#include <gtest/gtest.h>

#include <limits>

#include "testing/pods.h"

namespace berth::cgroup {
namespace {

using testkit::PodOf;

constexpr Bytes kNode = GiB(16);

Container Asking(const std::string& memory) { return testkit::Box("c", {{"cpu", "100m"}, {"memory", memory}}); }

int Score(const std::string& memory, Bytes capacity = kNode) {
  const Pod pod = PodOf({Asking(memory)});
  return OomScoreAdj(pod, pod.containers[0], capacity);
}

TEST(OomScoreTest, FollowsTheMemoryRequest) {
  EXPECT_EQ(993, Score("128Mi"));
  EXPECT_EQ(999, Score(""));
  EXPECT_EQ(750, Score("4Gi"));
  EXPECT_EQ(3, Score("16373Mi"));
}

TEST(OomScoreTest, ProtectsGuaranteedAndGivesUpBestEffortFirst) {
  Pod pod = PodOf({Asking("1Gi")});
  pod.containers[0].resources.limits = pod.containers[0].resources.requests;
  EXPECT_EQ(-997, OomScoreAdj(pod, pod.containers[0], kNode));
  pod.containers[0].resources = {};
  EXPECT_EQ(1000, OomScoreAdj(pod, pod.containers[0], kNode));
}

TEST(OomScoreTest, SpreadsPodLevelRequestsOverContainers) {
  Pod pod = PodOf({Asking(""), Asking("")});
  pod.resources.emplace().requests["memory"] = *Quantity::Parse("1Gi");
  EXPECT_EQ(969, OomScoreAdj(pod, pod.containers[0], kNode));
  EXPECT_EQ(969, OomScoreAdj(pod, pod.containers[1], kNode));
}

TEST(OomScoreTest, ASidecarGoesNoSoonerThanTheLeastAppContainer) {
  Pod pod = PodOf({Asking("128Mi"), Asking("")});
  pod.init_containers = {Asking("64Mi")};
  pod.init_containers[0].restartable_init = true;
  EXPECT_EQ(997, OomScoreAdj(pod, pod.init_containers[0], kNode));
  pod.containers.pop_back();
  EXPECT_EQ(993, OomScoreAdj(pod, pod.init_containers[0], kNode)) << "the only app container asks for 128Mi";
}

TEST(OomScoreTest, OnlyCriticalPodsOfTheNodeClassAreProtected) {
  Pod pod = PodOf({Asking("128Mi")});
  pod.priority_class = "system-node-critical";
  EXPECT_EQ(993, OomScoreAdj(pod, pod.containers[0], kNode)) << "the name alone does not make it critical";
  pod.annotations["kubernetes.io/config.source"] = "file";
  EXPECT_EQ(-997, OomScoreAdj(pod, pod.containers[0], kNode));
  pod.annotations.clear();
  pod.priority = 2'000'000'000;
  EXPECT_EQ(-997, OomScoreAdj(pod, pod.containers[0], kNode));
  pod.priority_class = "system-cluster-critical";
  EXPECT_EQ(993, OomScoreAdj(pod, pod.containers[0], kNode));
}

TEST(OomScoreTest, SurvivesAbsurdAmounts) {
  EXPECT_EQ(3, Score("8Ei"));
  EXPECT_EQ(3, Score("17Gi"));
  EXPECT_EQ(999, Score("1Gi", Bytes{0}));
  EXPECT_EQ(999, Score("1Gi", Bytes{std::numeric_limits<std::int64_t>::max()}));
}

}  // namespace
}  // namespace berth::cgroup
