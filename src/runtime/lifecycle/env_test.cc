#include "runtime/lifecycle/env.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <utility>

namespace berth::runtime {
namespace {

std::string Expand(std::string_view text) {
  static const std::map<std::string, std::string, std::less<>> kVariables = {
      {"A", "1"}, {"EMPTY", ""}, {"DOLLAR", "$(A)"}, {"with space", "x"}};
  const Result<std::string> out = ExpandReferences(text, [](std::string_view name) -> const std::string* {
    const auto it = kVariables.find(name);
    return it == kVariables.end() ? nullptr : &it->second;
  });
  return out ? *out : "error: " + out.error().message;
}

TEST(ExpandTest, ReplacesKnownReferencesAndLeavesTheRest) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"plain", "plain"},
      {"$(A)", "1"},
      {"-$(A)-$(A)-", "-1-1-"},
      {"$(EMPTY)", ""},
      {"$(UNKNOWN)", "$(UNKNOWN)"},
      {"$$(A)", "$(A)"},
      {"$$$(A)", "$1"},
      {"$$$$(A)", "$$(A)"},
      {"$", "$"},
      {"$$", "$"},
      {"a$", "a$"},
      {"$A ${A}", "$A ${A}"},
      {"$(A", "$(A"},
      {"$(A$(A)", "$(A$(A)"},
      {"$()", "$()"},
      {"$(DOLLAR)", "$(A)"},
      {"$(with space)", "x"},
      {"$((A))", "$((A))"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(Expand(text), want) << text;
}

TEST(ExpandTest, AnyTextWithoutDollarsIsUnchangedAndNothingCrashes) {
  std::mt19937_64 random(20260102);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    const std::size_t size = random() % 12;
    for (std::size_t i = 0; i < size; ++i) text += "$()AB"[random() % 5];
    const std::string out = Expand(text);
    if (text.find('$') == std::string::npos) {
      EXPECT_EQ(out, text);
    }
    EXPECT_LE(out.size(), text.size()) << text;
  }
}

Pod TestPod() {
  Pod pod;
  pod.name = "web";
  pod.namespace_ = "shop";
  pod.uid = "1234";
  pod.labels = {{"app", "front"}};
  pod.annotations = {{"example.com/a'b", "note"}};
  return pod;
}

TEST(EnvTest, FieldsOfThePodAndTheNode) {
  const Pod pod = TestPod();
  const NodeFacts node{.node_name = "node1", .host_ips = {"10.0.0.1", "fd00::1"}, .pod_ips = {"10.244.0.7", "fd01::7"}};
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"metadata.name", "web"},
      {"metadata.namespace", "shop"},
      {"metadata.uid", "1234"},
      {"metadata.labels['app']", "front"},
      {"metadata.labels['none']", ""},
      {"metadata.annotations['example.com/a'b']", "note"},
      {"spec.nodeName", "node1"},
      {"status.hostIP", "10.0.0.1"},
      {"status.podIP", "10.244.0.7"},
      {"status.hostIPs", "10.0.0.1,fd00::1"},
      {"status.podIPs", "10.244.0.7,fd01::7"},
  };
  for (const auto& [path, want] : cases) {
    const Result<std::string> value = FieldValue(pod, path, node);
    ASSERT_TRUE(value) << path;
    EXPECT_EQ(*value, want) << path;
  }
  for (const char* path : {"", "metadata", "metadata.labels", "metadata.labels['']", "metadata.labels[app]",
                           "metadata.labels['app'", "limits.cpu"}) {
    const Result<std::string> value = FieldValue(pod, path, node);
    ASSERT_FALSE(value) << path;
    EXPECT_EQ(value.error().code, Code::kInvalid);
    EXPECT_NE(value.error().message.find("\"" + std::string(path) + "\""), std::string::npos);
  }
}

TEST(EnvTest, ValuesReferToEarlierVariablesOnly) {
  Container container;
  container.env = {{"LATER", "[$(B)]", ""},
                   {"B", "b", ""},
                   {"C", "$(B)$(B)", ""},
                   {"N", "", "metadata.name"},
                   {"U", "http://$(N):$(C)", ""}};
  const Result<Environment> env = ResolveEnv(TestPod(), container, {});
  ASSERT_TRUE(env);
  EXPECT_EQ(*env, (Environment{{"LATER", "[$(B)]"}, {"B", "b"}, {"C", "bb"}, {"N", "web"}, {"U", "http://web:bb"}}));
}

