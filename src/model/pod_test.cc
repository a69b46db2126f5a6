#include "model/pod.h"

#include <gtest/gtest.h>

#include "testing/pods.h"

namespace berth {
namespace {

using testkit::Box;
using testkit::List;
using testkit::Pairs;
using testkit::PodOf;

Container Sidecar(std::string name, Pairs requests, Pairs limits = {}) {
  Container c = Box(std::move(name), requests, limits);
  c.restartable_init = true;
  return c;
}

Container Guaranteed(std::string name, const char* cpu, const char* memory) {
  return Box(std::move(name), {{"cpu", cpu}, {"memory", memory}}, {{"cpu", cpu}, {"memory", memory}});
}

/// The Burstable pod the specification's examples start from.
Pod TwoBurstable() {
  return PodOf({Box("a", {{"cpu", "250m"}, {"memory", "128Mi"}}, {{"cpu", "1"}}),
                Box("b", {{"cpu", "100m"}}, {{"cpu", "2"}, {"memory", "1Gi"}})});
}

TEST(PodTest, FullNameIsNamespaceAndName) {
  Pod pod = PodOf({});
  EXPECT_EQ(FullName(pod), "default/p");
  pod.namespace_ = "kube-system";
  EXPECT_EQ(FullName(pod), "kube-system/p");
}

TEST(PodTest, VisitsInitContainersBeforeAppContainers) {
  const Pod pod = PodOf({Box("app", {})}, {Box("init", {}), Sidecar("side", {})});
  std::string seen;
  ForEachContainer(
      pod, [&](const Container& c, ContainerKind kind) { seen += c.name + "=" + std::string(Name(kind)) + " "; });
  EXPECT_EQ(seen, "init=init side=sidecar app=app ");
}

TEST(QosTest, EqualRequestsAndLimitsAreGuaranteed) {
  EXPECT_EQ(QosOf(PodOf({Guaranteed("a", "1500m", "1Gi"), Guaranteed("b", "500m", "256Mi")})), QosClass::kGuaranteed);
}

TEST(QosTest, NothingAskedIsBestEffort) {
  EXPECT_EQ(QosOf(PodOf({Box("a", {}), Box("b", {})})), QosClass::kBestEffort);
  EXPECT_EQ(QosOf(PodOf({Box("a", {{"cpu", "0"}}, {{"memory", "0"}})})), QosClass::kBestEffort);
  EXPECT_EQ(QosOf(PodOf({Box("a", {{"vendor.com/gpu", "1"}}, {{"vendor.com/gpu", "1"}})})), QosClass::kBestEffort);
}

TEST(QosTest, AnythingElseIsBurstable) {
  EXPECT_EQ(QosOf(TwoBurstable()), QosClass::kBurstable);
  EXPECT_EQ(QosOf(PodOf({Guaranteed("a", "1", "1Gi"), Box("b", {})})), QosClass::kBurstable);
  EXPECT_EQ(QosOf(PodOf({Box("a", {{"cpu", "1"}}, {{"cpu", "1"}})})), QosClass::kBurstable);
  EXPECT_EQ(QosOf(PodOf({Box("a", {{"cpu", "1"}, {"memory", "1Gi"}}, {{"cpu", "2"}, {"memory", "1Gi"}})})),
            QosClass::kBurstable);
}

TEST(QosTest, InitContainersCountToo) {
  EXPECT_EQ(QosOf(PodOf({Guaranteed("a", "1", "1Gi")}, {Box("i", {})})), QosClass::kBurstable);
  EXPECT_EQ(QosOf(PodOf({Guaranteed("a", "1", "1Gi")}, {Guaranteed("i", "3", "1Mi")})), QosClass::kGuaranteed);
}

TEST(QosTest, SumsAreComparedAndNotSingleContainers) {
  // Limits swapped between the containers: no container is balanced, the sums are.
  const Pod pod = PodOf({Box("a", {{"cpu", "1"}, {"memory", "1Gi"}}, {{"cpu", "2"}, {"memory", "1Gi"}}),
                         Box("b", {{"cpu", "2"}, {"memory", "1Gi"}}, {{"cpu", "1"}, {"memory", "1Gi"}})});
  EXPECT_EQ(QosOf(pod), QosClass::kGuaranteed);
}

TEST(QosTest, PodLevelResourcesDecideAlone) {
  Pod pod = PodOf({Box("a", {{"cpu", "100m"}}), Box("b", {})});
  pod.resources =
      Resources{.requests = List({{"cpu", "1"}, {"memory", "1Gi"}}), .limits = List({{"cpu", "2"}, {"memory", "2Gi"}})};
  EXPECT_EQ(QosOf(pod), QosClass::kBurstable);
  pod.resources->requests = pod.resources->limits;
  EXPECT_EQ(QosOf(pod), QosClass::kGuaranteed);
  pod.resources->limits = List({{"cpu", "2"}});
  EXPECT_EQ(QosOf(pod), QosClass::kBurstable);
}

TEST(QosTest, PodLevelResourcesPresentButEmptyAreBestEffort) {
  Pod pod = PodOf({Guaranteed("a", "100m", "1Gi")});
  pod.resources.emplace();
  EXPECT_EQ(QosOf(pod), QosClass::kBestEffort);
}

TEST(QosTest, StatusWinsWhenPresent) {
  Pod pod = PodOf({Box("a", {})});
  pod.status_qos = QosClass::kGuaranteed;
  EXPECT_EQ(QosOf(pod), QosClass::kGuaranteed);
}

TEST(PodTotalsTest, AppContainersAreSummedPerResource) {
  EXPECT_EQ(PodRequests(TwoBurstable()), List({{"cpu", "350m"}, {"memory", "128Mi"}}));
  EXPECT_EQ(PodLimits(TwoBurstable()), List({{"cpu", "3"}, {"memory", "1Gi"}}));
}

TEST(PodTotalsTest, OverheadRaisesRequestsAlwaysAndLimitsOnlyWhereThereIsOne) {
  Pod pod = TwoBurstable();
  pod.overhead = List({{"cpu", "250m"}, {"memory", "120Mi"}, {"hugepages-2Mi", "2Mi"}});
  EXPECT_EQ(PodRequests(pod), List({{"cpu", "600m"}, {"memory", "248Mi"}, {"hugepages-2Mi", "2Mi"}}));
  EXPECT_EQ(PodLimits(pod), List({{"cpu", "3250m"}, {"memory", "1144Mi"}}));
}

TEST(PodTotalsTest, TheLargestInitContainerCounts) {
  Pod pod = TwoBurstable();
  pod.init_containers = {Box("i", {{"cpu", "2"}}), Box("j", {{"cpu", "1"}, {"vendor.com/gpu", "1"}})};
  EXPECT_EQ(PodRequests(pod), List({{"cpu", "2"}, {"memory", "128Mi"}, {"vendor.com/gpu", "1"}}));
}

TEST(PodTotalsTest, SidecarsStartedBeforeAnInitContainerRunBesideIt) {
  Pod pod = TwoBurstable();
  pod.init_containers = {
      Sidecar("s", {{"cpu", "300m"}, {"memory", "64Mi"}}, {{"cpu", "400m"}, {"memory", "64Mi"}}),
      Box("i", {{"cpu", "500m"}}, {{"cpu", "4"}}),
  };
  EXPECT_EQ(PodRequests(pod), List({{"cpu", "800m"}, {"memory", "192Mi"}}));
  EXPECT_EQ(PodLimits(pod), List({{"cpu", "4400m"}, {"memory", "1088Mi"}}));
}

TEST(PodTotalsTest, SidecarsStartedAfterAnInitContainerDoNot) {
  Pod pod = PodOf({Box("a", {{"cpu", "1"}})});
  pod.init_containers = {Box("i", {{"cpu", "4"}}), Sidecar("s", {{"cpu", "2"}})};
  EXPECT_EQ(PodRequests(pod), List({{"cpu", "4"}}));
  std::swap(pod.init_containers[0], pod.init_containers[1]);
  EXPECT_EQ(PodRequests(pod), List({{"cpu", "6"}}));
}

TEST(PodTotalsTest, PodLevelValuesReplaceTheSumsOfWhatTheyName) {
  Pod pod = PodOf({Box("a", {{"cpu", "100m"}, {"memory", "1Mi"}, {"vendor.com/gpu", "1"}}), Box("b", {})});
  pod.resources = Resources{.requests = List({{"cpu", "1"}, {"hugepages-2Mi", "4Mi"}, {"vendor.com/gpu", "9"}}),
                            .limits = List({{"cpu", "2"}, {"memory", "2Gi"}})};
  EXPECT_EQ(PodRequests(pod),
            List({{"cpu", "1"}, {"memory", "1Mi"}, {"hugepages-2Mi", "4Mi"}, {"vendor.com/gpu", "1"}}));
  EXPECT_EQ(PodLimits(pod), List({{"cpu", "2"}, {"memory", "2Gi"}}));
}

TEST(PodTotalsTest, HugepagesAreTotalledLikeEverythingElse) {
  const Pod pod = PodOf({Box("a", {{"cpu", "1"}, {"hugepages-2Mi", "100Mi"}}, {{"hugepages-2Mi", "100Mi"}})});
  EXPECT_EQ(PodLimits(pod), List({{"hugepages-2Mi", "100Mi"}}));
}

TEST(PodTotalsTest, APodIsLimitedWhereEveryContainerIsOrThePodItself) {
  Pod pod = TwoBurstable();
  EXPECT_TRUE(IsLimited(pod, "cpu"));
  EXPECT_FALSE(IsLimited(pod, "memory")) << "one container has no limit";
  pod.init_containers = {Box("init", {{"cpu", "2"}})};
  EXPECT_FALSE(IsLimited(pod, "cpu"));
  pod.init_containers.insert(pod.init_containers.begin(), Sidecar("side", {}, {{"cpu", "1"}}));
  EXPECT_TRUE(IsLimited(pod, "cpu")) << "the sidecar's stands for it";
  pod.resources = Resources{.requests = {}, .limits = List({{"memory", "2Gi"}})};
  EXPECT_TRUE(IsLimited(pod, "memory"));
}

}  // namespace
}  // namespace berth
