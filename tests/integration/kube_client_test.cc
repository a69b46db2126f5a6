// The client of API servers with a real one: the cluster in $BERTH_CLUSTER, which tools/cluster made.
#include "kubernetes/kube_client/kube_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "api/codec/codec.h"
#include "base/base64.h"
#include "host/os/poll.h"
#include "host/os/whole_file.h"
#include "kubernetes/kube_client/kube_event.h"
#include "kubernetes/kube_client/kube_watcher.h"
#include "rpc/http/http_client.h"
#include "test_cluster.h"
#include "testing/fixtures.h"

namespace berth::kube {
namespace {

using std::chrono_literals::operator""s;
using testing::HasSubstr;

constexpr const char* kNode = "localhost";

std::string ConfigMapText(const std::string& name, const std::string& data, const std::string& labels = "{}") {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"(","labels":)" + labels +
         R"(},"data":)" + data + "}";
}

class KubeClusterTest : public testkit::ClusterTest {
 protected:
  static std::unique_ptr<Client> ClientFor(const Access& access) {
    auto client = Client::Make(access);
    EXPECT_TRUE(client) << client.error().message;
    return *std::move(client);
  }
  Target Maps(const std::string& name = {}) const {
    return {.resource = {.plural = "configmaps"}, .namespace_ = space_, .name = name, .subresource = {}};
  }
  static Target Node() { return {.resource = {.plural = "nodes"}, .namespace_ = {}, .name = kNode, .subresource = {}}; }
  void MakeMap(const std::string& name, const std::string& data = "{}") {
    const auto made = client_->Create(Maps(), ConfigMapText(name, data, R"({"made":"here"})"));
    ASSERT_TRUE(made) << made.error().message;
  }
  codec::Json JsonOf(const Target& target) {
    const auto object = client_->Get(target);
    EXPECT_TRUE(object) << object.error().message;
    return object ? *codec::ParseJson(object->json, "object") : codec::Json();
  }

  /// Tells etcd to forget all states but the newest, as it does by itself every five minutes.
  void Compact() {
    const auto ask = [&](const std::string& path, const std::string& body) {
      const auto http = http::MakeClient();
      const auto answer = (*http)->Send(
          {.method = "POST",
           .url = os::TextOf(dir_ + "/etcd.url").substr(0, os::TextOf(dir_ + "/etcd.url").find('\n')) + path,
           .headers = {},
           .body = body,
           .max_body = 1 << 20,
           .tls = {.authorities = dir_ + "/pki/ca.crt",
                   .certificate = dir_ + "/pki/admin.crt",
                   .key = dir_ + "/pki/admin.key"}});
      EXPECT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(answer->status, 200) << answer->body;
      return answer->body;
    };
    const auto range = codec::ParseJson(ask("/v3/kv/range", R"({"key":"AA=="})"), "range");
    ASSERT_TRUE(range);
    ask("/v3/kv/compaction", R"({"physical":true,"revision":)" + (*range)["header"]["revision"].dump() + "}");
  }
  /// Of pods of the namespace, which the controllers make a moment later; with its token.
  codec::Json WaitForAccount() const {
    const Target target{
        .resource = {.plural = "serviceaccounts"}, .namespace_ = space_, .name = "default", .subresource = {}};
    const os::MonoTime deadline = os::SystemClock().Now() + 30s;
    codec::Json account;
    for (; os::SystemClock().Now() < deadline && !account.contains("secrets"); ::poll(nullptr, 0, 100))
      if (const auto found = client_->Get(target)) account = *codec::ParseJson(found->json, "account");
    return account;
  }
  void Tool(const std::string& verb, const std::string& part) const {
    const std::string command = std::string(BERTH_SOURCE_DIR) + "/tools/cluster " + verb + " " + dir_ + " " + part;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
};

/// What a watcher says there is.
class Seen {
 public:
  explicit Seen(Access access, WatchOptions options) {
    auto watcher = Watcher::Start(std::move(access), std::move(options));
    EXPECT_TRUE(watcher) << watcher.error().message;
    watcher_ = *std::move(watcher);
  }
  Watcher& watcher() { return *watcher_; }
  /// Takes changes until `enough`; false after a minute.
  bool Until(const std::function<bool()>& enough) {
    const os::MonoTime deadline = os::SystemClock().Now() + 60s;
    while (!enough()) {
      if (!os::WaitFor(watcher_->event_fd(), POLLIN, deadline).value_or(false)) return false;
      for (const Change& change : watcher_->Take()) {
        ++changes;
        if (change.kind == Change::Kind::kSynced) ++synced;
        if (change.kind == Change::Kind::kSet) objects[change.object.key.name] = change.object;
        if (change.kind == Change::Kind::kGone) objects.erase(change.object.key.name);
      }
    }
    return true;
  }

