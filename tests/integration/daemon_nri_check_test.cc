// `berth check` on a node with a kubelet's containers, and what a berthd that joins makes of the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "api/codec/codec.h"
#include "daemon_nri_fixture.h"
#include "run_program.h"

namespace berth {
namespace {

using testing::HasSubstr;

struct DaemonNriCheckTest : DaemonNriTest {
  /// Nothing of this host's own kubelet, if it has one.
  Ran Check(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"check",
                                      "--endpoint",
                                      containerd->socket(),
                                      "--nri-socket",
                                      containerd->nri_socket(),
                                      "--kubelet-dir",
                                      berthd->Dir("kubelet"),
                                      "--kubelet-config",
                                      berthd->Dir("theirs.yaml"),
                                      "--runtime-config",
                                      containerd->Dir("config.toml")};
    words.insert(words.end(), more.begin(), more.end());
    return Berth(words, {.environment = {"BERTH_SOCKET=" + berthd->socket()}, .input = ""});
  }
  codec::Json Survey() const {
    const Ran ran = Check({"-o", "json"});
    auto json = codec::ParseJson(ran.out, "survey");
    EXPECT_TRUE(json) << ran.out << ran.err;
    return json.value_or(codec::Json());
  }
  static std::string Text(const codec::Json& survey, const std::string& pod, const std::string& field) {
    for (const codec::Json& container : survey["plan"]["containers"])
      if (container["pod"] == "default/" + pod + "-n1") return container[field].get<std::string>();
    return "none";
  }
  void WriteKubelet(const std::string& policy) {
    std::ofstream(berthd->Dir("theirs.yaml"))
        << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nreservedSystemCPUs: \"0\"\n"
           "cpuManagerPolicy: " +
               policy + "\n";
  }
};

TEST_F(DaemonNriCheckTest, WhatItSaysWouldChangeIsWhatBerthdDoes) {
  WriteKubelet("none");
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const PodOnNode own = RunWhole("own", "", 1000);
  const std::string made_with = CpusOf(own.container);  // cgroup v2: none of its own
  const codec::Json before = Survey();
  EXPECT_EQ("0-1", Text(before, "own", "cpusNow"));
  EXPECT_EQ("1", Text(before, "own", "cpusThen"));
  EXPECT_EQ("Guaranteed", Text(before, "own", "qosClass"));
  EXPECT_EQ("0-1", Text(before, "shared", "cpusNow"));
  EXPECT_EQ("0", Text(before, "shared", "cpusThen"));
  EXPECT_EQ("containerd", before["runtime"]["name"]);
  EXPECT_EQ(true, before["nri"]["on"]);
  EXPECT_EQ(false, before["nri"]["disabled"]);
  EXPECT_EQ(0, before["nri"]["joined"]);
  EXPECT_THAT(Check().out, HasSubstr("2 of 2 containers would change"));
  EXPECT_EQ(made_with, CpusOf(own.container)) << "it only looks";

  StartAndJoin();
  EXPECT_TRUE(Becomes(own.container, Text(before, "own", "cpusThen")));
  EXPECT_TRUE(Becomes(shared.container, Text(before, "shared", "cpusThen")));
  const codec::Json after = Survey();
  EXPECT_EQ("1", Text(after, "own", "cpusNow"));
  EXPECT_EQ(1, after["nri"]["joined"]);
  EXPECT_THAT(Check().out, HasSubstr("0 of 2 containers would change"));
  EXPECT_THAT(Check().out, HasSubstr("goes on from what berthd has given"));
}

TEST_F(DaemonNriCheckTest, AKubeletThatPlacesContainersIsInTheWay) {
  WriteKubelet("static");
  const Ran ran = Check();
  EXPECT_EQ(3, ran.status) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("in the way: the kubelet places containers itself: cpuManagerPolicy is static"));
}

TEST_F(DaemonNriCheckTest, InAContainerWithTheHostsProcessesItLooksAtTheHost) {
  // Process 1 of a namespace of its own stands for the host's; the container's files hide the sockets.
  const std::string inside = "mount -t tmpfs none " + containerd->Dir("") +
                             " && exec " BERTH " check --endpoint unix://" + containerd->socket() + " --nri-socket " +
                             containerd->nri_socket();
  const Ran ran = RunProgram(
      "unshare", {"-m", "-p", "--fork", "--mount-proc", "sh", "-c", "unshare -m sh -c '" + inside + "'; exit $?"});
  EXPECT_THAT(ran.out, HasSubstr("Runtime:       containerd ")) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(" at " + containerd->socket() + "\n"));
  EXPECT_THAT(ran.out, HasSubstr("NRI:           on, "));
}

TEST_F(DaemonNriCheckTest, SaysSoWhereNriIsOff) {
  WriteKubelet("none");
  containerd->Kill();
  containerd->Start(testkit::ContainerdFixture::With::kCri);
  std::filesystem::remove(containerd->nri_socket());
  const Ran ran = Check();
  EXPECT_EQ(3, ran.status) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("in the way: NRI is off: there is no socket at " + containerd->nri_socket() +
                                 ", and " + containerd->Dir("config.toml") + " switches it off"));
}

}  // namespace
}  // namespace berth
