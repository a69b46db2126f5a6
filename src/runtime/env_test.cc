#include "runtime/env.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

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

}  // namespace
}  // namespace berth::runtime
