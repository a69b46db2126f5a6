// Networks of pods that the runtime's plug-ins cannot make, or not take back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cri_node.h"
#include "runtime/cri/cri_client.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLoopback = "/usr/lib/cni/loopback";
constexpr const char* kRefused = "FailedRemovePodSandBox";

class DaemonCriNetworkTest : public testkit::CriNodeTest {
 protected:
  /// A containerd with a plug-in that makes no network, and fails as the test says.
  void SetUp() override {
    CriNodeTest::SetUp();
    if (IsSkipped()) return;
    if (::access(kLoopback, X_OK) != 0) GTEST_SKIP() << "needs CNI plug-ins: tools/install_packages test";
    fs::create_directories(containerd->Dir("cni/conf"));
    fs::create_directories(containerd->Dir("cni/bin"));
    fs::create_symlink(kLoopback, containerd->Dir("cni/bin/loopback"));
    std::ofstream(containerd->Dir("cni/bin/plug"))
        << "#!/bin/sh\n[ ! -e " << containerd->Dir("fails-") << "$CNI_COMMAND ] || { echo '"
        << R"({"cniVersion": "0.4.0", "code": 11, "msg": "no luck"})"
        << "'; exit 1; }\n[ $CNI_COMMAND != ADD ] || echo '"
        << R"({"cniVersion": "0.4.0", "interfaces": [{"name": "eth0",
      "sandbox": "x"}], "ips": [{"version": "4", "interface": 0, "address": "198.18.78.2/24"}]})"
        << "'\n";
    fs::permissions(containerd->Dir("cni/bin/plug"), fs::perms::owner_all);
  }
  void Configure() {
    std::ofstream(containerd->Dir("cni/conf/10-test.conflist"))
        << R"({"cniVersion": "0.4.0", "name": "berth-test", "plugins": [{"type": "plug"}]})";
  }
  bool Configured() {
    const auto status = cri::Client(containerd->socket()).AskStatus();
    return status && status->not_ready.empty();
  }
  void Fail(const std::string& command) { std::ofstream(containerd->Dir("fails-" + command)) << ""; }
  void Mend(const std::string& command) { fs::remove(containerd->Dir("fails-" + command)); }
  /// Sandboxes there are; none of them runs.
  std::size_t StoppedSandboxes() {
    const auto found = cri::Client(containerd->socket()).Sandboxes({});
    EXPECT_TRUE(found && std::ranges::none_of(*found, &cri::Sandbox::ready));
    return found ? found->size() : 0;
  }
};

TEST_F(DaemonCriNetworkTest, APodWhoseNetworkIsNotTakenBackGivesItsCpusBackAndGoes) {
  Configure();
  settings = "reconcilePeriod: 1s\n";
  Start();
  ASSERT_TRUE(berthd->Until("the runtime has a network", [&] { return Configured(); }));
  Add({.name = "web", .cpu = "1", .host_network = false});
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("web"); }));
  Fail("DEL");
  Remove("web");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return NoPods(); }));
  EXPECT_TRUE(berthd->Get("/v1/ledger")["pods"].empty());
  ASSERT_TRUE(berthd->Until("it is told", [&] { return berthd->CountEvents(kRefused, "no luck") > 0; }));
  EXPECT_EQ(1, berthd->CountEvents(kRefused, "pod default/web-n1: "));
  EXPECT_EQ(1U, StoppedSandboxes());

  EXPECT_EQ(0, berthd->Stop());
  Start();
  ASSERT_TRUE(berthd->Until("it is told again", [&] { return berthd->CountEvents(kRefused, "no luck") == 1; }));
  EXPECT_EQ(1U, StoppedSandboxes());
  Mend("DEL");
  ExpectNothingLeft();
  EXPECT_TRUE(berthd->Until("that, too", [&] { return berthd->CountEvents("RemovedPodSandBox", "web") == 1; }));
}

TEST_F(DaemonCriNetworkTest, APodWithoutANetworkCanBeDeletedAndLeavesNothingOnceThereIsOne) {
  const auto could_not_start = [&] {
    return berthd->CountEvents("FailedCreatePodSandBox", "cni plugin not initialized") > 0;
  };
  Start();
  Add({.name = "net", .host_network = false});
  ASSERT_TRUE(berthd->Until("it cannot start", could_not_start));
  berthd->Kill();
  Start();
  ASSERT_TRUE(berthd->Until("nor again", could_not_start));
  const auto refused = [&] { return berthd->CountEvents(kRefused, "cni plugin not initialized"); };
  ASSERT_TRUE(berthd->Until("it is told", [&] { return refused() > 0; }));
  EXPECT_EQ(1, refused());
  EXPECT_EQ(2U, StoppedSandboxes());
  Remove("net");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return NoPods(); }));
  Configure();
  ExpectNothingLeft();
}

}  // namespace
}  // namespace berth
