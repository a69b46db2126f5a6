// Plug-ins that come, go and lie while pods come and go: what must hold after every step, and that all devices come
// back.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/testing/random_node.h"
#include "frontend/static_pods/device_questions.h"
#include "model/resources.h"
#include "node/device_manager/device_plugin_messages.h"
#include "node/device_manager/played_plugin_test.h"
#include "node/pods/device_book.h"

namespace berth::pods {
namespace {

using allocator::testing::PropertySteps;
using allocator::testing::RandomNode;

constexpr std::array kResources = {"a.com/gpu", "b.com/nic"};
constexpr unsigned kDevices = 8;  // of each, at most

/// What a plug-in server would know of plug-ins that say anything.
class RandomPlugins final : public device_manager::Plugins {
 public:
  RandomPlugins(RandomNode& random, NodeSet nodes) : random_(random), nodes_(std::move(nodes)) {}

  int event_fd() const override { return -1; }
  std::shared_ptr<const device_manager::Known> known() const override { return known_; }
  std::vector<device_manager::Note> TakeNotes() override { return {}; }
  DeviceFigures figures() const override { return {}; }
  os::MonoTime next_due() const override { return os::MonoTime::max(); }
  void Forget(os::MonoTime) override {}
  Result<DeviceAnswer> Allocate(const std::string&, const std::vector<std::string>&) override {
    if (random_.OneIn(8)) return Fail(Code::kInternal, "no");
    return DeviceAnswer();
  }
  Result<void> PreStart(const std::string&, const std::vector<std::string>&) override { return {}; }
  /// Of those that were offered and others, some twice, too few or too many.
  Result<std::vector<std::string>> Prefer(const std::string&, const device_manager::PreferenceQuestion&) override {
    if (random_.OneIn(16)) return Fail(Code::kInternal, "no");
    std::vector<std::string> out;
    for (unsigned count = random_.Roll(2 * kDevices); count > 0; --count)
      out.push_back("d" + std::to_string(random_.Roll(kDevices + 2)));
    return out;
  }

  void ChangeOne() {
    const std::string resource = kResources[random_.Roll(kResources.size())];
    device_manager::Known now = *known_;
    const auto served = now.resources.find(resource);
    const bool ready = served != now.resources.end() && served->second.ready;
    switch (random_.Roll(8)) {
      case 0:
      case 1: Register(now, resource, AnyList()); break;
      case 2:
        if (served != now.resources.end() && !ready) Drop(now, resource);
        break;
      case 3:
        if (ready) Leave(now, resource);
        break;
      default:
        if (ready) List(now, resource, AnyList());
    }
    known_ = std::make_shared<const device_manager::Known>(std::move(now));
  }
  /// As berthd finds it when it starts: what is `held` is waited for.
  void StartAnew(const std::set<std::string>& held) {
    device_manager::Known now;
    for (const std::string& resource : held) {
      now.resources[resource] = {};
      now.devices[resource] = {};
    }
    known_ = std::make_shared<const device_manager::Known>(std::move(now));
  }
  /// Every plug-in, with all it could ever have.
  void ComeBack() {
    std::vector<device_manager::PlayedDevice> all;
    for (unsigned i = 0; i < kDevices; ++i) all.push_back({"d" + std::to_string(i)});
    device_manager::Known now = *known_;
    for (const char* const resource : kResources) Register(now, resource, device_manager::ListOf(all));
    known_ = std::make_shared<const device_manager::Known>(std::move(now));
  }

 private:
  /// The bytes of a list: ids that are empty or there twice, health and NUMA nodes that nobody knows; some end too
  /// early.
  std::string AnyList() {
    constexpr std::array kHealth = {"Healthy", "Healthy", "Healthy", "Healthy",   "Healthy",
                                    "Healthy", "Healthy", "perhaps", "Unhealthy", ""};
    std::vector<device_manager::PlayedDevice> devices;
    for (unsigned count = random_.Roll(2 * kDevices); count > 0; --count) {
      device_manager::PlayedDevice& device = devices.emplace_back();
      if (!random_.OneIn(16)) device.id = "d" + std::to_string(random_.Roll(kDevices));
      device.health = kHealth[random_.Roll(kHealth.size())];
      if (!random_.OneIn(3)) device.nodes = {static_cast<std::int64_t>(random_.Roll(6)) - 1};
    }
    std::string out = device_manager::ListOf(devices);
    if (random_.OneIn(20) && !out.empty()) out.pop_back();
    return out;
  }
  void Register(device_manager::Known& now, const std::string& resource, const std::string& bytes) {
    now.resources[resource] = {
        .endpoint = "any.sock", .ready = true, .options = {.pre_start = false, .preferred = random_.OneIn(2)}};
    now.gone.erase(resource);
    ++now.registrations;
    List(now, resource, bytes);
  }
  /// Who sends nonsense is gone.
  void List(device_manager::Known& now, const std::string& resource, const std::string& bytes) {
    auto list = device_manager::ReadDeviceList(bytes, nodes_);
    if (list)
      now.devices[resource] = std::move(list->devices);
    else
      Leave(now, resource);
  }
  static void Leave(device_manager::Known& now, const std::string& resource) {
    now.resources[resource].ready = false;
    for (Device& device : now.devices[resource]) device.healthy = false;
  }
  static void Drop(device_manager::Known& now, const std::string& resource) {
    now.resources.erase(resource);
    now.devices.erase(resource);
    now.gone.insert(resource);
  }

