#include "model/pod_wishes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <string_view>

#include "base/text.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ProblemOf(std::string_view options) {
  const auto parsed = ParseCpuWishes(options);
  return parsed ? "" : parsed.error().message;
}

PodWishes Read(const std::map<std::string, std::string>& annotations, std::string* problem = nullptr) {
  std::vector<WishProblem> problems;
  PodWishes out = ParsePodWishes(annotations, problems);
  std::string first = problems.empty() ? "" : problems[0].annotation + ": " + problems[0].text;
  if (problem != nullptr) {
    *problem = std::move(first);
  } else {
    EXPECT_EQ(first, "");
  }
  return out;
}

TEST(PodWishesTest, OptionsOfTheChoiceOfCpusAreWordsWithCommasBetween) {
  const auto all = ParseCpuWishes(
      " full-pcpus-only,align-by-socket=false, numa=spread,l3=strict, cores = pack,end=high,kind=efficiency,"
      "isolated=avoid ");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_THAT(WordsOf(*all), ElementsAre("align-by-socket=false", "full-pcpus-only", "numa=spread", "l3=strict",
                                         "cores=pack", "end=high", "kind=efficiency", "isolated=avoid"));
  EXPECT_TRUE(ParseCpuWishes("")->empty());
  EXPECT_TRUE(ParseCpuWishes("  ")->empty());
}

TEST(PodWishesTest, AWordThatIsNotKnownIsNamedWithTheNearestThereIs) {
  EXPECT_THAT(ProblemOf("numma=pack"), HasSubstr("\"numma\" is not known (did you mean \"numa\"?"));
  EXPECT_THAT(ProblemOf("l3=strickt"), HasSubstr("l3: \"strickt\" is not known (did you mean \"strict\"?"));
  EXPECT_THAT(ProblemOf("l3"), HasSubstr("there are pack, spread, strict"));
  EXPECT_THAT(ProblemOf("full-pcpu-only"), HasSubstr("did you mean \"full-pcpus-only\"?"));
  EXPECT_THAT(ProblemOf("full-pcpus-only=yes"), HasSubstr("true or false"));
  EXPECT_THAT(ProblemOf("end=low,end=high"), HasSubstr("said twice"));
  EXPECT_THAT(ProblemOf("align-by-socket,align-by-socket"), HasSubstr("said twice"));
  EXPECT_THAT(ProblemOf("end=low,"), HasSubstr("is not known"));
  EXPECT_THAT(ProblemOf("strict-cpu-reservation"), HasSubstr("is not known")) << "it is the node's, not a pod's";
}

TEST(PodWishesTest, PoolsAreForThePodOrForSomeOfItsContainers) {
  const PodWishes all = Read({{"berth.dev/pool", " batch "}});
  EXPECT_EQ(all.PoolOf("main"), "batch");
  EXPECT_FALSE(all.empty());
  const PodWishes some = Read({{"berth.dev/pool", "main=batch, proxy = web"}});
  EXPECT_EQ(some.PoolOf("main"), "batch");
  EXPECT_EQ(some.PoolOf("proxy"), "web");
  EXPECT_EQ(some.PoolOf("other"), "");
  EXPECT_EQ(Read({{"berth.dev/pool", "main=batch,web"}}).PoolOf("other"), "web");
  const auto problem = [](const std::string& text) {
    std::string out;
    Read({{"berth.dev/pool", text}}, &out);
    return out;
  };
  EXPECT_THAT(problem(""), HasSubstr("berth.dev/pool: \"\" is neither a pool's name nor \"container=pool\""));
  EXPECT_THAT(problem("=web"), HasSubstr("is neither"));
  EXPECT_THAT(problem("main="), HasSubstr("is neither"));
  EXPECT_THAT(problem("web,batch"), HasSubstr("two pools have no container's name"));
  EXPECT_THAT(problem("a=web,a=batch"), HasSubstr("container \"a\" is named twice"));
}

TEST(PodWishesTest, WhatThePodSaysIsOverWhatTheNodeSays) {
  const auto node = ParseCpuWishes("l3=pack,end=high,full-pcpus-only");
  const auto pod = ParseCpuWishes("l3=strict,full-pcpus-only=false,numa=pack");
  ASSERT_TRUE(node && pod);
  EXPECT_THAT(WordsOf(Over(*node, *pod)), ElementsAre("full-pcpus-only=false", "numa=pack", "l3=strict", "end=high"));
  EXPECT_EQ(Over(*node, {}), *node);
}

TEST(PodWishesTest, ContainersHaveWishesByNameAndTheOthersOneTogether) {
  const PodWishes wishes = Read({{"berth.dev/cpus", "main=2 exclusive+shared, log = shared , 1 exclusive"},
                                 {"berth.dev/topology-policy", "restricted"},
                                 {"berth.dev/topology-scope", "pod"},
                                 {"berth.dev/other", "?"},
                                 {"example.com/cpus", "?"}});
  using Kind = ContainerCpuWish::Kind;
  ASSERT_NE(wishes.Of("main"), nullptr);
  EXPECT_EQ(*wishes.Of("main"), (ContainerCpuWish{Kind::kMixed, 2}));
  EXPECT_EQ(*wishes.Of("log"), (ContainerCpuWish{Kind::kShared, 0}));
  EXPECT_EQ(*wishes.Of("any"), (ContainerCpuWish{Kind::kExclusive, 1}));
  EXPECT_EQ(wishes.topology_policy, "restricted");
  EXPECT_EQ(wishes.topology_scope, "pod");
  EXPECT_EQ(Read({{"berth.dev/cpus", "main=shared"}}).Of("log"), nullptr);
  EXPECT_TRUE(Read({{"a", "b"}}).empty());
}

