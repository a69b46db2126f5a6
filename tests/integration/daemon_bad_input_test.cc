// What berthd says and does when something is wrong: one clear sentence, the rest goes on, nothing is lost.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "api/local_api/api_client.h"
#include "daemon_fixture.h"
#include "small_disk.h"
#include "testing/seen_groups.h"

namespace berth::testkit {
namespace {

struct DaemonBadInputTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  }
  DaemonFixture node;
};

std::string Manifest(const std::string& name, const std::string& containers, const std::string& more = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: \"" + name + "\"}\nspec:\n" + more +
         "  containers: " + containers + "\n";
}

struct BadFile {
  const char* file;
  std::string text;
  const char* reason;              // of the event
  std::vector<const char*> words;  // parts of it: file, field, cure
};

void BecomeNobody() {
  constexpr unsigned kNobody = 65534;
  if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(126);
}

TEST_F(DaemonBadInputTest, BesideAKubeletWithoutRightsItNamesTheGroupsThatItMayNotWrite) {
  ::chmod(node.Dir(".").c_str(), 0755);
  std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nruntime: nri\n";
  const auto outcome = node.RunToEnd({"--config", node.Dir("berth.yaml"), "--check-config"}, BecomeNobody);
  if (outcome.status == 127) GTEST_SKIP() << "an ordinary user may not execute berthd where it was built";
  EXPECT_EQ(outcome.status, 4) << outcome.output;
  for (const char* words : {"state directory", "cgroups of", "run berthd as the host's root", "set cgroupRoot"})
    EXPECT_NE(outcome.output.find(words), std::string::npos) << words << " in: " << outcome.output;
  EXPECT_EQ(outcome.output.find("log directory"), std::string::npos) << outcome.output;
}

TEST_F(DaemonBadInputTest, WithoutRightsItNamesAllThatIsMissingWithTheCure) {
  ::chmod(node.Dir(".").c_str(), 0755);
  for (const bool only_check : {true, false}) {
    const auto outcome = node.RunToEnd(
        only_check ? std::vector<std::string>{"--check-config"} : std::vector<std::string>(), BecomeNobody);
    if (outcome.status == 127) GTEST_SKIP() << "an ordinary user may not execute berthd where it was built";
    EXPECT_EQ(outcome.status, 4) << outcome.output;
    for (const char* words : {"state directory", "--state-dir", "run directory", "log directory", "cgroups of",
                              "may not write", "run berthd as root", "--cgroup-root"})
      EXPECT_NE(outcome.output.find(words), std::string::npos) << words << " in: " << outcome.output;
    EXPECT_EQ(outcome.output.find("settings can be used"), std::string::npos) << outcome.output;
  }
  EXPECT_TRUE(node.Groups().empty());
  EXPECT_NE(::access(node.state_dir.c_str(), F_OK), 0) << "nothing was made";
}

