// Random fleets and pods that come and go: a fleet says what the engine would decide on each node's own ledger.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/testing/random_node.h"
#include "base/text.h"
#include "simulator/cluster/fleet.h"

namespace berth::cluster {
namespace {

using allocator::testing::PropertySteps;
using allocator::testing::RandomNode;

/// A node as one berthd would keep it.
struct Twin {
  allocator::Node node;
  allocator::Inputs inputs;
  Ledger ledger;

  NodeDescription Description() const { return {node.machine(), node.config(), node.options(), inputs.devices}; }
  Decision Decide(const Pod& pod) const { return allocator::Decide(node, ledger, pod, inputs, nullptr); }
  bool Assume(const Pod& pod) {
    const Decision decision = Decide(pod);
    if (const auto* const admit = std::get_if<Admit>(&decision); admit != nullptr && !ledger.pods.contains(pod.uid))
      Apply(ledger, admit->delta);
    return std::holds_alternative<Admit>(decision);
  }
  void Release(const std::string& uid) {
    if (ledger.pods.contains(uid)) Apply(ledger, allocator::Release(node, ledger, uid, nullptr));
  }
  void Start(const std::string& uid) {
    const auto known = ledger.pods.find(uid);
    if (known == ledger.pods.end()) return;
    const std::vector<Placement> placements = known->second.placements;
    for (const Placement& placement : placements) {
      const LedgerDelta delta = allocator::ContainerStarted(node, ledger, uid, placement.container, nullptr);
      if (delta.put) Apply(ledger, delta);
    }
  }
};

std::string EngineReason(const Reject& reject) {
  return reject.details.empty() ? reject.message : Join(reject.details, "; ");
}

/// One fleet's life.
class FleetLife {
 public:
  explicit FleetLife(std::uint64_t seed) : random_(seed), seed_(seed) {}

  /// Returns how many answers were compared.
  int Run() {
    MakeNodes();
    if (twins_.empty()) return 0;
    for (int kind = 0; kind < 2; ++kind) MakeShapes();
    for (int step = 0; step < 30 && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE("seed " + std::to_string(seed_) + " step " + std::to_string(step));
      Step();
    }
    return compared_;
  }

 private:
  /// Kinds that differ in little: the same machine under another scope, with another option, or with a device less.
  void MakeNodes() {
    for (unsigned machines = 1 + random_.Roll(2); machines > 0; --machines) {
      const std::optional<allocator::Node> drawn = random_.MakeNode();
      if (!drawn) continue;
      const allocator::Inputs inputs = random_.MakeInputs(*drawn);
      for (unsigned kinds = 2 + random_.Roll(3); kinds > 0; --kinds) AddKind(*drawn, inputs);
    }
    for (std::size_t i = 0; i < twins_.size(); ++i)
      ASSERT_TRUE(fleet_.Put(NameOf(i), twins_[i].Description(), twins_[i].ledger).has_value());
  }
  void AddKind(const allocator::Node& drawn, allocator::Inputs inputs) {
    allocator::EngineOptions options = drawn.options();
    KubeletConfiguration config = drawn.config();
    options.own.isolated_apart = random_.OneIn(3);
    switch (random_.Roll(6)) {
      case 0:
      case 1: config.topology_manager_scope = config.topology_manager_scope == "pod" ? "container" : "pod"; break;
      case 2: options.node_fit = !options.node_fit; break;
      case 3: options.whole_cores = true; break;
      case 4: options.close_devices = true; break;
      default:
        for (auto& [resource, devices] : inputs.devices)
          if (!devices.empty()) devices.front().healthy = !devices.front().healthy;
    }
    const auto made = allocator::Node::Make(drawn.machine(), config, options);
    if (!made || made->EmptyLedger().shared.empty()) return;
    for (unsigned equal = 1 + random_.Roll(3); equal > 0; --equal)
      twins_.push_back({.node = *made, .inputs = inputs, .ledger = made->EmptyLedger()});
  }
  /// Pods that differ in little, so that an answer to one would not do for another.
  void MakeShapes() {
    const Pod pod = random_.MakePodOfAnyKind();
    for (int i = 0; i < 7; ++i) shapes_.push_back(pod);
    Pod* other = &shapes_[shapes_.size() - 6];
    other++->containers.front().resources.limits.clear();
    other++->containers.front().resources.requests.clear();
    other->status_qos = other->status_qos ? std::nullopt : std::optional(QosClass::kBurstable);
    ++other;
    if (other->resources) {
      other->resources.reset();
    } else {
      other->resources = {.requests = {{"cpu", allocator::testing::Q("2")}}, .limits = {}};
    }
    ++other;
    if (!other->init_containers.empty())
      other->init_containers.front().restartable_init = !other->init_containers.front().restartable_init;
    ++other;
    other->overhead["memory"] = allocator::testing::Q("3Gi");
  }
  static std::string NameOf(std::size_t i) { return "n" + std::to_string(i); }