  std::map<std::string, Object> objects;
  int synced = 0;
  int changes = 0;

 private:
  std::unique_ptr<Watcher> watcher_;
};

TEST_F(KubeClusterTest, TheNodeIsReadWithFilesAndWithDataAtHand) {
  EXPECT_EQ(JsonOf(Node())["metadata"]["name"], kNode);
  Access at_hand = access_;
  for (Pem* const pem : {&at_hand.authorities, &at_hand.certificate, &at_hand.key})
    *pem = {.file = {}, .data = os::TextOf(pem->file)};
  const auto object = ClientFor(at_hand)->Get(Node());
  EXPECT_TRUE(object) << object.error().message;
}

TEST_F(KubeClusterTest, WhoIsTrustedIsChecked) {
  Access stranger = access_;
  stranger.authorities = {.file = "/etc/ssl/certs/ca-certificates.crt", .data = {}};
  if (os::TextOf(stranger.authorities.file).empty()) stranger.authorities.file = dir_ + "/pki/scheduler.crt";
  const auto refused = ClientFor(stranger)->Get(Node());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnreachable) << refused.error().message;
  stranger.verify = false;
  EXPECT_TRUE(ClientFor(stranger)->Get(Node()));

  Access renamed = access_;
  renamed.server_name = "kubernetes.default";
  const auto by_name = ClientFor(renamed)->Get(Node());
  EXPECT_TRUE(by_name) << by_name.error().message;
  renamed.server_name = "elsewhere.example";
  EXPECT_EQ(ClientFor(renamed)->Get(Node()).error().code, Code::kUnreachable);

  Access nobody = access_;
  nobody.certificate = nobody.key = {};
  const auto forbidden = ClientFor(nobody)->Get(Node());
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(forbidden.error().code, Code::kPermission);
  EXPECT_EQ(forbidden.error().reason, "Forbidden");
  EXPECT_THAT(forbidden.error().message, HasSubstr("system:anonymous"));
}

TEST_F(KubeClusterTest, AppliedFieldsHaveOneOwner) {
  const WriteOptions ours{.field_manager = "berth-test"};
  ASSERT_TRUE(client_->Apply(Maps("m"), ConfigMapText("m", R"({"a":"1","b":"2"})"), ours));
  // What is no longer said is removed, as long as it is ours alone.
  ASSERT_TRUE(client_->Apply(Maps("m"), ConfigMapText("m", R"({"a":"1"})"), ours));
  EXPECT_EQ(JsonOf(Maps("m"))["data"].dump(), R"({"a":"1"})");
  const auto conflict =
      client_->Apply(Maps("m"), ConfigMapText("m", R"({"a":"other"})"), {.field_manager = "somebody"});
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code, Code::kConflict);
  EXPECT_EQ(conflict.error().cause, "FieldManagerConflict");
  EXPECT_TRUE(
      client_->Apply(Maps("m"), ConfigMapText("m", R"({"a":"other"})"), {.field_manager = "somebody", .force = true}));
  EXPECT_TRUE(
      client_->Apply(Maps("m"), ConfigMapText("m", R"({"c":"3"})"), {.field_manager = "third", .dry_run = true}));
  EXPECT_EQ(JsonOf(Maps("m"))["data"].dump(), R"({"a":"other"})");
}

