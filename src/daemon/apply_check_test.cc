// What `berth apply` refuses because of the node.
#include "daemon/apply_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "testing/fixtures.h"

namespace berth::daemon {
namespace {

using manifest::RunBy;
using testing::HasSubstr;
using testing::StartsWith;

class ApplyCheckTest : public testing::Test {
 protected:
  ApplyCheckTest() {
    rules.pods.run_by = RunBy::kCri;
    rules.node.has_sandboxes = true;
    rules.node.app_armor = true;
    rules.profiles = {.seccomp = folder_ / "seccomp", .app_armor = folder_ / "profiles"};
    pod.name = "web";
    pod.namespace_ = "default";
    pod.containers.resize(2);
  }
  std::string Said() const {
    std::string out;
    for (const manifest::FieldProblem& problem : CheckOnNode(pod, rules))
      out += (out.empty() ? "" : "\n") + problem.path + ": " + problem.text;
    return out;
  }
  void Write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(folder_ / "seccomp");
    std::ofstream(folder_ / file) << text;
  }

  ApplyRules rules;
  Pod pod;

 private:
  testkit::TempDir folder_;
};

TEST_F(ApplyCheckTest, WhatTheNodeDoesNotHaveIsRefusedWithItsPathAndTheCure) {
  EXPECT_EQ("", Said());
  pod.runtime_class = "kata";
  EXPECT_EQ(
      "spec.runtimeClassName: Forbidden: RuntimeClass \"kata\" not found: name its handler in runtimeClasses of "
      "Berth's "
      "settings",
      Said());
  rules.pods.run_by = RunBy::kNobody;
  EXPECT_EQ("", Said()) << "nobody runs it";
}

TEST_F(ApplyCheckTest, EachReasonHasALine) {
  pod.security = {.seccomp = "Localhost", .seccomp_localhost = "own.json"};
  pod.security.sysctls = {{"kernel.msgmax", "1"}};
  pod.containers[1].security.drop_capabilities = {"FLY"};
  pod.name = std::string(250, 'a');
  EXPECT_THAT(Said(),
              testing::AllOf(StartsWith("spec.containers[1].securityContext.capabilities.drop: Forbidden: "),
                             HasSubstr("\nspec.securityContext.sysctls[0].name: Forbidden: "),
                             HasSubstr("\nspec.securityContext.seccompProfile.localhostProfile: Invalid value: "),
                             HasSubstr("\nmetadata.name: Invalid value: ")));
}

TEST_F(ApplyCheckTest, AProfileOfSystemCallsIsThereAndAPlainProcessCanHaveIt) {
  pod.containers[1].security = {.seccomp = "Localhost", .seccomp_localhost = "own.json"};
  const std::string field = "spec.containers[1].securityContext.seccompProfile.localhostProfile: Invalid value: ";
  EXPECT_THAT(Said(), testing::AllOf(StartsWith(field + "there is no profile "), HasSubstr("/seccomp/own.json")));
  rules.pods.run_by = RunBy::kProcess;
  EXPECT_THAT(Said(), testing::AllOf(StartsWith(field), HasSubstr("own.json")));
  Write("seccomp/own.json", "{}");
  EXPECT_THAT(Said(), StartsWith(field)) << "it says nothing";
  rules.pods.run_by = RunBy::kCri;
  EXPECT_EQ("", Said()) << "the runtime is to judge it";
  Write("seccomp/own.json", R"({"defaultAction": "SCMP_ACT_ALLOW"})");
  rules.pods.run_by = RunBy::kProcess;
  EXPECT_EQ("", Said());
}

TEST_F(ApplyCheckTest, NoProfilesAreLookedForWhereTheirPlacesAreNotKnown) {
  rules.profiles = {.seccomp = "", .app_armor = ""};
  pod.security = {.seccomp = "Localhost", .seccomp_localhost = "own.json"};
  pod.security.app_armor = "Localhost";
  pod.security.app_armor_localhost = "own";
  EXPECT_EQ("", Said()) << "a machine that is played";
  rules.pods.run_by = RunBy::kProcess;
  EXPECT_EQ("", Said());
}

TEST(DeviceResourcesTest, KindsOfWhichThereIsADeviceAreNamed) {
  EXPECT_THAT(DeviceResources({{"b.test/gpu", {{.id = "0", .nodes = {}}}},
                               {"a.test/gone", {}},
                               {"c.test/nic", {{.id = "1", .nodes = {}}}}}),
              testing::ElementsAre("b.test/gpu", "c.test/nic"));
}

TEST_F(ApplyCheckTest, AHostNameWithItsDomainIsShortEnoughForAHost) {
  rules.node_name = "n1";
  rules.cluster_domain = "cluster.local";
  pod.subdomain = std::string(40, 'x');
  EXPECT_EQ("", Said());
  pod.hostname_as_fqdn = true;
  EXPECT_THAT(Said(), testing::AllOf(StartsWith("spec.setHostnameAsFQDN: Invalid value: true: "),
                                     HasSubstr("web-n1." + pod.subdomain + ".default.svc.cluster.local is longer")));
  rules.pods.run_by = RunBy::kProcess;
  EXPECT_EQ("", Said()) << "it has the host's name";
}

TEST_F(ApplyCheckTest, APodsNameLeavesRoomForTheNodesAndForItsLogFolder) {
  rules.node_name = "n1";
  pod.name = std::string(211, 'a');  // default_…-n1_<32 digits>: 255 bytes
  EXPECT_EQ("", Said());
  pod.name += 'a';
  EXPECT_THAT(Said(), testing::AllOf(StartsWith("metadata.name: Invalid value: "),
                                     HasSubstr("has 212 bytes, and at most 211 fit")));
  rules.pods.run_by = RunBy::kProcess;
  EXPECT_THAT(Said(), HasSubstr("at most 211 fit"));
}

TEST_F(ApplyCheckTest, AnAppArmorProfileIsLoadedIfThatCanBeKnown) {
  pod.security = {.app_armor = "Localhost", .app_armor_localhost = "own"};
  EXPECT_EQ("", Said()) << "there is no list";
  Write("profiles", "owner (enforce)\nother (complain)\n");
  EXPECT_THAT(Said(), StartsWith("spec.securityContext.appArmorProfile.localhostProfile: "
                                 "Invalid value: the profile \"own\" is not loaded"));
  Write("profiles", "other (complain)\nown (enforce)\n");
  EXPECT_EQ("", Said());
}

}  // namespace
}  // namespace berth::daemon
