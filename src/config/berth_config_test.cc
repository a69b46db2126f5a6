#include "config/berth_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/kubelet_reader.h"
#include "manifest/manifest.h"

namespace berth::config {
namespace {

using manifest::ParsePods;

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr std::string_view kBerthHead = "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n";

std::string ErrorOfBerth(const std::string& fields) {
  const auto parsed = ParseBerthConfiguration(std::string(kBerthHead) + fields, "/etc/berth/berth.yaml");
  return parsed ? "accepted" : parsed.error().message;
}

TEST(BerthConfigurationTest, AnEmptyOneIsAllDefaults) {
  const auto parsed = ParseBerthConfiguration(kBerthHead, "berth.yaml");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->config, BerthConfiguration());
  EXPECT_THAT(parsed->warnings, IsEmpty());
}

TEST(BerthConfigurationTest, PodsWaitOnlyWhereItSaysSoAndWithinBounds) {
  const auto read = [](const std::string& fields) {
    return ParseBerthConfiguration(std::string(kBerthHead) + fields, "berth.yaml")->config;
  };
  EXPECT_EQ(read("").waiting, std::nullopt);
  EXPECT_EQ(read("waiting: {}\n").waiting, WaitingSettings());
  EXPECT_EQ(read("waiting: {max: 3, overtakes: 0}\n").waiting, (WaitingSettings{.max = 3, .overtakes = 0}));
  EXPECT_EQ(read("preemption: critical\n").preemption, "critical");
  EXPECT_THAT(ErrorOfBerth("waiting: {max: 0}\n"), HasSubstr("waiting.max: Invalid value: 0: must be between 1"));
  EXPECT_THAT(ErrorOfBerth("waiting: {overtakes: -1}\n"), HasSubstr("waiting.overtakes: Invalid value: -1"));
  EXPECT_THAT(ErrorOfBerth("waiting: {max: 10001}\n"), HasSubstr("waiting.max"));
  EXPECT_THAT(ErrorOfBerth("preemption: all\n"), HasSubstr("preemption"));
}

TEST(BerthConfigurationTest, MetricsAreServedWhereAnAddressOrAPortSays) {
  EXPECT_EQ(ParseTcpAddress("9950"), (TcpAddress{.address = "127.0.0.1", .port = 9950})) << "loopback";
  EXPECT_EQ(ParseTcpAddress("10.0.0.1:80"), (TcpAddress{.address = "10.0.0.1", .port = 80}));
  EXPECT_EQ(ParseTcpAddress("[fd00::1]:80"), (TcpAddress{.address = "fd00::1", .port = 80}));
  for (const char* bad :
       {"", "0", "65536", "x", ":80", "localhost:80", "fd00::1:80", "[10.0.0.1]:80", "10.0.0.1:", "-1"}) {
    EXPECT_EQ(ParseTcpAddress(bad), std::nullopt) << bad;
  }
  EXPECT_THAT(ErrorOfBerth("metricsAddress: localhost:9950\n"), HasSubstr("metricsAddress: Invalid value"));
  EXPECT_EQ(ErrorOfBerth("metricsAddress: \"\"\n"), "accepted");
}

TEST(BerthConfigurationTest, ReadsEveryField) {
  const auto parsed = ParseBerthConfiguration(std::string(kBerthHead) + R"(
kubeletConfig: kubelet.yaml
stateDir: /s
runDir: /r
seccompDir: /profiles
devicePluginDir: /plugins
socketGroup: wheel
podResourcesSocket: /p/kubelet.sock
logDir: /l
nodeName: n1
runtime: process
logLevel: debug
kubeletVersion: "1.38"
nodeFit: false
stopContainersOnExit: true
reconcilePeriod: 1s
maxEvents: 5
unknownPods: adopt
manifestOwners: any
unsupportedFields: warn
evictionIgnoresPageCache: true
metricsAddress: 9950
)",
                                              "/etc/berth/berth.yaml");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const BerthConfiguration& c = parsed->config;
  EXPECT_EQ(c.kubelet_config, "/etc/berth/kubelet.yaml");
  EXPECT_EQ(c.state_dir, "/s");
  EXPECT_EQ(c.run_dir, "/r");
  EXPECT_EQ(c.seccomp_dir, "/profiles");
  EXPECT_EQ(DevicePluginDir(c), "/plugins");
  EXPECT_EQ(c.socket, "") << "beside the rest of the run folder unless it is given";
  EXPECT_EQ(c.socket_group, "wheel");
  EXPECT_EQ(c.metrics_address, "9950");
  EXPECT_EQ(c.pod_resources_socket, "/p/kubelet.sock");
  EXPECT_EQ(c.log_dir, "/l");
  EXPECT_EQ(c.node_name, "n1");
  EXPECT_EQ(c.log_level, "debug");
  EXPECT_EQ(c.unsupported_fields, "warn");
  EXPECT_EQ(c.kubelet_version, KubeletVersion::k1_38);
  EXPECT_FALSE(c.node_fit);
  EXPECT_TRUE(c.stop_containers_on_exit);
  EXPECT_EQ(c.reconcile_period, 1s);
  EXPECT_EQ(c.max_events, 5);
  EXPECT_EQ(c.unknown_pods, "adopt");
  EXPECT_EQ(c.manifest_owners, "any");
  EXPECT_TRUE(c.eviction_ignores_page_cache);
}

