// What single pods ask for by annotation, and who lets them.
#include "allocator/admission/pod_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/testing/builders.h"
#include "model/promises.h"

namespace berth::allocator {
namespace {

using allocator::testing::MakeContainer;
using allocator::testing::MakeMachine;
using allocator::testing::MakePod;
using allocator::testing::Shape;
using allocator::testing::StaticConfig;
using ::testing::HasSubstr;

PodPolicy Everything(std::string name = "all") {
  PodPolicy out;
  out.name = std::move(name);
  out.namespaces = out.topology_policies = out.topology_scopes = out.cpu_options = out.cpus = {"*"};
  return out;
}

struct PodGuardTest : ::testing::Test {
  /// Two NUMA nodes with four cores of two threads; CPU 0 is reserved.
  static Node Make(std::vector<PodPolicy> policies, const std::string& policy = "best-effort",
                   const std::map<std::string, std::string>& options = {}) {
    KubeletConfiguration config = StaticConfig();
    config.topology_manager_policy = policy;
    config.cpu_manager_policy_options = options;
    config.max_pods = 100;
    auto node = Node::Make(MakeMachine({.nodes_per_socket = 2, .adjacent = true}), config,
                           {.whole_cores = true, .own = {.cpu = {}, .pods = std::move(policies)}});
    BERTH_CHECK(node.has_value());
    return *std::move(node);
  }
  static Pod Of(const std::string& uid, std::vector<Container> containers,
                std::map<std::string, std::string> annotations) {
    Pod out = MakePod(uid, std::move(containers));
    out.annotations = std::move(annotations);
    return out;
  }
  static Container Asks(std::string name, const std::string& cpu) {
    return MakeContainer(std::move(name), {{"cpu", cpu}, {"memory", "1Mi"}});
  }
  static Container Burstable(std::string name, const std::string& cpu) {
    Container out = Asks(std::move(name), cpu);
    out.resources.limits.clear();
    return out;
  }
  Decision Try(const Pod& pod, Trace* trace = nullptr) const { return Decide(node, ledger, pod, {}, trace); }
  /// The message of the rejection; "": it was admitted, and counts from now on.
  std::string Add(const Pod& pod) {
    const Decision decision = Try(pod);
    if (const auto* reject = std::get_if<Reject>(&decision)) return reject->reason + ": " + reject->message;
    Apply(ledger, std::get<Admit>(decision).delta);
    return "";
  }
  const Placement& PlaceOf(const std::string& uid, const std::string& container) const {
    const Placement* const out = FindPlacement(ledger.pods.at(uid), container);
    BERTH_CHECK(out != nullptr);
    return *out;
  }

