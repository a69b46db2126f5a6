#include "device_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "containerd_fixture.h"
#include "testing/seen_groups.h"

namespace berth::testkit {
namespace {

std::vector<PeerDevice> DevicesOf(int version) {
  std::vector<PeerDevice> out = {{"d0"}, {"d1"}, {"d2"}};
  if (version % 2 == 0) out.push_back({"d3"});
  return out;
}

std::vector<PeerDevice> Sick(std::vector<PeerDevice> devices) {
  for (PeerDevice& device : devices) device.healthy = false;
  return devices;
}

}  // namespace

std::string DevicePod(const std::string& name, const std::string& resource, int count, bool slow) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec:\n  hostNetwork: true\n  terminationGracePeriodSeconds: 5\n  containers:\n  - name: app\n    "
         "image: " +
         kTestImage + "\n    command: [/bin/sh, -c, \"trap '" + (slow ? "sleep 1; " : "") +
         "exit 0' TERM; sleep 1000 & wait\"]\n    resources: {limits: {" + resource + ": " + std::to_string(count) +
         "}}\n";
}

DeviceMatrix::DeviceMatrix(DaemonFixture& node, std::string folder, std::string registry, std::function<void()> start)
    : node_(node), folder_(std::move(folder)), registry_(std::move(registry)), start_(std::move(start)) {
  const std::vector<std::pair<Fate, std::string>> fates = {
      {Fate::kUntouched, "untouched"}, {Fate::kKilled, "killed"},     {Fate::kRestarted, "restarted"},
      {Fate::kSick, "sick"},           {Fate::kUnlisted, "unlisted"}, {Fate::kUpgraded, "upgraded"}};
  for (const auto& [fate, name] : fates)
    lanes_.push_back({.fate = fate, .name = name, .resource = "vendor.example/" + name});
}

// ---- looking -----------------------------------------------------------------------------------------------------

/// Every look is a moment at which no device may have two owners.
DeviceMatrix::SeenPods DeviceMatrix::Look() {
  SeenPods out;
  std::set<std::string> given;
  const codec::Json answer = node_.Get("/v1/pods");
  if (!answer.is_object()) return out;
  for (const codec::Json& pod : answer["pods"]) {
    const std::string name = pod["name"].get<std::string>();
    SeenPod& seen = out[name.substr(0, name.rfind('-'))];
    seen.reason = pod["reason"].get<std::string>();
    const codec::Json& container = pod["containers"][0];
    seen.runs = container["state"] == "running";
    seen.pid = container.value("pid", 0);
    if (!container.contains("devices")) continue;
    for (const auto& [resource, ids] : container["devices"].items())
      for (const codec::Json& id : ids) {
        seen.devices.push_back(id.get<std::string>());
        EXPECT_TRUE(given.insert(resource + " " + seen.devices.back()).second)
            << resource << " " << seen.devices.back() << " is given twice: " << answer.dump(1);
      }
  }
  return out;
}

/// Of all lanes.
bool DeviceMatrix::Until(const std::string& what, const ForLane& done) {
  return node_.Until(what, [&] {
    const SeenPods seen = Look();
    return std::ranges::all_of(lanes_, [&](const Lane& lane) { return done(lane, seen); });
  });
}

// ---- acting ------------------------------------------------------------------------------------------------------

void DeviceMatrix::Add(const std::string& prefix, int count, bool slow) {
  for (const Lane& lane : lanes_) {
    const int devices = count > 0 ? count : static_cast<int>(DevicesOf(lane.version).size());
    node_.AddPod(prefix + lane.name + ".yaml", DevicePod(prefix + lane.name, lane.resource, devices, slow));
  }
}

void DeviceMatrix::RemoveAll(const std::string& prefix) {
  for (const Lane& lane : lanes_) node_.RemovePod(prefix + lane.name + ".yaml");
}

void DeviceMatrix::Serve(Lane& lane) {
  const std::string endpoint = lane.name + "-" + std::to_string(lane.version) + ".sock";
  lane.peer = StartPeer({.folder = folder_,
                         .registry = registry_,
                         .resource = lane.resource,
                         .endpoint = endpoint,
                         .devices = DevicesOf(lane.version),
                         .scratch = node_.Dir("")});
  if (node_.pid() > 0) node_.Until(lane.name + " is registered", [&] { return lane.peer->registered(); });
}

void DeviceMatrix::Befall(Lane& lane) {
  switch (lane.fate) {
    case Fate::kUntouched: return;
    case Fate::kKilled: return lane.peer.reset();
    case Fate::kRestarted: lane.peer.reset(); return Serve(lane);
    case Fate::kSick: return lane.peer->List(Sick(DevicesOf(lane.version)));
    case Fate::kUnlisted: return lane.peer->List({});
    case Fate::kUpgraded: break;
  }
  const std::unique_ptr<DevicePeer> before = std::move(lane.peer);  // until the new one has registered
  ++lane.version;
  Serve(lane);
}

void DeviceMatrix::Mend(Lane& lane) {
  if (!lane.peer) return Serve(lane);
  if (lane.fate == Fate::kSick || lane.fate == Fate::kUnlisted) lane.peer->List(DevicesOf(lane.version));
  lane.peer->Hold(false);
}

void DeviceMatrix::Restart(End end) {
  if (end == End::kNone) return;
  if (end == End::kKilled) node_.Kill();
  if (end == End::kStopped) {
    EXPECT_EQ(node_.Stop(), 0);
  }
  start_();
  for (Lane& lane : lanes_)
    if (lane.peer) lane.peer->OnStart();
}

