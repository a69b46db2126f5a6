#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "frontend/pod_sources/http_request.h"
#include "frontend/pod_sources/source.h"
#include "host/os/unique_fd.h"
#include "testing/raw_server.h"
#include "testing/web_page.h"

namespace berth::pod_sources {
namespace {

using os::Millis;
using os::MonoTime;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

std::string SleepingPodYaml(const std::string& name) {
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name +
         "\nspec:\n  containers:\n  - {name: app, image: local, command: [sleep]}\n";
}

std::vector<std::string> NamesOf(const Snapshot& snapshot) {
  std::vector<std::string> out;
  for (const auto& pod : snapshot.pods) out.push_back(FullName(*pod));
  return out;
}

class HttpSourceTest : public testing::Test {
 protected:
  void Open(const std::string& url, Headers headers = {}, Millis timeout = Millis(10'000)) {
    auto source = OpenHttp({.url = url,
                            .headers = std::move(headers),
                            .node_name = "Node1",
                            .period = Millis(20'000),
                            .timeout = timeout});
    ASSERT_TRUE(source) << source.error().message;
    source_ = *std::move(source);
  }
  /// Asks once, waits for the answer, and moves time to the next request.
  std::optional<Snapshot> AskOnce() {
    auto snapshot = source_->Poll(now_);
    EXPECT_FALSE(snapshot) << "an answer before the question";
    pollfd waiting{source_->event_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&waiting, 1, 60'000), 1) << "no answer came";
    snapshot = source_->Poll(now_);
    now_ = source_->next_due();
    return snapshot;
  }

  testkit::WebPage page_;
  MonoTime now_{std::chrono::hours(1)};
  std::unique_ptr<Source> source_;
};

TEST_F(HttpSourceTest, PodsOfAnAnswerAreStaticPodsOfTheUrl) {
  page_.Answer(200, SleepingPodYaml("web"));
  Open(page_.url());
  const auto snapshot = AskOnce();
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(snapshot->ready);
  EXPECT_TRUE(snapshot->complete);
  ASSERT_THAT(NamesOf(*snapshot), ElementsAre("default/web-node1"));
  const Pod& pod = *snapshot->pods.front();
  EXPECT_EQ(pod.annotations.at("kubernetes.io/config.source"), "http");
  EXPECT_THAT(pod.uid, SizeIs(32));
  EXPECT_EQ(snapshot->files.at("default/web-node1"), page_.url());
}

TEST_F(HttpSourceTest, TheHeadersOfTheSettingsAreSent) {
  page_.Answer(200, SleepingPodYaml("web"));
  Open(page_.url(), {{"Authorization", {"Bearer s3cret"}}, {"X-Rack", {"a", "b"}}});
  ASSERT_TRUE(AskOnce());
  EXPECT_THAT(page_.SeenHeader("Authorization"), ElementsAre("Bearer s3cret"));
  EXPECT_THAT(page_.SeenHeader("X-Rack"), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(page_.SeenHeader("Host"), ElementsAre(page_.url().substr(7, page_.url().rfind('/') - 7)));
}

TEST_F(HttpSourceTest, AnUnchangedAnswerIsNoNews) {
  page_.Answer(200, SleepingPodYaml("web"));
  Open(page_.url());
  ASSERT_TRUE(AskOnce());
  EXPECT_FALSE(AskOnce());
  EXPECT_EQ(page_.requests(), 2);
  page_.Answer(200, SleepingPodYaml("other"));
  const auto snapshot = AskOnce();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(NamesOf(*snapshot), ElementsAre("default/other-node1"));
}

TEST_F(HttpSourceTest, AWrongStatusKeepsThePodsAndSaysSo) {
  page_.Answer(200, SleepingPodYaml("web"));
  Open(page_.url());
  ASSERT_TRUE(AskOnce());
  page_.Answer(500, SleepingPodYaml("other"));
  const auto snapshot = AskOnce();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(NamesOf(*snapshot), ElementsAre("default/web-node1"));
  ASSERT_THAT(snapshot->problems, SizeIs(1));
  EXPECT_THAT(snapshot->problems.front().message, HasSubstr("status 500"));
  EXPECT_EQ(snapshot->problems.front().source, "http");
  EXPECT_FALSE(AskOnce()) << "the same problem is no news";
  page_.Answer(200, SleepingPodYaml("web"));
  const auto back = AskOnce();
  ASSERT_TRUE(back);
  EXPECT_THAT(back->problems, IsEmpty());
}

TEST_F(HttpSourceTest, ARedirectionIsNotFollowed) {
  page_.Answer(302, "");
  Open(page_.url(), {{"Authorization", {"Bearer s3cret"}}});
  const auto snapshot = AskOnce();
  ASSERT_TRUE(snapshot);
  EXPECT_FALSE(snapshot->ready);
  EXPECT_THAT(snapshot->problems.front().message, HasSubstr("status 302"));
  EXPECT_THAT(snapshot->problems.front().message, Not(HasSubstr("s3cret")));
  EXPECT_EQ(page_.requests_elsewhere(), 0);
}

TEST_F(HttpSourceTest, AnAnswerThatCannotBeReadKeepsThePods) {
  page_.Answer(200, SleepingPodYaml("web"));
  Open(page_.url());
  ASSERT_TRUE(AskOnce());
  page_.Answer(200, "apiVersion: v1\nkind: Pod\nmetadata: [");
  const auto snapshot = AskOnce();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(NamesOf(*snapshot), ElementsAre("default/web-node1"));
  ASSERT_THAT(snapshot->problems, SizeIs(1));
  EXPECT_THAT(snapshot->problems.front().message, HasSubstr(page_.url()));
  EXPECT_FALSE(AskOnce());
}

TEST_F(HttpSourceTest, AnEmptyAnswerMeansNoPodsAndIsAProblem) {
  page_.Answer(200, SleepingPodYaml("web"));
  Open(page_.url());
  ASSERT_TRUE(AskOnce());
  page_.Answer(200, "");
  const auto snapshot = AskOnce();
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(snapshot->ready);
  EXPECT_THAT(snapshot->pods, IsEmpty());
  ASSERT_THAT(snapshot->problems, SizeIs(1));
  EXPECT_THAT(snapshot->problems.front().message, HasSubstr("empty"));
}

TEST_F(HttpSourceTest, AnAnswerMayHoldManyPods) {
  page_.Answer(200, SleepingPodYaml("b") + "---\n" + SleepingPodYaml("a"));
  Open(page_.url());
  const auto snapshot = AskOnce();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(NamesOf(*snapshot), ElementsAre("default/a-node1", "default/b-node1"));
  EXPECT_THAT(snapshot->problems, IsEmpty());
}

TEST_F(HttpSourceTest, NobodyThereIsAskedAgainSoonerUntilTheFirstAnswer) {
  const os::UniqueFd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  // bound, never listening: refused
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  Open("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/pods");
  std::vector<Millis> waits;
  for (int i = 0; i < 7; ++i) {
    const MonoTime before = now_;
    const auto snapshot = AskOnce();
    EXPECT_EQ(snapshot.has_value(), i == 0);
    EXPECT_TRUE(!snapshot || !snapshot->ready);
    waits.push_back(std::chrono::duration_cast<Millis>(now_ - before));
  }
  EXPECT_THAT(waits, ElementsAre(Millis(1000), Millis(2000), Millis(4000), Millis(8000), Millis(16'000), Millis(20'000),
                                 Millis(20'000)));
}

TEST_F(HttpSourceTest, AnAnswerWithoutEndIsAProblemThatSaysSo) {
  const testkit::RawServer server("HTTP/1.1 200 " + std::string(50'000, 'x') + "\r\n\r\n" + SleepingPodYaml("web"));
  Open(server.url());
  const auto snapshot = AskOnce();
  ASSERT_TRUE(snapshot);
  EXPECT_FALSE(snapshot->ready);
  EXPECT_THAT(snapshot->problems.front().message,
              HasSubstr("get " + server.url() + ": the answer's headers are larger than 32 KiB"));
}

TEST_F(HttpSourceTest, AnAnswerThatBreaksOffIsNotAnEmptyOne) {
  for (const char* const part : {"HTTP/1.1 200 OK\r\nContent-", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"}) {
    const testkit::RawServer server((std::string(part)));
    Open(server.url());
    const auto snapshot = AskOnce();
    ASSERT_TRUE(snapshot);
    EXPECT_FALSE(snapshot->ready) << part;
  }
}

/// Takes connections and never says a word.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/pods";
  }
  const std::string& url() const { return url_; }

 private:
  os::UniqueFd socket_;
  std::string url_;
};

TEST_F(HttpSourceTest, AServerThatNeverAnswersIsGivenUpAtTheDeadline) {
  const SilentServer silent;
  Open(silent.url());
  EXPECT_FALSE(source_->Poll(now_));
  const MonoTime deadline = source_->next_due();
  EXPECT_EQ(deadline, now_ + Millis(10'000));
  std::optional<Snapshot> snapshot;
  for (int i = 0; i < 600 && !snapshot; ++i) {  // a stop may come before the request has begun
    now_ = source_->next_due();
    snapshot = source_->Poll(now_);
    pollfd waiting{source_->event_fd(), POLLIN, 0};
    ::poll(&waiting, 1, 100);
  }
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(snapshot->problems.front().message, HasSubstr("no complete answer within 10000 ms"));
}

TEST_F(HttpSourceTest, ASourceThatIsClosedDoesNotWaitForASilentServer) {
  const SilentServer silent;
  Open(silent.url(), {}, Millis(3'600'000));
  EXPECT_FALSE(source_->Poll(now_));
  source_.reset();
}

TEST(HttpHeadersTest, RefusesHeadersThatHttpCannotCarry) {
  EXPECT_TRUE(CheckHeaders({{"X-A", {"b c"}}}, "staticPodURLHeader"));
  for (const Headers& headers : {Headers{{"", {"a"}}}, Headers{{"X A", {"a"}}}, Headers{{"X:", {"a"}}}}) {
    const auto checked = CheckHeaders(headers, "staticPodURLHeader");
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message, HasSubstr("no name of an HTTP header"));
  }
  const auto lines = CheckHeaders({{"X-A", {"a\r\nX-B: c"}}}, "staticPodURLHeader");
  ASSERT_FALSE(lines);
  EXPECT_THAT(lines.error().message, HasSubstr("staticPodURLHeader[X-A]: the value has more than one line"));
}

}  // namespace
}  // namespace berth::pod_sources