TEST(PodWishesTest, AnAnnotationThatCannotBeUnderstoodIsNamed) {
  const auto problem = [](const char* name, const char* value) {
    std::string out;
    Read({{name, value}}, &out);
    return out;
  };
  for (const char* bad : {"", "2", "0 exclusive", "-1 exclusive", "2 exclusive +", "2 exclusive + 3", "exclusive",
                          "shared + 2 exclusive", "2 exclusive shared", "1000001 exclusive", "99999999999 exclusive",
                          "=shared", "a=shared,a=shared", "shared,shared", "a=shared,,"})
    EXPECT_THAT(problem("berth.dev/cpus", bad), HasSubstr("berth.dev/cpus: ")) << bad;
  EXPECT_THAT(problem("berth.dev/topology-policy", "single-numa-nodes"),
              HasSubstr("did you mean \"single-numa-node\"? there are none, best-effort"));
  EXPECT_THAT(problem("berth.dev/topology-scope", "pods"), HasSubstr("did you mean \"pod\"?"));
  EXPECT_THAT(problem("berth.dev/cpu-options", "l4=pack"), HasSubstr("did you mean \"l3\"?"));
}

TEST(PodWishesTest, TheFirstRuleOfANamespaceSaysWhatItsPodsMayAskFor) {
  const std::vector<PodPolicy> policies{{.name = "fast",
                                         .namespaces = {"fast-*", "dpdk"},
                                         .topology_policies = {"restricted"},
                                         .topology_scopes = {},
                                         .cpu_options = {"l3=*", "end=high"},
                                         .cpus = {"mixed"},
                                         .max_cpus = {},
                                         .max_percent = {}},
                                        {.name = "all",
                                         .namespaces = {"*"},
                                         .topology_policies = {},
                                         .topology_scopes = {"*"},
                                         .cpu_options = {},
                                         .cpus = {},
                                         .max_cpus = {},
                                         .max_percent = {}}};
  ASSERT_EQ(FindPolicy(policies, "fast-lane"), &policies[0]);
  ASSERT_EQ(FindPolicy(policies, "default"), &policies[1]);
  EXPECT_EQ(FindPolicy({policies[0]}, "default"), nullptr);
  PodWishes wishes;
  wishes.topology_policy = "restricted";
  wishes.cpu = *ParseCpuWishes("l3=strict,end=high");
  wishes.cpus["a"] = {ContainerCpuWish::Kind::kMixed, 1};
  EXPECT_EQ(WhatIsNotAllowed(policies[0], wishes), "");
  EXPECT_EQ(WhatIsNotAllowed(policies[1], wishes), "topology policy restricted (it allows none)");
  wishes.topology_scope = "pod";
  EXPECT_EQ(WhatIsNotAllowed(policies[0], wishes), "topology scope pod (it allows none)");
  wishes.topology_scope.clear();
  wishes.cpu.numa = Fill::kPack;
  EXPECT_EQ(WhatIsNotAllowed(policies[0], wishes), "CPU option numa=pack (it allows l3=*, end=high)");
  wishes.cpu.numa.reset();
  wishes.cpus["b"] = {};
  EXPECT_EQ(WhatIsNotAllowed(policies[0], wishes), "CPUs that are shared (it allows mixed)");
}

TEST(PodWishesTest, AnnotationsThatBeginLikeOurOwnAndAreUnknownAreNamedWithTheNearest) {
  EXPECT_THAT(UnknownWishes({{"berth.dev/cpu", "shared"}, {"berth.dev/quite-another", "x"}}),
              ElementsAre(WishProblem{"berth.dev/cpu", "unknown annotation, ignored; did you mean \"berth.dev/cpus\"?"},
                          WishProblem{"berth.dev/quite-another", "unknown annotation, ignored"}));
  std::map<std::string, std::string> known = {{"berth.dev/keep-cpus", "a=1"}, {"example.com/cpu", "x"}};
  for (const std::string_view name : kWishAnnotations) known.emplace(name, "");
  EXPECT_THAT(UnknownWishes(known), ElementsAre());
}

/// The obvious way, exponential in the stars.
bool SlowMatch(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*')
    return SlowMatch(pattern.substr(1), text) || (!text.empty() && SlowMatch(pattern, text.substr(1)));
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) && SlowMatch(pattern.substr(1), text.substr(1));
}

TEST(PodWishesTest, GlobsMatchAsTheObviousWayDoes) {
  std::mt19937_64 random(20);
  const auto word = [&](std::string_view letters, std::size_t most) {
    std::string out;
    for (std::size_t n = random() % (most + 1); n > 0; --n) out += letters[random() % letters.size()];
    return out;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string pattern = word("ab*?", 6);
    const std::string text = word("ab", 7);
    ASSERT_EQ(MatchesGlob(pattern, text), SlowMatch(pattern, text)) << pattern << " " << text;
  }
}

}  // namespace
}  // namespace berth
