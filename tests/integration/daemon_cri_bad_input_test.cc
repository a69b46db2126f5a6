// What people get wrong with pods and runtimes: one clear event, tried again with growing pauses, nothing left behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cri_node.h"
#include "image_registry.h"

namespace berth {
namespace {

using testkit::CriRelay;
using testkit::ImageRegistry;
using testkit::PodText;
using testkit::RelayedCall;

constexpr os::Millis kPause{3'000};
constexpr os::Millis kLongerThanALook{20'000};  // and shorter than the longest patience of a list

struct BadPod {
  PodText pod;
  std::string reason;  ///< of the event
  std::string text;    ///< part of its message
  bool ran = false;    ///< the container itself got it wrong: its first restart follows at once
};

PodText HostPath(const std::string& name, const std::string& path, const std::string& type) {
  return {.name = name,
          .spec = "  volumes: [{name: v, hostPath: {path: " + path + ", type: " + type + "}}]\n",
          .container = "    volumeMounts: [{name: v, mountPath: /v}]\n"};
}

class DaemonCriBadInputTest : public testkit::CriNodeTest {
 protected:
  std::vector<BadPod> BadPods(const ImageRegistry& registry) {
    std::ofstream(berthd->Dir("file")) << "x";
    return {
        {.pod = {.name = "never", .container = "    imagePullPolicy: Never\n", .image = "localhost/none:1"},
         .reason = "ErrImageNeverPull",
         .text = "image localhost/none:1 is not present with pull policy of Never"},
        {.pod = {.name = "nobody", .image = "localhost:1/none:1"},
         .reason = "ErrImagePull",
         .text = "localhost:1/none:1"},
        {.pod = {.name = "refused", .image = registry.Name("berth/busybox:1")},
         .reason = "ErrImagePull",
         .text = "403"},
        {.pod = {.name = "badname", .image = "UPPER:case:1"}, .reason = "ErrImagePull", .text = "UPPER:case:1"},
        {.pod = {.name = "command", .cpu = "1", .command = "[/no/such/program]"},
         .reason = "Failed",
         .text = "/no/such/program",
         .ran = true},
        {.pod = {.name = "notexec", .command = "[/etc/passwd]"},
         .reason = "Failed",
         .text = "permission denied",
         .ran = true},
        {.pod = HostPath("nofolder", "/no/such/folder", "Directory"),
         .reason = "FailedCreatePodContainer",
         .text = "/no/such/folder is not a Directory"},
        {.pod = HostPath("nofile", berthd->Dir("none"), "File"),
         .reason = "FailedCreatePodContainer",
         .text = "is not a File"},
        {.pod = HostPath("otherkind", berthd->Dir("file"), "Socket"),
         .reason = "FailedCreatePodContainer",
         .text = "is not a Socket"},
    };
  }
  int Said(const BadPod& bad) { return berthd->CountEvents(bad.reason, bad.text); }
};

TEST_F(DaemonCriBadInputTest, EveryMistakeIsSaidOnceAndTriedAgainWithPauses) {
  PutRelayBetween();
  ImageRegistry registry(containerd->Dir("images.tar"), berthd->Dir("registry"));
  registry.Answer(403);
  berthd->Configure("crashLoopBackOff: {maxContainerRestartPeriod: 3s}\n");
  Start();
  const std::vector<BadPod> bad = BadPods(registry);
  const os::MonoTime begin = os::SystemClock().Now();
  for (const BadPod& each : bad) Add(each.pod);
  Add({.name = "good"});
  ASSERT_TRUE(berthd->Until("all is said and tried again", [&] {
    return berthd->Runs("good") && std::ranges::all_of(bad, [&](const BadPod& each) { return Said(each) >= 2; });
  }));
  // Pauses of 3 s: until it was looked at only so many tries were due, and each is one event.
  for (const BadPod& each : bad) {
    const int said = Said(each);
    EXPECT_LE(said, (os::SystemClock().Now() - begin) / kPause + 1 + (each.ran ? 1 : 0)) << each.pod.name;
  }
  EXPECT_EQ("", berthd->Repairs()) << berthd->output();
  registry.Answer(200);
  EXPECT_TRUE(berthd->Until("the registry's mood is better", [&] { return berthd->Runs("refused"); }));
  for (const BadPod& each : bad) Remove(each.pod.name);
  Remove("good");
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

/// runc makes a working directory that is missing; one that cannot be made is the container's mistake.
TEST_F(DaemonCriBadInputTest, AWorkingDirectoryThatCannotBeIsSaid) {
  Start();
  Add({.name = "made",
       .script = "pwd",
       .spec = "  restartPolicy: Never\n",
       .container = "    workingDir: /not/there\n"});
  Add({.name = "wrong", .spec = "  restartPolicy: Never\n", .container = "    workingDir: /etc/passwd\n"});
  EXPECT_TRUE(berthd->Until("it is made", [&] { return Phase("made", "Succeeded"); }));
  EXPECT_EQ("/not/there\n", WordsOf("made"));
  EXPECT_TRUE(berthd->Until("it is said", [&] { return berthd->CountEvents("Failed", "/etc/passwd") == 1; }));
  EXPECT_TRUE(berthd->Until("it has failed", [&] { return Phase("wrong", "Failed"); }));
  Remove("made");
  Remove("wrong");
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriBadInputTest, ARuntimeThatHangsIsSaidInEventsStatusAndConditions) {
  Start();
  Add({.name = "alone", .cpu = "1"});
  ASSERT_TRUE(berthd->Until("alone runs", [&] { return berthd->Runs("alone"); }));
  const auto warned = [&] {
    return berthd->Get("/v1/status")["warnings"].dump().find("RuntimeNotReady") != std::string::npos;
  };
  containerd->Freeze(true);
  EXPECT_TRUE(berthd->Until("it is said", [&] { return berthd->CountEvents("RuntimeNotReady") == 1; }));
  EXPECT_TRUE(berthd->Until("status warns", warned));
  EXPECT_NE("", berthd->Get("/v1/node")["conditions"]["runtimeProblem"].get<std::string>());
  EXPECT_EQ(berthd->Get("/v1/health")["notReady"].size(), 1U);
  EXPECT_TRUE(berthd->Runs("alone"));
  containerd->Freeze(false);
  EXPECT_TRUE(berthd->Until("it is back", [&] { return berthd->CountEvents("RuntimeReady") == 1; }));
  EXPECT_TRUE(berthd->Until("status is quiet", [&] { return !warned(); }));
  EXPECT_EQ("", berthd->Get("/v1/node")["conditions"]["runtimeProblem"].get<std::string>());
  EXPECT_TRUE(berthd->Get("/v1/health")["notReady"].empty());
  Remove("alone");
  ASSERT_TRUE(berthd->Until("alone is gone", [&] { return Gone("alone"); }));
  ExpectNothingLeft();
}

/// Which containers there are is answered, which sandboxes is not before a call of berthd's usual patience is given up.
TEST_F(DaemonCriBadInputTest, ARuntimeThatHangsBetweenTwoAnswersIsSaidToo) {
  PutRelayBetween();
  Start();
  Add({.name = "alone", .cpu = "1"});
  ASSERT_TRUE(berthd->Until("alone runs", [&] { return berthd->Runs("alone"); }));
  relay->SetJudge([asked = std::make_shared<std::atomic<bool>>(false)](const RelayedCall& call, CriRelay::Moment now) {
    const bool first = call.method == "ListPodSandbox" && now == CriRelay::Moment::kAsked && !asked->exchange(true);
    return CriRelay::Fate{.delay = first ? kLongerThanALook : os::Millis(0)};
  });
  ASSERT_TRUE(berthd->Until("it is said", [&] {
    return berthd->CountEvents("RuntimeNotReady", "list sandboxes") == 1;
  })) << berthd->output();
  EXPECT_TRUE(berthd->Until("it is back", [&] { return berthd->CountEvents("RuntimeReady") == 1; }));
  EXPECT_TRUE(berthd->Runs("alone"));
  relay->SetJudge(nullptr);
  Remove("alone");
  ASSERT_TRUE(berthd->Until("alone is gone", [&] { return Gone("alone"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriBadInputTest, ARuntimeThatIsAwayIsSaidOnceAndTakesNothingWithIt) {
  PutRelayBetween();
  Start();
  Add({.name = "alone", .cpu = "1"});
  ASSERT_TRUE(berthd->Until("alone runs", [&] { return berthd->Runs("alone"); }));
  const std::map<std::string, int> before = berthd->Pids();
  relay->SetJudge([](const RelayedCall&, CriRelay::Moment) { return CriRelay::Fate{.delay = {}, .lost = true}; });
  const std::size_t looks = relay->Count("ListContainers");
  EXPECT_TRUE(berthd->Until("it is looked for, and that is said", [&] {
    return relay->Count("ListContainers") >= looks + 3 && berthd->CountEvents("RuntimeNotReady") > 0;
  }));
  EXPECT_EQ(1, berthd->CountEvents("RuntimeNotReady")) << berthd->output();
  EXPECT_EQ(before, berthd->Pids());
  relay->SetJudge(nullptr);
  EXPECT_TRUE(berthd->Until("it is back", [&] { return berthd->CountEvents("RuntimeReady") == 1; }));
  EXPECT_EQ(before, berthd->Pids());
  Remove("alone");
  ASSERT_TRUE(berthd->Until("alone is gone", [&] { return Gone("alone"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriBadInputTest, WithoutTheRightRuntimeBerthdEndsAndSaysWhy) {
  const auto said = [&](const std::string& endpoint) {
    const auto ended = berthd->RunToEnd({"--runtime", "cri", "--runtime-endpoint", endpoint});
    EXPECT_NE(0, ended.status);
    return ended.output;
  };
  EXPECT_NE(std::string::npos, said(berthd->Dir("none.sock")).find("there is no such socket; start the runtime"));
  EXPECT_NE(std::string::npos, said(berthd->Dir("kubelet.yaml")).find("this is not a socket"));
  EXPECT_NE(std::string::npos, said("tcp://localhost:1").find("is no endpoint of a container runtime"));
  containerd->Kill();
  containerd->Start(testkit::ContainerdFixture::With::kNothing);  // answers as one that speaks v1alpha2 only does
  EXPECT_NE(std::string::npos, said(containerd->socket()).find("it does not speak version v1"));
}

}  // namespace
}  // namespace berth