TEST_F(DaemonBadInputTest, EachBadManifestGivesOneClearEventAndTheRestRuns) {
  const std::vector<BadFile> files = {
      {"broken.yaml",
       "apiVersion: v1\nkind: Pod\nmetadata: {name: broken\n",
       "FailedValidation",
       {"broken.yaml", "line 4", "is a '}' or a comma missing?"}},
      {"field.yaml",
       Manifest("field", "[{name: a, image: none, command: [sleep, \"60\"], imagee: x}]"),
       "ManifestWarning",
       {"field.yaml", "spec.containers[0].imagee", "did you mean \"image\"?"}},
      {"quantity.yaml",
       Manifest("quantity", "[{name: a, image: none, command: [sleep], resources: {limits: {memory: 1.5.2Gi}}}]"),
       "FailedValidation",
       {"quantity.yaml", "spec.containers[0].resources.limits[memory]", "write a number such as 2, 500m or 1.5Gi"}},
      {"empty.yaml",
       Manifest("empty", "[]"),
       "FailedValidation",
       {"empty.yaml", "spec.containers: Required", "needs at least one container"}},
      {"twice.yaml",
       Manifest("twice", "[{name: a, image: none, command: [sleep]}, {name: a, image: none, command: [sleep]}]"),
       "FailedValidation",
       {"twice.yaml", "spec.containers[1].name: Duplicate value", "names are unique"}},
      {"dots.yaml",
       Manifest("../dots", "[{name: a, image: none, command: [sleep]}]"),
       "FailedValidation",
       {"dots.yaml", "metadata.name: Invalid value: \"../dots\"", "for example to \"dots\""}},
      {"dots2.yaml",
       Manifest("dots2", "[{name: ../a, image: none, command: [sleep]}]"),
       "FailedValidation",
       {"dots2.yaml", "spec.containers[0].name: Invalid value: \"../a\"", "for example to \"a\""}},
      {"big.yaml", SpinnerManifest("big", "4096"), "UnexpectedAdmissionError", {"requested=4096", "CPUs short"}},
  };
  for (const BadFile& file : files) node.AddPod(file.file, file.text);
  node.AddPod("good.yaml", SpinnerManifest("good", ""));
  node.Start();
  ASSERT_TRUE(node.Until("the good pod and the one with an unknown field run",
                         [&] { return node.Runs("good") && node.Runs("field"); }));
  for (const BadFile& file : files) {
    for (const char* word : file.words)
      EXPECT_EQ(node.CountEvents(file.reason, word), 1) << file.file << ": " << node.Get("/v1/events").dump(1);
  }
  EXPECT_EQ(node.PodNamed("big")["phase"], "Failed");
  EXPECT_EQ(node.Get("/v1/ledger")["pods"].size(), 2U);
  node.AddPod("empty.yaml", SpinnerManifest("empty", "1"));
  EXPECT_TRUE(node.Until("the mended pod runs", [&] { return node.Runs("empty"); }));
}

TEST_F(DaemonBadInputTest, ASecondBerthdOnTheSameStateSaysWhoHasIt) {
  node.Start();
  const DaemonFixture::Outcome second = node.RunToEnd();
  EXPECT_EQ(second.status, 3) << second.output;
  EXPECT_NE(second.output.find(std::to_string(node.pid())), std::string::npos) << second.output;
  EXPECT_EQ(std::ranges::count(second.output, '\n'), 1) << second.output;
  EXPECT_TRUE(node.Get("/v1/status").is_object());
}

TEST_F(DaemonBadInputTest, ASecondBerthdOnTheSameCgroupRootSaysSoAndTouchesNothing) {
  node.AddPod("own.yaml", SpinnerManifest("own", ""));
  node.Start();
  ASSERT_TRUE(node.Until("own runs", [&] { return node.Runs("own"); }));
  const auto pids = node.Pids();
  const std::vector<std::string> groups = node.Groups();
  const std::vector<std::string> elsewhere = {"--state-dir",    node.Dir("state2"), "--run-dir",
                                              node.Dir("run2"), "--socket",         node.Dir("run2/berth.sock")};
  const DaemonFixture::Outcome second = node.RunToEnd(elsewhere);
  EXPECT_EQ(second.status, 3) << second.output;
  EXPECT_NE(second.output.find("--cgroup-root"), std::string::npos) << second.output;
  EXPECT_EQ(node.Pids(), pids);
  EXPECT_EQ(node.Groups(), groups);
  node.Configure("kubeletCgroups: " + node.HostGroup("other") + "\n");
  const DaemonFixture::Outcome third = node.RunToEnd(elsewhere);  // its own group is another one
  EXPECT_EQ(third.status, 3) << third.output;
  EXPECT_NE(third.output.find("--cgroup-root"), std::string::npos) << third.output;
  EXPECT_EQ(node.Pids(), pids);
}

std::vector<std::string> ElsewhereWithRoot(const DaemonFixture& node, const std::string& root) {
  return {"--state-dir", node.Dir("state2"),          "--run-dir",     node.Dir("run2"),
          "--socket",    node.Dir("run2/berth.sock"), "--cgroup-root", root};
}

