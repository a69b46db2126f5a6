#include "berth/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "berth/version.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(LoadTest, AMachineGoesByItsPathOrByItsDescription) {
  const auto captured = LoadMachine(testkit::SourcePath("tests/golden/machine/captures/8amd64-2s4n2t-qemu.tar.gz"));
  ASSERT_TRUE(captured) << captured.error().message;
  EXPECT_EQ(8, UsableCpus(*captured).Count());
  const auto described = LoadMachine("pack:2 numa:2 core:2 pu:2");
  ASSERT_TRUE(described) << described.error().message;
  EXPECT_EQ("0-3", FormatIds(NodeIds(*described)));
  const auto none = LoadMachine("/nonexistent/machine.tar");
  ASSERT_FALSE(none);
  EXPECT_EQ(Code::kNotFound, none.error().code);
}

TEST(LoadTest, ThisHostCanBeTakenToAnother) {
  const testkit::TempDir temp;
  const auto saved = CaptureMachine(temp / "host.tar.gz");
  ASSERT_TRUE(saved) << saved.error().message;
  const auto host = LoadMachine("host");
  const auto back = LoadMachine(temp / "host.tar.gz");
  ASSERT_TRUE(host && back);
  EXPECT_TRUE(host->this_host);
  EXPECT_FALSE(back->this_host);
  EXPECT_EQ(host->nodes, back->nodes);
  EXPECT_EQ(Code::kInvalid, CaptureMachine(temp / "host.zip").error().code);
}

TEST(LoadTest, WhatSettingsDoNotSayHasTheKubeletsDefault) {
  std::vector<std::string> warnings;
  const auto settings = ParseSettings(
      "{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, cpuManagerPolicy: static, cpus: 3}",
      "k.yaml", &warnings);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ("static", settings->cpu_manager_policy);
  EXPECT_EQ("none", settings->topology_manager_policy);
  EXPECT_THAT(warnings, Contains(HasSubstr("cpus")));
  const auto wrong =
      ParseSettings("{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, maxPods: x}", "k.yaml");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(Code::kInvalid, wrong.error().code);
  EXPECT_THAT(wrong.error().message, HasSubstr("maxPods"));
}

TEST(LoadTest, PodsHaveTheirDefaultsInPlace) {
  std::vector<std::string> warnings;
  const auto pods = ParsePods(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i, colour: red, "
      "resources: "
      "{limits: {cpu: '2', memory: 1Gi}}}]}}",
      "p.yaml", &warnings);
  ASSERT_TRUE(pods) << pods.error().message;
  ASSERT_EQ(1U, pods->size());
  EXPECT_EQ(QosClass::kGuaranteed, QosOf(pods->front())) << "limits become requests";
  EXPECT_THAT(warnings, Contains(HasSubstr("colour")));
  const auto wrong = ParsePods("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}", "p.yaml");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("p.yaml"));
}

TEST(LoadTest, APodThatOnlyAnApiServerCouldRunCanBeDecidedOn) {
  const auto pods = ParsePods(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i, env: [{name: A, "
      "valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}}",
      "p.yaml");
  EXPECT_TRUE(pods) << pods.error().message;
}

TEST(LoadTest, DevicesMayLeaveOutNodesAndHealth) {
  const auto devices = ParseDevices("v.example/gpu: [{id: g0, numa: [1]}, {id: g1}]", "d.yaml");
  ASSERT_TRUE(devices) << devices.error().message;
  const std::vector<Device>& gpus = devices->at("v.example/gpu");
  ASSERT_EQ(2U, gpus.size());
  EXPECT_EQ(NodeSet{NumaId{1}}, gpus[0].nodes);
  EXPECT_TRUE(gpus[1].nodes.empty());
  EXPECT_TRUE(gpus[1].healthy);
  EXPECT_EQ(Code::kInvalid, ParseDevices("v.example/gpu: 3", "d.yaml").error().code);
}

TEST(LoadTest, NoTextIsALedgerByMistake) {
  for (const char* text : {"", "{", "[]", "{\"ledger\": 3}", "berth-ledger", "berth-ledger 1 junk"}) {
    SCOPED_TRACE(text);
    const auto ledger = ParseLedger(text, "l.json");
    ASSERT_FALSE(ledger);
    EXPECT_THAT(ledger.error().message, HasSubstr("l.json"));
  }
}

TEST(VersionTest, TheTextSaysTheNumbers) {
  EXPECT_EQ(kVersion,
            std::to_string(kVersionMajor) + "." + std::to_string(kVersionMinor) + "." + std::to_string(kVersionPatch));
  EXPECT_EQ(kVersion, RunningVersion());
}

}  // namespace
}  // namespace berth
