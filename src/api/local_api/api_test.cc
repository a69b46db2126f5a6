#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "api/local_api/api_errors.h"
#include "api/local_api/api_server.h"
#include "api/local_api/node_client.h"
#include "testing/fixtures.h"

namespace berth::api {
namespace {

/// Answers with what it was asked.
class EchoBackend final : public Backend {
 public:
  Result<TreeView> Tree() override { return TreeView(); }
  Result<DaemonStatus> Status() override {
    DaemonStatus status;
    status.pods = static_cast<std::size_t>(++calls);
    return status;
  }
  Result<Health> GetHealth() override { return Health{.started = true, .not_ready = {"why"}}; }
  Result<std::shared_ptr<const Machine>> GetMachine() override { return Fail(Code::kCorrupt, "no machine"); }
  Result<std::shared_ptr<const DeviceInventory>> Devices() override {
    return std::make_shared<DeviceInventory>(DeviceInventory{
        {"vendor.example/gpu", {{.id = "g0", .nodes = {NumaId{1}}, .healthy = false, .pci = "0000:3b:00.0"}}}});
  }
  Result<std::shared_ptr<const NodeView>> Node() override { return std::make_shared<const NodeView>(); }
  Result<std::shared_ptr<const Ledger>> GetLedger() override { return std::make_shared<const Ledger>(); }
  Result<PodList> Pods() override {
    PodView pod;
    pod.name = "caf\xe9";
    return PodList{.pods = {std::make_shared<const PodView>(std::move(pod))}, .shared = {}};
  }
  Result<PodDetails> GetPod(const std::string& namespace_, const std::string& name) override {
    if (name == "none") return Fail(Code::kNotFound, "no pod 'none'");
    PodView pod;
    pod.namespace_ = namespace_;
    pod.name = name;
    PodDetails out;
    out.view = std::make_shared<const PodView>(std::move(pod));
    return out;
  }
  Result<StoredPods> ApplyPods(const ApplyQuery& query) override {
    return StoredPods{.results = {},
                      .warnings = {std::to_string(query.manifests.size()) + (query.templates ? " of templates" : "") +
                                   (query.dry_run ? " in words" : "") + query.file}};
  }
  Result<DeletedPod> DeletePod(const std::string& namespace_, const std::string& name) override {
    return DeletedPod{namespace_, name, "f"};
  }
  Result<RestartedPod> RestartPod(const std::string& namespace_, const std::string& name) override {
    if (name == "gone") return Fail(Code::kConflict, "it does not run");
    return RestartedPod{namespace_, name, {"app"}};
  }
  Result<DeletedPod> DeleteDocument(DocumentKind kind, const std::string& namespace_,
                                    const std::string& name) override {
    return DeletedPod{namespace_, name, "f", std::string(Name(kind))};
  }
  Result<Outlook> Explain(const ExplainQuery& query) override {
    explained = query;
    return Fail(Code::kInvalid, "two pods");
  }
  Result<Move> MoveContainer(const MoveRequest& request) override {
    if (request.uid == "gone") return Fail(Code::kNotFound, "no pod with uid gone");
    return Move{.request = request, .pod = "default/web", .containers = {}, .bytes = MiB(4)};
  }
  Result<EventList> Events(const EventQuery& query) override {
    Event event;
    event.reason = query.since;
    event.object = query.pod;
    event.count = query.limit.value_or(0);
    return EventList{.events = {event}, .left_out = false, .problem = {}};
  }
  Result<LogPage> Logs(const LogQuery& query) override {
    logs = query;
    return LogPage();
  }
  Result<ImageList> Images() override { return ImageList(); }
  Result<std::string> Metrics() override { return std::string("up 1\n"); }
  Result<StatsSummary> Stats() override {
    StatsSummary out;
    out.node.name = "n1";
    return out;
  }
  /// "wait" is held up until `go`, "stay" until the caller is gone.
  Result<CommandEnd> Exec(const ExecQuery& query) override {
    ++commands;
    pollfd caller{.fd = query.caller_fd, .events = 0, .revents = 0};
    if (query.command.front() == "stay") gone = ::poll(&caller, 1, kLong) == 1;
    while (query.command.front() == "wait" && !go) std::this_thread::yield();
    CommandEnd end{.out = {},
                   .err = query.namespace_ + "/" + query.pod + "/" + query.container,
                   .exit_code = static_cast<int>(query.limit.count()),
                   .message = {}};
    for (const std::string& word : query.command) end.out += word + "|";
    if (query.command.front() == "tell") end.out.assign(3'000'000, 'x');
    return end;
  }
  std::optional<LogQuery> logs;
  std::optional<ExplainQuery> explained;
  std::atomic<int> calls = 0;
  std::atomic<int> commands = 0;
  std::atomic<bool> go = false;
  std::atomic<bool> gone = false;