TEST_F(DaemonBadInputTest, ASecondBerthdInsideThePodsOfAnotherSaysSoAndTouchesNothing) {
  node.AddPod("own.yaml", SpinnerManifest("own", ""));
  node.Start();
  ASSERT_TRUE(node.Until("own runs", [&] { return node.Runs("own"); }));
  const std::vector<std::string> groups = node.Groups();
  for (const char* const inside : {"/kubepods", "/kubepods/deeper/still"}) {
    const auto second = node.RunToEnd(ElsewhereWithRoot(node, node.root() + inside));
    EXPECT_EQ(second.status, 3) << second.output;
    EXPECT_NE(second.output.find("--cgroup-root"), std::string::npos) << second.output;
    EXPECT_EQ(node.Groups(), groups);
  }
}

TEST_F(DaemonBadInputTest, ASecondBerthdAroundAnotherSaysSoAndTouchesNothing) {
  node.Start({"--cgroup-root", node.root() + "/kubepods/inner"});
  const std::vector<std::string> groups = node.Groups();
  const auto second = node.RunToEnd(ElsewhereWithRoot(node, node.root()));
  EXPECT_EQ(second.status, 3) << second.output;
  EXPECT_NE(second.output.find("--cgroup-root"), std::string::npos) << second.output;
  EXPECT_EQ(node.Groups(), groups);
}

TEST_F(DaemonBadInputTest, ASecondBerthdBesideAnotherRuns) {
  node.Start();
  DaemonFixture other;
  other.Start();
  EXPECT_EQ(other.Stop(), 0);
}

