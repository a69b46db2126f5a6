#include "api/web/web_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "api/web/files.h"
#include "host/os/unique_fd.h"
#include "testing/fixtures.h"
#include "testing/raw_server.h"

namespace berth::web {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Knows one pod, whose manifest holds secrets.
class OnePod final : public api::Backend {
 public:
  Result<DaemonStatus> Status() override { return DaemonStatus(); }
  Result<Health> GetHealth() override { return Health(); }
  Result<std::shared_ptr<const Machine>> GetMachine() override { return std::make_shared<const Machine>(); }
  Result<std::shared_ptr<const DeviceInventory>> Devices() override {
    return std::make_shared<const DeviceInventory>();
  }
  Result<std::shared_ptr<const NodeView>> Node() override {
    NodeView node;
    node.cpu_policy = "static";
    node.kubelet_configuration = "staticPodURLHeader: secret";
    return std::make_shared<const NodeView>(std::move(node));
  }
  Result<std::shared_ptr<const Ledger>> GetLedger() override { return std::make_shared<const Ledger>(); }
  Result<PodList> Pods() override { return PodList(); }
  Result<TreeView> Tree() override { return TreeView(); }
  Result<PodDetails> GetPod(const std::string& namespace_, const std::string& name) override {
    PodView view;
    view.namespace_ = namespace_;
    view.name = name;
    PodDetails out;
    out.view = std::make_shared<const PodView>(std::move(view));
    Container app{.name = "app", .image = "example", .command = {"--password=secret"}};
    app.env.push_back({.name = "PASSWORD", .value = "secret"});
    app.resources.limits["cpu"] = *Quantity::Parse("7");
    out.manifest.annotations["note"] = "secret";
    out.manifest.containers.push_back(std::move(app));
    return out;
  }
  Result<StoredPods> ApplyPods(const api::ApplyQuery&) override { return StoredPods(); }
  Result<DeletedPod> DeletePod(const std::string&, const std::string&) override { return DeletedPod(); }
  Result<RestartedPod> RestartPod(const std::string&, const std::string&) override { return RestartedPod(); }
  Result<Move> MoveContainer(const MoveRequest&) override { return Move(); }
  Result<DeletedPod> DeleteDocument(DocumentKind, const std::string&, const std::string&) override {
    return DeletedPod();
  }
  Result<Outlook> Explain(const api::ExplainQuery& query) override {
    return Fail(Code::kInvalid, "under " + query.topology_policy.value_or("its own"));
  }
  Result<EventList> Events(const api::EventQuery& query) override {
    most_events = query.limit;
    return EventList();
  }
  Result<LogPage> Logs(const api::LogQuery&) override { return LogPage(); }
  Result<CommandEnd> Exec(const api::ExecQuery&) override { return CommandEnd(); }
  Result<ImageList> Images() override { return ImageList(); }
  Result<std::string> Metrics() override { return std::string(); }
  Result<StatsSummary> Stats() override { return StatsSummary(); }
  std::optional<std::size_t> most_events;
};

struct PageTest : testing::Test {
  PageTest() {
    NodeSnapshot nothing;
    nothing.events = std::make_shared<const std::vector<std::shared_ptr<const Event>>>();
    options.place.socket = temp / "web.sock";
    options.node_name = "node1";
    options.snapshot = [nothing = std::make_shared<const NodeSnapshot>(std::move(nothing))] { return nothing; };
  }
  void Serve() {
    auto started = Page::Start(options, backend);
    ASSERT_TRUE(started) << started.error().message;
    page = *std::move(started);
  }
  /// The whole answer to a call, or what comes first of one without end.
  std::string Call(const std::string& method, const std::string& path, const std::string& body = "",
                   const std::string& headers = "Host: localhost\r\n") const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    options.place.socket.copy(address.sun_path, sizeof address.sun_path - 1);
    const os::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    testkit::SendAll(fd.get(), method + " " + path + " HTTP/1.1\r\n" + headers +
                                   "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    if (path != "/web/live") return testkit::ReceiveAll(fd.get());
    std::string out;
    char byte = 0;
    while (!out.ends_with("\n\n") && ::read(fd.get(), &byte, 1) == 1) out += byte;
    return out;
  }
  testkit::TempDir temp;
  OnePod backend;
  Options options;
  std::unique_ptr<Page> page;
};

TEST_F(PageTest, EveryAnswerForbidsWhatThePageDoesNotNeed) {
  Serve();
  for (const char* const path : {"/", "/main.js", "/v1/pods", "/web/session", "/none", "/%zz", "/web/live"}) {
    const std::string answer = Call("GET", path);
    EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'"))
        << path;
    EXPECT_THAT(answer, Not(HasSubstr("unsafe"))) << path;
    EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff")) << path;
    EXPECT_THAT(answer, HasSubstr("Referrer-Policy: no-referrer")) << path;
    EXPECT_THAT(answer, HasSubstr("Cache-Control: no-store")) << path;
  }
  EXPECT_THAT(Call("GET", "/v1/pods", "", "Host: evil.example\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Call("GET", "/v1/pods", "", "Host: localhost\r\nHost: evil.example\r\n"), StartsWith("HTTP/1.1 4"));
}

TEST_F(PageTest, WhatMayBeAskedForIsThis) {
  options.allow_changes = false;
  Gate gate({}, os::SystemClock());
  Feed feed({.snapshot = options.snapshot, .stats = [] { return StatsSummary(); }});
  const auto calls = [&] {
    std::vector<std::string> out;
    for (const http::Route& route : Routes(options, backend, gate, feed))
      if (route.pattern.starts_with("/v1") || route.pattern.starts_with("/stats") || route.pattern.starts_with("/web"))
        out.push_back(route.method + " " + route.pattern);
    std::ranges::sort(out);
    return out;
  };
  const std::vector<std::string> looking = calls();
  EXPECT_THAT(looking,
              ElementsAre("GET /stats/summary", "GET /v1/devices", "GET /v1/events", "GET /v1/machine", "GET /v1/node",
                          "GET /v1/pods", "GET /v1/pods/{}/{}", "GET /v1/status", "GET /v1/tree", "GET /web/live",
                          "GET /web/session", "POST /v1/explain", "POST /web/login", "POST /web/logout"));
  options.allow_changes = true;
  std::vector<std::string> more;
  std::ranges::set_difference(calls(), looking, std::back_inserter(more));
  EXPECT_THAT(more, ElementsAre("DELETE /v1/pods/{}/{}", "POST /v1/pods"));
}

TEST_F(PageTest, NothingThatMayBeASecretIsShown) {
  Serve();
  const std::string pod = Call("GET", "/v1/pods/default/web");
  EXPECT_THAT(pod, HasSubstr(R"("cpu":"7")"));
  EXPECT_THAT(pod, Not(HasSubstr("secret")));
  const std::string node = Call("GET", "/v1/node");
  EXPECT_THAT(node, HasSubstr("static"));
  EXPECT_THAT(node, Not(HasSubstr("secret")));
}

TEST_F(PageTest, WithATokenOnlyThePageItselfIsThereForAll) {
  std::ofstream(temp / "token") << "0123456789abcdef";
  std::filesystem::permissions(temp / "token", std::filesystem::perms::owner_read);
  options.token_file = temp / "token";
  Serve();
  EXPECT_THAT(Call("GET", "/"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Call("GET", "/web/session"), HasSubstr(R"("open":false)"));
  for (const char* const path : {"/v1/pods", "/v1/pods/default/web", "/v1/node", "/v1/events", "/web/live", "/v1/tree"})
    EXPECT_THAT(Call("GET", path), StartsWith("HTTP/1.1 401")) << path;
  EXPECT_THAT(Call("POST", "/v1/explain", "x"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Call("GET", "/v1/pods", "", "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(PageTest, AnswersAreBounded) {
  Serve();
  Call("GET", "/v1/events?limit=100000");
  EXPECT_EQ(backend.most_events, 5000U);
  Call("GET", "/v1/events?limit=7");
  EXPECT_EQ(backend.most_events, 7U);
  EXPECT_THAT(Call("POST", "/v1/explain", std::string((1 << 20) + 1, ' ')), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Call("POST", "/v1/explain?topologyManagerPolicy=none", "x"), HasSubstr("under none"));
}

TEST_F(PageTest, ChangesAreRefusedUnlessTheSettingsAllowThem) {
  Serve();
  EXPECT_THAT(Call("POST", "/v1/pods", "x"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Call("DELETE", "/v1/pods/default/web"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Call("POST", "/v1/exec/default/web/app", "x"), StartsWith("HTTP/1.1 404"));
}

TEST_F(PageTest, AViewerIsGreetedOverTheWire) {
  Serve();
  const std::string answer = Call("GET", "/web/live");
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(answer, HasSubstr("event: hello\ndata: {\"shared\":\"\"}\n\n"));
}

TEST_F(PageTest, FilesTheSettingsNameAreLookedAtBeforehand) {
  EXPECT_TRUE(CheckFiles(options));
  options.token_file = temp / "none";
  EXPECT_EQ(CheckFiles(options).error().code, Code::kNotFound);
  options.token_file.clear();
  options.place.tls = {.certificate = temp / "none", .key = temp / "none"};
  EXPECT_EQ(CheckFiles(options).error().code, Code::kNotFound);
}

TEST(PageFilesTest, NoFileHasScriptOrStyleWithinOrNamesAnotherSite) {
  ASSERT_GT(PageFiles().size(), 10U);
  std::size_t size = 0;
  const std::regex place("(https?:)?//[a-z]+[.][a-z]+[^\"' ]*");
  for (const PageFile& file : PageFiles()) {
    const std::string text(file.text);
    size += text.size();
    EXPECT_NE(TypeOf(file.name), "text/plain; charset=utf-8") << file.name;
    for (std::sregex_iterator it(text.begin(), text.end(), place), end; it != end; ++it)
      EXPECT_EQ(it->str(), "http://www.w3.org/2000/svg") << file.name << ": only that is a name, and no place";
    for (const char* const never : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                                    "style=\"", "<style", "onclick=\"", "javascript:", "new Function"})
      EXPECT_THAT(text, Not(HasSubstr(never))) << file.name;
  }
  EXPECT_LT(size, std::size_t{160} << 10);
}

}  // namespace
}  // namespace berth::web