  Node node = Make({Everything()});
  Ledger ledger = node.EmptyLedger();
};

TEST_F(PodGuardTest, WithoutPoliciesInTheSettingsNobodyHasWhatItsAnnotationsAsk) {
  node = Make({});
  EXPECT_THAT(
      Add(Of("a", {Asks("c", "1")}, {{"berth.dev/topology-policy", "restricted"}})),
      HasSubstr("PodPolicyForbidden: the pod asks for placement by annotation, and this node has no podPolicies"));
  EXPECT_EQ(Add(Of("b", {Asks("c", "1")}, {{"berth.dev/else", "restricted"}})), "");
}

TEST_F(PodGuardTest, TheRuleThatRefusesIsNamed) {
  PodPolicy fast = Everything("fast");
  fast.namespaces = {"fast-*"};
  fast.topology_policies = {"restricted"};
  node = Make({fast});
  Pod pod = Of("a", {Asks("c", "1")}, {{"berth.dev/topology-policy", "single-numa-node"}});
  EXPECT_THAT(Add(pod), HasSubstr("none of this node's podPolicies is for namespace default"));
  pod.namespace_ = "fast-lane";
  EXPECT_THAT(Add(pod), HasSubstr("rule \"fast\" of podPolicies does not allow topology policy single-numa-node (it "
                                  "allows restricted)"));
  pod.annotations["berth.dev/topology-policy"] = "restricted";
  EXPECT_EQ(Add(pod), "");
  EXPECT_EQ(ledger.pods.at("a").rule, "fast");
}

TEST_F(PodGuardTest, AnAnnotationThatCannotBeUnderstoodIsNeverPassedOver) {
  EXPECT_THAT(Add(Of("a", {Asks("c", "1")}, {{"berth.dev/topology-policy", "strict"}})),
              HasSubstr("PodPolicyForbidden: berth.dev/topology-policy: \"strict\" is not known"));
}

TEST_F(PodGuardTest, ThePodsPolicyCountsForItAlone) {
  ASSERT_EQ(Add(Of("a", {Asks("c", "4")}, {})), "");
  ASSERT_EQ(Add(Of("b", {Asks("c", "5")}, {})), "");
  // 3 and 3 CPUs are left on the nodes, 1 of them reserved.
  const Pod wide = Of("w", {Asks("c", "4")}, {{"berth.dev/topology-policy", "single-numa-node"}});
  EXPECT_THAT(Add(wide), HasSubstr("TopologyAffinityError"));
  EXPECT_EQ(Add(Of("w", {Asks("c", "4")}, {})), "") << "the node's own is best-effort";
}

TEST_F(PodGuardTest, TheScopeIsThePodsOwn) {
  const std::vector<Container> two{Asks("a", "3"), Asks("b", "3")};
  ASSERT_EQ(Add(Of("each", two, {{"berth.dev/topology-policy", "single-numa-node"}})), "");
  ASSERT_EQ(Add(Of("f", {Asks("c", "3")}, {})), "");
  const Decision together =
      Try(Of("both", {Asks("a", "3"), Asks("b", "3")},
             {{"berth.dev/topology-policy", "single-numa-node"}, {"berth.dev/topology-scope", "pod"}}));
  ASSERT_TRUE(std::holds_alternative<Reject>(together));
  EXPECT_EQ(std::get<Reject>(together).container, "") << "the pod as a whole fits on no node";
}

TEST_F(PodGuardTest, WholeCoresAreGivenToWhoAsksForThem) {
  ASSERT_EQ(Add(Of("one", {Asks("c", "1")}, {})), "");
  EXPECT_THAT(Add(Of("odd", {Asks("c", "3")}, {{"berth.dev/cpu-options", "full-pcpus-only"}})),
              HasSubstr("SMTAlignmentError"));
  ASSERT_EQ(Add(Of("two", {Asks("c", "2")}, {{"berth.dev/cpu-options", "full-pcpus-only"}})), "");
  const CpuSet cpus = *PlaceOf("two", "c").cpus;
  EXPECT_EQ(node.tables().topology.Whole(cpus, Level::kCore), cpus);
  EXPECT_THAT(
      Add(Of("x", {Asks("c", "2")}, {{"berth.dev/cpu-options", "full-pcpus-only, distribute-cpus-across-cores"}})),
      HasSubstr("can not be used at the same time"));
}

TEST_F(PodGuardTest, AllPodsOfARuleTogetherHaveNoMoreCpusThanItLets) {
  PodPolicy few = Everything("few");
  few.max_cpus = 5;
  node = Make({few});
  const std::map<std::string, std::string> asks{{"berth.dev/topology-policy", "restricted"}};
  ASSERT_EQ(Add(Of("free", {Asks("c", "4")}, {})), "") << "it asks for nothing of its own and is under no rule";
  ASSERT_EQ(Add(Of("a", {Asks("c", "3")}, asks)), "");
  const Decision over = Try(Of("b", {Asks("c", "3")}, asks));
  const auto* const reject = std::get_if<Reject>(&over);
  ASSERT_NE(reject, nullptr);
  EXPECT_EQ(reject->message, "rule \"few\" of podPolicies allows 5 exclusive CPUs for all its pods together");
  EXPECT_EQ(reject->details, std::vector<std::string>{"cpu: 3 exclusive CPUs asked, 3 of 5 are given (1 CPU over)"});
  ASSERT_EQ(Add(Of("b", {Asks("c", "2")}, asks)), "");
  Apply(ledger, Release(node, ledger, "a", nullptr));
  EXPECT_EQ(Add(Of("c", {Asks("c", "3")}, asks)), "");
  few.max_cpus.reset();
  few.max_percent = 20;  // of the 15 that may be exclusive
  node = Make({few});
  EXPECT_THAT(Add(Of("d", {Asks("c", "1")}, asks)), HasSubstr("allows 3 exclusive CPUs"));
}

TEST_F(PodGuardTest, AContainerOfAPodThatIsNotGuaranteedHasCpusOfItsOwn) {
  Trace trace;
  const Pod pod = Of("p", {Burstable("main", "2500m"), Burstable("log", "100m")},
                     {{"berth.dev/cpus", "main=2 exclusive + shared"}});
  ASSERT_TRUE(std::holds_alternative<Admit>(Try(pod, &trace)));
  ASSERT_EQ(Add(pod), "");
  EXPECT_EQ(PlaceOf("p", "main").cpus->Count(), 2);
  EXPECT_TRUE(PlaceOf("p", "main").mixed);
  EXPECT_EQ(PlaceOf("p", "log").cpus, std::nullopt);
  EXPECT_FALSE(ledger.shared.Intersects(*PlaceOf("p", "main").cpus));
  std::string told;
  for (const TraceStep& step : trace.steps()) told += step.text + "\n";
  EXPECT_THAT(told, HasSubstr("CPUs of its containers; rule \"all\" of podPolicies lets it"));
  EXPECT_THAT(told, HasSubstr("asks for 2 exclusive CPUs and the shared pool beside"));
  EXPECT_THAT(told, HasSubstr("taken: 2-3, with the shared pool beside"));
}

TEST_F(PodGuardTest, SidecarsAreKeptOff) {
  Pod pod = Of("p", {Asks("main", "2")}, {{"berth.dev/cpus", "proxy=shared"}});
  pod.init_containers = {allocator::testing::Sidecar(Asks("proxy", "1"))};
  ASSERT_EQ(Add(pod), "");
  EXPECT_EQ(PlaceOf("p", "proxy").cpus, std::nullopt);
  EXPECT_EQ(PlaceOf("p", "main").cpus->Count(), 2);
  EXPECT_FALSE(PlaceOf("p", "main").mixed);
}

TEST_F(PodGuardTest, CpusOfItsOwnComeOutOfTheRequest) {
  EXPECT_THAT(Add(Of("p", {Burstable("main", "1500m")}, {{"berth.dev/cpus", "2 exclusive"}})),
              HasSubstr("container \"main\" asks for 2 exclusive CPUs and requests 1500m: request at least as many"));
  KubeletConfiguration none;
  none.eviction_hard.emplace();
  const auto made = Node::Make(MakeMachine({}), none, {.own = {.cpu = {}, .pods = {Everything()}}});
  ASSERT_TRUE(made);
  node = *made;
  ledger = node.EmptyLedger();
  EXPECT_THAT(Add(Of("p", {Burstable("main", "2")}, {{"berth.dev/cpus", "2 exclusive"}})),
              HasSubstr("cpuManagerPolicy none (set static)"));
  EXPECT_EQ(Add(Of("q", {Burstable("main", "2")}, {{"berth.dev/cpus", "shared"}})), "");
}

TEST_F(PodGuardTest, OptionsOfTheNodeAreHeldAgainstItsPolicies) {
  KubeletConfiguration config;
  config.eviction_hard.emplace();
  const EngineOptions spread{.own = {.cpu = *ParseCpuWishes("full-pcpus-only"), .pods = {}}};
  auto made = Node::Make(MakeMachine({}), config, spread);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("cpuOptions: nobody has CPUs of its own under cpuManagerPolicy none"));
  config = StaticConfig();
  config.cpu_manager_policy_options["distribute-cpus-across-numa"] = "true";
  made = Node::Make(MakeMachine({}), config, {.own = {.cpu = *ParseCpuWishes("end=high"), .pods = {}}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("cpuOptions: distribute-cpus-across-numa cannot be used together"));
  EXPECT_TRUE(Node::Make(MakeMachine({}), StaticConfig(), spread));
}

// ---- a pod's own settings are those of a node that has them for all -------------------------------------------------

struct DrawnSettings {
  std::string policy;
  std::string scope;
  std::string options;  // kubelet's, as an annotation says them
};

class TwinSettings {
 public:
  explicit TwinSettings(std::mt19937_64& random) : random_(random) {}
  std::size_t Below(std::size_t n) { return random_() % n; }
  DrawnSettings Draw() {
    constexpr const char* kPolicies[] = {"none", "best-effort", "restricted", "single-numa-node"};
    constexpr const char* kOptions[] = {"",
                                        "full-pcpus-only",
                                        "distribute-cpus-across-numa",
                                        "distribute-cpus-across-cores",
                                        "prefer-align-cpus-by-uncorecache",
                                        "full-pcpus-only, distribute-cpus-across-numa"};
    return {kPolicies[Below(4)], Below(2) == 0 ? "pod" : "container", kOptions[Below(6)]};
  }