TEST(BerthConfigurationTest, DevicePluginsRegisterInTheKubeletsFolderUnlessTheStateIsElsewhere) {
  const auto folder = [](std::string_view fields) {
    const auto parsed = ParseBerthConfiguration(std::string(kBerthHead) + std::string(fields), "berth.yaml");
    return parsed ? DevicePluginDir(parsed->config) : parsed.error().message;
  };
  EXPECT_EQ(folder(""), "/var/lib/kubelet/device-plugins");
  EXPECT_EQ(folder("stateDir: /s\n"), "");
  EXPECT_EQ(folder("devicePluginDir: \"\"\n"), "");
  EXPECT_EQ(folder("stateDir: /s\ndevicePluginDir: /p\n"), "/p");
  EXPECT_THAT(folder("devicePluginDir: p\n"), HasSubstr("devicePluginDir: Invalid value"));
}

TEST(BerthConfigurationTest, RelativeSettingsPathsAreBesideTheFile) {
  const std::string text = std::string(kBerthHead) + "kubeletConfig: kubelet.yaml\n";
  EXPECT_EQ(ParseBerthConfiguration(text, "examples/berth.yaml")->config.kubelet_config, "examples/kubelet.yaml");
  EXPECT_EQ(ParseBerthConfiguration(text, "berth.yaml")->config.kubelet_config, "kubelet.yaml");
}

TEST(BerthConfigurationTest, ThePageIsForThisHostUnlessThereIsTlsAndAToken) {
  const auto read = [](std::string_view web) { return ErrorOfBerth("web: {" + std::string(web) + "}\n"); };
  for (const char* const fine :
       {"", "address: 9000", "address: \"127.0.0.1:9000\"", "address: \"[::1]:9000\"", "address: /run/berth/web.sock",
        "address: /run/berth/web.sock, allowChanges: true", "tokenFile: t, allowChanges: true",
        "certificate: c, key: k", "address: \"10.0.0.1:9000\", certificate: c, key: k, tokenFile: t"})
    EXPECT_EQ(read(fine), "accepted") << fine;
  EXPECT_THAT(read("address: \"10.0.0.1:9000\", tokenFile: t"),
              HasSubstr("web.certificate: Required value: beyond this host"));
  EXPECT_THAT(read("address: \"0.0.0.0:9000\", certificate: c, key: k"), HasSubstr("web.tokenFile: Required value"));
  EXPECT_THAT(read("certificate: c"), HasSubstr("web.key: Required value: certificate and key belong together"));
  EXPECT_THAT(read("allowChanges: true"), HasSubstr("web.tokenFile: Required value: with allowChanges"));
  EXPECT_THAT(read("address: localhost:1"), HasSubstr("web.address: Invalid value"));
  EXPECT_THAT(read("address: /run/../x"), HasSubstr("web.address: Invalid value"));
  EXPECT_THAT(read("address: /run/berth/web.sock, tokenFile: t"), HasSubstr("web: Forbidden: on a unix socket"));
}

