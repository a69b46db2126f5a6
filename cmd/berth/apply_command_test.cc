#include "berth/apply_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "api/local_api/api_server.h"
#include "host/os/input.h"
#include "manifest/manifest.h"
#include "testing/fixtures.h"

namespace berth::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Knows what a test says, and takes whatever it is sent.
class StoringBackend final : public api::Backend {
 public:
  Result<StoredPods> ApplyPods(const api::ApplyQuery& query) override {
    asked = query;
    if (wrong.empty()) return stored;
    return Fail(code, wrong);
  }
  Result<PodList> Pods() override {
    PodList out;
    if (pod.view != nullptr) out.pods.push_back(pod.view);
    return out;
  }
  Result<PodDetails> GetPod(const std::string&, const std::string&) override { return pod; }

  Result<DaemonStatus> Status() override { return DaemonStatus(); }
  Result<Health> GetHealth() override { return Health(); }
  Result<std::shared_ptr<const Machine>> GetMachine() override { return std::make_shared<const Machine>(); }
  Result<std::shared_ptr<const DeviceInventory>> Devices() override {
    return std::make_shared<const DeviceInventory>();
  }
  Result<std::shared_ptr<const NodeView>> Node() override { return std::make_shared<const NodeView>(); }
  Result<std::shared_ptr<const Ledger>> GetLedger() override { return std::make_shared<const Ledger>(); }
  Result<TreeView> Tree() override { return TreeView(); }
  Result<DeletedPod> DeletePod(const std::string&, const std::string&) override { return DeletedPod(); }
  Result<DeletedPod> DeleteDocument(DocumentKind, const std::string&, const std::string&) override {
    return DeletedPod();
  }
  Result<RestartedPod> RestartPod(const std::string&, const std::string&) override { return RestartedPod(); }
  Result<Outlook> Explain(const api::ExplainQuery&) override { return Outlook(); }
  Result<Move> MoveContainer(const MoveRequest&) override { return Move(); }
  Result<EventList> Events(const api::EventQuery&) override { return EventList(); }
  Result<LogPage> Logs(const api::LogQuery&) override { return LogPage(); }
  Result<CommandEnd> Exec(const api::ExecQuery&) override { return CommandEnd(); }
  Result<ImageList> Images() override { return ImageList(); }
  Result<std::string> Metrics() override { return std::string(); }
  Result<StatsSummary> Stats() override { return StatsSummary(); }

  StoredPods stored;
  std::string wrong;  ///< what it says of every manifest; "": it takes them
  Code code = Code::kInvalid;
  PodDetails pod;  ///< the one that there is
  std::optional<api::ApplyQuery> asked;
};

struct ApplyTest : testing::Test {
  void SetUp() override {
    auto started = api::StartServer({.socket = common.socket, .group = ""}, backend);
    ASSERT_TRUE(started) << started.error().message;
    server = *std::move(started);
  }
  std::string File(const std::string& name, const std::string& text) const {
    std::ofstream(temp / name) << text;
    return temp / name;
  }
  int Apply(const ApplyOptions& options) { return RunApply(options, Session(common, around, out, err)); }

  testkit::TempDir temp;
  CommonOptions common{.socket = temp / "s.sock"};
  Surroundings around;
  StoringBackend backend;
  std::unique_ptr<http::Server> server;
  std::ostringstream out;
  std::ostringstream err;
};

TEST_F(ApplyTest, WhatIsWrongHereIsNotStoredThoughBerthdWouldTakeIt) {
  backend.stored.results.push_back({.namespace_ = "default", .name = "x-n1", .file = "f"});
  const std::string file = File("bad.yaml",
                                "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"
                                "spec: {containers: [{name: a, image: i, resources: {limits: {cpu: 1Kb}}}]}\n");
  EXPECT_EQ(Apply({.files = {file}}), kFailed);
  ASSERT_TRUE(backend.asked);
  EXPECT_TRUE(backend.asked->dry_run);
  EXPECT_THAT(err.str(), HasSubstr("spec.containers[0].resources.limits[cpu]"));
  EXPECT_EQ(out.str(), "");

  const std::string said = err.str();  // "berth: FILE: ..."
  backend.wrong = "request: " + said.substr(said.find(file) + file.size() + 2) + "request: no such runtime class";
  err.str("");
  EXPECT_EQ(Apply({.files = {file}}), kFailed);
  EXPECT_EQ(err.str(), said + file + ": no such runtime class\n") << "each of it once";

  backend.code = Code::kConflict;
  backend.wrong = "ConfigMap default/c is immutable";
  err.str("");
  EXPECT_EQ(Apply({.files = {file}}), kFailed);
  EXPECT_EQ(err.str(), said + backend.wrong + "\n");

  backend.wrong.clear();
  backend.stored.problems = {"ConfigMap default/c is immutable"};
  err.str("");
  EXPECT_EQ(Apply({.files = {file}}), kFailed);
  EXPECT_EQ(err.str(), said + "ConfigMap default/c is immutable\n");
  EXPECT_EQ(out.str(), "");
}

