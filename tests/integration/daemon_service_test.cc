// berthd as a service: readiness, watchdog, reload; and what it answers to "would it fit?".
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "api/local_api/api_client.h"
#include "daemon_fixture.h"
#include "host/os/unique_fd.h"

namespace berth::testkit {
namespace {

/// The service manager's side of the notify protocol.
class Manager {
 public:
  explicit Manager(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  /// Waits for a message that starts with `prefix` and returns it; what came before it is dropped.
  std::string WaitFor(const std::string& prefix) {
    pollfd ready{fd_.get(), POLLIN, 0};
    while (::poll(&ready, 1, 30'000) == 1) {
      std::array<char, 512> buffer{};
      const ssize_t size = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
      std::string message(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
      if (message.starts_with(prefix)) return message;
    }
    ADD_FAILURE() << "never told: " << prefix;
    return "";
  }

 private:
  os::UniqueFd fd_;
};

struct DaemonServiceTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  }
  void WriteConfig(const std::string& settings) {
    std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n" << settings;
  }
  void StartWithConfig() { node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()}); }
  void Hangup(const std::string& reason, const std::string& text) {
    ::kill(node.pid(), SIGHUP);
    ASSERT_TRUE(node.Until(reason + " " + text, [&] { return node.CountEvents(reason, text) > 0; }));
  }
  DaemonFixture node;
};

TEST_F(DaemonServiceTest, TellsTheServiceManagerWhatItNeedsToKnow) {
  const std::string path = node.Dir("notify");
  Manager manager(path);
  node.AddPod("own.yaml", SpinnerManifest("own", ""));
  node.Start({}, [&] {
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    ::setenv("WATCHDOG_USEC", "200000", 1);
  });
  EXPECT_EQ(manager.WaitFor("READY="), "READY=1");
  EXPECT_NE(manager.WaitFor("STATUS=").find("shared pool"), std::string::npos);
  for (int i = 0; i < 3; ++i) manager.WaitFor("WATCHDOG=1");
  ::kill(node.pid(), SIGHUP);
  EXPECT_NE(manager.WaitFor("RELOADING=1").find("\nMONOTONIC_USEC="), std::string::npos);
  manager.WaitFor("READY=1");
  ::kill(node.pid(), SIGTERM);
  manager.WaitFor("STOPPING=1");
  EXPECT_EQ(node.Stop(), 0);
}

TEST_F(DaemonServiceTest, HangupReadsTheSettingsAgainAndSaysWhatHasToWait) {
  WriteConfig("logLevel: info\n");
  node.AddPod("own.yaml", SpinnerManifest("own", ""));
  StartWithConfig();
  ASSERT_TRUE(node.Until("own runs", [&] { return node.Runs("own"); }));
  const auto pids = node.Pids();

  WriteConfig("logLevel: warning\nmaxEvents: 500\nreconcilePeriod: 1s\nunknownPods: adopt\n");
  Hangup("Reloaded", "settings were read again");
  EXPECT_EQ(node.output().find("Reloaded"), std::string::npos) << "the log has its new level already";

  WriteConfig("logLevel: info\nnodeFit: false\nsocketGroup: root\n");
  std::ofstream(node.Dir("kubelet.yaml"), std::ios::app) << "topologyManagerPolicy: restricted\n";
  Hangup("RestartNeeded",
         "changes of nodeFit, socketGroup, the kubelet's settings take effect when berthd is restarted");
  EXPECT_EQ(node.Get("/v1/node")["topologyPolicy"], "none");

  WriteConfig("logLevel: loud\n");
  Hangup("ReloadFailed", "the old settings stay in force");
  EXPECT_EQ(node.CountEvents("ReloadFailed", node.Dir("berth.yaml")), 1) << "names the file";
  EXPECT_EQ(node.CountEvents("ReloadFailed", "logLevel"), 1) << "and the field";
  EXPECT_EQ(node.Pids(), pids);
}

TEST_F(DaemonServiceTest, NamedGroupsHoldBerthdAndSupervisorsAndTheseFollowTheSettings) {
  const std::string kubelet = node.HostGroup("kubelet");
  const std::string runtime = node.HostGroup("runtime");
  const auto below_root = [&](const std::string& path) {
    return path[0] == '/' ? node.Plainly(path.substr(path.find('/', 1) + 1)) : path;
  };
  const auto in = [&](const std::string& group, std::string_view name) {
    return std::ranges::count_if(node.Processes(),
                                 [&](const SeenProcess& p) { return p.cgroup == below_root(group) && p.name == name; });
  };
  node.Configure("kubeletCgroups: " + kubelet + "\n");
  WriteConfig("runtimeCgroups: " + runtime + "\n");
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  node.AddPod("shared.yaml", SpinnerManifest("shared", ""));
  StartWithConfig();
  ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("own") && node.Runs("shared"); }));
  const auto pids = node.Pids();
  EXPECT_EQ(1, in(kubelet, "berthd"));
  EXPECT_EQ(2, in(runtime, "berth-shim"));
  const codec::Json tree = node.Get("/v1/tree");
  ASSERT_EQ(2U, tree["hostGroups"].size());
  EXPECT_EQ("runtimeCgroups", tree["hostGroups"][1]["setting"]);
  EXPECT_EQ(runtime, tree["hostGroups"][1]["path"].get<std::string>());
  // Under systemd a third one keeps the scope alive.
  EXPECT_EQ(std::ranges::count(node.Processes(), below_root(runtime), &SeenProcess::cgroup),
            tree["hostGroups"][1]["processes"]);
  EXPECT_GT(tree["hostGroups"][1]["memory"], 0);
  CpuSet exclusive;
  CpuSet host;
  for (const SeenProcess& p : node.Processes()) {
    if (p.cgroup.starts_with("kubepods/pod")) exclusive |= p.allowed;
    if (p.cgroup.starts_with("host/")) host |= p.allowed;
  }
  EXPECT_FALSE(exclusive.empty());
  EXPECT_FALSE(host.Intersects(exclusive)) << FormatIds(host);

  node.Kill();
  std::ofstream(node.Dir("kubelet.yaml"), std::ios::app) << "kubeletCgroups: \"\"\n";
  WriteConfig("runtimeCgroups: \"\"\n");
  StartWithConfig();
  EXPECT_EQ(1, in("berth", "berthd"));
  EXPECT_EQ(2, in("berth", "berth-shim"));
  EXPECT_EQ(0, in(runtime, "berth-shim"));
  EXPECT_EQ(pids, node.Pids());
}