TEST(BerthConfigurationTest, ThePageIsOffUnlessItIsSetAndItsFilesAreBesideTheSettings) {
  const auto read = [](std::string_view fields) {
    return ParseBerthConfiguration(std::string(kBerthHead) + std::string(fields), "/etc/berth/berth.yaml")->config.web;
  };
  EXPECT_EQ(read(""), std::nullopt);
  EXPECT_EQ(read("web: null\n"), std::nullopt);
  EXPECT_EQ(read("web: {}\n"), WebSettings());
  EXPECT_EQ(
      read("web: {address: 9000, certificate: c.pem, key: /k.pem, tokenFile: token}\n"),
      (WebSettings{
          .address = "9000", .certificate = "/etc/berth/c.pem", .key = "/k.pem", .token_file = "/etc/berth/token"}));
}

TEST(BerthConfigurationTest, WhatIsPublishedIsSaidAsAWhole) {
  const auto read = [](std::string_view fields) {
    return ParseBerthConfiguration(std::string(kBerthHead) + std::string(fields), "examples/berth.yaml");
  };
  EXPECT_EQ(read("")->config.publish, std::nullopt);
  EXPECT_EQ(read("publish: {}\n")->config.publish, PublishSettings());
  EXPECT_EQ(read("publish: {kubeconfig: admin.conf, topology: false}\n")->config.publish,
            (PublishSettings{.kubeconfig = "examples/admin.conf", .topology = false}));
  EXPECT_THAT(read("publish: {stat: true}\n")->warnings, SizeIs(1));
}

TEST(BerthConfigurationTest, SpecsOfPodsAreAskedForWhereTheSettingsSaySo) {
  const auto read = [](std::string_view fields) {
    return ParseBerthConfiguration(std::string(kBerthHead) + std::string(fields), "examples/berth.yaml")->config;
  };
  EXPECT_EQ(read("").pod_specs, std::nullopt);
  EXPECT_EQ(read("podSpecs: {}\n").pod_specs, PodSpecsSettings());
  EXPECT_EQ(read("podSpecs: {kubeconfig: node.conf}\n").pod_specs,
            (PodSpecsSettings{.kubeconfig = "examples/node.conf"}));
}

TEST(BerthConfigurationTest, TheVersionOfTheKubeletMayStandWithoutQuotes) {
  const auto version = [](const char* field) {
    const auto parsed = ParseBerthConfiguration(std::string(kBerthHead) + field, "b.yaml");
    if (!parsed) return parsed.error().message;
    return parsed->config.kubelet_version ? std::string(Name(*parsed->config.kubelet_version)) : "none";
  };
  EXPECT_EQ(version(""), "none");
  EXPECT_EQ(version("kubeletVersion: 1.37\n"), "1.37");
  EXPECT_EQ(version("kubeletVersion: \"1.37\"\n"), "1.37");
  EXPECT_EQ(version("kubeletVersion: \"\"\n"), "none");
}