TEST_F(KubeClusterTest, ObjectsAreMadePatchedAndRemoved) {
  MakeMap("m", R"({"a":"1","b":"2"})");
  const auto twice = client_->Create(Maps(), ConfigMapText("m", "{}"));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().reason, "AlreadyExists");
  EXPECT_TRUE(client_->MergePatch(Maps("m"), R"({"data":{"a":null,"b":"3"}})"));
  EXPECT_EQ(JsonOf(Maps("m"))["data"].dump(), R"({"b":"3"})");
  const auto stale = client_->MergePatch(Maps("m"), R"({"metadata":{"resourceVersion":"1"},"data":{"b":"4"}})");
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().reason, "Conflict");
  EXPECT_EQ(client_->MergePatch(Maps("m"), R"({"data":7})").error().code, Code::kInvalid);
  EXPECT_TRUE(client_->Delete(Maps("m")));
  EXPECT_EQ(client_->Delete(Maps("m")).error().code, Code::kNotFound);
  EXPECT_EQ(client_->Get(Maps("m")).error().reason, "NotFound");
}

TEST_F(KubeClusterTest, TheStatusOfAnObjectIsPatchedByItself) {
  Target status = Node();
  status.subresource = "status";
  const auto patched =
      client_->MergePatch(status, R"({"status":{"capacity":{"berth.dev/test":"3"}},"spec":{"unschedulable":true}})");
  ASSERT_TRUE(patched) << patched.error().message;
  const codec::Json node = JsonOf(Node());
  EXPECT_EQ(node["status"]["capacity"]["berth.dev/test"], "3");
  EXPECT_FALSE(node["spec"].contains("unschedulable"));
  EXPECT_TRUE(client_->MergePatch(status, R"({"status":{"capacity":{"berth.dev/test":null}}})"));
}

TEST_F(KubeClusterTest, AListComesInPages) {
  std::set<std::string> made;
  for (int i = 0; i < 23; ++i) {
    MakeMap("m" + std::to_string(i));
    made.insert("m" + std::to_string(i));
  }
  std::set<std::string> names;
  int begun = 0;
  const auto version = client_->List(Maps(), {.label_selector = "made=here", .limit = 5},
                                     {.begin = [&] { ++begun; },
                                      .take = [&](Object object) -> Result<void> {
                                        EXPECT_TRUE(names.insert(object.key.name).second);
                                        EXPECT_EQ(object.key.namespace_, space_);
                                        return {};
                                      }});
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ(names, made);
  EXPECT_EQ(begun, 1);
  EXPECT_FALSE(version->empty());
}

TEST_F(KubeClusterTest, AListWhosePagesAreForgottenBeginsAnew) {
  for (int i = 0; i < 12; ++i) MakeMap("m" + std::to_string(i));
  std::set<std::string> names;
  int begun = 0;
  const auto version = client_->List(Maps(), {.label_selector = "made=here", .limit = 5},
                                     {.begin =
                                          [&] {
                                            ++begun;
                                            names.clear();
                                          },
                                      .take = [&](Object object) -> Result<void> {
                                        names.insert(object.key.name);
                                        if (begun == 1 && names.size() == 1) {
                                          const auto changed =
                                              ClientFor(access_)->MergePatch(Maps("m0"), R"({"data":{"x":"y"}})");
                                          EXPECT_TRUE(changed) << changed.error().message;
                                          Compact();
                                        }
                                        return {};
                                      }});
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(names.size(), 12U);
}

TEST_F(KubeClusterTest, AWatchSeesEveryChange) {
  MakeMap("before");
  Seen seen(access_, {.target = Maps(), .label_selector = "made=here", .field_selector = {}, .pace = {}, .client = {}});
  ASSERT_TRUE(seen.Until([&] { return seen.synced == 1; }));
  EXPECT_EQ(seen.objects.size(), 1U);
  MakeMap("m", R"({"a":"1"})");
  ASSERT_TRUE(seen.Until([&] { return seen.objects.contains("m"); }));
  const auto patched = client_->MergePatch(Maps("m"), R"({"data":{"a":"2"}})");
  ASSERT_TRUE(patched);
  ASSERT_TRUE(seen.Until([&] { return seen.objects["m"].resource_version == patched->resource_version; }));
  EXPECT_EQ(codec::ParseJson(seen.objects["m"].json, "m")->at("data").dump(), R"({"a":"2"})");
  // One that the selector no longer takes is gone, too.
  ASSERT_TRUE(client_->MergePatch(Maps("before"), R"({"metadata":{"labels":{"made":null}}})"));
  ASSERT_TRUE(seen.Until([&] { return !seen.objects.contains("before"); }));
  ASSERT_TRUE(client_->Delete(Maps("m")));
  ASSERT_TRUE(seen.Until([&] { return seen.objects.empty(); }));
  EXPECT_EQ(seen.synced, 1);
  EXPECT_FALSE(seen.watcher().Trouble());
}