TEST_F(DaemonServiceTest, ExplainsARejectionAsTheCommandDoes) {
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  node.Start();
  ASSERT_TRUE(node.Until("own runs", [&] { return node.Runs("own"); }));
  const codec::Json ledger = node.Get("/v1/ledger");
  const std::string rest = std::to_string(OnlineCpus().Count() - 1);  // all that is not reserved
  const auto no = api::Call(node.socket(), "POST", "/v1/explain", SpinnerManifest("second", rest));
  ASSERT_TRUE(no) << no.error().message;
  EXPECT_EQ((*no)["pod"], "default/second");
  EXPECT_EQ((*no)["qosClass"], "Guaranteed");
  EXPECT_EQ((*no)["wasThere"], false);
  for (const char* key : {"hints", "merges", "shortages", "holders", "nearest", "nearestExhaustive", "trace"})
    EXPECT_TRUE(no->contains(key)) << key;
  EXPECT_EQ((*no)["holders"][0]["pod"], "default/own-n1");
  EXPECT_EQ((*no)["removal"]["pods"][0]["pod"], "default/own-n1");
  const auto own = api::Call(node.socket(), "POST", "/v1/explain", SpinnerManifest("own", "1"));
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ((*own)["wasThere"], true) << "explained as if it were not there";
  EXPECT_FALSE(own->contains("shortages")) << own->dump(1);
  EXPECT_EQ(node.Get("/v1/ledger"), ledger);
}

}  // namespace
}  // namespace berth::testkit
