// The program berth-scheduler: its command line, and its life with an API server, a scheduler and signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <thread>

#include "http/client.h"
#include "http/listener.h"
#include "kube/fake_api_test.h"
#include "process.h"
#include "scheduling/published_test.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A cluster in which nothing ever changes: node "a".
void AnswerAlways(const kube::Asked& asked, int /*number*/, int fd) {
  if (asked.line.contains("sendInitialEvents=true")) {
    testkit::SendAll(fd, kube::JsonAnswer(422, kube::StatusText(422, "Invalid")));
  } else if (asked.line.contains("watch=true")) {
    testkit::SendAll(fd, kube::StreamBegin());
    testkit::ReceiveAll(fd);
  } else {
    const bool nodes = asked.line.contains("/nodestates");
    testkit::SendAll(fd, nodes ? kube::ListAnswer({scheduling::StateText("a")}, "5") : kube::ListAnswer({}, "5"));
  }
}

class SchedulerProgramTest : public testing::Test {
 protected:
  void TearDown() override {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::string Kubeconfig() const {
    std::string path = folder_ / "kubeconfig";
    std::ofstream(path) << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                           "clusters: [{name: k, cluster: {server: \""
                        << api_.access().server
                        << "\"}}]\n"
                           "users: [{name: u, user: {}}]\n"
                           "contexts: [{name: c, context: {cluster: k, user: u}}]\n";
    return path;
  }
  void Run() {
    {
      const auto listener = http::ListenTcp("127.0.0.1", 0, nullptr);  // a port that nobody has
      ASSERT_TRUE(listener);
      port_ = listener->port;
    }
    pid_ =
        Spawn(BERTH_SCHEDULER, {"--kubeconfig", Kubeconfig(), "--listen", std::to_string(port_)}, {}, folder_ / "log");
    ASSERT_GT(pid_, 0);
  }
  std::optional<http::ClientAnswer> Ask(const std::string& method, const std::string& path,
                                        const std::string& body = {}) const {
    const auto client = http::MakeClient();
    if (!client) return std::nullopt;
    auto answer = (*client)->Send({.method = method,
                                   .url = "http://127.0.0.1:" + std::to_string(port_) + path,
                                   .body = body,
                                   .max_body = 100'000});
    if (!answer) return std::nullopt;
    return *std::move(answer);
  }
  bool UntilReady() const {
    for (const auto end = std::chrono::steady_clock::now() + 30s; std::chrono::steady_clock::now() < end;) {
      if (const auto answer = Ask("GET", "/readyz"); answer && answer->status == 200) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  /// Its exit status after the signal; -1: it did not end within 2 s.
  int EndBy(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    for (const auto end = std::chrono::steady_clock::now() + 2s; std::chrono::steady_clock::now() < end;) {
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
      std::this_thread::sleep_for(5ms);
    }
    return -1;
  }

  testkit::TempDir folder_;
  kube::FakeApi api_{AnswerAlways};
  std::uint16_t port_ = 0;
  int pid_ = 0;
};

TEST_F(SchedulerProgramTest, ItAnswersASchedulerUntilItIsTold) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Run();
    ASSERT_TRUE(UntilReady());
    const auto answer = Ask("POST", "/filter", scheduling::CallText(scheduling::PodText("one", "9"), "ab"));
    ASSERT_TRUE(answer);
    EXPECT_THAT(answer->body, HasSubstr(R"("NodeNames":["b"],"FailedNodes":{"a":)"));
    EXPECT_EQ(EndBy(signal), 0);
  }
}

TEST_F(SchedulerProgramTest, ItEndsWhileACallWaits) {
  Run();
  ASSERT_TRUE(UntilReady());
  ASSERT_TRUE(Ask("POST", "/filter", scheduling::CallText(scheduling::PodText("one", "8"), "a")));
  std::jthread waits([this] { Ask("POST", "/filter", scheduling::CallText(scheduling::PodText("two", "8"), "a")); });
  EXPECT_EQ(EndBy(SIGTERM), 0);
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
  const Ran nowhere = RunProgram(BERTH_SCHEDULER, {});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("name a kubeconfig instead"));
  const Ran none = RunProgram(BERTH_SCHEDULER, {"--kubeconfig", folder_ / "none"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("none"));
  const Ran no_certificate = RunProgram(BERTH_SCHEDULER, {"--kubeconfig", Kubeconfig(), "--listen", "9951",
                                                          "--tls-cert-file", folder_ / "c", "--tls-key-file", "k"});
  EXPECT_EQ(no_certificate.status, 1);
}

}  // namespace
}  // namespace berth