TEST(EnvTest, RepeatedNameKeepsItsPlaceAndTakesTheLastValue) {
  Container container;
  container.env = {{"PATH", "/bin", ""}, {"X", "1", ""}, {"PATH", "/opt:$(PATH)", ""}};
  const Result<Environment> env = ResolveEnv(TestPod(), container, {});
  ASSERT_TRUE(env);
  EXPECT_EQ(*env, (Environment{{"PATH", "/opt:/bin"}, {"X", "1"}}));
}

TEST(EnvTest, BadFieldPathNamesContainerAndVariable) {
  Container container;
  container.name = "app";
  container.env = {{"X", "", "status.nope"}};
  const Result<Environment> env = ResolveEnv(TestPod(), container, {});
  ASSERT_FALSE(env);
  EXPECT_TRUE(env.error().message.starts_with("container app, env X: fieldPath \"status.nope\" is not supported"))
      << env.error().message;
}

// 1,855 bytes of manifest would be 2^39 bytes of environment.
TEST(EnvTest, VariablesThatDoubleEachOtherAreRefusedBeforeTheyAreBuilt) {
  Container container;
  container.name = "app";
  container.env = {{"A0", "xxxxxxxxxx", ""}};
  for (int i = 1; i < 40; ++i) {
    const std::string last = "$(A" + std::to_string(i - 1) + ")";
    container.env.push_back({"A" + std::to_string(i), last + last, ""});
  }
  const Result<Environment> env = ResolveEnv(TestPod(), container, {});
  ASSERT_FALSE(env);
  EXPECT_EQ(env.error().code, Code::kInvalid);
  EXPECT_EQ(env.error().message,
            "container app, env A14: longer than the 131071 bytes that Linux gives to a program in one variable or "
            "argument; put it into a file");
}