  RandomNode& random_;
  const NodeSet nodes_;
  std::shared_ptr<const device_manager::Known> known_ = std::make_shared<const device_manager::Known>();
};

/// What it came to: a run in which little happens shows nothing.
struct Tally {
  int admitted = 0;   // with devices
  int preferred = 0;  // of these, after plug-ins were asked
  int refused = 0;    // by a plug-in
  int kept = 0;       // decided again after a start
};

/// One node's life. Faults are told with the seed.
class DeviceLife {
 public:
  DeviceLife(RandomNode& random, const allocator::Node& node, Tally& tally)
      : random_(random),
        node_(node),
        tally_(tally),
        plugins_(random, AllNodes(node.machine())),
        book_(&plugins_),
        ledger_(node.EmptyLedger()) {}

  void Step() {
    switch (random_.Roll(8)) {
      case 0:
      case 1:
      case 2: plugins_.ChangeOne(); break;
      case 3:
      case 4: ReleaseOne(); break;
      case 5:
        if (random_.OneIn(20)) StartAnew();
        break;
      default: Arrive(random_.OneIn(4) ? random_.MakePod() : SmallPod());
    }
    book_.Refresh();
    ExpectBookIsTrue();
  }

  void End() {
    while (!pods_.empty()) ReleaseOne();
    EXPECT_EQ(ledger_.shared, node_.EmptyLedger().shared);
    EXPECT_EQ(ledger_.memory, node_.EmptyLedger().memory);
    EXPECT_TRUE(ledger_.pods.empty());
    plugins_.ComeBack();
    book_.Refresh();
    for (const char* const resource : kResources) {
      Pod pod;
      pod.uid = pod.name = resource;
      pod.containers.push_back(allocator::testing::MakeContainer("all", {{resource, std::to_string(kDevices)}}));
      const Decision decision = allocator::Decide(node_, ledger_, pod, book_.inputs(), nullptr);
      EXPECT_TRUE(std::holds_alternative<Admit>(decision)) << resource << ": a device is lost";
    }
  }

 private:
  static NodeSet AllNodes(const Machine& machine) {
    NodeSet out;
    for (const NumaNode& node : machine.nodes) out.Insert(node.id);
    return out;
  }

  /// Little but devices, so that these are what is short.
  Pod SmallPod() {
    Pod out;
    out.uid = out.name = "small-" + std::to_string(made_++);
    for (unsigned count = random_.Roll(2); count > 0; --count) {
      out.init_containers.push_back(SmallContainer("i" + std::to_string(count)));
      out.init_containers.back().restartable_init = random_.OneIn(3);
    }
    for (unsigned count = 1 + random_.Roll(2); count > 0; --count)
      out.containers.push_back(SmallContainer("c" + std::to_string(count)));
    return out;
  }
  Container SmallContainer(std::string name) {
    std::map<std::string, std::string> amounts;
    for (const char* const resource : kResources)
      if (random_.OneIn(2)) amounts[resource] = std::to_string(1 + random_.Roll(2));
    return allocator::testing::MakeContainer(std::move(name), amounts);
  }

  void Arrive(Pod pod) {
    const PodRecord* const record = Propose(pod);
    if (record == nullptr) return;
    bool has_devices = false;
    bool refused = false;
    for (const Placement& placement : record->placements)
      for (const DeviceAssignment& given : placement.devices) {
        has_devices = true;
        Take(pod, placement.container, given);
        refused = refused || !plugins_.Allocate(given.resource, given.ids);
      }
    tally_.admitted += has_devices ? 1 : 0;
    tally_.refused += refused ? 1 : 0;
    const std::string uid = pod.uid;
    pods_.emplace(uid, std::move(pod));
    if (refused) Release(uid);
  }

