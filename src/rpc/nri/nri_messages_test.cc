#include "rpc/nri/nri_messages.h"

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <random>

#include "nri.pb.h"

namespace berth::nri {
namespace {

namespace pb = ::nri::pkg::api::v1alpha1;

pb::UpdateContainerRequest WholeRequest() {
  pb::UpdateContainerRequest out;
  pb::PodSandbox& pod = *out.mutable_pod();
  pod.set_id("sandbox");
  pod.set_name("web");
  pod.set_uid("u-1");
  pod.set_namespace_("default");
  (*pod.mutable_labels())["app"] = "web";
  (*pod.mutable_annotations())["a"] = "b";
  pod.set_runtime_handler("runc");
  pod.mutable_linux()->set_cgroup_parent("/kubepods/podu-1");
  pod.mutable_linux()->mutable_pod_resources()->mutable_memory()->mutable_limit()->set_value(4096);
  pb::Container& container = *out.mutable_container();
  container.set_id("c1");
  container.set_pod_sandbox_id("sandbox");
  container.set_name("main");
  container.set_state(pb::CONTAINER_RUNNING);
  container.add_env("A=1");
  container.set_pid(77);
  container.mutable_linux()->set_cgroups_path("/kubepods/podu-1/c1");
  container.mutable_linux()->mutable_oom_score_adj()->set_value(-997);
  pb::LinuxResources& resources = *container.mutable_linux()->mutable_resources();
  resources.mutable_cpu()->mutable_shares()->set_value(2048);
  resources.mutable_cpu()->mutable_quota()->set_value(-1);
  resources.mutable_cpu()->set_cpus("0-3");
  resources.mutable_cpu()->set_mems("0");
  pb::HugepageLimit& pages = *resources.add_hugepage_limits();
  pages.set_page_size("2MB");
  pages.set_limit(1 << 21);
  (*resources.mutable_unified())["memory.high"] = "max";
  return out;
}

TEST(NriMessagesTest, APodAndItsContainerAreReadAsTheyAre) {
  const auto subject = DecodeSubject(WholeRequest().SerializeAsString());
  ASSERT_TRUE(subject);
  const Pod& pod = subject->pod;
  EXPECT_EQ(
      "sandbox web u-1 default runc /kubepods/podu-1",
      pod.id + " " + pod.name + " " + pod.uid + " " + pod.name_space + " " + pod.handler + " " + pod.cgroup_parent);
  EXPECT_EQ((Texts{{"app", "web"}}), pod.labels);
  EXPECT_EQ((Texts{{"a", "b"}}), pod.annotations);
  EXPECT_EQ(4096, pod.resources.memory_limit);
  ASSERT_TRUE(subject->container);
  const Container& container = *subject->container;
  EXPECT_EQ("c1 sandbox main", container.id + " " + container.pod_id + " " + container.name);
  EXPECT_EQ(ContainerState::kRunning, container.state);
  EXPECT_EQ(std::vector<std::string>{"A=1"}, container.env);
  EXPECT_EQ(77U, container.pid);
  EXPECT_EQ(-997, container.oom_score_adj);
  const Resources want{.cpu_shares = 2048,
                       .cpu_quota = -1,
                       .cpus = "0-3",
                       .mems = "0",
                       .hugepages = {{"2MB", 1 << 21}},
                       .unified = {{"memory.high", "max"}}};
  EXPECT_TRUE(want == container.resources);
}

TEST(NriMessagesTest, ZeroInWhatIsToChangeIsNotSet) {
  pb::UpdateContainerRequest request;
  pb::LinuxResources& wanted = *request.mutable_linux_resources();
  wanted.mutable_cpu()->mutable_shares()->set_value(0);
  wanted.mutable_cpu()->mutable_quota()->set_value(0);
  wanted.mutable_cpu()->mutable_period()->set_value(0);
  wanted.mutable_memory()->mutable_limit()->set_value(0);
  wanted.mutable_cpu()->set_cpus("2");
  const auto subject = DecodeSubject(request.SerializeAsString());
  ASSERT_TRUE(subject);
  EXPECT_TRUE(Resources{.cpus = "2"} == subject->wanted);
  EXPECT_FALSE(subject->container);
}

TEST(NriMessagesTest, NumbersThatNewerRuntimesMayHaveAreUnknown) {
  pb::StateChangeEvent event;
  event.set_event(static_cast<pb::Event>(99));
  event.mutable_container()->set_state(static_cast<pb::ContainerState>(9));
  const auto subject = DecodeStateChange(event.SerializeAsString());
  ASSERT_TRUE(subject);
  EXPECT_EQ(Event::kUnknown, subject->event);
  EXPECT_EQ(ContainerState::kUnknown, subject->container->state);
}

TEST(NriMessagesTest, AnAnswerHoldsWhatChangesAndNothingElse) {
  const Creation creation{.adjustment = {.resources = {.cpus = "1", .mems = "0"},
                                         .memory_policy = MemoryPolicy{.mode = MemoryPolicy::Mode::kBind,
                                                                       .nodes = "0-1",
                                                                       .flags = {MemoryPolicy::Flag::kRelativeNodes}},
                                         .env = {{"K", "v"}},
                                         .annotations = {{"n", "m"}}},
                          .updates = {{.container_id = "other", .resources = {.cpus = "0"}, .ignore_failure = true}}};
  pb::CreateContainerResponse out;
  ASSERT_TRUE(out.ParseFromString(EncodeCreated(creation)));
  const pb::LinuxContainerAdjustment& linux_part = out.adjust().linux();
  EXPECT_EQ("1", linux_part.resources().cpu().cpus());
  EXPECT_EQ("0", linux_part.resources().cpu().mems());
  EXPECT_FALSE(linux_part.resources().cpu().has_shares());
  EXPECT_FALSE(linux_part.resources().has_memory());
  EXPECT_EQ(pb::MODE_BIND, linux_part.memory_policy().mode());
  EXPECT_EQ("0-1", linux_part.memory_policy().nodes());
  EXPECT_EQ(pb::FLAG_RELATIVE_NODES, linux_part.memory_policy().flags(0));
  EXPECT_EQ("K", out.adjust().env(0).key());
  EXPECT_EQ("m", out.adjust().annotations().at("n"));
  ASSERT_EQ(1, out.update_size());
  EXPECT_EQ("other", out.update(0).container_id());
  EXPECT_EQ("0", out.update(0).linux().resources().cpu().cpus());
  EXPECT_TRUE(out.update(0).ignore_failure());

  ASSERT_TRUE(out.ParseFromString(EncodeCreated({})));
  EXPECT_FALSE(out.adjust().has_linux());
}

TEST(NriMessagesTest, AMaskAndARegistrationAreWrittenAsOthersWriteThem) {
  EXPECT_EQ("\x10\x88\x05", EncodeConfigured(648));
  EXPECT_EQ(
      "\x0a\x04numa\x12\x02"
      "10",
      EncodeRegister("numa", "10", ""));
}

TEST(NriMessagesTest, WhatIsNoMessageIsRefused) {
  EXPECT_EQ(Code::kInvalid, DecodeConfigure("\xff").error().code);
  EXPECT_EQ(Code::kInvalid, DecodeSynchronize("\x0a\x7f").error().code);
  EXPECT_EQ(Code::kInvalid, DecodeSubject("\x0a\x7f").error().code);
  EXPECT_EQ(Code::kInvalid, DecodeUpdatePod("\x0a\x7f").error().code);
  EXPECT_EQ(Code::kInvalid, DecodeStateChange("\x0a\x7f").error().code);
}

TEST(NriMessagesTest, BytesCutOffOrChangedAreReadOrRefused) {
  google::protobuf::SetLogHandler(nullptr);  // it has a line for each that is no text
  const std::string whole = WholeRequest().SerializeAsString();
  for (std::size_t size = 0; size < whole.size(); ++size) static_cast<void>(DecodeSubject(whole.substr(0, size)));
  for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = whole;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto subject = DecodeSubject(bytes);
    const auto event = DecodeStateChange(bytes);
    EXPECT_TRUE(!event || event->event <= Event::kValidateAdjustment);
    EXPECT_TRUE(!subject || !subject->container || subject->container->state <= ContainerState::kStopped);
  }
}

}  // namespace
}  // namespace berth::nri
