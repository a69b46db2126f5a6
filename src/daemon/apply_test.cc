// What a node that is played says of manifests sent to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/local_api/node_client.h"
#include "daemon/daemon.h"
#include "daemon/played_line_test.h"
#include "testing/fixtures.h"

namespace berth::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

struct PlayedApplyTest : testing::Test {
  void Start(const std::string& runtime) {
    CommandLine line = PlayedLine(temp);
    line.runtime = runtime;
    auto settings = LoadSettings(line);
    ASSERT_TRUE(settings) << settings.error().message;
    auto made = Daemon::Make(line, *std::move(settings), "test", Notifier(), log);
    ASSERT_TRUE(made) << made.error().message;
    daemon = *std::move(made);
  }
  Result<StoredPods> Apply(const std::string& text, bool dry_run) const {
    return api::NodeClient(temp / "berth.sock").ApplyPods({.manifests = text, .templates = true, .dry_run = dry_run});
  }
  StoredPods Would(const std::string& text) const {
    const auto answer = Apply(text, /*dry_run=*/true);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : StoredPods();
  }
  static std::string PodOf(const std::string& name, const std::string& more = "", const std::string& spec = "") {
    return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {containers: [{name: a, image: i, " +
           "command: [x]" + more + "}]" + spec + "}}\n---\n";
  }

  testkit::TempDir temp;
  events::Log log{events::LogLevel::kError};
  std::unique_ptr<Daemon> daemon;
};

TEST_F(PlayedApplyTest, WhatSomeVersionOfTheRuntimeCanDoIsNotRefused) {
  Start("cri");
  const StoredPods would = Would(
      "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {k8s.v1.cni.cncf.io/networks: net, "
      "kubernetes.io/egress-bandwidth: 10M}}, spec: "
      "{securityContext: {supplementalGroups: [5], supplementalGroupsPolicy: Strict}, containers: [{name: a, image: i, "
      "volumeMounts: [{name: v, mountPath: /m, readOnly: true, recursiveReadOnly: Enabled}]}], volumes: [{name: v, "
      "hostPath: {path: /srv}}]}}");
  EXPECT_THAT(would.problems, IsEmpty());
  EXPECT_THAT(would.warnings, IsEmpty());
  EXPECT_THAT(would.results, SizeIs(1));
}

TEST_F(PlayedApplyTest, ADryRunSaysWhatIsFineOfAFileThatIsRefused) {
  Start("process");
  const std::string text = PodOf("good", ", tty: true") +
                           PodOf("bad", ", securityContext: {capabilities: {add: [FLY]}}") +
                           "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n";
  const StoredPods would = Would(text);
  ASSERT_THAT(would.results, SizeIs(2));
  EXPECT_EQ("c", would.results[0].name);
  EXPECT_EQ("good-n1", would.results[1].name);
  EXPECT_THAT(would.problems, ElementsAre(AllOf(StartsWith("request: document 2: "), HasSubstr("\"FLY\""))));
  EXPECT_THAT(would.warnings, testing::Contains(StartsWith("request: document 1: spec.containers[0].tty: no effect")));
  const auto refused = Apply(text, /*dry_run=*/false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kInvalid, refused.error().code);
  EXPECT_EQ(would.problems[0], refused.error().message);
}

TEST_F(PlayedApplyTest, WhatKeepsOneDocumentFromBeingStoredIsToldWithWhatIsWrongInAnother) {
  Start("process");
  const std::string fixed = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, immutable: true, data: {k: ";
  ASSERT_TRUE(Apply(fixed + "v}}", /*dry_run=*/false));
  const std::string text = PodOf("bad", "", ", restartPolicy: Seldom") + fixed + "w}}";
  EXPECT_THAT(Would(text).problems, ElementsAre(HasSubstr("spec.restartPolicy"), HasSubstr("is immutable")));
  const auto refused = Apply(text, /*dry_run=*/false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("spec.restartPolicy"), HasSubstr("\nConfigMap default/c is immutable")));
}

TEST_F(PlayedApplyTest, PodsOfATemplateWouldBeMade) {
  Start("process");
  const std::string text =
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, template: {spec: "
      "{containers: [{name: a, command: [x]}]}}}}";
  EXPECT_THAT(Would(text).warnings, ElementsAre(HasSubstr("spec: would make 2 pods of its template")));
  const auto made = Apply(text, /*dry_run=*/false);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->warnings, ElementsAre(HasSubstr("spec: made 2 pods of its template")));
  const StoredPods unchanged = Would(text);
  EXPECT_THAT(unchanged.results, SizeIs(2));
  EXPECT_THAT(unchanged.warnings, IsEmpty());
}

}  // namespace
}  // namespace berth::daemon
