// A small store of objects behind HTTP, and nodes to publish. For this component's tests.
#ifndef BERTH_KUBERNETES_NODE_PUBLISHER_FAKE_STORE_TEST_H_
#define BERTH_KUBERNETES_NODE_PUBLISHER_FAKE_STORE_TEST_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api/codec/codec.h"
#include "base/mutex.h"
#include "kubernetes/kube_client/fake_api_test.h"
#include "kubernetes/node_publisher/writer.h"

namespace berth::node_publisher {

using codec::Json;
using std::chrono_literals::operator""s;

inline constexpr const char* kStates = "/apis/berth.dev/v1alpha1/nodestates/n1";
inline constexpr const char* kTopologies = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/n1";
inline constexpr WallTime kNow{1'700'000'000s};

/// Objects by path. A write replaces one.
class Store {
 public:
  Store()
      : api_([this](const kube::Asked& asked, int /*number*/, int fd) {
          const std::string answer = Answer(asked);
          ASSERT_GT(::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL), 0);
        }) {}

  kube::Access access() const { return api_.access(); }
  void Put(const std::string& path, Json object) {
    const MutexLock lock(mutex_);
    objects_[path] = std::move(object);
  }
  /// Null: there is none.
  Json At(const std::string& path) {
    const MutexLock lock(mutex_);
    const auto found = objects_.find(path);
    return found == objects_.end() ? Json() : found->second;
  }
  void Refuse(const std::string& verb, int status, const std::string& reason) {
    const MutexLock lock(mutex_);
    refused_ = {verb, {status, reason}};
  }
  /// Calls so far with that verb, of objects that are no Nodes.
  int Calls(const std::string& verb) const {
    int out = 0;
    for (const std::string& line : api_.lines())
      if (line.starts_with(verb) && !line.contains("/nodes/")) ++out;
    return out;
  }
  /// Objects that were written again as they were: what a NodeState says of its writing does not count.
  int repeated() const {
    const MutexLock lock(mutex_);
    return repeated_;
  }

 private:
  static Json WithoutWriting(Json object) {
    if (!object.is_object()) return object;
    object["metadata"].erase("resourceVersion");
    object.erase("generation");
    object.erase("time");
    return object;
  }
  std::string Answer(const kube::Asked& asked) {
    const std::string verb = asked.line.substr(0, asked.line.find(' '));
    const std::string target = asked.line.substr(verb.size() + 1);
    const std::string path = target.substr(0, target.find('?'));
    const MutexLock lock(mutex_);
    if (verb == refused_.first && !path.contains("/nodes/"))
      return kube::JsonAnswer(refused_.second.first, kube::StatusText(refused_.second.first, refused_.second.second));
    if (verb == "PATCH") {
      // As a server: it adds metadata, and leaves out what is null.
      Json object = Json::parse(asked.body);
      object["metadata"]["uid"] = "u-" + path;
      if (object.contains("configuration") && object["configuration"]["evictionHard"].is_null())
        object["configuration"].erase("evictionHard");
      Json& before = objects_[path];
      if (WithoutWriting(before) == WithoutWriting(object)) ++repeated_;
      before = std::move(object);
      before["metadata"]["resourceVersion"] = std::to_string(++version_);
    }
    const auto found = objects_.find(path);
    if (found == objects_.end()) return kube::JsonAnswer(404, kube::StatusText(404, "NotFound"));
    return kube::JsonAnswer(200, found->second.dump());
  }

  mutable Mutex mutex_;
  std::map<std::string, Json> objects_ BERTH_GUARDED_BY(mutex_);
  std::pair<std::string, std::pair<int, std::string>> refused_ BERTH_GUARDED_BY(mutex_);
  int version_ BERTH_GUARDED_BY(mutex_) = 0;
  int repeated_ BERTH_GUARDED_BY(mutex_) = 0;
  kube::FakeApi api_;  // last: it uses the others
};

/// One NUMA node with four CPUs.
inline Moment MomentOf(int exclusive) {
  auto machine = std::make_shared<Machine>();
  NumaNode& one = machine->nodes.emplace_back();
  one.memory = GiB(8);
  one.distances = {10};
  for (std::uint32_t cpu = 0; cpu < 4; ++cpu) one.cores.emplace_back().threads = {CpuId{cpu}};
  machine->present = machine->online = CpuSet::Range(0, 3);
  auto node = std::make_shared<NodeView>();
  node->all_cpus = machine->online;
  node->topology_policy = "single-numa-node";
  node->topology_scope = "pod";
  auto ledger = std::make_shared<Ledger>();
  ledger->shared = machine->online;
  if (exclusive > 0) {
    const CpuSet cpus = CpuSet::Range(0, static_cast<std::uint32_t>(exclusive) - 1);
    PodRecord& pod = ledger->pods["u"];
    pod.uid = "u";
    pod.placements.push_back({.container = "app", .cpus = cpus});
    ledger->shared -= cpus;
  }
  auto snapshot = std::make_shared<NodeSnapshot>();
  snapshot->machine = machine;
  snapshot->node = node;
  snapshot->ledger = ledger;
  snapshot->devices = std::make_shared<DeviceInventory>();
  auto config = std::make_shared<KubeletConfiguration>();
  config->topology_manager_policy_options["max-allowable-numa-nodes"] = "16";
  return {.node = snapshot, .config = config};
}

}  // namespace berth::node_publisher

#endif  // BERTH_KUBERNETES_NODE_PUBLISHER_FAKE_STORE_TEST_H_