 private:
  std::mt19937_64& random_;
};

Result<Node> NodeOfSettings(const Machine& machine, const DrawnSettings& settings, std::vector<PodPolicy> policies) {
  KubeletConfiguration config = StaticConfig();
  config.topology_manager_policy = settings.policy;
  config.topology_manager_scope = settings.scope;
  config.feature_gates["CPUManagerPolicyAlphaOptions"] = true;
  const auto words = ParseCpuWishes(settings.options);
  BERTH_CHECK(words.has_value());
  for (const auto& [name, on] : words->kubelet) config.cpu_manager_policy_options[name] = on ? "true" : "false";
  return Node::Make(machine, config, {.whole_cores = true, .own = {.cpu = {}, .pods = std::move(policies)}});
}

/// All five options, on or off: over whatever the node says.
std::string AllOptions(const std::string& on) {
  const CpuWishes wished = *ParseCpuWishes(on);
  std::string out;
  for (const char* name : {"full-pcpus-only", "distribute-cpus-across-numa", "distribute-cpus-across-cores",
                           "prefer-align-cpus-by-uncorecache", "align-by-socket"})
    out += std::string(out.empty() ? "" : ",") + name + (wished.kubelet.contains(name) ? "" : "=false");
  return out;
}

TEST(PodRulesPropertyTest, APodWithSettingsOfItsOwnIsPlacedAsOnANodeThatHasThem) {
  constexpr std::uint64_t kSeeds = 150;
  int admitted = 0;
  int rejected = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TwinSettings draw(random);
    const Machine machine = MakeMachine({.sockets = 1 + static_cast<int>(draw.Below(2)),
                                         .nodes_per_socket = 1 + static_cast<int>(draw.Below(2)),
                                         .cores_per_node = 4,
                                         .adjacent = draw.Below(2) == 0,
                                         .hugepages = {},
                                         .cores_per_uncore = 2,
                                         .offline = {}});
    const DrawnSettings nodes = draw.Draw();
    const auto node = NodeOfSettings(machine, nodes, {Everything()});
    ASSERT_TRUE(node) << node.error().message;
    Ledger ledger = node->EmptyLedger();
    std::vector<std::string> there;
    for (int step = 0; step < 25; ++step) {
      if (!there.empty() && draw.Below(3) == 0) {
        const std::size_t gone = draw.Below(there.size());
        Apply(ledger, Release(*node, ledger, there[gone], nullptr));
        there.erase(there.begin() + static_cast<std::ptrdiff_t>(gone));
        continue;
      }
      const DrawnSettings own = draw.Draw();
      const auto twin = NodeOfSettings(machine, own, {});
      ASSERT_TRUE(twin) << twin.error().message;
      const std::string uid = "p" + std::to_string(step);
      std::vector<Container> containers;
      for (std::size_t n = 1 + draw.Below(2); n > 0; --n)
        containers.push_back(
            MakeContainer("c" + std::to_string(n), {{"cpu", std::to_string(1 + draw.Below(5))}, {"memory", "1Mi"}}));
      const Pod plain = MakePod(uid, containers);
      Pod asking = plain;
      asking.annotations = {{"berth.dev/topology-policy", own.policy},
                            {"berth.dev/topology-scope", own.scope},
                            {"berth.dev/cpu-options", AllOptions(own.options)}};
      Decision mine = Decide(*node, ledger, asking, {}, nullptr);
      const Decision its = Decide(*twin, ledger, plain, {}, nullptr);
      if (auto* admit = std::get_if<Admit>(&mine)) {
        EXPECT_EQ(std::exchange(admit->delta.put->rule, ""), "all");
        ++admitted;
      } else {
        ++rejected;
      }
      ASSERT_EQ(mine, its) << own.policy << " " << own.scope << " " << own.options << " on " << nodes.policy;
      if (const auto* admit = std::get_if<Admit>(&its)) {
        Apply(ledger, admit->delta);
        there.push_back(uid);
      }
    }
    for (const std::string& uid : there) Apply(ledger, Release(*node, ledger, uid, nullptr));
    EXPECT_EQ(ledger.shared, node->EmptyLedger().shared);
  }
  EXPECT_GT(admitted, 500);
  EXPECT_GT(rejected, 200);
}

TEST(PodRulesPropertyTest, MixedAndKeptOffContainersKeepAllPromises) {
  constexpr std::uint64_t kSeeds = 60;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TwinSettings draw(random);
    const auto node = NodeOfSettings(MakeMachine({.nodes_per_socket = 2}), draw.Draw(), {Everything()});
    ASSERT_TRUE(node);
    const NodeFacts facts = FactsOf(node->machine(), node->config(), node->reserved_cpus(), {});
    Ledger ledger = node->EmptyLedger();
    std::set<std::string> there;
    for (int step = 0; step < 40; ++step) {
      if (!there.empty() && draw.Below(3) == 0) {
        Apply(ledger, Release(*node, ledger, *there.begin(), nullptr));
        there.erase(there.begin());
      } else {
        constexpr const char* kWishes[] = {"a=1 exclusive + shared", "a=shared", "b=2 exclusive", "shared",
                                           "a=2 exclusive+shared,b=1 exclusive"};
        Pod pod = MakePod("p" + std::to_string(step), {MakeContainer("a", {{"cpu", "2"}, {"memory", "1Mi"}}),
                                                       MakeContainer("b", {{"cpu", "2"}, {"memory", "1Mi"}})});
        pod.annotations["berth.dev/cpus"] = kWishes[draw.Below(5)];
        if (draw.Below(2) == 0) pod.containers[0].resources.limits.clear();
        const Decision decision = Decide(*node, ledger, pod, {}, nullptr);
        if (const auto* admit = std::get_if<Admit>(&decision)) {
          Apply(ledger, admit->delta);
          there.insert(pod.uid);
        }
      }
      ASSERT_EQ(BrokenPromises(facts, FactsOf(ledger, there)), std::vector<std::string>());
      ASSERT_EQ(Contradictions(ledger), std::vector<std::string>());
    }
    for (const std::string& uid : there) Apply(ledger, Release(*node, ledger, uid, nullptr));
    EXPECT_EQ(ledger.shared, node->EmptyLedger().shared);
  }
}

}  // namespace
}  // namespace berth::allocator