TEST(EnvTest, VariablesThatAreTooMuchTogetherAreRefused) {
  Container container;
  container.name = "app";
  container.env = {{"A", std::string(100'000, 'x'), ""}};
  for (int i = 0; i < 70; ++i) container.env.push_back({"B" + std::to_string(i), "$(A)", ""});
  const Result<Environment> env = ResolveEnv(TestPod(), container, {});
  ASSERT_FALSE(env);
  EXPECT_EQ(env.error().message,
            "container app, env B61: variables and arguments are longer than the 6 MiB that Linux gives to a program; "
            "put them into a file");
}

/// A container with `count` variables of 64 KiB.
Container WithLongVariables(const std::string& name, int count) {
  Container container;
  container.name = name;
  container.env.push_back({.name = "LONG", .value = std::string(std::size_t{64} << 10, 'x')});
  for (int i = 1; i < count; ++i) container.env.push_back({.name = "B" + std::to_string(i), .value = "$(LONG)"});
  container.command = {"true"};
  return container;
}

TEST(EnvTest, TheFirstVariableThatIsTooMuchEndsTheWork) {
  // All of them would be 1.2 GiB.
  const auto env = ResolveEnv(Pod(), WithLongVariables("app", 20'000), NodeFacts());
  ASSERT_FALSE(env);
  EXPECT_EQ(env.error().message,
            "container app, env B95: variables and arguments are longer than the 6 MiB that Linux gives to a program; "
            "put them into a file");
}

TEST(EnvTest, TheContainersOfAPodShareABudget) {
  Pod pod;
  pod.init_containers = {WithLongVariables("init", 60)};
  pod.containers = {WithLongVariables("app", 60)};
  EXPECT_TRUE(CheckPodWords(pod, NodeFacts())) << "7.5 MiB";
  for (int i = 0; i < 1000; ++i) pod.containers.push_back(WithLongVariables("c" + std::to_string(i), 60));
  const auto outcome = CheckPodWords(pod, NodeFacts());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::kInvalid);
  EXPECT_TRUE(outcome.error().message.contains("longer than 8 MiB")) << outcome.error().message;
}

TEST(EnvTest, WhatIsSetAgainAndAgainIsBoundedToo) {
  auto document = std::make_shared<ConfigDocument>();
  document->name = "keys";
  for (int i = 0; i < 10'000; ++i) document->data["K" + std::to_string(i)] = "";
  auto documents = std::make_shared<ConfigDocuments>();
  documents->emplace(NameOf(*document), document);
  NodeFacts node;
  node.documents = documents;
  Pod pod;
  pod.namespace_ = "default";
  Container container;
  container.name = "app";
  container.env_from.assign(10, EnvFrom{.kind = DocumentKind::kConfigMap, .name = "keys"});
  EXPECT_TRUE(ResolveEnv(pod, container, node));
  container.env_from.assign(2'000, EnvFrom{.kind = DocumentKind::kConfigMap, .name = "keys"});  // seconds of work
  const auto env = ResolveEnv(pod, container, node);
  ASSERT_FALSE(env);
  EXPECT_TRUE(env.error().message.contains("variables are set too often")) << env.error().message;
  pod.containers.assign(250, container);
  EXPECT_FALSE(CheckPodWords(pod, node)) << "containers that fail have cost something too";
}

TEST(EnvTest, AVariableThatIsReplacedCountsOnce) {
  Container container = WithLongVariables("app", 50);
  for (int i = 0; i < 100; ++i) container.env.push_back({.name = "B1", .value = "$(LONG)"});
  EXPECT_TRUE(ResolveEnv(Pod(), container, NodeFacts()));
}

TEST(EnvTest, AVariableAsLongAsLinuxTakesIsKept) {
  Container container;
  container.env = {{"A", std::string(kLongestWord - 2, 'x'), ""}};
  EXPECT_TRUE(ResolveEnv(TestPod(), container, {}));
  container.env = {{"A", std::string(kLongestWord - 1, 'x'), ""}};
  EXPECT_FALSE(ResolveEnv(TestPod(), container, {}));
}

TEST(EnvTest, ArgumentsThatGrowTooLongAreRefused) {
  Container container;
  container.name = "app";
  container.args = {"ok", "$(A)$(A)"};
  const Result<Container> out = ExpandCommand(container, {{"A", std::string(100'000, 'x')}});
  ASSERT_FALSE(out);
  EXPECT_TRUE(out.error().message.starts_with("container app, args[1]: longer than the 131071 bytes"))
      << out.error().message;
}

TEST(EnvTest, CommandAndArgumentsAreExpanded) {
  Container container;
  container.command = {"/bin/$(P)", "$$(P)"};
  container.args = {"--x=$(P)", "$(Q)"};
  const Result<Container> out = ExpandCommand(container, {{"P", "sh"}});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->command, (std::vector<std::string>{"/bin/sh", "$(P)"}));
  EXPECT_EQ(out->args, (std::vector<std::string>{"--x=sh", "$(Q)"}));
}

/// What variable V comes to; "error: …" when it cannot.
std::string ValueOf(const EnvVar& var, const NodeFacts& facts) {
  Pod pod;
  pod.namespace_ = "shop";
  pod.containers.resize(2);
  Container& container = pod.containers.front();
  container.name = "a";
  container.resources.limits = {{"cpu", Quantity::FromMilli(1500)}};
  container.resources.requests = {{"memory", Quantity::FromBytes(MiB(100))}};
  Container& other = pod.containers.back();
  other.name = "b";
  other.resources.limits = {{"memory", Quantity::FromBytes(GiB(1))}};
  const Result<Environment> env = [&] {
    Container asking = container;
    asking.env = {var};
    return ResolveEnv(pod, asking, facts);
  }();
  if (!env) return "error: " + env.error().message;
  return env->empty() ? "left out" : env->front().second;
}

EnvVar AmountOf(const std::string& resource, const std::string& container, Quantity divisor) {
  return {.name = "V", .resource = ResourceField{.container = container, .resource = resource, .divisor = divisor}};
}

TEST(ResolveEnvTest, AmountsAreHandedOverAsAKubeletRoundsThem) {
  const NodeFacts facts{.allocatable = {{"cpu", Quantity::FromUnits(7)}, {"memory", Quantity::FromBytes(GiB(8))}}};
  const Quantity one = Quantity::FromUnits(1);
  EXPECT_EQ(ValueOf(AmountOf("limits.cpu", "", one), facts), "2");
  EXPECT_EQ(ValueOf(AmountOf("limits.cpu", "", Quantity::FromMilli(1)), facts), "1500");
  EXPECT_EQ(ValueOf(AmountOf("requests.memory", "", one), facts), "104857600");
  EXPECT_EQ(ValueOf(AmountOf("requests.memory", "", Quantity::FromBytes(GiB(1))), facts), "1");
  EXPECT_EQ(ValueOf(AmountOf("requests.ephemeral-storage", "", one), facts), "0");
  EXPECT_EQ(ValueOf(AmountOf("limits.memory", "b", Quantity::FromBytes(MiB(1))), facts), "1024");
  EXPECT_EQ(ValueOf(AmountOf("limits.hugepages-2Mi", "", one), facts), "0");
}

TEST(ResolveEnvTest, AMissingLimitIsWhatTheNodeHasToGive) {
  const NodeFacts facts{.allocatable = {{"cpu", Quantity::FromUnits(7)}, {"memory", Quantity::FromBytes(GiB(8))}}};
  EXPECT_EQ(ValueOf(AmountOf("limits.memory", "", Quantity::FromBytes(GiB(1))), facts), "8");
  EXPECT_EQ(ValueOf(AmountOf("limits.cpu", "b", Quantity::FromUnits(1)), facts), "7");
  const EnvVar storage = AmountOf("limits.ephemeral-storage", "", Quantity::FromBytes(MiB(1)));
  EXPECT_TRUE(ValueOf(storage, facts).starts_with("error: ")) << "of a node that does not say";
  EXPECT_EQ(ValueOf(storage, {.allocatable = {{"ephemeral-storage", Quantity::FromBytes(GiB(1))}}}), "1024");
}

std::shared_ptr<const ConfigDocuments> TwoDocuments() {
  ConfigDocuments out;
  const auto add = [&](ConfigDocument document) {
    const std::string name = NameOf(document);
    out[name] = std::make_shared<const ConfigDocument>(std::move(document));
  };
  add({.kind = DocumentKind::kConfigMap,
       .name = "app",
       .namespace_ = "shop",
       .data = {{"color", "blue"}, {"size", "$(color)"}},
       .binary = {{"logo", "x"}}});
  add({.kind = DocumentKind::kSecret,
       .name = "key",
       .namespace_ = "shop",
       .data = {{"pw", "hunter2"}, {"nul", std::string(1, '\0')}}});
  return std::make_shared<const ConfigDocuments>(std::move(out));
}

TEST(ResolveEnvTest, KeysOfDocumentsBecomeVariables) {
  const NodeFacts facts{.documents = TwoDocuments()};
  const auto key = [&](DocumentKind kind, const std::string& name, const std::string& of, bool optional = false) {
    return ValueOf({.name = "V", .document = DocumentKey{kind, name, of, optional}}, facts);
  };
  EXPECT_EQ(key(DocumentKind::kConfigMap, "app", "color"), "blue");
  EXPECT_EQ(key(DocumentKind::kConfigMap, "app", "size"), "$(color)") << "values of documents are taken as they are";
  EXPECT_EQ(key(DocumentKind::kSecret, "key", "pw"), "hunter2");
  EXPECT_EQ(key(DocumentKind::kConfigMap, "key", "pw"), "error: container a, env V: configmap \"key\" not found");
  EXPECT_EQ(key(DocumentKind::kSecret, "key", "no"),
            "error: container a, env V: couldn't find key no in Secret shop/key");
  EXPECT_EQ(key(DocumentKind::kSecret, "no", "pw", true), "left out");
  EXPECT_EQ(key(DocumentKind::kSecret, "key", "no", true), "left out");
  EXPECT_EQ(key(DocumentKind::kSecret, "key", "nul"),
            "error: container a, env V: a NUL byte is in it, which ends a variable; mount it as a file");
}

TEST(ResolveEnvTest, WholeDocumentsComeFirstAndTheContainersOwnVariablesCount) {
  Pod pod;
  pod.namespace_ = "shop";
  Container container;
  container.name = "a";
  container.env_from = {{DocumentKind::kConfigMap, "app", "P_", false}, {DocumentKind::kSecret, "no", "", true}};
  container.env = {{.name = "P_size", .value = "own"}, {.name = "V", .value = "$(P_color)"}};
  const Result<Environment> env = ResolveEnv(pod, container, {.documents = TwoDocuments()});
  ASSERT_TRUE(env) << env.error().message;
  EXPECT_EQ(*env, (Environment{{"P_color", "blue"}, {"P_size", "own"}, {"V", "blue"}}));
  container.env_from.back().optional = false;
  const Result<Environment> missing = ResolveEnv(pod, container, {.documents = TwoDocuments()});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message, "container a, envFrom: secret \"no\" not found");
}

}  // namespace
}  // namespace berth::runtime
