#include "frontend/pod_sources/static_pod.h"

#include <gtest/gtest.h>

namespace berth::pod_sources {
namespace {

Container FullContainer(const std::string& name) {
  Container out;
  out.name = name;
  out.image = "registry.example/app:1";
  out.image_pull_policy = "IfNotPresent";
  out.command = {"/bin/app", "--serve"};
  out.args = {"a", "\"quoted\" \xc3\xa4"};
  out.working_dir = "/work";
  out.env = {{.name = "A", .value = "1", .field_path = ""}, {.name = "N", .value = "", .field_path = "metadata.name"}};
  out.resources.requests = {{"cpu", *Quantity::Parse("1500m")}, {"memory", *Quantity::Parse("1Gi")}};
  out.resources.limits = {{"cpu", *Quantity::Parse("2")}, {"memory", *Quantity::Parse("2Gi")}};
  out.pre_stop_exec = {"/bin/stop"};
  return out;
}

Pod FullPod() {
  Pod pod;
  pod.name = "web";
  pod.namespace_ = "shop";
  pod.labels = {{"app", "web"}};
  pod.annotations = {{"note", "two\nlines"}};
  pod.creation_timestamp = "2026-01-02T03:04:05Z";
  pod.init_containers = {FullContainer("prepare"), FullContainer("proxy")};
  pod.init_containers[1].restartable_init = true;
  pod.containers = {FullContainer("app"), FullContainer("helper")};
  pod.restart_policy = RestartPolicy::kOnFailure;
  pod.termination_grace_s = 7;
  pod.overhead = {{"cpu", *Quantity::Parse("10m")}};
  pod.resources = Resources{.requests = {{"cpu", *Quantity::Parse("4")}}, .limits = {}};
  pod.priority = 5;
  pod.priority_class = "high";
  pod.host_network = true;
  pod.status_qos = QosClass::kBurstable;
  pod.phase = "Pending";
  return pod;
}

// These uids must stay what they are, for ever. A uid is what a restarted berthd knows a running pod by, so another uid
// for the same manifest means that an upgrade ends every running pod of a node and starts it again. If this test fails,
// the text that is hashed has changed (the codec's JSON of a pod, most likely by a new field or another order): keep
// the text for pods that do not use what is new, and never adapt the values here.
TEST(StaticPodTest, TheUidOfAPodNeverChangesBetweenVersions) {
  Pod full = FullPod();
  MakeStatic(full, "Node1", "file:/etc/berth/pods/web.yaml", "file");
  EXPECT_EQ(full.uid, "adbb9bf3a1b02a519d6fe86d4208434c");
  Pod small;
  small.name = "small";
  small.containers.emplace_back().name = "app";
  MakeStatic(small, "Node1", "file:/etc/berth/pods/small.yaml", "file");
  EXPECT_EQ(small.uid, "dada92d892d782c8c949ca5415ee3ca3");
}

TEST(StaticPodTest, VersionsThatDifferInAmountsHaveOneIdentityAndTheirOwnUids) {
  const auto made = [](const std::string& cpu, const std::string& image) {
    Pod pod = FullPod();
    pod.containers[0].resources.limits["cpu"] = *Quantity::Parse(cpu);
    pod.containers[0].image = image;
    MakeStatic(pod, "Node1", "file:/x.yaml", "file");
    return pod;
  };
  const Pod pod = made("2", "a");
  EXPECT_NE(pod.uid, made("3", "a").uid);
  EXPECT_EQ(IdentityOf(pod), IdentityOf(made("3", "a")));
  EXPECT_NE(IdentityOf(pod), IdentityOf(made("2", "b")));
  Pod given = pod;
  given.uid = "given-1";
  Pod other = pod;
  other.uid = "given-2";
  EXPECT_NE(IdentityOf(given), IdentityOf(other)) << "somebody wants another pod";
}

TEST(StaticPodTest, ANameIsTooLongWithTheNodesBehindItOrForTheLogFolder) {
  Pod pod;
  pod.namespace_ = "default";
  const auto said = [&](std::size_t bytes) {
    pod.name = std::string(bytes, 'a');
    return NameLengthProblem(pod, "Node1");
  };
  EXPECT_EQ(said(208), "") << "7 + 1 + 208 + 6 + 1 + 32 = 255";
  EXPECT_NE(said(209).find("has 209 bytes, and at most 208 fit: on this node the pod is called <name>-node1"),
            std::string::npos)
      << said(209);
  pod.uid = "u";
  pod.namespace_ = "";
  EXPECT_EQ(said(246), "") << "246 + 6 = 252; 1 + 252 + 1 + 1 = 255";
  EXPECT_NE(said(247), "");
  pod.uid = std::string(63, 'u');
  pod.namespace_ = std::string(63, 'n');
  EXPECT_EQ(said(121), "") << "63 + 1 + 121 + 6 + 1 + 63 = 255";
  EXPECT_NE(said(122), "");
}

TEST(StaticPodTest, AUidThatWasGivenStays) {
  Pod pod = FullPod();
  pod.uid = "given-1";
  MakeStatic(pod, "Node1", "file:/x.yaml", "file");
  EXPECT_EQ(pod.uid, "given-1");
  EXPECT_EQ(pod.name, "web-node1");
}

TEST(BytesOfTest, AllThatIsHeldCounts) {
  const std::size_t empty = BytesOf(Pod());
  EXPECT_GE(empty, sizeof(Pod));
  Pod words;
  words.containers.emplace_back().args = {std::string(100'000, 'x')};
  EXPECT_GE(BytesOf(words), empty + sizeof(Container) + 100'000);
  EXPECT_LT(BytesOf(words), empty + sizeof(Container) + 110'000);
  Pod variables;
  variables.containers.emplace_back().env.resize(1'000, {.name = "A", .value = "", .field_path = ""});
  EXPECT_GE(BytesOf(variables), 1'000 * sizeof(EnvVar));
  Pod labels;
  for (int i = 0; i < 1'000; ++i) labels.annotations[std::to_string(i)] = "";
  EXPECT_GE(BytesOf(labels), 1'000 * 2 * sizeof(std::string));
}

}  // namespace
}  // namespace berth::pod_sources