TEST_F(KubeClusterTest, AWatchGoesOnAfterItsServerEndsItInGoodOrder) {
  Seen seen(
      access_,
      {.target = Maps(), .label_selector = "made=here", .field_selector = {}, .length = 1s, .pace = {}, .client = {}});
  ASSERT_TRUE(seen.Until([&] { return seen.synced == 1; }));
  for (int i = 0; i < 6; ++i) {
    MakeMap("m" + std::to_string(i));
    ASSERT_TRUE(seen.Until([&] { return seen.objects.contains("m" + std::to_string(i)); }));
    ::poll(nullptr, 0, 700);
  }
  EXPECT_EQ(seen.objects.size(), 6U);
  EXPECT_EQ(seen.synced, 1);
}

TEST_F(KubeClusterTest, AServerThatIsKilledAndForgetsIsFollowedAgain) {
  MakeMap("stays");
  MakeMap("goes");
  Seen seen(access_, {.target = Maps(), .label_selector = "made=here", .field_selector = {}, .pace = {}, .client = {}});
  ASSERT_TRUE(seen.Until([&] { return seen.synced == 1; }));
  const std::string stays = seen.objects["stays"].resource_version;
  Tool("kill", "apiserver");
  ASSERT_TRUE(seen.Until([&] { return seen.watcher().Trouble().has_value(); }));
  EXPECT_EQ(seen.watcher().Trouble()->status, 0) << seen.watcher().Trouble()->message;
  Tool("start", "apiserver");
  const os::MonoTime deadline = os::SystemClock().Now() + 60s;
  while (!client_->Get(Maps("goes")) && os::SystemClock().Now() < deadline) ::poll(nullptr, 0, 50);
  const os::MonoTime back = os::SystemClock().Now();
  ASSERT_TRUE(client_->Delete(Maps("goes")));
  Compact();
  MakeMap("comes");
  ASSERT_TRUE(seen.Until([&] { return !seen.objects.contains("goes") && seen.objects.contains("comes"); }));
  const auto took = std::chrono::duration_cast<os::Millis>(os::SystemClock().Now() - back);
  std::cout << "state is right " << took.count() << " ms after the server was back\n";
  EXPECT_EQ(seen.objects["stays"].resource_version, stays);
  // The state comes first, and then the watch that ends the trouble.
  EXPECT_TRUE(seen.Until([&] { return !seen.watcher().Trouble().has_value(); }));
}

TEST_F(KubeClusterTest, AStateOfLongAgoIsGone) {
  MakeMap("m");
  Compact();
  bool gone = false;
  const auto ended = client_->Watch(Maps(), {.resource_version = "1"}, [&](std::string_view line) {
    if (const auto read = ReadWatchLine(line); read && read->type == "ERROR")
      gone = ReadStatus(0, read->object).code == 410;
    return !gone;
  });
  EXPECT_TRUE(gone || (!ended && ended.error().Gone()));
}

TEST_F(KubeClusterTest, AServerOfThisAgeSaysThatItsWatchesCannotBeginWithTheState) {
  const auto ended = client_->Watch(Maps(), {.initial_events = true}, [](std::string_view) { return false; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().status, 422) << ended.error().message;
}

TEST_F(KubeClusterTest, AServiceAccountsTokenMayBeExchangedInItsFile) {
  const codec::Json account = WaitForAccount();
  ASSERT_TRUE(account.contains("secrets"));
  const codec::Json secret = JsonOf({.resource = {.plural = "secrets"},
                                     .namespace_ = space_,
                                     .name = account["secrets"][0]["name"].get<std::string>(),
                                     .subresource = {}});
  const std::string token = *FromBase64(secret["data"]["token"].get<std::string>());

  const testkit::TempDir dir;
  std::ofstream(dir / "ca.crt") << os::TextOf(access_.authorities.file);
  std::ofstream(dir / "namespace") << space_;
  std::ofstream(dir / "token") << "wrong";
  const std::string host_and_port = access_.server.substr(access_.server.rfind('/') + 1);
  const std::size_t colon = host_and_port.find(':');
  const auto pod = LoadServiceAccount(
      *fs_, {.host = host_and_port.substr(0, colon), .port = host_and_port.substr(colon + 1), .folder = dir.path()});
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->namespace_, space_);
  const auto client = ClientFor(*pod);
  EXPECT_EQ(client->Get(Maps("m")).error().reason, "Unauthorized");
  std::ofstream(dir / "token") << token << "\n";
  const auto known = client->Get(Maps("m"));
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().reason, "Forbidden") << known.error().message;
  EXPECT_THAT(known.error().message, HasSubstr("system:serviceaccount:" + space_ + ":default"));
}