  Pod NextPod() {
    Pod out = shapes_[random_.Roll(static_cast<unsigned>(shapes_.size()))];
    out.uid = "pod-" + std::to_string(next_++);
    return out;
  }
  std::string AnyUid() { return "pod-" + std::to_string(random_.Roll(static_cast<unsigned>(next_ + 1))); }
  NodeIndex AnyNode() { return random_.Roll(static_cast<unsigned>(twins_.size())); }

  void Step() {
    switch (random_.Roll(8)) {
      case 0: {
        const std::string uid = AnyUid();
        fleet_.Release(uid);
        for (Twin& twin : twins_) twin.Release(uid);
        break;
      }
      case 1:
      case 2: {
        const std::string uid = AnyUid();
        const NodeIndex node = AnyNode();
        fleet_.Release(uid, node);
        twins_[node].Release(uid);
        break;
      }
      case 3: {
        const std::string uid = AnyUid();
        const NodeIndex node = AnyNode();
        fleet_.Start(uid, node);
        twins_[node].Start(uid);
        break;
      }
      default: {
        Pod pod = NextPod();
        if (random_.OneIn(6)) pod.uid = AnyUid();  // on several nodes, or there already
        const NodeIndex node = AnyNode();
        ASSERT_EQ(fleet_.Assume(pod, node).admitted, twins_[node].Assume(pod));
      }
    }
    Compare(fleet_);
    Fleet fresh;
    for (std::size_t i = 0; i < twins_.size(); ++i)
      ASSERT_TRUE(fresh.Put(NameOf(i), twins_[i].Description(), twins_[i].ledger).has_value());
    ASSERT_EQ(fresh.states(), fleet_.states());
    ASSERT_EQ(fresh.kinds(), fleet_.kinds());
    Pod pod = NextPod();
    const Verdicts here = fleet_.Filter(pod);
    const Verdicts there = fresh.Filter(pod);
    for (std::size_t i = 0; i < twins_.size(); ++i) {
      const auto node = static_cast<NodeIndex>(i);
      ASSERT_EQ(here.nodes[i].admitted, there.nodes[i].admitted);
      ASSERT_EQ(here.nodes[i].why, there.nodes[i].why);
      if (here.nodes[i].admitted) {
        ASSERT_EQ(fleet_.Score(here, here.nodes[i]), fresh.Score(there, there.nodes[i]));
      }
      ASSERT_EQ(fleet_.Figures(node).cpu_milli_requested, fresh.Figures(node).cpu_milli_requested);
      ASSERT_EQ(fleet_.Figures(node).pods, twins_[i].ledger.pods.size());
    }
  }

  void Compare(Fleet& fleet) {
    Pod pod = NextPod();
    if (random_.OneIn(5)) pod.uid = AnyUid();
    const Verdicts verdicts = fleet.Filter(pod);
    ASSERT_EQ(verdicts.nodes.size(), twins_.size());
    for (const Verdict& verdict : verdicts.nodes) {
      const Decision decision = twins_[verdict.node].Decide(pod);
      const auto* const reject = std::get_if<Reject>(&decision);
      ++compared_;
      ASSERT_EQ(verdict.admitted, reject == nullptr) << (reject == nullptr ? "" : EngineReason(*reject));
      if (reject == nullptr) continue;
      const std::string reason = fleet.Reason(verdicts, verdict);
      if (verdict.why == Why::kDecided) {
        ASSERT_EQ(reason, EngineReason(*reject));
      } else {
        ASSERT_TRUE(reason.ends_with("short)")) << reason;
      }
    }
  }

  RandomNode random_;
  std::uint64_t seed_;
  std::vector<Twin> twins_;
  Fleet fleet_{[](std::size_t count, const std::function<void(std::size_t)>& work) {
    for (std::size_t i = count; i-- > 0;) work(i);  // in any order
  }};
  std::vector<Pod> shapes_;
  unsigned next_ = 0;
  int compared_ = 0;
};

TEST(FleetPropertyTest, SaysOfEveryNodeWhatItsEngineDecides) {
  const int wanted = PropertySteps(6000);
  int compared = 0;
  for (std::uint64_t seed = 1; compared < wanted && !HasFailure(); ++seed) compared += FleetLife(seed).Run();
}

}  // namespace
}  // namespace berth::cluster
