#include "kubernetes/kube_client/kube_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "kubernetes/kube_client/fake_api_test.h"
#include "testing/fixtures.h"

namespace berth::kube {
namespace {

using std::chrono_literals::operator""ms;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testkit::SendAll;

std::unique_ptr<Client> MakeFor(Access access, ClientOptions options = {}) {
  auto client = Client::Make(std::move(access), options);
  EXPECT_TRUE(client) << client.error().message;
  return *std::move(client);
}
/// The n-th request gets the n-th answer, all further ones the last.
FakeApi::Answering InTurn(std::vector<std::string> answers) {
  return [answers = std::move(answers)](const Asked&, int number, int fd) {
    SendAll(fd, answers[std::min(answers.size(), static_cast<std::size_t>(number)) - 1]);
  };
}
Target OnePod() { return {.resource = {.plural = "pods"}, .namespace_ = "default", .name = "web", .subresource = {}}; }
/// Lists all pods: names in their order, '^' where a list begins.
std::string ListNames(Client& client, const ListQuery& query, Answer<std::string>& version) {
  std::string names;
  version = client.List(Pods(), query,
                        {.begin = [&] { names += '^'; },
                         .take = [&](Object object) -> Result<void> {
                           names += object.key.name;
                           return {};
                         }});
  return names;
}

TEST(KubePathTest, PartsThatAreThereMakeThePath) {
  EXPECT_EQ(PathOf(Pods()), "/api/v1/pods");
  EXPECT_EQ(PathOf({.resource = {.group = "apps", .plural = "deployments"},
                    .namespace_ = "a b",
                    .name = "x/y",
                    .subresource = "status"}),
            "/apis/apps/v1/namespaces/a%20b/deployments/x%2Fy/status");
}

TEST(KubeClientTest, AnObjectComesAsTheServerWroteIt) {
  FakeApi api(InTurn({JsonAnswer(200, PodText("web", "3"))}));
  const auto object = MakeFor(api.access())->Get(OnePod());
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->json, PodText("web", "3"));
  EXPECT_THAT(api.lines(), ElementsAre("GET /api/v1/namespaces/default/pods/web"));
  EXPECT_THAT(api.asked().front().headers, HasSubstr("Accept: application/json\r\n"));
  EXPECT_THAT(api.asked().front().headers, Not(HasSubstr("Authorization")));
}

TEST(KubeClientTest, ARefusalHasVerbUrlStatusAndReason) {
  FakeApi api(InTurn({JsonAnswer(404, StatusText(404, "NotFound", "pods \\\"web\\\" not found"))}));
  const auto object = MakeFor(api.access())->Get(OnePod());
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, Code::kNotFound);
  EXPECT_EQ(object.error().status, 404);
  EXPECT_EQ(object.error().reason, "NotFound");
  EXPECT_EQ(object.error().message,
            "GET " + api.access().server + "/api/v1/namespaces/default/pods/web: 404 NotFound: pods \"web\" not found");
}

TEST(KubeClientTest, EveryStatusHasItsCode) {
  for (const auto& [status, code] : std::map<int, Code>{{400, Code::kInvalid},
                                                        {401, Code::kPermission},
                                                        {403, Code::kPermission},
                                                        {409, Code::kConflict},
                                                        {422, Code::kInvalid},
                                                        {429, Code::kOverloaded},
                                                        {500, Code::kUncertain},
                                                        {503, Code::kOverloaded},
                                                        {504, Code::kTimeout}}) {
    FakeApi api(InTurn({testkit::HttpText(status, "", "not even JSON")}));
    const auto object = MakeFor(api.access())->Get(OnePod());
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().code, code) << status;
    EXPECT_EQ(object.error().status, status);
    EXPECT_EQ(api.asked().size(), 1U) << "nobody asked to come again";
  }
}

TEST(KubeClientTest, ABusyServerIsAskedAgainWhenItSaysSo) {
  FakeApi api(InTurn({JsonAnswer(429, StatusText(429, "TooManyRequests"), "Retry-After: 1\r\n"),
                      JsonAnswer(503, "", "Retry-After: 3600\r\n"), JsonAnswer(200, PodText("web", "3"))}));
  const auto object = MakeFor(api.access(), {.longest_wait = 10ms})->Get(OnePod());
  EXPECT_TRUE(object) << object.error().message;
  EXPECT_EQ(api.asked().size(), 3U);
}