/// Nothing that berthd reads should be able to kill it: here it is killed while it reads what takes long.
TEST_F(DaemonBadInputTest, AManifestThatBerthdDiedOfTwiceIsSetAsideWhileTheRestRuns) {
  node.AddPod("good.yaml", SpinnerManifest("good", "1"));
  node.Start();
  ASSERT_TRUE(node.Until("good runs", [&] { return node.Runs("good"); }));
  std::string variables;
  for (int i = 0; i < 80'000; ++i) variables += R"({"name":"A)" + std::to_string(i) + R"("},)";
  node.AddPod("slow.json", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"slow"},"spec":{"containers":[{)"
                           R"("name":"a","command":["/bin/true"],"env":[)" +
                               variables + R"({"name":"B"}]}]}})");
  const auto noted = [&] { return ReadIfThere(node.Dir("run/working-on")).find("slow.json") != std::string::npos; };
  // It is read in an instant that a busy host may not let the test see: then nothing is noted, and no death counts.
  for (int tries = 0, deaths = 0; deaths < 2; ++tries) {
    ASSERT_LT(tries, 100) << "it was never caught reading";
    ASSERT_TRUE(node.Until("it is being read, or was",
                           [&] { return noted() || node.CountEvents("FailedValidation", "too many values") > 0; }));
    node.Kill();
    deaths = noted() ? deaths + 1 : 0;
    node.Start();
  }
  ASSERT_TRUE(node.Until("it is set aside", [&] { return node.CountEvents("FailedValidation", "set aside") == 1; }));
  EXPECT_TRUE(node.PodNamed("slow").is_null());
  EXPECT_TRUE(node.Until("good runs on", [&] { return node.Runs("good"); }));
  node.AddPod("slow.json", SpinnerManifest("slow", ""));
  EXPECT_TRUE(node.Until("what was changed is tried", [&] { return node.Runs("slow"); }));
}

TEST_F(DaemonBadInputTest, ASecondBerthdOnTheSameSocketSaysSo) {
  node.Start();
  const DaemonFixture::Outcome second =
      node.RunToEnd({"--machine", "pack:1 core:2 pu:1", "--state-dir", node.Dir("state2"), "--run-dir",
                     node.Dir("run2"), "--socket", node.socket()});
  EXPECT_EQ(second.status, 3) << second.output;
  EXPECT_NE(second.output.find(node.socket()), std::string::npos) << second.output;
}

TEST_F(DaemonBadInputTest, AFullDiskRefusesThePodAndLosesNothing) {
  SmallDisk disk(node.Dir("disk"), "size=256k,mode=0700");
  ASSERT_TRUE(disk.mounted());
  node.state_dir = node.Dir("disk") + "/state";
  node.AddPod("first.yaml", SpinnerManifest("first", ""));
  node.Start();
  ASSERT_TRUE(node.Until("first runs", [&] { return node.Runs("first"); }));
  const codec::Json ledger = node.Get("/v1/ledger");
  disk.Fill();
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  ASSERT_TRUE(node.Until("own is refused", [&] {
    const codec::Json pod = node.PodNamed("own");
    return pod.is_object() && pod["reason"] == "LedgerNotSaved";
  }));
  EXPECT_NE(node.PodNamed("own")["message"].get<std::string>().find("No space left"), std::string::npos);
  EXPECT_EQ(node.Get("/v1/ledger"), ledger);
  EXPECT_TRUE(node.Runs("first"));
  for (const SeenProcess& p : node.Processes()) EXPECT_EQ(p.allowed, OnlineCpus()) << p.cgroup;
  disk.Free();
  ASSERT_TRUE(node.Until("own runs when there is room again", [&] { return node.Runs("own"); }));
  const codec::Json after = node.Get("/v1/ledger");
  node.Kill();
  node.Start();
  EXPECT_EQ(node.Get("/v1/ledger"), after);
  node.Kill();
}

TEST_F(DaemonBadInputTest, AReadOnlyStateDirectoryIsNamedAtTheStart) {
  SmallDisk disk(node.Dir("disk"), "size=64k,mode=0700", MS_RDONLY);
  ASSERT_TRUE(disk.mounted());
  node.state_dir = node.Dir("disk") + "/state";
  const DaemonFixture::Outcome outcome = node.RunToEnd();
  EXPECT_EQ(outcome.status, 4);
  EXPECT_NE(outcome.output.find(node.state_dir), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("Read-only file system"), std::string::npos) << outcome.output;
}

TEST_F(DaemonBadInputTest, AReadOnlyCgroupMountIsNamedAtTheStart) {
  const DaemonFixture::Outcome outcome = node.RunToEnd({}, [] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(99);
    const char* mount = ::access("/sys/fs/cgroup/cpuset", F_OK) == 0 ? "/sys/fs/cgroup/cpuset" : "/sys/fs/cgroup";
    if (::mount(mount, mount, nullptr, MS_BIND, nullptr) != 0) ::_exit(98);
    if (::mount(nullptr, mount, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) ::_exit(97);
  });
  EXPECT_EQ(outcome.status, 4) << outcome.output;
  EXPECT_NE(outcome.output.find("read-only"), std::string::npos) << outcome.output;
}

TEST_F(DaemonBadInputTest, AMissingCgroupMountIsNamedAtTheStart) {
  const DaemonFixture::Outcome outcome = node.RunToEnd({}, [] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(99);
    if (::umount2("/sys/fs/cgroup/cpuset", MNT_DETACH) != 0 && ::umount2("/sys/fs/cgroup", MNT_DETACH) != 0)
      ::_exit(98);
  });
  EXPECT_EQ(outcome.status, 4) << outcome.output;
  EXPECT_NE(outcome.output.find("cpuset"), std::string::npos) << outcome.output;
}

TEST_F(DaemonBadInputTest, PodsThroughTheApiAreCheckedAndStored) {
  node.Start();
  const auto bad = api::Call(node.socket(), "POST", "/v1/pods", Manifest("../x", "[{name: a, image: i}]"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Code::kInvalid);
  const auto good =
      api::Call(node.socket(), "POST", "/v1/pods", SpinnerManifest("one", "1") + "---\n" + SpinnerManifest("two", ""));
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ((*good)["results"].size(), 2U);
  EXPECT_EQ((*good)["results"][0]["action"], "created");
  ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("one") && node.Runs("two"); }));
  const auto again = api::Call(node.socket(), "POST", "/v1/pods", SpinnerManifest("two", ""));
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)["results"][0]["action"], "unchanged");
  const auto removed = api::Call(node.socket(), "DELETE", "/v1/pods/default/one");
  ASSERT_TRUE(removed) << removed.error().message;
  ASSERT_TRUE(node.Until("one is gone", [&] { return node.PodNamed("one").is_null(); }));
  EXPECT_TRUE(node.Runs("two"));
  const auto unknown = api::Call(node.socket(), "DELETE", "/v1/pods/default/one");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
}