TEST_F(KubeClusterTest, ACertificateMayBeExchangedInItsFile) {
  const testkit::TempDir dir;
  const auto put = [&](const std::string& who) {
    for (const char* const kind : {".crt", ".key"})
      std::ofstream(dir / ("me" + std::string(kind))) << os::TextOf(dir_ + "/pki/" + who + kind);
  };
  Access access = access_;
  access.certificate.file = dir / "me.crt";
  access.key.file = dir / "me.key";
  put("scheduler");
  const auto client = ClientFor(access);
  const auto refused = client->Create(Maps(), ConfigMapText("m", "{}"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("system:kube-scheduler"));
  put("admin");
  const auto made = client->Create(Maps(), ConfigMapText("m", "{}"));
  EXPECT_TRUE(made) << made.error().message;
}

TEST_F(KubeClusterTest, AGuaranteedPodOfTheNodeIsSeenToRun) {
  Seen seen(access_, {.target = {.resource = {.plural = "pods"}, .namespace_ = {}, .name = {}, .subresource = {}},
                      .label_selector = {},
                      .field_selector = std::string("spec.nodeName=") + kNode,
                      .selective = true,
                      .pace = {},
                      .client = {}});
  ASSERT_TRUE(seen.Until([&] { return seen.synced == 1; }));
  WaitForAccount();
  const Target pods{.resource = {.plural = "pods"}, .namespace_ = space_, .name = {}, .subresource = {}};
  const auto made = client_->Create(pods, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"whole"},"spec":{
      "terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":"localhost/berth/busybox:1",
      "command":["sleep","3600"],"resources":{"limits":{"cpu":"1","memory":"32Mi"}}}]}})");
  ASSERT_TRUE(made) << made.error().message;
  const auto status = [&] { return codec::ParseJson(seen.objects["whole"].json, "pod")->at("status"); };
  ASSERT_TRUE(seen.Until([&] { return seen.objects.contains("whole") && status()["phase"] == "Running"; }));
  EXPECT_EQ(status()["qosClass"], "Guaranteed");
  Target whole = pods;
  whole.name = "whole";
  ASSERT_TRUE(client_->Delete(whole));
  EXPECT_TRUE(seen.Until([&] { return !seen.objects.contains("whole"); }));
}

TEST_F(KubeClusterTest, EventsAreTaken) {
  const EventNote event{.regarding = {.kind = "Node", .key = {"", kNode}, .uid = {}, .field_path = {}},
                        .instance = kNode,
                        .action = "Testing",
                        .reason = "OnlyATest",
                        .note = std::string(2000, 'n') + "\n\xff",
                        .warning = true};
  const auto made = client_->Create(TargetOf(event), FormatEvent(event, os::SystemClock().Wall()));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->json, HasSubstr("OnlyATest"));
}

TEST_F(KubeClusterTest, ItIsSaidHowLongCallsTake) {
  std::vector<std::int64_t> micros;
  for (int i = 0; i < 200; ++i) {
    const os::MonoTime begin = os::SystemClock().Now();
    ASSERT_TRUE(client_->Get(Node()));
    micros.push_back(std::chrono::duration_cast<std::chrono::microseconds>(os::SystemClock().Now() - begin).count());
  }
  std::ranges::sort(micros);
  std::cout << "get of a node, each with a connection of its own: p50 " << micros[100] << " us, p99 " << micros[198]
            << " us\n";
  EXPECT_LT(micros[100], 1'000'000);
}

}  // namespace
}  // namespace berth::kube