TEST(KubeClientTest, ItIsNotAskedAgainForever) {
  FakeApi api(InTurn({JsonAnswer(429, "", "Retry-After: 1\r\n")}));
  const auto object = MakeFor(api.access(), {.retries = 3, .longest_wait = 1ms})->Get(OnePod());
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().status, 429);
  EXPECT_EQ(api.asked().size(), 4U);
}

TEST(KubeClientTest, PagesFollowEachOther) {
  FakeApi api(InTurn({ListAnswer({PodText("a", "1"), PodText("b", "2")}, "10", "more/1"), ListAnswer({}, "10", "more2"),
                      ListAnswer({PodText("c", "3")}, "10")}));
  Answer<std::string> version;
  EXPECT_EQ(ListNames(*MakeFor(api.access()), {.label_selector = "app=web", .limit = 2}, version), "^abc");
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ(*version, "10");
  EXPECT_THAT(api.lines(), ElementsAre("GET /api/v1/pods?labelSelector=app%3Dweb&limit=2",
                                       "GET /api/v1/pods?labelSelector=app%3Dweb&limit=2&continue=more%2F1",
                                       "GET /api/v1/pods?labelSelector=app%3Dweb&limit=2&continue=more2"));
}

TEST(KubeClientTest, APageThatHasExpiredBeginsTheListAnew) {
  FakeApi api(InTurn({ListAnswer({PodText("a", "1")}, "10", "t"), JsonAnswer(410, StatusText(410, "Expired")),
                      ListAnswer({PodText("a", "1"), PodText("b", "2")}, "20")}));
  Answer<std::string> version;
  EXPECT_EQ(ListNames(*MakeFor(api.access()), {}, version), "^a^ab");
  EXPECT_EQ(version.value_or("none"), "20");
}

TEST(KubeClientTest, AListThatExpiresAgainAndAgainIsAnError) {
  FakeApi api([](const Asked& asked, int, int fd) {
    SendAll(fd, asked.line.contains("continue=") ? JsonAnswer(410, StatusText(410, "Expired"))
                                                 : ListAnswer({PodText("a", "1")}, "10", "t"));
  });
  Answer<std::string> version;
  EXPECT_EQ(ListNames(*MakeFor(api.access()), {}, version), "^a^a^a^a");
  ASSERT_FALSE(version);
  EXPECT_TRUE(version.error().Gone());
}

TEST(KubeClientTest, WhoeverTakesTheObjectsEndsTheListInTheirOwnWords) {
  FakeApi api(InTurn({ListAnswer({PodText("a", "1")}, "10")}));
  const auto full = MakeFor(api.access())->ListPage(Pods(), {}, [](Object) { return Fail(Code::kExhausted, "full"); });
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kExhausted);
  EXPECT_EQ(full.error().message, "full");
}

TEST(KubeClientTest, APageThatLeadsToItselfIsAnError) {
  FakeApi api(InTurn({ListAnswer({}, "10", "t")}));
  Answer<std::string> version;
  ListNames(*MakeFor(api.access()), {}, version);
  ASSERT_FALSE(version);
  EXPECT_THAT(version.error().message, HasSubstr("leads to itself"));
}

TEST(KubeClientTest, AnswersThatMakeNoSenseAreErrors) {
  for (const char* const body : {"", "[]", "{", R"({"items":{}})", R"({"items":[1]})", R"({"items":[{"metadata":{}}]})",
                                 R"({"metadata":7,"items":[]})", R"({"metadata":{"continue":7}})"}) {
    FakeApi api(InTurn({JsonAnswer(200, body)}));
    Answer<std::string> version;
    ListNames(*MakeFor(api.access()), {}, version);
    ASSERT_FALSE(version) << body;
    EXPECT_THAT(version.error().message, HasSubstr("makes no sense")) << body;
  }
}