TEST_F(DaemonBadInputTest, AnotherCgroupDriverIsAnErrorWithTheCure) {
  const bool systemd = ::access("/run/systemd/system", F_OK) == 0;
  node.Configure(systemd ? "cgroupDriver: cgroupfs\n" : "cgroupDriver: systemd\n");
  for (const bool only_check : {true, false}) {
    const auto outcome =
        node.RunToEnd(only_check ? std::vector<std::string>{"--check-config"} : std::vector<std::string>());
    EXPECT_EQ(1, outcome.status);
    const char* cure = systemd ? "set 'cgroupDriver: systemd'" : "set 'cgroupDriver: cgroupfs'";
    EXPECT_NE(outcome.output.find(cure), std::string::npos) << outcome.output;
  }
}

TEST_F(DaemonBadInputTest, CheckConfigNamesTheSetting) {
  std::ofstream(node.Dir("kubelet.yaml")) << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                                             "cpuManagerPolicy: nonsense\n";
  const DaemonFixture::Outcome outcome = node.RunToEnd({"--check-config"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("nonsense"), std::string::npos) << outcome.output;
}

TEST_F(DaemonBadInputTest, CheckConfigEndsWithItsWarnings) {
  std::ofstream(node.Dir("kubelet.yaml")) << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                                             "cpuManagerPolcy: static\n";
  const DaemonFixture::Outcome outcome = node.RunToEnd({"--check-config"});
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("did you mean \"cpuManagerPolicy\"?"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("settings can be used, with "), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("settings are fine"), std::string::npos) << outcome.output;
}

TEST_F(DaemonBadInputTest, ARemovedSocketIsMadeAnewAndToldOf) {
  node.Start();
  ASSERT_TRUE(std::filesystem::remove(node.socket()));
  ASSERT_TRUE(
      node.Until("it answers again", [&] { return api::Call(node.socket(), "GET", "/v1/status").has_value(); }));
  EXPECT_TRUE(node.Until("that is told", [&] { return node.CountEvents("SocketLost") == 1; }));
}

TEST_F(DaemonBadInputTest, AContainerWhoseRecordWasRemovedIsToldOfAndItsRestartCounted) {
  node.AddPod("own.yaml", SpinnerManifest("own", ""));
  node.Start();
  ASSERT_TRUE(node.Until("own runs", [&] { return node.Runs("own"); }));
  const auto before = node.Pids();
  EXPECT_EQ(node.Stop(), 0);
  std::filesystem::remove_all(node.Dir("run/containers"));
  std::filesystem::remove_all(node.Dir("run/pods"));
  node.Start();
  ASSERT_TRUE(node.Until("own runs anew", [&] { return node.Runs("own") && node.Pids() != before; }));
  EXPECT_EQ(node.CountEvents("ContainerLost"), 1);
  EXPECT_EQ(node.PodNamed("own")["containers"][0]["restarts"], 1);
  EXPECT_TRUE(node.Until("the one before is gone", [&] {
    return std::ranges::none_of(before, [](const auto& process) { return ::kill(process.second, 0) == 0; });
  }));
}

TEST_F(DaemonBadInputTest, ACapturedMachineNeverReachesTheKernel) {
  node.AddPod("own.yaml", SpinnerManifest("own", "8"));
  node.Start({"--machine", "pack:2 numa:1 core:8 pu:2"});
  ASSERT_TRUE(node.Until("own pretends to run", [&] { return node.Runs("own"); }));
  EXPECT_EQ(node.PodNamed("own")["containers"][0]["exclusive"], true);
  EXPECT_EQ(node.Get("/v1/status")["runtime"], "dry-run");
  EXPECT_TRUE(node.Groups().empty());
  EXPECT_EQ(node.Stop(), 0);
}

}  // namespace
}  // namespace berth::testkit