 private:
  static constexpr int kLong = 60'000;
};

struct ApiTest : testing::Test {
  void Serve(std::size_t max_body = 1000) {
    auto started = StartServer({.socket = socket, .group = "", .max_body_bytes = max_body}, backend);
    ASSERT_TRUE(started) << started.error().message;
    server = *std::move(started);
  }
  testkit::TempDir temp;
  std::string socket = temp / "s.sock";
  EchoBackend backend;
  std::unique_ptr<http::Server> server;
};

TEST_F(ApiTest, TheSocketIsForOwnerAndGroupOnly) {
  Serve();
  struct stat info{};
  ASSERT_EQ(::stat(socket.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660U);
  server.reset();
  EXPECT_NE(::stat(socket.c_str(), &info), 0) << "the socket goes with the server";
}

/// The whole answer to `GET path` on a port of this host.
std::string GetOverTcp(std::uint16_t port, const std::string& path) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(::write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string out;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::read(fd, buffer.data(), buffer.size())) > 0;)
    out.append(buffer.data(), static_cast<std::size_t>(n));
  ::close(fd);
  return out;
}

TEST_F(ApiTest, OverTcpThereAreMetricsAndNothingElse) {
  std::unique_ptr<http::Server> tcp;
  std::uint16_t port = 20'000;
  while (tcp == nullptr && ++port < 20'100)
    if (auto started = StartMetricsServer("127.0.0.1", port, backend)) tcp = *std::move(started);
  ASSERT_NE(tcp, nullptr);
  const std::string metrics = GetOverTcp(port, "/metrics");
  EXPECT_TRUE(metrics.starts_with("HTTP/1.1 200")) << metrics;
  EXPECT_NE(metrics.find("text/plain; version=0.0.4"), std::string::npos) << metrics;
  EXPECT_TRUE(metrics.ends_with("up 1\n")) << metrics;
  for (const char* path : {"/v1/status", "/v1/pods", "/", "/stats/summary"})
    EXPECT_TRUE(GetOverTcp(port, path).starts_with("HTTP/1.1 404")) << path;
  EXPECT_FALSE(StartMetricsServer("127.0.0.1", port, backend)) << "somebody has it";
}

TEST_F(ApiTest, PathsAndQueriesReachTheBackend) {
  Serve();
  const NodeClient client(socket);
  EXPECT_EQ(client.Stats()->node.name, "n1");
  EXPECT_EQ(client.GetHealth()->not_ready, std::vector<std::string>{"why"});
  EXPECT_EQ(client.GetPod("default", "web")->view->name, "web");
  const auto events = client.Events({.since = "10m", .pod = "default/a b", .limit = 5});
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_EQ(events->events[0].reason, "10m");
  EXPECT_EQ(events->events[0].object, "default/a b");
  EXPECT_EQ(events->events[0].count, 5U);
  ASSERT_TRUE(client.Logs({.namespace_ = "default", .pod = "web", .container = "app", .tail = 7, .previous = true}));
  EXPECT_EQ(backend.logs->tail, 7U);
  EXPECT_TRUE(backend.logs->previous);
  EXPECT_EQ(backend.logs->container, "app");
  ASSERT_TRUE(client.Logs({.namespace_ = "a", .pod = "b", .container = "", .since = "5m", .follow = true}));
  EXPECT_EQ(backend.logs->container, "");
  EXPECT_EQ(backend.logs->since, "5m");
  EXPECT_TRUE(backend.logs->follow);
  EXPECT_FALSE(backend.logs->tail);
  ASSERT_TRUE(client.Logs({.namespace_ = "a", .pod = "b", .container = "c", .log = "/x/0.log", .after = "1:2"}));
  EXPECT_EQ(backend.logs->log, "/x/0.log");
  EXPECT_EQ(backend.logs->after, "1:2");
  EXPECT_EQ(client.DeletePod("default", "web")->name, "web");
  EXPECT_EQ(client.RestartPod("default", "web")->containers, std::vector<std::string>{"app"});
  EXPECT_EQ(client.RestartPod("default", "gone").error().code, Code::kConflict);
  EXPECT_EQ(client.DeleteDocument(DocumentKind::kSecret, "default", "key")->kind, "Secret");
  EXPECT_EQ(client.DeleteDocument(DocumentKind::kConfigMap, "default", "app")->kind, "ConfigMap");
}

TEST_F(ApiTest, AMoveReachesTheBackend) {
  Serve();
  const NodeClient client(socket);
  const MoveRequest request{.uid = "u1", .container = "main", .nodes = {NumaId{1}}};
  const auto move = client.MoveContainer(request);
  ASSERT_TRUE(move) << move.error().message;
  EXPECT_EQ(move->request, request);
  EXPECT_EQ(move->bytes, MiB(4));
  EXPECT_EQ(client.MoveContainer({.uid = "gone", .container = "", .nodes = {}}).error().code, Code::kNotFound);
  EXPECT_EQ(Call(socket, "POST", "/v1/moves", "{\"uid\": 1}").error().code, Code::kInvalid);
  EXPECT_EQ(Call(socket, "POST", "/v1/moves", "x").error().code, Code::kInvalid);
}

TEST_F(ApiTest, ACommandReachesTheBackendWordByWord) {
  Serve();
  const NodeClient client(socket);
  ExecQuery query{.namespace_ = "default", .pod = "web", .container = "app", .command = {"ls", "-l", "a b"}};
  query.limit = std::chrono::seconds(5);
  const auto ran = client.Exec(query);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->err, "default/web/app");
  EXPECT_EQ(ran->out, "ls|-l|a b|");
  EXPECT_EQ(ran->exit_code, 5);
  query.command = {"\xff"};
  EXPECT_EQ(client.Exec(query).error().code, Code::kInvalid);
  EXPECT_EQ((*Call(socket, "POST", "/v1/exec/default/web/", R"({"command":["ls"]})"))["exitCode"], 60);
  for (const char* const wrong :
       {"", "ls", "[]", "{}", R"({"command":[]})", R"({"command":[""]})", R"({"command":"ls"})", R"({"command":[1]})",
        R"({"command":["ls"],"timeoutSeconds":0})", R"({"command":["ls"],"timeoutSeconds":"5"})",
        R"({"command":["ls"],"tty":true})"}) {
    const auto refused = Call(socket, "POST", "/v1/exec/default/web/app", wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, Code::kInvalid) << wrong;
  }
}

TEST_F(ApiTest, CallsThatLastHoldUpNoOther) {
  Serve();
  constexpr int kHeld = 10;
  std::vector<std::thread> threads;
  for (int i = 0; i < kHeld; ++i)
    threads.emplace_back([&] { EXPECT_TRUE(Call(socket, "POST", "/v1/exec/a/b/c", R"({"command":["wait"]})")); });
  while (backend.commands < kHeld) std::this_thread::yield();
  EXPECT_TRUE(Call(socket, "GET", "/v1/status"));
  backend.go = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ApiTest, ACommandLearnsThatItsCallerIsGone) {
  Serve();
  constexpr std::string_view kRequest =
      "POST /v1/exec/a/b/c HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{\"command\":[\"stay\"]}";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL), static_cast<ssize_t>(kRequest.size()));
  ::shutdown(fd, SHUT_WR);  // all is said, and the answer is waited for
  while (backend.commands == 0) std::this_thread::yield();
  EXPECT_FALSE(backend.gone);
  ::close(fd);
  server.reset();  // waits for it
  EXPECT_TRUE(backend.gone);
}