TEST(KubeClientTest, WritesSayWhoWritesAndHow) {
  FakeApi api(InTurn({JsonAnswer(200, PodText("web", "4"))}));
  const auto client = MakeFor(api.access());
  Target status = OnePod();
  status.subresource = "status";
  EXPECT_TRUE(client->Apply(OnePod(), "{1}", {.field_manager = "berthd", .force = true}));
  EXPECT_TRUE(client->MergePatch(status, "{2}", {.dry_run = true}));
  EXPECT_TRUE(
      client->Create({.resource = {.plural = "pods"}, .namespace_ = "default", .name = {}, .subresource = {}}, "{3}"));
  EXPECT_TRUE(client->JsonPatch(OnePod(), "[4]"));
  EXPECT_TRUE(client->Delete(OnePod()));
  EXPECT_THAT(api.lines(), ElementsAre("PATCH /api/v1/namespaces/default/pods/web?fieldManager=berthd&force=true",
                                       "PATCH /api/v1/namespaces/default/pods/web/status?fieldManager=berth&dryRun=All",
                                       "POST /api/v1/namespaces/default/pods?fieldManager=berth",
                                       "PATCH /api/v1/namespaces/default/pods/web?fieldManager=berth",
                                       "DELETE /api/v1/namespaces/default/pods/web"));
  const auto asked = api.asked();
  EXPECT_THAT(asked[0].headers, HasSubstr("Content-Type: application/apply-patch+yaml\r\n"));
  EXPECT_THAT(asked[1].headers, HasSubstr("Content-Type: application/merge-patch+json\r\n"));
  EXPECT_THAT(asked[2].headers, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(asked[3].headers, HasSubstr("Content-Type: application/json-patch+json\r\n"));
  EXPECT_EQ(asked[0].body + asked[1].body + asked[2].body, "{1}{2}{3}");
}

TEST(KubeClientTest, ATokenIsReadAgainForEachRequest) {
  const testkit::TempDir dir;
  const std::string file = dir.path() + "/token";
  std::ofstream(file) << "first\n";
  // By the time of the refusal the new one is there.
  FakeApi api([&](const Asked& asked, int, int fd) {
    if (asked.headers.contains("Authorization: Bearer second\r\n")) {
      SendAll(fd, JsonAnswer(200, PodText("web", "3")));
      return;
    }
    std::ofstream(file) << "second\n";
    SendAll(fd, JsonAnswer(401, StatusText(401, "Unauthorized")));
  });
  Access access = api.access();
  access.token = "never";
  access.token_file = file;
  const auto client = MakeFor(access);
  EXPECT_TRUE(client->Get(OnePod()));
  EXPECT_EQ(api.asked().size(), 2U);
  std::ofstream(file) << " \n";
  EXPECT_THAT(client->Get(OnePod()).error().message, HasSubstr("it should hold a token"));
  std::ofstream(file) << "a\r\nb";
  EXPECT_FALSE(client->Get(OnePod()));
  EXPECT_EQ(api.asked().size(), 2U);
}

TEST(KubeClientTest, ARefusedTokenThatStaysIsRefused) {
  FakeApi api(InTurn({JsonAnswer(401, StatusText(401, "Unauthorized"))}));
  const auto object = MakeFor(api.access())->Get(OnePod());
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, Code::kPermission);
  EXPECT_EQ(api.asked().size(), 1U);
}

TEST(KubeClientTest, BrokenAnswersAreErrors) {
  for (const char* const bytes : {"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
                                  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
                                  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}"}) {
    FakeApi api(InTurn({bytes}));
    EXPECT_FALSE(MakeFor(api.access())->Get(OnePod())) << bytes;
  }
}

TEST(KubeClientTest, ObjectsAndPagesAreBounded) {
  FakeApi api(InTurn({JsonAnswer(200, PodText(std::string(3'000'000, 'x'), "3"))}));
  const auto client = MakeFor(api.access(), {.most_of_an_object = 1 << 20, .most_of_a_page = 2 << 20});
  EXPECT_THAT(client->Get(OnePod()).error().message, HasSubstr("larger than 1 MiB"));
  Answer<std::string> version;
  ListNames(*client, {}, version);
  EXPECT_THAT(version.error().message, HasSubstr("larger than 2 MiB"));
}

