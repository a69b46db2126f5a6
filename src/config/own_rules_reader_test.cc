// Options of Berth's own for decisions, as settings have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/berth_config.h"

namespace berth::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<ParsedBerthConfiguration> ReadSettings(const std::string& fields) {
  return ParseBerthConfiguration("apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n" + fields, "b.yaml");
}
std::string ProblemOfSettings(const std::string& fields) {
  const auto read = ReadSettings(fields);
  return read ? "" : read.error().message;
}

TEST(OwnRulesReaderTest, ReadsOptionsAndRules) {
  const auto read = ReadSettings(
      "cpuOptions: l3=strict, numa=spread\nisolatedCpus: exclusive\npodPolicies:\n"
      "- {name: fast, namespaces: [fast-*], topologyPolicies: [restricted], topologyScopes: [\"*\"], "
      "cpuOptions: [full-pcpus-only, \"l3=*\"], cpus: [mixed], numaNodes: [\"1\"], maxCpus: 8}\n"
      "- {name: rest, namespaces: [\"*\"], maxCpus: 25%}\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->warnings.empty());
  const OwnRules& own = read->config.own;
  EXPECT_THAT(WordsOf(own.cpu), ElementsAre("numa=spread", "l3=strict"));
  EXPECT_TRUE(own.isolated_apart);
  ASSERT_EQ(own.pods.size(), 2U);
  EXPECT_EQ(own.pods[0].name, "fast");
  EXPECT_THAT(own.pods[0].cpu_options, ElementsAre("full-pcpus-only", "l3=*"));
  EXPECT_THAT(own.pods[0].numa_nodes, ElementsAre("1"));
  EXPECT_EQ(own.pods[0].max_cpus, 8);
  EXPECT_EQ(own.pods[0].max_percent, std::nullopt);
  EXPECT_EQ(own.pods[1].max_percent, 25);
  EXPECT_EQ(ReadSettings("")->config.own, OwnRules());
}

TEST(OwnRulesReaderTest, ReadsPools) {
  const auto read = ReadSettings(
      "cpuPools:\n- {name: batch, namespaces: [jobs-*], maxCpus: 8}\n"
      "- {name: quiet, namespaces: [\"*\"], smt: one-per-core, numaNodes: \"0,2\", minCpus: 2, cpuOptions: "
      "l3=strict}\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->warnings.empty());
  const auto& pools = read->config.own.pools;
  ASSERT_EQ(pools.size(), 2U);
  EXPECT_EQ(pools[0].name, "batch");
  EXPECT_THAT(pools[0].namespaces, ElementsAre("jobs-*"));
  EXPECT_EQ(pools[0].max_cpus, 8);
  EXPECT_EQ(pools[0].min_cpus, 0);
  EXPECT_EQ(pools[0].threads, PoolThreads::kAny);
  EXPECT_EQ(pools[1].threads, PoolThreads::kOnePerCore);
  EXPECT_EQ(FormatIds(pools[1].numa_nodes), "0,2");
  EXPECT_EQ(pools[1].min_cpus, 2);
  EXPECT_THAT(WordsOf(pools[1].cpu), ElementsAre("l3=strict"));
}

TEST(OwnRulesReaderTest, WhatIsWrongWithAPoolIsNamedWithItsPath) {
  const auto pool = [](const std::string& fields) {
    return ProblemOfSettings("cpuPools:\n- {name: a, namespaces: [x]}\n- {" + fields + "}\n");
  };
  EXPECT_EQ(pool("name: b, namespaces: [x]"), "");
  EXPECT_THAT(pool("name: a, namespaces: [x]"), HasSubstr("cpuPools[1]: Invalid value: \"a\": another pool"));
  EXPECT_THAT(pool("name: b"), HasSubstr("cpuPools[1].namespaces: Required value"));
  EXPECT_THAT(pool("namespaces: [x]"), HasSubstr("cpuPools[1].name: Required value"));
  EXPECT_THAT(pool("name: b, namespaces: [x], smt: some"), HasSubstr("cpuPools[1].smt: Unsupported value: \"some\""));
  EXPECT_THAT(pool("name: b, namespaces: [x], numaNodes: one"), HasSubstr("cpuPools[1].numaNodes: Invalid value"));
  EXPECT_THAT(pool("name: b, namespaces: [x], cpuOptions: l9=pack"),
              HasSubstr("cpuPools[1].cpuOptions: Invalid value"));
  EXPECT_THAT(pool("name: b, namespaces: [x], minCpus: -1"), HasSubstr("cpuPools[1].minCpus: Invalid value"));
  EXPECT_THAT(pool("name: b, namespaces: [x], maxCpus: 0"), HasSubstr("cpuPools[1].maxCpus: Invalid value"));
  EXPECT_THAT(pool("name: b, namespaces: [x], minCpus: 3, maxCpus: 2"),
              HasSubstr("cpuPools[1].maxCpus: Invalid value: \"2\": must not be less than minCpus"));
}

TEST(OwnRulesReaderTest, WhatIsWrongIsNamedWithItsPath) {
  EXPECT_THAT(ProblemOfSettings("cpuOptions: l3=strickt"),
              HasSubstr("cpuOptions: Invalid value: l3: \"strickt\" is not known (did you mean \"strict\"?"));
  EXPECT_THAT(ProblemOfSettings("isolatedCpus: none"), HasSubstr("isolatedCpus: Unsupported value: \"none\""));
  const auto rule = [](const std::string& fields) {
    return ProblemOfSettings("podPolicies:\n- {name: a, namespaces: [x]}\n- {" + fields + "}\n");
  };
  EXPECT_THAT(rule("name: a, namespaces: [y]"), HasSubstr("podPolicies[1]: Invalid value: \"a\": another rule"));
  EXPECT_THAT(rule("name: b"), HasSubstr("podPolicies[1].namespaces: Required value"));
  EXPECT_THAT(rule("name: B!, namespaces: [y]"), HasSubstr("podPolicies[1].name: Invalid value"));
  EXPECT_THAT(rule("name: b, namespaces: [y], topologyPolicies: [strict]"),
              HasSubstr("podPolicies[1].topologyPolicies: Unsupported value: \"strict\""));
  EXPECT_THAT(rule("name: b, namespaces: [y], cpus: [own]"), HasSubstr("podPolicies[1].cpus: Unsupported value"));
  EXPECT_THAT(rule("name: b, namespaces: [y], numaNodes: [one]"), HasSubstr("podPolicies[1].numaNodes: Invalid value"));
  EXPECT_THAT(rule("name: b, namespaces: [y], cpuOptions: [l9=pack]"), HasSubstr("podPolicies[1].cpuOptions"));
  for (const char* most : {"-1", "101%", "lots", "1.5", "\"%\"", "[1]"})
    EXPECT_THAT(rule("name: b, namespaces: [y], maxCpus: " + std::string(most)),
                HasSubstr("podPolicies[1].maxCpus: Invalid value"))
        << most;
}

}  // namespace
}  // namespace berth::config