constexpr const char* kFinePod =
    "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: a, image: i}]}}\n";

TEST_F(ApplyTest, ADryRunPrintsWhatIsFineOfAFileThatIsRefused) {
  backend.stored = {.results = {{.namespace_ = "default", .name = "x-n1", .file = "f"}},
                    .warnings = {"request: document 1: spec.tolerations: no effect"},
                    .problems = {"request: document 2: spec.runtimeClassName: no such class"}};
  const std::string file = File("two.yaml", kFinePod);
  EXPECT_EQ(Apply({.files = {file}, .dry_run = true}), kFailed);
  EXPECT_EQ(out.str(), "default/x-n1 unchanged (dry run; " + file + " is refused)\n");
  EXPECT_EQ(err.str(), "berth: " + file + ": document 2: spec.runtimeClassName: no such class\nberth: warning: " +
                           file + ": document 1: spec.tolerations: no effect\n");

  common.output = "json";
  out.str("");
  EXPECT_EQ(Apply({.files = {file}, .dry_run = true}), kFailed);
  EXPECT_THAT(out.str(), Not(HasSubstr("x-n1"))) << "it would not be stored";
}

TEST_F(ApplyTest, AFileOfOtherKindsBesideOthersIsNoFault) {
  const std::string service = File("service.yaml", "{apiVersion: v1, kind: Service, metadata: {name: s}}\n");
  const std::string said = service + ": there is no pod, ConfigMap or Secret in it\n";
  EXPECT_EQ(Apply({.files = {service}}), kFailed);
  EXPECT_THAT(err.str(), HasSubstr("berth: " + said));
  EXPECT_FALSE(backend.asked);
  err.str("");
  EXPECT_EQ(Apply({.files = {File("pod.yaml", kFinePod), service}}), kOk);
  EXPECT_THAT(err.str(), HasSubstr("berth: warning: " + said));
  EXPECT_TRUE(backend.asked);
  const auto remove = [&](const std::vector<std::string>& files) {
    return RunDelete({.files = files}, Session(common, around, out, err));
  };
  EXPECT_EQ(remove({service}), kFailed);
  EXPECT_EQ(remove({temp / "pod.yaml", service}), kOk) << err.str();
}

/// The host name of a StatefulSet's pod is berthd's under a container runtime.
TEST_F(ApplyTest, TheWaitForAResizeEndsThoughBerthdKnowsMoreOfThePod) {
  const auto text = [](const std::string& more) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: db-0}\nspec:\n" + more +
           "  containers: [{name: app, image: i, resources: {limits: {cpu: 4, memory: 1Gi}}}]\n";
  };
  const std::string stored = File("stored.yaml", text("  hostname: db-0\n  subdomain: db\n"));
  backend.stored.results.push_back(
      {.namespace_ = "default", .name = "db-0-n1", .file = stored, .action = StoreAction::kConfigured});
  const auto there = manifest::ParsePods(*os::ReadInput(stored), stored);
  ASSERT_TRUE(there) << there.error().message;
  backend.pod.manifest = there->pods.at(0);
  backend.pod.manifest.name = "db-0-n1";
  backend.pod.manifest.uid = "u";
  backend.pod.manifest.node_name = "n1";
  PodView view;
  view.namespace_ = "default";
  view.name = "db-0-n1";
  view.uid = "u";
  view.phase = PodPhase::kRunning;
  backend.pod.view = std::make_shared<const PodView>(view);
  const ApplyOptions options{.files = {File("sent.yaml", text(""))}, .wait = {.wait = true, .timeout_s = 0}};
  EXPECT_EQ(Apply(options), kOk) << err.str();

  File("stored.yaml", text("  hostname: other\n"));
  EXPECT_EQ(Apply(options), kFailed) << "berthd has not read that yet";
}

}  // namespace
}  // namespace berth::cli
