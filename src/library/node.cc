#include "berth/node.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "allocator/engine.h"
#include "simulator/offline/pod_explanation.h"
#include "simulator/offline/saved_ledger.h"
#include "simulator/offline/start_containers.h"

namespace berth {

struct Node::Parts {
  allocator::Node node;
  allocator::Inputs inputs;
  Ledger ledger;
};

namespace {

/// One of the engine's decisions on a pod that has a uid.
template <class Ask>
Decision DecideOn(const Ask& ask, const Pod& pod) {
  if (!pod.uid.empty()) return ask(pod);
  Pod named = pod;
  named.uid = FullName(pod);
  return ask(named);
}

}  // namespace

Node::Node(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Node::Node(const Node& other) : parts_(std::make_unique<Parts>(*other.parts_)) {}
Node& Node::operator=(const Node& other) {
  if (this != &other) parts_ = std::make_unique<Parts>(*other.parts_);
  return *this;
}
Node::Node(Node&& other) noexcept = default;
Node& Node::operator=(Node&& other) noexcept = default;
Node::~Node() = default;

Result<Node> Node::Make(Machine machine, NodeOptions options) {
  BERTH_TRY(allocator::Node node, allocator::Node::Make(std::move(machine), std::move(options.settings),
                                                        {.kubelet_version = options.kubelet_version,
                                                         .node_fit = options.node_fit,
                                                         .whole_cores = options.whole_cores,
                                                         .close_devices = options.close_devices,
                                                         .judge_by_free_memory = options.judge_by_free_memory,
                                                         .memory_groups_overlap = options.memory_groups_overlap,
                                                         .pod_falls_back = options.pod_falls_back,
                                                         .keep_rest_aligned = options.keep_rest_aligned,
                                                         .look_ahead = options.look_ahead,
                                                         .own = std::move(options.own)}));
  BERTH_RETURN_IF_ERROR(allocator::CheckDevices(node, options.devices));
  Ledger empty = node.EmptyLedger();
  return Node(std::make_unique<Parts>(Parts{.node = std::move(node),
                                            .inputs = {.devices = std::move(options.devices), .preferred_devices = {}},
                                            .ledger = std::move(empty)}));
}

const Machine& Node::machine() const { return parts_->node.machine(); }
const KubeletConfiguration& Node::settings() const { return parts_->node.config(); }
const DeviceInventory& Node::devices() const { return parts_->inputs.devices; }
const CpuSet& Node::reserved_cpus() const { return parts_->node.reserved_cpus(); }
const ResourceList& Node::capacity() const { return parts_->node.capacity(); }
const ResourceList& Node::allocatable() const { return parts_->node.allocatable(); }
const Ledger& Node::ledger() const { return parts_->ledger; }

Decision Node::Decide(const Pod& pod, Trace* trace) const {
  return DecideOn(
      [&](const Pod& asked) { return allocator::Decide(parts_->node, parts_->ledger, asked, parts_->inputs, trace); },
      pod);
}

Decision Node::Admit(const Pod& pod, Trace* trace) {
  Decision decision = Decide(pod, trace);
  if (const auto* yes = std::get_if<berth::Admit>(&decision)) Apply(parts_->ledger, yes->delta);
  return decision;
}

Decision Node::Resize(const Pod& pod, Trace* trace) {
  Decision decision = DecideOn(
      [&](const Pod& asked) { return allocator::Resize(parts_->node, parts_->ledger, asked, parts_->inputs, trace); },
      pod);
  if (const auto* yes = std::get_if<berth::Admit>(&decision)) Apply(parts_->ledger, yes->delta);
  return decision;
}

void Node::InitContainersDone(std::string_view uid) {
  if (parts_->ledger.pods.contains(uid)) offline::StartContainers(parts_->node, parts_->ledger, std::string(uid));
}

bool Node::Release(std::string_view uid, Trace* trace) {
  if (!parts_->ledger.pods.contains(uid)) return false;
  Apply(parts_->ledger, allocator::Release(parts_->node, parts_->ledger, uid, trace));
  return true;
}

std::string Node::Explain(const Pod& pod) const {
  return offline::FormatOutlook(offline::ExplainNow(parts_->node, parts_->ledger, {}, pod, parts_->inputs, ""), {});
}

Result<void> Node::SetDevices(DeviceInventory devices) {
  BERTH_RETURN_IF_ERROR(allocator::CheckDevices(parts_->node, devices));
  parts_->inputs.devices = std::move(devices);
  return {};
}

Result<void> Node::Restore(Ledger ledger) {
  const std::optional<offline::Misfit> misfit = offline::FindMisfit(parts_->node, ledger);
  if (misfit && !misfit->only_reserved)
    return Fail(Code::kInvalid, "the ledger does not fit this machine and settings: " + misfit->problem);
  parts_->ledger = std::move(ledger);
  return {};
}

}  // namespace berth