TEST_F(ApiTest, AnswersAreWholeHoweverLargeTheyAre) {
  Serve();
  const auto ran = NodeClient(socket).Exec({.namespace_ = "a", .pod = "b", .container = "c", .command = {"tell"}});
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->out, std::string(3'000'000, 'x'));
}

TEST_F(ApiTest, DevicesArriveAsTheyAre) {
  Serve();
  const auto devices = NodeClient(socket).Devices();
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_EQ(*devices, **backend.Devices());
}

TEST_F(ApiTest, ErrorsKeepCodeAndMessage) {
  Serve();
  const auto missing = Call(socket, "GET", "/v1/pods/default/none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), (Error{Code::kNotFound, 0, "no pod 'none'"}));
  EXPECT_EQ(Call(socket, "GET", "/v1/machine").error().code, Code::kCorrupt);
  EXPECT_EQ(Call(socket, "GET", "/v1/nothing").error().code, Code::kNotFound);
  EXPECT_EQ(Call(socket, "GET", "/v1/events?limit=-1").error().code, Code::kInvalid);
  EXPECT_EQ(Call(socket, "POST", "/v1/explain", "x").error().message, "two pods");
}

TEST_F(ApiTest, AnExplanationMayBeAskedForUnderOtherPolicies) {
  Serve();
  EXPECT_FALSE(Call(socket, "POST", "/v1/explain", "pod"));
  EXPECT_EQ(backend.explained->manifest, "pod");
  EXPECT_FALSE(backend.explained->topology_policy || backend.explained->topology_scope ||
               backend.explained->cpu_options);
  EXPECT_FALSE(Call(socket, "POST",
                    "/v1/explain?topologyManagerPolicy=restricted&topologyManagerScope=pod&cpuManagerPolicyOptions="
                    "full-pcpus-only,align-by-socket",
                    "pod"));
  EXPECT_EQ(backend.explained->topology_policy, "restricted");
  EXPECT_EQ(backend.explained->topology_scope, "pod");
  EXPECT_EQ(backend.explained->cpu_options,
            (std::map<std::string, std::string>{{"align-by-socket", "true"}, {"full-pcpus-only", "true"}}));
  EXPECT_FALSE(Call(socket, "POST", "/v1/explain?cpuManagerPolicyOptions=", "pod"));
  EXPECT_EQ(backend.explained->cpu_options, (std::map<std::string, std::string>()));
}

TEST_F(ApiTest, BytesThatAreNotUtf8AreReplaced) {
  Serve();
  EXPECT_EQ(NodeClient(socket).Pods()->pods[0]->name, "caf\xef\xbf\xbd");
}

TEST_F(ApiTest, BodiesAreBounded) {
  Serve(1000);
  EXPECT_EQ(NodeClient(socket).ApplyPods({std::string(1000, 'x')})->warnings[0], "1000");
  EXPECT_EQ(NodeClient(socket).ApplyPods({.manifests = "x", .templates = true, .file = " of a & b"})->warnings[0],
            "1 of templates of a & b");
  EXPECT_EQ(NodeClient(socket).ApplyPods({.manifests = "x", .dry_run = true})->warnings[0], "1 in words");
  EXPECT_EQ(NodeClient(socket).ApplyPods({.manifests = "x", .templates = true, .dry_run = true})->warnings[0],
            "1 of templates in words");
  const auto large = Call(socket, "POST", "/v1/pods", std::string(1001, 'x'));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::kInvalid) << large.error().message;
}

