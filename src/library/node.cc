#include "berth/node.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "engine/engine.h"
#include "offline/explanation.h"
#include "offline/replay_run.h"
#include "offline/saved_ledger.h"

namespace berth {

struct Node::Parts {
  engine::Node node;
  engine::Inputs inputs;
  Ledger ledger;
};

namespace {

/// The engine on a pod that has a uid.
Decision DecideOn(const engine::Node& node, const Ledger& ledger, const engine::Inputs& inputs, const Pod& pod,
                  Trace* trace) {
  if (!pod.uid.empty()) return engine::Decide(node, ledger, pod, inputs, trace);
  Pod named = pod;
  named.uid = FullName(pod);
  return engine::Decide(node, ledger, named, inputs, trace);
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
  BERTH_TRY(engine::Node node, engine::Node::Make(std::move(machine), std::move(options.settings),
                                                  {.node_fit = options.node_fit,
                                                   .whole_cores = options.whole_cores,
                                                   .close_devices = options.close_devices}));
  BERTH_RETURN_IF_ERROR(engine::CheckDevices(node, options.devices));
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
  return DecideOn(parts_->node, parts_->ledger, parts_->inputs, pod, trace);
}

Decision Node::Admit(const Pod& pod, Trace* trace) {
  Decision decision = Decide(pod, trace);
  if (const auto* yes = std::get_if<berth::Admit>(&decision)) Apply(parts_->ledger, yes->delta);
  return decision;
}

void Node::InitContainersDone(std::string_view uid) {
  if (parts_->ledger.pods.contains(uid)) offline::StartContainers(parts_->node, parts_->ledger, std::string(uid));
}

bool Node::Release(std::string_view uid, Trace* trace) {
  if (!parts_->ledger.pods.contains(uid)) return false;
  Apply(parts_->ledger, engine::Release(parts_->node, parts_->ledger, uid, trace));
  return true;
}

std::string Node::Explain(const Pod& pod) const {
  return offline::FormatOutlook(offline::ExplainNow(parts_->node, parts_->ledger, {}, pod, parts_->inputs, ""), {});
}

Result<void> Node::SetDevices(DeviceInventory devices) {
  BERTH_RETURN_IF_ERROR(engine::CheckDevices(parts_->node, devices));
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