  /// As frontend/static_pods/pod_admission does it: decided, asked, decided again. The record is the ledger's; nullptr:
  /// it is not admitted.
  const PodRecord* Propose(const Pod& pod) {
    Decision decision = allocator::Decide(node_, ledger_, pod, book_.inputs(), nullptr);
    auto* admit = std::get_if<Admit>(&decision);
    if (admit == nullptr) return nullptr;
    DeviceChoices choices{.devices = book_.inventory(), .held = DevicesHeldByOthers(ledger_, pod.uid), .asked = {}};
    for (const auto& [resource, served] : book_.known().resources)
      if (served.options.preferred) choices.asked.insert(resource);
    const auto preferences =
        AskPreferences(*admit->delta.put, choices,
                       [&](const std::string& resource, const device_manager::PreferenceQuestion& question) {
                         EXPECT_LE(question.must.size(), static_cast<std::size_t>(question.size));
                         for (const std::string& id : question.available)
                           EXPECT_FALSE(held_[resource].contains(id)) << id;
                         ++tally_.preferred;
                         return plugins_.Prefer(resource, question);
                       });
    if (!preferences) return nullptr;
    allocator::Inputs inputs = book_.inputs();
    inputs.preferred_devices = *preferences;
    decision = allocator::Decide(node_, ledger_, pod, inputs, nullptr);
    admit = std::get_if<Admit>(&decision);
    if (admit == nullptr) {  // what one container has by preference leaves the next without alignment
      EXPECT_EQ(std::get<Reject>(decision).reason, "TopologyAffinityError");
      return nullptr;
    }
    Apply(ledger_, admit->delta);
    return &ledger_.pods.find(pod.uid)->second;
  }

  /// `given` is what the container asked for: healthy ones, of which nobody else has any.
  void Take(const Pod& pod, const std::string& container, const DeviceAssignment& given) {
    const DeviceInventory& devices = book_.inputs().devices;
    const auto listed = devices.find(given.resource);
    ASSERT_NE(listed, devices.end()) << given.resource;
    for (const std::string& id : given.ids) {
      const auto device = std::ranges::find(listed->second, id, &Device::id);
      EXPECT_TRUE(device != listed->second.end() && device->healthy) << given.resource << " " << id;
      const auto owner = held_[given.resource].emplace(id, pod.uid).first;
      EXPECT_EQ(owner->second, pod.uid) << given.resource << " " << id << " has two owners";
    }
    EXPECT_EQ(std::set(given.ids.begin(), given.ids.end()).size(), given.ids.size());
    ForEachContainer(pod, [&](const Container& asks, ContainerKind) {
      if (asks.name != container) return;
      EXPECT_EQ(asks.resources.limits.at(given.resource),
                Quantity::FromUnits(static_cast<std::int64_t>(given.ids.size())));
    });
  }

  void ReleaseOne() {
    if (pods_.empty()) return;
    Release(std::next(pods_.begin(), random_.Roll(static_cast<unsigned>(pods_.size())))->first);
  }
  void Release(const std::string& uid) {
    Apply(ledger_, allocator::Release(node_, ledger_, uid, nullptr));
    for (auto& [resource, owners] : held_)
      std::erase_if(owners, [&](const auto& owned) { return owned.second == uid; });
    pods_.erase(uid);
  }

  /// Whatever plug-ins are there, pods that run keep what they have.
  void StartAnew() {
    std::set<std::string> held;
    for (const auto& [resource, owners] : held_)
      if (!owners.empty()) held.insert(resource);
    plugins_.StartAnew(held);
    book_.Refresh();
    for (const auto& [uid, pod] : pods_) {
      const Decision decision = allocator::Decide(node_, ledger_, pod, book_.inputs(), nullptr);
      const auto* const admit = std::get_if<Admit>(&decision);
      ASSERT_NE(admit, nullptr) << uid;
      EXPECT_TRUE(!admit->delta.put || *admit->delta.put == ledger_.pods.at(uid)) << uid << " has another place";
      ++tally_.kept;
    }
  }

  void ExpectBookIsTrue() {
    for (const auto& [resource, devices] : plugins_.known()->devices) {
      EXPECT_EQ(book_.capacity().at(resource), Quantity::FromUnits(static_cast<std::int64_t>(devices.size())));
      EXPECT_EQ(book_.allocatable().at(resource),
                Quantity::FromUnits(std::ranges::count(devices, true, &Device::healthy)));
    }
  }

  RandomNode& random_;
  const allocator::Node& node_;
  Tally& tally_;
  RandomPlugins plugins_;
  DeviceBook book_;
  Ledger ledger_;
  std::map<std::string, Pod> pods_;
  unsigned made_ = 0;
  std::map<std::string, std::map<std::string, std::string>> held_;  // resource, id: the pod
};

TEST(DevicePropertyTest, AllDevicesComeBackHoweverPluginsBehave) {
  constexpr int kLife = 500;
  const int steps = PropertySteps(20'000);
  Tally tally;
  int done = 0;
  for (std::uint64_t seed = 1; done < steps && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomNode random(seed);
    const std::optional<allocator::Node> node = random.MakeNode();
    if (!node) continue;
    DeviceLife life(random, *node, tally);
    for (int step = 0; step < kLife && !HasFailure(); ++step, ++done) life.Step();
    life.End();
  }
  EXPECT_GT(tally.admitted, steps / 30);
  EXPECT_GT(tally.preferred, steps / 60);
  EXPECT_GT(tally.refused, steps / 1000);
  EXPECT_GT(tally.kept, steps / 1000);
  std::printf("%d steps: %d pods with devices, plug-ins asked %d times, %d refused, %d decided again after a start\n",
              done, tally.admitted, tally.preferred, tally.refused, tally.kept);
}

}  // namespace
}  // namespace berth::pods