TEST(KubeClientTest, AListOfAnySizeTakesTheMemoryOfAPage) {
  constexpr int kPages = 40;
  const std::string padding(10'000, 'x');
  FakeApi api([&](const Asked&, int number, int fd) {
    std::vector<std::string> items;
    for (int i = 0; i < 50; ++i)
      items.push_back(PodText("p" + std::to_string(number * 50 + i), "2\"},\"x\":{\"y\":\"" + padding));
    SendAll(fd, ListAnswer(items, "10", number == kPages ? "" : "t" + std::to_string(number)));
  });
  const auto client = MakeFor(api.access());
  [[maybe_unused]] const long before = testkit::PeakKib();
  int taken = 0;
  const auto version = client->List(Pods(), {},
                                    {.begin = [] {},
                                     .take = [&](Object) -> Result<void> {
                                       ++taken;
                                       return {};
                                     }});
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ(taken, kPages * 50);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)  // whose allocators keep more
  EXPECT_LT(testkit::PeakKib() - before, 8 * 1024) << "of 20 MB";
#endif
}

TEST(KubeClientTest, ASilentServerIsGivenUp) {
  FakeApi api([](const Asked&, int, int fd) { testkit::ReceiveAll(fd); });
  const auto client = MakeFor(api.access(), {.patience = 100ms});
  EXPECT_EQ(client->Get(OnePod()).error().code, Code::kTimeout);
  EXPECT_EQ(client->Watch(Pods(), {}, [](std::string_view) { return true; }).error().code, Code::kTimeout);
}

TEST(KubeClientTest, StopEndsTheCallUnderWayAndAllThatFollow) {
  FakeApi api([](const Asked&, int, int fd) { testkit::ReceiveAll(fd); });
  const auto client = MakeFor(api.access());
  std::thread stopping([&] {
    while (api.asked().empty()) std::this_thread::yield();
    client->Stop();
  });
  EXPECT_EQ(client->Get(OnePod()).error().code, Code::kCancelled);
  stopping.join();
  EXPECT_EQ(client->Get(OnePod()).error().code, Code::kCancelled);
}

TEST(KubeClientTest, StopEndsAPauseThatTheServerAskedFor) {
  FakeApi api(InTurn({JsonAnswer(429, "", "Retry-After: 3600\r\n")}));
  const auto client = MakeFor(api.access(), {.longest_wait = std::chrono::hours(1)});
  std::thread stopping([&] {
    while (api.asked().empty()) std::this_thread::yield();
    client->Stop();
  });
  EXPECT_EQ(client->Get(OnePod()).error().code, Code::kCancelled);
  stopping.join();
}

TEST(KubeClientTest, AWatchIsLinesUntilItsEnd) {
  FakeApi api(InTurn({StreamBegin() + "one\ntwo\n" + std::string(3'000, 'x') + "\nthree\ncut off"}));
  const auto client = MakeFor(api.access(), {.most_of_an_object = 1000});
  std::string seen;
  const auto left_out = client->Watch(Pods(), {.field_selector = "spec.nodeName=n1", .resource_version = "5"},
                                      [&](std::string_view line) {
                                        seen += std::string(line) + "|";
                                        return true;
                                      });
  ASSERT_TRUE(left_out) << left_out.error().message;
  EXPECT_EQ(*left_out, 1U);
  EXPECT_EQ(seen, "|one|two|three|");
  EXPECT_THAT(api.lines(), ElementsAre("GET /api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=300&"
                                       "fieldSelector=spec.nodeName%3Dn1&resourceVersion=5"));
}

TEST(KubeClientTest, NobodyThereIsSaid) {
  Access access;
  access.server = "http://127.0.0.1:1";
  const auto object = MakeFor(access)->Get(OnePod());
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, Code::kUnreachable);
  EXPECT_EQ(object.error().status, 0);
  EXPECT_THAT(object.error().message, HasSubstr("GET http://127.0.0.1:1/api/v1/namespaces/default/pods/web: "));
}

}  // namespace
}  // namespace berth::kube
