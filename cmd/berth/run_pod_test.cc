#include "berth/run_pod.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

NodeView FourCpus() {
  NodeView node;
  node.cpu_policy = "static";
  PodPolicy rule;
  rule.name = "run";
  rule.namespaces = {"default"};
  rule.cpus = {"exclusive"};
  node.own.pods = {rule};
  return node;
}

RunRequest Asking(std::string cpus, std::string memory = "") {
  RunRequest request;
  request.name = "x";
  request.cpus = std::move(cpus);
  request.memory = std::move(memory);
  return request;
}

codec::Json LimitsAsked(const RunRequest& request) {
  return HolderPod(request, {"hold"}, FourCpus()).value()["spec"]["containers"][0]["resources"]["limits"];
}

/// What it asks for by berth.dev/cpus, or the message; "-": nothing.
std::string OwnCpusAsked(const RunRequest& request, const NodeView& node) {
  const auto pod = HolderPod(request, {"hold"}, node);
  if (!pod) return pod.error().message;
  const codec::Json& metadata = (*pod)["metadata"];
  return metadata.contains("annotations") ? metadata["annotations"].value("berth.dev/cpus", "-") : "-";
}

TEST(RunPod, WhoNamesNoMemoryHasNoLimitOfItAndAsksForItsCpusByAnnotation) {
  EXPECT_FALSE(LimitsAsked(Asking("2")).contains("memory"));
  EXPECT_EQ(OwnCpusAsked(Asking("2"), FourCpus()), "2 exclusive");
  EXPECT_EQ(LimitsAsked(Asking("2", "1Gi"))["memory"], "1Gi");
  EXPECT_EQ(OwnCpusAsked(Asking("2", "1Gi"), FourCpus()), "-") << "it is Guaranteed";
  EXPECT_EQ(OwnCpusAsked(Asking("500m"), FourCpus()), "-") << "it shares its CPUs";
  EXPECT_EQ(OwnCpusAsked(Asking(""), FourCpus()), "-");
}

TEST(RunPod, WhereTheNodeDoesNotLetItAskTheCureIsNamed) {
  RunRequest elsewhere = Asking("2");
  elsewhere.namespace_ = "edge";
  EXPECT_EQ(OwnCpusAsked(elsewhere, FourCpus()),
            "--cpus 2: CPUs of its own without a limit of memory take a rule of the node's podPolicies that has "
            "namespace edge and cpus: [exclusive]; add one, or give --memory");
  NodeView shared = FourCpus();
  shared.own.pods.clear();
  EXPECT_TRUE(OwnCpusAsked(Asking("2"), shared).starts_with("--cpus 2: ")) << "no rule at all";
  shared.cpu_policy = "none";
  EXPECT_EQ(OwnCpusAsked(Asking("2"), shared), "-") << "nobody has CPUs of its own there";
}

TEST(RunPod, RequestsEqualLimitsSoThatThePodIsGuaranteed) {
  const auto pod = HolderPod(Asking("2", "1Gi"), {"hold"}, FourCpus());
  ASSERT_TRUE(pod);
  const codec::Json& resources = (*pod)["spec"]["containers"][0]["resources"];
  EXPECT_EQ(resources["limits"], resources["requests"]);
}

TEST(RunPod, WhoAsksForNothingGetsAPodWithoutRequests) {
  EXPECT_FALSE(HolderPod(Asking(""), {"hold"}, FourCpus()).value()["spec"]["containers"][0].contains("resources"));
}

TEST(RunPod, NodesAreAskedForByAnnotation) {
  RunRequest request = Asking("1", "1Gi");
  EXPECT_FALSE(HolderPod(request, {"hold"}, FourCpus()).value()["metadata"].contains("annotations"));
  request.numa = "2,0-1";
  EXPECT_EQ(HolderPod(request, {"hold"}, FourCpus()).value()["metadata"]["annotations"]["berth.dev/numa-nodes"], "0-2");
  for (const char* wrong : {"one", "-1", " ", "1-"}) {
    request.numa = wrong;
    const auto pod = HolderPod(request, {"hold"}, FourCpus());
    ASSERT_FALSE(pod) << wrong;
    EXPECT_TRUE(pod.error().message.starts_with("--numa ")) << pod.error().message;
  }
}

TEST(RunPod, DevicesAreCountedAndWrongOnesNamed) {
  RunRequest request = Asking("1");
  request.devices = {"vendor.example/gpu", "vendor.example/nic=2"};
  EXPECT_EQ(LimitsAsked(request)["vendor.example/gpu"], "1");
  EXPECT_EQ(LimitsAsked(request)["vendor.example/nic"], "2");
  for (const char* wrong : {"gpu", "vendor.example/gpu=0", "vendor.example/gpu=x", "=1"}) {
    request.devices = {wrong};
    const auto pod = HolderPod(request, {"hold"}, FourCpus());
    ASSERT_FALSE(pod) << wrong;
    EXPECT_TRUE(pod.error().message.starts_with("--device")) << pod.error().message;
  }
  request.devices = {"vendor.example/gpu", "vendor.example/gpu=2"};
  EXPECT_FALSE(HolderPod(request, {"hold"}, FourCpus()));
}

TEST(RunPod, AmountsThatAreNoneNameTheirOption) {
  for (const char* wrong : {"0", "-1", "two"}) {
    const auto pod = HolderPod(Asking(wrong), {"hold"}, FourCpus());
    ASSERT_FALSE(pod) << wrong;
    EXPECT_TRUE(pod.error().message.starts_with("--cpus")) << pod.error().message;
  }
}

TEST(RunPod, ACommandOfBerthdIsTheUsersOwnAndTakenLiterally) {
  const RunAs as{.user = 1000, .group = 100, .groups = {27}, .folder = "/srv", .environment = {"HOME=/home/$(me)"}};
  const auto pod = DetachedPod(Asking("1"), {"echo", "$(HOME) $5"}, as, FourCpus());
  ASSERT_TRUE(pod);
  const codec::Json& container = (*pod)["spec"]["containers"][0];
  EXPECT_EQ(container["command"], codec::Json::array({"echo", "$$(HOME) $$5"}));
  EXPECT_EQ(container["env"][0]["value"], "/home/$$(me)");
  EXPECT_EQ(container["workingDir"], "/srv");
  EXPECT_EQ(container["securityContext"]["runAsUser"], 1000);
  EXPECT_EQ((*pod)["spec"]["securityContext"]["supplementalGroups"], codec::Json::array({27}));
}

TEST(RunPod, NamesAreMadeOfTheProgram) {
  EXPECT_EQ(RunName("/usr/bin/My_Server.sh", 7), "run-my-server-sh-7");
  EXPECT_EQ(RunName("./___", 7), "run-7");
  EXPECT_EQ(RunName("a-program-with-a-very-long-name", 7), "run-a-program-with-a-ver-7");
}

}  // namespace
}  // namespace berth::cli
