// A node's published state: what comes back, how large it is, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "api/codec/generator_test.h"
#include "api/codec/node_state_json.h"

namespace berth::codec {
namespace {

using testing::HasSubstr;

Machine StateMachine(std::uint32_t nodes, std::uint32_t cores) {
  Machine m;
  m.memory = GiB(64 * nodes);
  std::uint32_t next = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    NumaNode& node = m.nodes.emplace_back();
    node.id = NumaId{n};
    node.memory = GiB(64);
    node.distances.assign(nodes, 21);
    node.distances[n] = 10;
    node.hugepages = {{MiB(2), 0}, {GiB(1), 4}};
    for (std::uint32_t c = 0; c < cores; ++c, next += 2) {
      Core& core = node.cores.emplace_back();
      core.core_id = c;
      core.socket = SocketId{n};
      core.threads = {CpuId{next}, CpuId{next + 1}};
      core.uncore = {{CacheId{n}, MiB(32), "Unified", 3}};
    }
  }
  m.present = m.online = CpuSet::Range(0, next - 1);
  m.reported_cpus = static_cast<int>(next);
  return m;
}

/// `pods` Guaranteed pods with a CPU each, as many of them as there are CPUs.
NodeState StateWith(std::uint32_t nodes, std::uint32_t cores, int pods) {
  NodeState state;
  state.node = "worker-17.example";
  state.berth_version = "1.2.3";
  state.machine = StateMachine(nodes, cores);
  state.config.cpu_manager_policy = "static";
  state.config.reserved_system_cpus = "0";
  state.config.topology_manager_policy = "single-numa-node";
  Ledger& ledger = state.ledger;
  ledger.cpu_policy = "static";
  ledger.memory_policy = "None";
  ledger.shared = state.machine.online;
  for (int i = 0; i < pods; ++i) {
    PodRecord pod;
    pod.uid = "6f1d4cf2-7c1b-4d0e-9a43-0000000" + std::to_string(10000 + i);
    pod.namespace_ = "production";
    pod.name = "web-frontend-5d9c7b8f6-" + std::to_string(10000 + i);
    pod.qos = QosClass::kGuaranteed;
    pod.sequence = ledger.next_sequence++;
    pod.requests = {{"cpu", Quantity::FromMilli(1000)}, {"memory", Quantity::FromBytes(GiB(1))}};
    Placement& p = pod.placements.emplace_back();
    p.container = "app";
    p.hint = TopologyHint{.nodes = NodeSet{NumaId{0}}, .preferred = true};
    const CpuId cpu{static_cast<std::uint32_t>(i) + 1};
    if (i + 2 < state.machine.online.Count()) {
      p.cpus = CpuSet{cpu};
      ledger.shared.Erase(cpu);
    }
    p.devices = {{.resource = "example.com/nic", .ids = {"d" + std::to_string(i)}, .answer = {}}};
    ledger.pods.emplace(pod.uid, pod);
  }
  return Compact(std::move(state));
}

/// The error of a good state after `change`.
Error ErrorAfter(const std::function<void(Json&)>& change) {
  Json json = ToJson(StateWith(2, 2, 2));
  change(json);
  const auto read = ReadNodeState(FormatJson(json));
  EXPECT_FALSE(read);
  return read ? Error{} : read.error();
}

TEST(NodeStateTest, StatesComeBackExactly) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Generator random(seed);
    const auto nodes = static_cast<std::uint32_t>(1 + random.Below(4));
    NodeState state =
        StateWith(nodes, static_cast<std::uint32_t>(1 + random.Below(8)), static_cast<int>(random.Below(9)));
    state.generation = random.Below(1000);
    if (random.Coin()) state.time = WallTime(std::chrono::seconds(random.Below(2'000'000'000)));
    state.kubelet_version = kKubeletVersions[static_cast<std::size_t>(random.Below(kKubeletVersions.size()))];
    state.node_fit = random.Coin();
    state.whole_cores = random.Coin();
    state.own = random.Rules();
    state.config.max_pods = static_cast<std::int32_t>(random.Below(500));
    if (random.Coin())
      state.config.eviction_hard = Json({{"memory.available", "100Mi"}}).get<std::map<std::string, std::string>>();
    if (random.Coin()) state.config.feature_gates["CPUManagerPolicyAlphaOptions"] = random.Coin();
    if (random.Coin()) state.config.reserved_memory = {{NumaId{0}, {{"memory", Quantity::FromBytes(GiB(1))}}}};
    if (random.Coin())
      state.devices["example.com/nic"] = {{.id = "a", .nodes = NodeSet{NumaId{0}}}, {.id = "b", .nodes = {}}};
    const auto text = FormatNodeState(state);
    ASSERT_TRUE(text) << text.error().message;
    const auto back = ReadNodeState(*text);
    ASSERT_TRUE(back) << "seed " << seed << ": " << back.error().message;
    ASSERT_EQ(state, *back) << "seed " << seed;
  }
}

TEST(NodeStateTest, SixtyFourCpusAndAHundredPodsAreSmall) {
  const auto text = FormatNodeState(StateWith(2, 16, 100));
  ASSERT_TRUE(text);
  RecordProperty("bytes", static_cast<int>(text->size()));
  EXPECT_LE(text->size(), std::size_t{64} << 10);
  EXPECT_TRUE(FormatNodeState(StateWith(8, 32, 500)));  // 512 CPUs
}

TEST(NodeStateTest, NothingOfWhatDevicesBringIsPublished) {
  NodeState state = StateWith(1, 4, 1);
  DeviceAnswer answer;
  answer.env["TOKEN"] = "secret";
  state.ledger.pods.begin()->second.placements[0].devices[0].answer = answer;
  state.machine.this_host = true;
  state.machine.boot_id = "boot-7";
  state.config.static_pod_url = "http://user:secret@example";
  const auto text = FormatNodeState(Compact(state));
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, testing::Not(HasSubstr("secret")));
  EXPECT_THAT(*text, testing::Not(HasSubstr("boot-7")));
}

TEST(NodeStateTest, AForeignMachineIsNeverThisHost) {
  Json json = ToJson(StateWith(1, 2, 0));
  json["machine"]["thisHost"] = true;
  const auto state = ReadNodeState(FormatJson(json));
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_FALSE(state->machine.this_host);
}

TEST(NodeStateTest, WhatTheServerAddsIsLeftAside) {
  Json json = ToJson(StateWith(1, 2, 0));
  json["metadata"]["resourceVersion"] = "12";
  json["metadata"]["managedFields"] = Json::array({1, 2});
  json["configuration"].erase("evictionHard");
  EXPECT_TRUE(ReadNodeState(FormatJson(json)));
}

TEST(NodeStateTest, WrongValuesAreErrorsThatNameTheField) {
  struct {
    const char* field;
    std::function<void(Json&)> change;
  } const cases[] = {
      {"metadata.name", [](Json& j) { j["metadata"]["name"] = "A node"; }},
      {"kind", [](Json& j) { j["kind"] = "Pod"; }},
      {"formatVersion", [](Json& j) { j["formatVersion"] = 0; }},
      {"generation", [](Json& j) { j["generation"] = -1; }},
      {"machine.nodes", [](Json& j) { j["machine"]["nodes"] = Json::array(); }},
      {"machine.memory", [](Json& j) { j["machine"]["memory"] = std::int64_t{1} << 60; }},
      {"listed twice", [](Json& j) { j["machine"]["nodes"][1]["id"] = 0; }},
      {"CPU 0 is listed twice", [](Json& j) { j["machine"]["nodes"][1]["cores"][0]["threads"] = {0}; }},
      {"is not online", [](Json& j) { j["machine"]["online"] = "0"; }},
      {"distances", [](Json& j) { j["machine"]["nodes"][0]["distances"] = {4000000}; }},
      {"hugepages", [](Json& j) { j["machine"]["nodes"][0]["hugepages"][0]["count"] = std::int64_t{1} << 62; }},
      {"ledger.shared", [](Json& j) { j["ledger"]["shared"] = "0-4000"; }},
      {"cpus", [](Json& j) { j["ledger"]["pods"][0]["placements"][0]["cpus"] = "5000"; }},
      {"requests.memory", [](Json& j) { j["ledger"]["pods"][0]["requests"]["memory"] = "-5"; }},
      {"requests.memory", [](Json& j) { j["ledger"]["pods"][0]["requests"]["memory"] = "7E"; }},
      {"ledger",
       [](Json& j) {
         j["ledger"]["pods"][1]["placements"][0]["cpus"] = j["ledger"]["pods"][0]["placements"][0]["cpus"];
       }},
      {"devices.example.com/x",
       [](Json& j) { j["devices"]["example.com/x"] = {{{"id", "a"}, {"numa", {9}}, {"healthy", true}}}; }},
      {"configuration.maxPods", [](Json& j) { j["configuration"]["maxPods"] = "many"; }},
      {"configuration.systemReserved.memory", [](Json& j) { j["configuration"]["systemReserved"]["memory"] = "-1"; }},
      {"options", [](Json& j) { j.erase("options"); }},
  };
  for (const auto& one : cases) {
    const Error error = ErrorAfter(one.change);
    EXPECT_THAT(error.message, HasSubstr(one.field));
    EXPECT_TRUE(error.message.starts_with("node state: ")) << error.message;
  }
}

TEST(NodeStateTest, ANewerFormatIsNotSupported) {
  const Error error = ErrorAfter([](Json& j) { j["formatVersion"] = 2; });
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("newer berthd"));
}

TEST(NodeStateTest, WhatIsTooLargeIsRefusedBeforeItIsRead) {
  EXPECT_THAT(ReadNodeState(std::string(kMostOfNodeState + 1, ' ')).error().message, HasSubstr("bytes"));
  EXPECT_THAT(ReadNodeState(std::string(kMostNodeStateValues, '[')).error().message, HasSubstr("values"));
  EXPECT_FALSE(FormatNodeState(StateWith(2, 16, 5000)));
}

void DamageStates(Json& whole, Json& at, int& refused) {
  if (at.is_structured())
    for (Json& child : at) DamageStates(whole, child, refused);
  const Json kept = at;
  for (const Json& junk :
       {Json(), Json(-1), Json("\x01?"), Json(std::int64_t{1} << 62), Json::array({1}), Json{{"x", 1}}}) {
    at = junk;
    if (!ReadNodeState(FormatJson(whole))) ++refused;
  }
  at = kept;
}

TEST(NodeStateTest, ADamagedStateIsAStateOrAnError) {
  Json json = ToJson(StateWith(2, 1, 2));
  int refused = 0;
  DamageStates(json, json, refused);
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace berth::codec
