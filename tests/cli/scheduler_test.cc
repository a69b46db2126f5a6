// The program berth-scheduler: its command line, and its life with an API server, a scheduler and signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "berthd_fixture.h"
#include "kubernetes/scheduler_server/fake_cluster_test.h"
#include "kubernetes/scheduler_server/published_test.h"
#include "rpc/http/http_client.h"
#include "rpc/http/listener.h"
#include "run_program.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A file that leads to the API server.
std::string KubeconfigOf(const scheduler_server::FakeCluster& cluster, const std::string& path) {
  std::ofstream(path) << kube::KubeconfigOf(cluster.access());
  return path;
}

/// A berth-scheduler that follows the cluster.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  /// At a port that nobody has. Whoever takes it before the program does ends it: then it is another one.
  void Start(const scheduler_server::FakeCluster& cluster) {
    bool ready = false;
    for (int tries = 0; tries < 10 && !ready && pid_ == 0; ++tries) {
      {
        const auto listener = http::ListenTcp("127.0.0.1", 0, nullptr);
        ASSERT_TRUE(listener);
        port_ = listener->port;
      }
      pid_ = Spawn(BERTH_SCHEDULER,
                   {"--kubeconfig", KubeconfigOf(cluster, folder_ / "kubeconfig"), "--listen", std::to_string(port_)},
                   {}, folder_ / "log");
      ASSERT_GT(pid_, 0);
      ready = Until("GET", "/readyz", "", "ok\n");
    }
    ASSERT_TRUE(ready) << testkit::ReadText(folder_ / "log");
  }
  /// "": no answer.
  std::string Ask(const std::string& method, const std::string& path, const std::string& body = {}) const {
    const auto client = http::MakeClient();
    if (!client) return "";
    const auto answer = (*client)->Send({.method = method,
                                         .url = "http://127.0.0.1:" + std::to_string(port_) + path,
                                         .body = body,
                                         .max_body = 100'000});
    return answer ? answer->body : "";
  }
  /// Asks again until the answer has `text`; false: it never has, or the program has ended.
  bool Until(const std::string& method, const std::string& path, const std::string& body, const std::string& text) {
    for (const auto end = std::chrono::steady_clock::now() + 30s; std::chrono::steady_clock::now() < end;) {
      if (Ask(method, path, body).contains(text)) return true;
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = 0;
        return false;
      }
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  /// Its exit status after the signal; -1: it was killed.
  int EndBy(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  testkit::TempDir folder_;
  std::uint16_t port_ = 0;
  int pid_ = 0;
};

/// A cluster in which node "a" is empty.
struct SchedulerProgramTest : testing::Test {
  void SetUp() override { cluster.Put(scheduler_server::Kind::kNodeStates, "a", scheduler_server::StateText("a")); }
  scheduler_server::FakeCluster cluster;
};

std::string CallFor(const std::string& pod, const std::string& cpus, const std::string& nodes) {
  return scheduler_server::CallText(scheduler_server::PodText(pod, cpus), nodes);
}

TEST_F(SchedulerProgramTest, ItAnswersASchedulerUntilItIsTold) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Program program;
    program.Start(cluster);
    EXPECT_THAT(program.Ask("POST", "/filter", CallFor("one", "9", "ab")),
                HasSubstr(R"("NodeNames":["b"],"FailedNodes":{"a":)"));
    EXPECT_EQ(program.EndBy(signal), 0);
  }
}

TEST_F(SchedulerProgramTest, ItEndsWhileACallWaits) {
  Program program;
  program.Start(cluster);
  EXPECT_THAT(program.Ask("POST", "/filter", CallFor("one", "8", "a")), HasSubstr(R"("NodeNames":["a"])"));
  std::jthread waits([&program] { program.Ask("POST", "/filter", CallFor("two", "8", "a")); });
  EXPECT_EQ(program.EndBy(SIGTERM), 0);
}

TEST_F(SchedulerProgramTest, AWrongCommandLineIsSaid) {
  EXPECT_EQ(RunProgram(BERTH_SCHEDULER, {"--help"}).status, 0);
  EXPECT_THAT(RunProgram(BERTH_SCHEDULER, {"--help"}).out, HasSubstr("--kubeconfig FILE"));
  EXPECT_THAT(RunProgram(BERTH_SCHEDULER, {"--version"}).out, testing::StartsWith("berth-scheduler "));
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{{"--cubeconfig", "x"},
                                                                                     {"more"},
                                                                                     {"--listen", "localhost:1"},
                                                                                     {"--tls-cert-file", "c"},
                                                                                     {"--log-level", "x"}}) {
    const Ran ran = RunProgram(BERTH_SCHEDULER, wrong);
    EXPECT_EQ(ran.status, 2) << wrong[0];
    EXPECT_THAT(ran.err + ran.out, HasSubstr(wrong[0]));
  }
}

TEST_F(SchedulerProgramTest, WhatIsMissingIsSaid) {
  const testkit::TempDir folder;
  const Ran nowhere = RunProgram(BERTH_SCHEDULER, {});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("name a kubeconfig instead"));
  const Ran none = RunProgram(BERTH_SCHEDULER, {"--kubeconfig", folder / "none"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("none"));
  const Ran no_certificate =
      RunProgram(BERTH_SCHEDULER, {"--kubeconfig", KubeconfigOf(cluster, folder / "k"), "--listen", "9951",
                                   "--tls-cert-file", folder / "c", "--tls-key-file", "k"});
  EXPECT_EQ(no_certificate.status, 1);
}

TEST_F(SchedulerProgramTest, RelativePathsCountFromTheWorkingDirectory) {
  const testkit::TempDir folder;
  std::filesystem::create_directory(folder / "below");
  KubeconfigOf(cluster, folder / "kc.yaml");
  for (const std::string files : {"../kc.yaml", "./none:../kc.yaml"}) {
    const Ran ran = RunProgram("env", {"-C", folder / "below", BERTH_SCHEDULER, "--kubeconfig", files,
                                       "--tls-cert-file", "none.pem", "--tls-key-file", "none.pem"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("none.pem")) << "the kubeconfig was read: the certificate is what is missing";
  }
}

/// berthd and berth-scheduler, who know each other by what the API server keeps.
struct BothProgramsTest : BerthdTest {
  std::vector<std::string> MoreArguments() override {
    KubeconfigOf(cluster, folder / "kubeconfig");
    return {"--config=" + File("berth.yaml",
                               "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\npublish: "
                               "{kubeconfig: " +
                                   (folder / "kubeconfig") + "}\n")};
  }
  scheduler_server::FakeCluster cluster;
  testkit::TempDir folder;
};

TEST_F(BothProgramsTest, WhatANodePublishesIsWhatIsAnswered) {
  Program program;
  program.Start(cluster);
  const std::string call = R"({"Pod":)" + scheduler_server::PodText("one", "14") + R"(,"NodeNames":["n1"]})";
  ASSERT_TRUE(program.Until("GET", "/metrics", "", R"(berth_scheduler_nodes{state="usable"} 1)"));
  EXPECT_THAT(program.Ask("POST", "/filter", call), HasSubstr(R"("NodeNames":["n1"])"));
  AddPod("web", "4");
  EXPECT_TRUE(program.Until("POST", "/filter", call, R"("NodeNames":[],"FailedNodes":{"n1":"n1: )"));
  EXPECT_EQ(Ask({"delete", "web"}).status, 0);
  EXPECT_TRUE(program.Until("POST", "/filter", call, R"("NodeNames":["n1"])"));
}

}  // namespace
}  // namespace berth
