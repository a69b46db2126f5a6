// Defaults and validation of pods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manifest/manifest.h"
#include "testing/pods.h"

namespace berth::manifest {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using testkit::List;
using testkit::Pairs;
using testkit::PodOf;

Container Box(std::string name, Pairs requests = {}, Pairs limits = {}) {
  Container out = testkit::Box(std::move(name), requests, limits);
  out.image = "registry.example/app:v1";
  return out;
}

std::vector<std::string> Check(std::vector<Container> containers, std::vector<Container> init = {}) {
  Pod pod = PodOf(std::move(containers), std::move(init));
  ApplyDefaults(pod);
  return ValidatePod(pod);
}

TEST(ApplyDefaultsTest, LimitsBecomeRequestsInEveryContainer) {
  Pod pod = PodOf({Box("a", {{"cpu", "1"}}, {{"cpu", "2"}, {"memory", "1Gi"}, {"vendor.example/gpu", "1"}})},
                  {Box("i", {}, {{"cpu", "3"}})});
  ApplyDefaults(pod);
  EXPECT_EQ(pod.containers[0].resources.requests, List({{"cpu", "1"}, {"memory", "1Gi"}, {"vendor.example/gpu", "1"}}));
  EXPECT_EQ(pod.init_containers[0].resources.requests, List({{"cpu", "3"}}));
}

TEST(ApplyDefaultsTest, ThePullPolicyFollowsTheTag) {
  const auto policy = [](const char* image) {
    Pod pod = PodOf({Box("a")});
    pod.containers[0].image = image;
    ApplyDefaults(pod);
    return pod.containers[0].image_pull_policy;
  };
  EXPECT_EQ(policy("app"), "Always");
  EXPECT_EQ(policy("app:latest"), "Always");
  EXPECT_EQ(policy("app:v1"), "IfNotPresent");
  EXPECT_EQ(policy("registry:5000/app"), "Always");
  EXPECT_EQ(policy("registry:5000/app:v1"), "IfNotPresent");
  EXPECT_EQ(policy("app@sha256:abc"), "IfNotPresent");
  EXPECT_EQ(policy("app:latest@sha256:abc"), "Always");
  EXPECT_EQ(policy(""), "");
}

TEST(ApplyDefaultsTest, PodLevelRequestsComeFromContainersAndThenFromLimits) {
  Pod pod = PodOf({Box("a", {{"cpu", "500m"}})});
  pod.overhead = List({{"cpu", "1"}});
  pod.resources = Resources{.requests = {}, .limits = List({{"cpu", "2"}, {"memory", "1Gi"}})};
  ApplyDefaults(pod);
  EXPECT_EQ(pod.resources->requests, List({{"cpu", "500m"}, {"memory", "1Gi"}}));
}

TEST(ApplyDefaultsTest, PodLevelHugepagesComeFromContainerLimits) {
  Pod pod = PodOf({Box("a", {}, {{"cpu", "1"}, {"hugepages-2Mi", "4Mi"}}), Box("b", {}, {{"hugepages-2Mi", "2Mi"}})});
  pod.resources = Resources{.requests = List({{"memory", "1Gi"}}), .limits = {}};
  ApplyDefaults(pod);
  EXPECT_EQ(pod.resources->limits, List({{"hugepages-2Mi", "6Mi"}}));
  EXPECT_EQ(pod.resources->requests, List({{"cpu", "1"}, {"memory", "1Gi"}, {"hugepages-2Mi", "6Mi"}}));
}

TEST(ApplyDefaultsTest, EmptyPodLevelResourcesStayEmpty) {
  Pod pod = PodOf({Box("a", {{"cpu", "1"}}, {{"hugepages-2Mi", "2Mi"}})});
  pod.resources.emplace();
  ApplyDefaults(pod);
  EXPECT_EQ(*pod.resources, Resources());
}

TEST(ApplyDefaultsTest, ASecondTimeChangesNothing) {
  Pod pod = PodOf({Box("a", {}, {{"cpu", "1"}, {"hugepages-2Mi", "4Mi"}})}, {Box("i", {}, {{"cpu", "3"}})});
  pod.resources = Resources{.requests = {}, .limits = List({{"memory", "1Gi"}})};
  ApplyDefaults(pod);
  const Pod once = pod;
  ApplyDefaults(pod);
  EXPECT_EQ(pod, once);
}

TEST(ValidatePodTest, AnnotationsAreAtMost256KibTogether) {
  Pod pod = PodOf({Box("a")});
  ApplyDefaults(pod);
  pod.annotations = {{"one", std::string(131'069, 'x')}, {"two", std::string(131'069, 'x')}};
  EXPECT_THAT(ValidatePod(pod), IsEmpty());
  pod.annotations["two"] += 'x';
  EXPECT_THAT(ValidatePod(pod), ElementsAre("metadata.annotations: Too long: 262145 bytes in all, names and values "
                                            "together, at most 262144; put what is large into a ConfigMap"));
}

TEST(ValidatePodTest, AGoodPodHasNoProblems) {
  EXPECT_THAT(Check({Box("a", {{"cpu", "1"}}, {{"cpu", "2"}, {"hugepages-2Mi", "4Mi"}, {"vendor.example/gpu", "2"}})},
                    {Box("i")}),
              IsEmpty());
}

TEST(ValidatePodTest, NamesAreChecked) {
  Pod pod = PodOf({Box("a")});
  pod.name = "../evil";
  pod.namespace_ = "Big";
  pod.uid = "../../x";
  pod.node_name = "Node";
  EXPECT_THAT(ValidatePod(pod), ElementsAre(StartsWith("metadata.name: Invalid value: \"../evil\""),
                                            StartsWith("metadata.namespace: Invalid value: \"Big\""),
                                            StartsWith("metadata.uid: Invalid value: \"../../x\""),
                                            StartsWith("spec.nodeName: Invalid value: \"Node\"")));
  EXPECT_THAT(Check({Box("")}), ElementsAre("spec.containers[0].name: Required value: give it a name"));
}

TEST(ValidatePodTest, APodNeedsContainersWithNamesOfTheirOwn) {
  EXPECT_THAT(Check({}), ElementsAre(StartsWith("spec.containers: Required value")));
  EXPECT_THAT(Check({Box("a"), Box("a")}), ElementsAre(StartsWith("spec.containers[1].name: Duplicate value: \"a\"")));
  EXPECT_THAT(Check({Box("a")}, {Box("a")}),
              ElementsAre(StartsWith("spec.initContainers[0].name: Duplicate value: \"a\"")));
}

TEST(ValidatePodTest, TheNumberOfContainersIsLimitedAndSaidOnce) {
  std::vector<Container> apps;
  for (int i = 0; i < 249; ++i) apps.push_back(Box("c" + std::to_string(i)));
  EXPECT_THAT(Check(apps, {Box("i")}), IsEmpty());
  EXPECT_THAT(Check(apps, {Box("i"), Box("")}),
              ElementsAre("spec.containers: Too many containers, init containers included: a pod may have 250; make "
                          "several pods of it"));
}

TEST(ValidatePodTest, ImageOrCommandIsNeeded) {
  Container c = Box("a");
  c.image = "";
  EXPECT_THAT(Check({c}), ElementsAre(StartsWith("spec.containers[0].image: Required value")));
  c.command = {"/bin/true"};
  EXPECT_THAT(Check({c}), IsEmpty());
  c.image_pull_policy = "Often";
  EXPECT_THAT(Check({c}), ElementsAre(StartsWith("spec.containers[0].imagePullPolicy: Unsupported value: \"Often\"")));
  c.image_pull_policy = "";
  c.working_dir = "relative";
  EXPECT_THAT(Check({c}), ElementsAre(StartsWith("spec.containers[0].workingDir: Invalid value: \"relative\"")));
}

TEST(ValidatePodTest, RequestsStayWithinLimits) {
  EXPECT_THAT(
      Check({Box("a", {{"cpu", "2"}}, {{"cpu", "1"}})}),
      ElementsAre("spec.containers[0].resources.requests[cpu]: Invalid value: \"2\": must be less than or equal "
                  "to cpu limit of 1"));
}

TEST(ValidatePodTest, AmountsAreNotNegative) {
  EXPECT_THAT(Check({Box("a", {{"cpu", "-1"}}, {})}),
              ElementsAre("spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be greater than or "
                          "equal to 0"));
  Pod pod = PodOf({Box("a")});
  pod.overhead = List({{"memory", "-1Gi"}});
  pod.termination_grace_s = -1;
  EXPECT_THAT(ValidatePod(pod), ElementsAre(StartsWith("spec.terminationGracePeriodSeconds: Invalid value: -1"),
                                            StartsWith("spec.overhead[memory]: Invalid value: \"-1Gi\"")));
}

TEST(ValidatePodTest, ExtendedResourcesAreWholeAndNeverOvercommitted) {
  EXPECT_THAT(Check({Box("a", {}, {{"vendor.example/gpu", "1500m"}})}), Contains(HasSubstr("must be an integer")));
  EXPECT_THAT(Check({Box("a", {{"vendor.example/gpu", "1"}}, {{"vendor.example/gpu", "2"}})}),
              ElementsAre(HasSubstr("requests[vendor.example/gpu]: Invalid value: \"1\": must be equal to "
                                    "vendor.example/gpu limit of 2")));
  EXPECT_THAT(Check({Box("a", {{"vendor.example/gpu", "1"}}, {})}), ElementsAre(HasSubstr("a limit must be set")));
}

TEST(ValidatePodTest, ResourceNamesAreKnownOrQualified) {
  EXPECT_THAT(Check({Box("a", {}, {{"memroy", "1"}})}), Contains(HasSubstr("did you mean \"memory\"?")));
  EXPECT_THAT(Check({Box("a", {}, {{"gpu", "1"}})}), Contains(HasSubstr("a name with a domain")));
  EXPECT_THAT(Check({Box("a", {}, {{"Vendor/gpu", "1"}})}), Contains(HasSubstr("an extended resource needs a name")));
}

TEST(ValidatePodTest, HugepagesNeedLimitsWholePagesAndCpuOrMemory) {
  EXPECT_THAT(Check({Box("a", {}, {{"hugepages-2Mi", "2Mi"}})}),
              ElementsAre(HasSubstr("HugePages require cpu or memory")));
  EXPECT_THAT(Check({Box("a", {{"cpu", "1"}, {"hugepages-2Mi", "2Mi"}}, {})}),
              ElementsAre(HasSubstr("requests[hugepages-2Mi]: Required value: a limit must be set")));
  EXPECT_THAT(Check({Box("a", {}, {{"cpu", "1"}, {"hugepages-2Mi", "3Mi"}})}),
              Contains(HasSubstr("must be a multiple of the page size 2Mi")));
  EXPECT_THAT(Check({Box("a", {}, {{"cpu", "1"}, {"hugepages-", "2Mi"}})}), Contains(HasSubstr("needs a page size")));
  EXPECT_THAT(Check({Box("a", {}, {{"cpu", "1"}, {"hugepages-0", "2Mi"}})}), Contains(HasSubstr("needs a page size")));
}

TEST(ValidatePodTest, PodLevelResourcesFitTheContainers) {
  Pod pod = PodOf({Box("a", {{"cpu", "2"}}, {{"cpu", "4"}})}, {Box("i", {{"cpu", "1"}}, {{"cpu", "1"}})});
  pod.resources =
      Resources{.requests = List({{"cpu", "1"}}), .limits = List({{"cpu", "3"}, {"vendor.example/gpu", "1"}})};
  EXPECT_THAT(ValidatePod(pod),
              ElementsAre(HasSubstr("spec.resources.limits[vendor.example/gpu]: Invalid value: \"vendor.example/gpu\": "
                                    "pods as a whole take"),
                          HasSubstr("spec.resources.requests[cpu]: Invalid value: \"1\": must be greater than or equal "
                                    "to aggregate container requests of 2"),
                          HasSubstr("spec.containers[0].resources.limits[cpu]: Invalid value: \"4\": must be less than "
                                    "or equal to pod limit of 3")));
}

}  // namespace
}  // namespace berth::manifest