TEST_F(ApiTest, CommandsAndMovesTakeLessThanManifests) {
  Serve(1'000'000);
  const auto move = Call(socket, "POST", "/v1/moves", std::string(9000, ' '));
  ASSERT_FALSE(move);
  EXPECT_NE(move.error().message.find("larger than 8192 bytes"), std::string::npos) << move.error().message;
  std::string words = R"({"command":["x")";
  for (int i = 0; i < 10'000; ++i) words += R"(,"x")";
  const auto exec = Call(socket, "POST", "/v1/exec/default/web/main", words + "]}");
  ASSERT_FALSE(exec);
  EXPECT_NE(exec.error().message.find("too many values"), std::string::npos) << exec.error().message;
}

TEST_F(ApiTest, SeveralCallersAreServedAtOnce) {
  Serve();
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) good += Call(socket, "GET", "/v1/status").has_value() ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 160);
  EXPECT_EQ(backend.calls, 160);
}

/// "InUse" for kInUse, which JSON calls "in-use".
std::string EnumName(Code code) {
  std::string out;
  bool capital = true;
  for (const char c : Name(code)) {
    if (c != '-') out += capital ? static_cast<char>(c - 'a' + 'A') : c;
    capital = c == '-';
  }
  return out;
}

/// Rows of a table of codes, each cut after so many columns.
std::string FirstColumns(const std::string& file, int columns) {
  std::ifstream in(testkit::SourcePath(file));
  std::string out;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| k")) continue;
    std::size_t end = 0;
    for (int i = 0; i < columns; ++i) end = line.find('|', end + 1);
    out += line.substr(0, end + 1) + "\n";
  }
  return out;
}

TEST(ApiErrorTest, EveryCodeSurvivesTheWireAndIsInTheTableOfErrors) {
  std::string table;
  for (const Code code : kCodes) {
    EXPECT_EQ(code, ErrorIn(*codec::ParseJson(FormatError({code, 0, "x"}), "test"))->code);
    table += "| k" + EnumName(code) + " | " + std::string(Name(code)) + " | " + std::to_string(HttpStatusOf(code)) +
             (code == Code::kInUse ? " | 3 |\n" : " | 1 |\n");
  }
  EXPECT_EQ(table, FirstColumns("docs/reference/errors.md", 4));
}

TEST_F(ApiTest, NobodyThereSaysThatBerthdIsNotRunning) {
  const auto call = Call(socket, "GET", "/v1/status");
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().code, Code::kUnreachable);
  EXPECT_NE(call.error().message.find(socket), std::string::npos);
}

TEST_F(ApiTest, ASocketInUseIsNotTakenAndAStaleOneIsReplaced) {
  Serve();
  EchoBackend other;
  const auto second = StartServer({.socket = socket, .group = ""}, other);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kInUse);
  server.reset();
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);  // a server that died leaves its file behind
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
  Serve();
  EXPECT_TRUE(Call(socket, "GET", "/v1/status"));
}

TEST_F(ApiTest, WhatIsNoSocketIsLeftAlone) {
  testkit::TempDir dir;
  const auto started = StartServer({.socket = dir.path(), .group = ""}, backend);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::kInvalid);
  const auto unknown_group = StartServer({.socket = socket, .group = "no-such-group-here"}, backend);
  ASSERT_FALSE(unknown_group);
  EXPECT_EQ(unknown_group.error().code, Code::kInvalid);
}

}  // namespace
}  // namespace berth::api