TEST(BerthConfigurationTest, BadValuesNameTheField) {
  const std::pair<const char*, const char*> cases[] = {
      {"stateDir: state\n", "stateDir: Invalid value: \"state\": must be an absolute path"},
      {"runDir: /a/../b\n", "runDir: Invalid value"},
      {"logDir: \"\"\n", "logDir: Invalid value"},
      {"socket: berth.sock\n", "socket: Invalid value"},
      {"nodeName: Node_1\n", "nodeName: Invalid value: \"Node_1\""},
      {"logLevel: loud\n", "logLevel: Unsupported value: \"loud\": supported values: \"debug\", \"info\""},
      {"nriIndex: 5\n", "nriIndex: Invalid value: \"5\": must be two digits"},
      {"nriIndex: 5x\n", "nriIndex: Invalid value: \"5x\": must be two digits"},
      {"nriUnplaced: ignore\n", "nriUnplaced: Unsupported value: \"ignore\": supported values: \"refuse\", \"share\""},
      {"nriContested: fight\n",
       "nriContested: Unsupported value: \"fight\": supported values: \"keep\", \"stepAside\""},
      {"nriSocket: nri.sock\n", "nriSocket: "},
      {"runtime: docker\n", "runtime: Unsupported value: \"docker\": supported values: \"process\""},
      {"reconcilePeriod: 10ms\n", "reconcilePeriod: Invalid value: 10ms"},
      {"reconcilePeriod: 10\n", "reconcilePeriod: Invalid value: 10: expected a duration"},
      {"unknownPods: kill\n", "unknownPods: Unsupported value: \"kill\": supported values: \"report\", \"adopt\""},
      {"maxEvents: 0\n", "maxEvents: Invalid value: 0"},
      {"publish: {topology: false, state: false}\n", "publish: Invalid value: topology and state are both false"},
      {"publish: {state: 1}\n", "publish.state: Invalid value: 1: expected true or false"},
      {"publish: true\n", "publish: "},
      {"podSpecs: true\n", "podSpecs: "},
      {"kubeletVersion: \"1.35\"\n", "kubeletVersion: Invalid value: \"1.35\" is no kubelet version known here"},
      {"kubeletVersion: true\n", "kubeletVersion: "},
      {"nodeFit: \"true\"\n", "nodeFit: Invalid value: \"true\": expected true or false"},
  };
  for (const auto& [fields, message] : cases) EXPECT_THAT(ErrorOfBerth(fields), HasSubstr(message)) << fields;
  EXPECT_THAT(ErrorOfBerth("socket: /" + std::string(107, 'a') + "\n"), HasSubstr("no more than 107 bytes"));
}

TEST(BerthConfigurationTest, UnknownFieldsAreWarnings) {
  const auto parsed = ParseBerthConfiguration(std::string(kBerthHead) + "stateDirr: /s\n", "b.yaml");
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_THAT(parsed->warnings, SizeIs(1));
  EXPECT_THAT(parsed->warnings[0].message, HasSubstr("did you mean \"stateDir\"?"));
}

std::string ReadExample(const std::string& name) {
  std::ifstream in(std::string(BERTH_SOURCE_DIR) + "/examples/" + name);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(ExamplesTest, SettingsAreValidAndWarnOfNothing) {
  const auto berth = ParseBerthConfiguration(ReadExample("berth.yaml"), "berth.yaml");
  ASSERT_TRUE(berth) << berth.error().message;
  EXPECT_THAT(berth->warnings, IsEmpty());
  const auto kubelet = ParseKubeletConfiguration(ReadExample("kubelet.yaml"), "/x/kubelet.yaml");
  ASSERT_TRUE(kubelet) << kubelet.error().message;
  EXPECT_THAT(kubelet->warnings, IsEmpty());
  EXPECT_EQ(kubelet->config.cpu_manager_policy, "static");
}

TEST(ExamplesTest, PodsHaveTheClassesTheyAreNamedFor) {
  const std::pair<const char*, QosClass> pods[] = {{"latency", QosClass::kGuaranteed},
                                                   {"web", QosClass::kBurstable},
                                                   {"batch", QosClass::kBestEffort},
                                                   {"toobig", QosClass::kGuaranteed}};
  for (const auto& [name, qos] : pods) {
    const auto parsed = ParsePods(ReadExample(std::string("pods/") + name + ".yaml"), name);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_THAT(parsed->warnings, IsEmpty());
    ASSERT_THAT(parsed->pods, SizeIs(1));
    EXPECT_EQ(parsed->pods[0].name, name);
    EXPECT_EQ(QosOf(parsed->pods[0]), qos) << name;
    for (const Container& c : parsed->pods[0].containers) EXPECT_THAT(c.command, testing::Not(IsEmpty()));
  }
}

}  // namespace
}  // namespace berth::config
