#include "simulator/offline/offline_node.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/text.h"
#include "config/berth_config.h"
#include "config/kubelet_reader.h"
#include "host/machine/load_machine.h"
#include "host/os/input.h"
#include "manifest/manifest.h"
#include "model/kubelet_version.h"
#include "simulator/offline/device_inventory.h"
#include "simulator/offline/saved_ledger.h"

namespace berth::offline {
namespace {

bool IsSocket(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && std::filesystem::is_socket(path, ignored);
}

void Print(const std::vector<manifest::Warning>& warnings, std::ostream& err) {
  for (const manifest::Warning& w : warnings) err << "berth: warning: " << w.where << ": " << w.message << "\n";
}

Result<Machine> LoadMachine(const OfflineOptions& options, const std::optional<RunningNode>& running) {
  if (options.machine.empty() && running) return running->machine;
  return machine::Load(options.machine.empty() ? "host" : options.machine);
}

struct NodeSettings {
  KubeletConfiguration config;
  allocator::EngineOptions engine;
  allocator::QueueRules queue{};
};

/// What the command line has not changed is as settings, or a node's view, have it.
template <class Said>
void AddOptions(const Said& said, allocator::EngineOptions& out) {
  out.node_fit = out.node_fit && said.node_fit;
  out.whole_cores = out.whole_cores && said.whole_cores;
  out.close_devices = out.close_devices || said.close_devices;
  out.judge_by_free_memory = out.judge_by_free_memory || said.judge_by_free_memory;
  out.memory_groups_overlap = out.memory_groups_overlap || said.memory_groups_overlap;
  out.pod_falls_back = out.pod_falls_back || said.pod_falls_back;
  out.keep_rest_aligned = out.keep_rest_aligned || said.keep_rest_aligned;
  out.look_ahead = out.look_ahead || said.look_ahead;
}

/// From the file, from the running node whose ledger is used, or the defaults.
Result<NodeSettings> LoadNodeSettings(const OfflineOptions& options, const std::optional<RunningNode>& running,
                                      std::ostream& err) {
  NodeSettings out{.config = {},
                   .engine = {.node_fit = options.node_fit,
                              .whole_cores = options.whole_cores,
                              .close_devices = options.close_devices,
                              .judge_by_free_memory = options.judge_by_free_memory,
                              .memory_groups_overlap = options.memory_groups_overlap,
                              .pod_falls_back = options.pod_falls_back,
                              .keep_rest_aligned = options.keep_rest_aligned,
                              .look_ahead = options.look_ahead}};
  if (running) out.engine.kubelet_version = running->view.kubelet_version;
  std::string text;
  std::string name = options.config;
  if (!options.berth_config.empty()) {
    BERTH_TRY(const std::string own, os::ReadInput(options.berth_config));
    BERTH_TRY(auto parsed, config::ParseBerthConfiguration(own, options.berth_config));
    Print(parsed.warnings, err);
    AddOptions(parsed.config, out.engine);
    if (parsed.config.kubelet_version) out.engine.kubelet_version = *parsed.config.kubelet_version;
    out.engine.own = std::move(parsed.config.own);
    if (parsed.config.waiting)
      out.queue = {.most_waiting = parsed.config.waiting->max, .overtakes = parsed.config.waiting->overtakes};
    out.queue.preempt_for_critical = parsed.config.preemption == "critical";
    if (name.empty()) name = parsed.config.kubelet_config;
  } else if (running) {
    out.engine.own = running->view.own;
  }
  if (!options.kubelet_version.empty()) {
    BERTH_TRY(out.engine.kubelet_version, ParseKubeletVersion(options.kubelet_version));
  }
  if (!name.empty()) {
    BERTH_TRY(text, os::ReadInput(name));
  } else if (running) {
    text = running->view.kubelet_configuration;
    name = "configuration of the running node";
    AddOptions(running->view, out.engine);
  }
  if (Trim(text).empty()) return out;
  BERTH_TRY(auto parsed, config::ParseKubeletConfiguration(text, name, out.engine.kubelet_version));
  Print(parsed.warnings, err);
  out.config = std::move(parsed.config);
  return out;
}

Result<Ledger> LoadLedger(const std::string& file) {
  BERTH_TRY(const std::string text, os::ReadInput(file));
  return ParseLedger(text, file);
}

/// A ledger made on another machine or under other settings would only give nonsense. Other reserved CPUs are no reason
/// to refuse: pods that run keep what they have when they change.
Result<void> CheckFits(const OfflineNode& node, const std::string& from, std::ostream& err) {
  const std::optional<Misfit> misfit = FindMisfit(node.node, node.ledger);
  if (!misfit) return {};
  if (!misfit->only_reserved)
    return Fail(Code::kInvalid, "the ledger " + from + " does not fit this machine and configuration: " +
                                    misfit->problem + "; give the --machine and --config it was made with");
  err << "berth: warning: the ledger " << from << " was made with other reserved CPUs: " << misfit->problem << "\n";
  return {};
}

}  // namespace

Result<OfflineNode> LoadOfflineNode(const OfflineOptions& options, std::ostream& err) {
  std::optional<RunningNode> running;
  if (IsSocket(options.ledger)) {
    BERTH_TRY(running, options.ask(options.ledger));
  }
  BERTH_TRY(Machine machine, LoadMachine(options, running));
  BERTH_TRY(NodeSettings settings, LoadNodeSettings(options, running, err));
  allocator::Inputs inputs;
  if (!options.devices.empty()) {
    BERTH_TRY(const std::string text, os::ReadInput(options.devices));
    BERTH_TRY(inputs.devices, ParseDeviceInventory(text, options.devices));
  } else if (running) {
    inputs.devices = std::move(running->devices);
  }
  BERTH_TRY(allocator::Node node,
            allocator::Node::Make(std::move(machine), std::move(settings.config), settings.engine));
  if (auto known = allocator::CheckDevices(node, inputs.devices); !known)
    return Wrap(std::move(known).error(), options.devices);
  Ledger ledger = node.EmptyLedger();
  OfflineNode out{.node = std::move(node),
                  .ledger = std::move(ledger),
                  .inputs = std::move(inputs),
                  .queue = settings.queue,
                  .conditions = {},
                  .node_name = {}};
  if (options.ledger.empty()) return out;
  if (running) {
    out.conditions = running->view.conditions;
    out.node_name = running->name;
    out.ledger = std::move(running->ledger);
  } else {
    BERTH_TRY(out.ledger, LoadLedger(options.ledger));
  }
  if (TakeMemoryPolicy(out.node, out.ledger))
    err << "berth: warning: the ledger " << options.ledger << " was made under another memory manager policy than \""
        << out.ledger.memory_policy << "\": its pods hold no booked memory, as after a restart of berthd\n";
  BERTH_RETURN_IF_ERROR(CheckFits(out, options.ledger, err));
  return out;
}

Result<std::vector<Pod>> LoadPods(const std::string& file, std::ostream& err) {
  BERTH_TRY(const std::string text, os::ReadInput(file));
  BERTH_TRY(auto parsed,
            manifest::ParsePods(
                text, file == "-" ? "standard input" : file,
                {.to_be_run = false, .origin = os::OriginOf(file), .most_pods = manifest::PodOptions::kAnyNumber}));
  Print(parsed.warnings, err);
  if (parsed.pods.empty()) return Fail(Code::kInvalid, file + ": there is no pod in it");
  return std::move(parsed.pods);
}

}  // namespace berth::offline
