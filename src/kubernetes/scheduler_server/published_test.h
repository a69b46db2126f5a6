// States and pods as an API server has them, and calls of a scheduler. For this component's tests.
#ifndef BERTH_KUBERNETES_SCHEDULER_SERVER_PUBLISHED_TEST_H_
#define BERTH_KUBERNETES_SCHEDULER_SERVER_PUBLISHED_TEST_H_

#include <string>
#include <utility>

#include "allocator/testing/builders.h"
#include "api/codec/node_state_json.h"

namespace berth::scheduler_server {

/// An empty node's NodeState: two NUMA nodes with 8 CPUs each, of which CPU 0 is reserved.
inline std::string StateText(const std::string& node, const std::string& version = "1") {
  NodeState state;
  state.node = node;
  state.machine = allocator::testing::MakeMachine({.sockets = 2, .cores_per_node = 4, .node_memory = GiB(16)});
  state.config = allocator::testing::StaticConfig("0");
  state.config.topology_manager_policy = "single-numa-node";
  auto made = allocator::Node::Make(state.machine, state.config, {});
  BERTH_CHECK(made.has_value());
  state.ledger = made->EmptyLedger();
  codec::Json json = codec::ToJson(Compact(std::move(state)));
  json["metadata"]["uid"] = "u-" + node;
  json["metadata"]["resourceVersion"] = version;
  return codec::FormatJson(json);
}

/// A Guaranteed pod; `node` "": it is bound to none.
inline std::string PodText(const std::string& name, const std::string& cpus, const std::string& node = {},
                           const std::string& version = "1") {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"u-)" + name +
         R"(","resourceVersion":")" + version + R"("},"spec":{)" +
         (node.empty() ? "" : R"("nodeName":")" + node + "\",") +
         R"("containers":[{"name":"app","resources":{"limits":{"cpu":")" + cpus + R"(","memory":"1Gi"}}}]}})";
}

/// What kube-scheduler sends for the pod and these nodes, one letter each.
inline std::string CallText(const std::string& pod, const std::string& nodes) {
  std::string names;
  for (const char node : nodes) {
    if (!names.empty()) names += ',';
    names += '"';
    names += node;
    names += '"';
  }
  return R"({"Pod":)" + pod + R"(,"Nodes":null,"NodeNames":[)" + names + "]}";
}

}  // namespace berth::scheduler_server

#endif  // BERTH_KUBERNETES_SCHEDULER_SERVER_PUBLISHED_TEST_H_