/// The new pods come to `stage`. False: they never did.
bool DeviceMatrix::Come(Stage stage) {
  const auto all_run = [](const Lane& lane, const SeenPods& seen) {
    const auto pod = seen.find("new-" + lane.name);
    return pod != seen.end() && pod->second.runs;
  };
  const auto all_say = [](const std::string& reason) {
    return [reason](const Lane& lane, const SeenPods& seen) {
      const auto pod = seen.find("new-" + lane.name);
      return pod != seen.end() && pod->second.reason == reason;
    };
  };
  switch (stage) {
    case Stage::kBeforeRegistration:
      for (Lane& lane : lanes_) lane.peer.reset();
      Add("new-");
      return Until("they wait for their plug-ins", all_say("WaitingForPlugin"));
    case Stage::kRegistered: return true;
    case Stage::kInAllocate: {
      std::map<std::string, int> asked;
      for (Lane& lane : lanes_) {
        lane.peer->Hold(true);
        asked[lane.name] = lane.peer->asked();
      }
      Add("new-");
      return Until("their plug-ins are asked",
                   [&](const Lane& lane, const SeenPods&) { return lane.peer->asked() > asked[lane.name]; });
    }
    case Stage::kRunning: Add("new-"); return Until("they run", all_run);
    case Stage::kInRemoval: break;
  }
  Add("new-", 1, true);
  if (!Until("they run", all_run)) return false;
  RemoveAll("new-");
  return Until("they end", all_say("Terminating"));
}

// ---- rounds ------------------------------------------------------------------------------------------------------

void DeviceMatrix::Round(Stage stage, End end) {
  if (!Come(stage)) return;
  if (stage == Stage::kBeforeRegistration) {
    if (end == End::kKilled) node_.Kill();  // they find nobody to register with
    for (Lane& lane : lanes_) Serve(lane);
  }
  for (Lane& lane : lanes_) Befall(lane);
  Restart(end);
  if (stage == Stage::kRegistered) {
    Add("new-");
    Until("they are known", [](const Lane& lane, const SeenPods& seen) { return seen.contains("new-" + lane.name); });
  }
  for (Lane& lane : lanes_) Mend(lane);
  if (stage != Stage::kInRemoval) ExpectBothRun();
  RemoveAll("new-");
  Until("they are gone", [](const Lane& lane, const SeenPods& seen) { return !seen.contains("new-" + lane.name); });
}

void DeviceMatrix::ExpectBothRun() {
  Until("both run", [](const Lane& lane, const SeenPods& seen) {
    const auto old_pod = seen.find("old-" + lane.name);
    const auto new_pod = seen.find("new-" + lane.name);
    return old_pod != seen.end() && new_pod != seen.end() && old_pod->second.runs && new_pod->second.runs;
  });
  SeenPods seen = Look();
  for (const Lane& lane : lanes_) {
    EXPECT_EQ(seen["old-" + lane.name].pid, lane.old_pid) << lane.name;
    EXPECT_EQ(seen["old-" + lane.name].devices, std::vector{lane.old_device}) << lane.name;
    const SeenPod& made = seen["new-" + lane.name];
    // A runtime says of a container that it runs while its process is still the runtime's own.
    const std::string given = "DEVICES=" + Join(made.devices, ",");
    std::string environment;
    EXPECT_TRUE(node_.Until(lane.name + ": its process has " + given, [&] {
      environment = ReadIfThere("/proc/" + std::to_string(made.pid) + "/environ");
      return environment.contains(given + '\0');
    })) << environment;
    EXPECT_EQ(made.devices.size(), 1U) << lane.name;
  }
}

/// A device that nobody gives back is one too few for these.
void DeviceMatrix::ExpectAllCanBeGiven() {
  RemoveAll("old-");
  Until("nobody is left", [](const Lane&, const SeenPods& seen) { return seen.empty(); });
  Add("all-", 0);
  Until("they have all devices", [](const Lane& lane, const SeenPods& seen) {
    const auto pod = seen.find("all-" + lane.name);
    return pod != seen.end() && pod->second.runs && pod->second.devices.size() == DevicesOf(lane.version).size();
  });
  RemoveAll("all-");
  Until("nobody is left", [](const Lane&, const SeenPods& seen) { return seen.empty(); });
}

int DeviceMatrix::Run(const std::vector<End>& ends) {
  start_();
  for (Lane& lane : lanes_) Serve(lane);
  Add("old-");
  if (!Until("the old ones run", [](const Lane& lane, const SeenPods& seen) {
        const auto pod = seen.find("old-" + lane.name);
        return pod != seen.end() && pod->second.runs && pod->second.devices.size() == 1;
      }))
    return 0;
  SeenPods seen = Look();
  for (Lane& lane : lanes_) {
    lane.old_pid = seen["old-" + lane.name].pid;
    lane.old_device = seen["old-" + lane.name].devices.front();
  }
  int cases = 0;
  for (const Stage stage :
       {Stage::kBeforeRegistration, Stage::kRegistered, Stage::kInAllocate, Stage::kRunning, Stage::kInRemoval})
    for (const End end : ends) {
      SCOPED_TRACE(testing::Message() << "stage " << static_cast<int>(stage) << ", berthd " << static_cast<int>(end));
      Round(stage, end);
      if (testing::Test::HasFailure()) return cases;
      cases += static_cast<int>(lanes_.size());
    }
  ExpectAllCanBeGiven();
  return cases;
}

}  // namespace berth::testkit
