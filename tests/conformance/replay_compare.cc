#include "conformance/replay_compare.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "base/text.h"
#include "node/checkpoint/kubelet_files.h"

namespace berth::conformance {
namespace {

using codec::Json;
using Difference = std::optional<std::string>;

const Json& At(const Json& object, const char* key) {
  static const Json null;
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it == object.end() ? null : *it;
}

std::string Show(const Json& value) { return value.is_null() ? "nothing" : Printable(codec::FormatJson(value), 300); }

std::string Expected(const std::string& path, const Json& expected, const Json& got) {
  return path + ": expected " + Show(expected) + ", got " + Show(got);
}

/// The same value, whatever the order of keys.
bool Same(const Json& a, const Json& b) {
  if (!a.is_object() || !b.is_object()) {
    if (a.is_array() && b.is_array())
      return std::ranges::equal(a, b, [](const Json& x, const Json& y) { return Same(x, y); });
    return a == b;
  }
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.items())
    if (const auto it = b.find(key); it == b.end() || !Same(value, *it)) return false;
  return true;
}

/// The deepest place where two values differ first.
Difference FirstDifference(const std::string& path, const Json& expected, const Json& got) {
  if (Same(expected, got)) return std::nullopt;
  if (!expected.is_object() || !got.is_object()) return Expected(path, expected, got);
  for (const auto& [key, value] : expected.items())
    if (Difference d = FirstDifference(path + "." + key, value, At(got, key.c_str()))) return d;
  for (const auto& [key, value] : got.items())
    if (!expected.contains(key)) return Expected(path + "." + key, nullptr, value);
  return Expected(path, expected, got);
}

// ---- take, merge ----

bool IsError(const Json& take) { return take.is_string() && take.get_ref<const std::string&>().starts_with("error:"); }

Difference CompareTake(const std::string& path, const allocator::TakeRequest& request, const Json& expected,
                       const Json& got) {
  if (IsError(expected) && IsError(got)) return std::nullopt;
  if (!expected.is_null()) return Same(expected, got) ? Difference() : Expected(path, expected, got);
  // The record is no sound answer: any sound one is right.
  if (IsError(got)) return std::nullopt;
  const auto cpus = CpuSet::Parse(got.get_ref<const std::string&>());
  if (cpus && cpus->IsSubsetOf(request.available) && cpus->Count() == std::max(0, request.num)) return std::nullopt;
  return path + ": expected " + std::to_string(request.num) + " CPUs of " + FormatIds(request.available) + ", got " +
         Show(got);
}

Difference Compare(const TakeCase& take, const ReplayResult& result, const Json& expect) {
  const Json& expected = At(expect, "takes");
  const Json& got = At(result.json, "takes");
  if (!expected.is_array() || !got.is_array()) return FirstDifference("takes", expected, got);
  if (expected.size() != got.size()) return Expected("takes", expected, got);
  for (std::size_t i = 0; i < take.takes.size(); ++i)
    if (Difference d = CompareTake("takes[" + std::to_string(i) + "]", take.takes[i], expected[i], got[i])) return d;
  return std::nullopt;
}

Difference Compare(const MergeCase&, const ReplayResult& result, const Json& expect) {
  for (const char* field : {"hint", "admit"})
    if (Difference d = FirstDifference(field, At(expect, field), At(result.json, field))) return d;
  return std::nullopt;
}

// ---- trace: the record as facts ----

ContainerKind KindOf(const Pod& pod, const std::string& container, int& position) {
  ContainerKind found = ContainerKind::kApp;
  int at = 0;
  ForEachContainer(pod, [&](const Container& c, ContainerKind kind) {
    if (c.name == container) found = kind, position = at;
    ++at;
  });
  return found;
}

/// CPUs and shared pool of a recorded step; memory counters and device ids are not in the record.
StateFacts RecordedFacts(const Json& step, const std::map<std::string, const Pod*>& pods) {
  StateFacts out;
  if (const Json& shared = At(step, "shared"); shared.is_string())
    if (auto cpus = CpuSet::Parse(shared.get_ref<const std::string&>())) out.shared = *std::move(cpus);
  const Json& entries = At(step, "cpus");
  if (!entries.is_object()) return out;
  for (const auto& [uid, containers] : entries.items()) {
    out.pods.insert(uid);
    for (const auto& [name, list] : containers.items()) {
      HolderFacts holder{.pod = uid, .container = name};
      if (const auto pod = pods.find(uid); pod != pods.end()) holder.kind = KindOf(*pod->second, name, holder.position);
      if (list.is_string())
        if (auto cpus = CpuSet::Parse(list.get_ref<const std::string&>())) holder.cpus = *std::move(cpus);
      out.holders.push_back(std::move(holder));
    }
  }
  return out;
}

/// Some core or socket is not of the size that the kubelet takes all of them to be. Only there does it hand out CPUs
/// that are taken or reserved (docs/differences.md); a record that breaks a promise on another machine is wrong.
bool Irregular(const Machine& machine) {
  int cores = 0;
  std::map<SocketId, int> sockets;
  for (const NumaNode& node : machine.nodes)
    for (const Core& core : node.cores) ++cores, sockets[core.socket] += static_cast<int>(core.threads.size());
  const int per_core = machine.reported_cpus / std::max(1, cores);
  const int per_socket = machine.reported_cpus / std::max(1, machine.reported_sockets);
  return std::ranges::any_of(sockets, [&](const auto& socket) { return socket.second != per_socket; }) ||
         std::ranges::any_of(machine.nodes, [&](const NumaNode& node) {
           return std::ranges::any_of(
               node.cores, [&](const Core& core) { return static_cast<int>(core.threads.size()) != per_core; });
         });
}

struct Excuse {
  std::size_t step = 0;
  std::string why;
  bool refused_state = false;  ///< else a promise was broken
};

/// The first step of the record that refuses its own state or breaks a promise.
std::optional<Excuse> FirstBroken(const TraceCase& trace, const NodeFacts& node, const Json& steps) {
  std::map<std::string, const Pod*> pods;
  for (std::size_t i = 0; i < steps.size() && i < trace.steps.size(); ++i) {
    if (const auto* add = std::get_if<AddPod>(&trace.steps[i])) pods[add->pod.uid] = &add->pod;
    if (const Json& error = At(steps[i], "error"); !error.is_null())
      return Excuse{i, "the kubelet refused its own state: " + Show(error), true};
    if (const auto broken = BrokenPromises(node, RecordedFacts(steps[i], pods)); !broken.empty())
      return Excuse{i, "the kubelet broke a promise: " + broken.front()};
  }
  return std::nullopt;
}

/// Shared and exclusive CPUs are those of the node: the kubelet loses and invents none, whatever it hands out.
bool KnowsAllCpus(const NodeFacts& node, const Json& step) {
  const StateFacts facts = RecordedFacts(step, {});
  CpuSet known = facts.shared;
  for (const HolderFacts& holder : facts.holders) known |= holder.cpus;
  return (node.strict ? node.cpus - node.reserved : node.cpus).IsSubsetOf(known) && known.IsSubsetOf(node.cpus);
}

/// Where the record stops being a model. nullopt: nowhere, or it is wrong in a way the kubelet never is.
std::optional<Excuse> FindExcuse(const TraceCase& trace, const NodeFacts& node, const Json& steps) {
  auto out = FirstBroken(trace, node, steps);
  if (!out || out->refused_state) return out;
  if (!Irregular(trace.machine) || !KnowsAllCpus(node, steps[out->step])) return std::nullopt;
  return out;
}

/// The reserved CPUs that anybody can name from the configuration alone; those reserved by amount are chosen by the
/// node.
NodeFacts FactsWithoutChoice(const TraceCase& trace) {
  const auto listed = CpuSet::Parse(trace.config->reserved_system_cpus);
  return FactsOf(trace.machine, *trace.config, listed ? *listed : CpuSet(), trace.inputs.devices);
}

DeviceWishes WishesOf(const Json& step, const std::string& uid) {
  DeviceWishes out;
  const Json& containers = At(At(step, "devices"), uid.c_str());
  if (!containers.is_object()) return out;
  for (const auto& [container, counts] : containers.items()) {
    if (!counts.is_object()) continue;
    for (const auto& [label, count] : counts.items())
      if (count.is_number_unsigned()) out[container][label] = count.get<int>();
  }
  return out;
}

/// After a restart: a pod that was rejected still holds CPUs.
bool LeftoverCpus(const Json& step, const std::set<std::string>& rejected) {
  const Json& cpus = At(step, "cpus");
  return cpus.is_object() && std::ranges::any_of(rejected, [&](const auto& uid) { return cpus.contains(uid); });
}

Difference CompareStep(const std::string& path, const Json& expected, const Json& got) {
  static constexpr std::array kFields{"admit", "reason", "hints", "cpus", "shared", "memory", "devices"};
  for (const char* field : kFields)
    if (Difference d = FirstDifference(path + "." + field, At(expected, field), At(got, field))) return d;
  return std::nullopt;
}

// ---- trace: state files ----

/// The blocks of a container are written in any order by the kubelet, and the checksum covers the order: takes over the
/// recorded order where both hold the same blocks.
void AdoptBlockOrder(const checkpoint::KubeletMemoryState& recorded, checkpoint::KubeletMemoryState& ours) {
  const auto same_blocks = [](auto a, auto b) {
    const auto by_type = [](const MemoryBlock& x, const MemoryBlock& y) {
      return std::tuple(x.type, x.nodes, x.size) < std::tuple(y.type, y.nodes, y.size);
    };
    std::ranges::sort(a, by_type);
    std::ranges::sort(b, by_type);
    return a == b;
  };
  for (auto& [uid, containers] : ours.entries) {
    const auto pod = recorded.entries.find(uid);
    if (pod == recorded.entries.end()) continue;
    for (auto& [name, blocks] : containers)
      if (const auto other = pod->second.find(name); other != pod->second.end() && same_blocks(blocks, other->second))
        blocks = other->second;
  }
}

Difference CompareMemoryFile(const Json& expected, const Json& got) {
  const char* path = "memory_manager_state";
  if (Same(expected, got)) return std::nullopt;
  const auto recorded = checkpoint::ParseKubeletMemoryState(codec::FormatJson(expected));
  auto ours = checkpoint::ParseKubeletMemoryState(codec::FormatJson(got));
  if (!recorded) return std::string(path) + ": the recorded file: " + recorded.error().message;
  if (!ours) return std::string(path) + ": our file: " + ours.error().message;
  AdoptBlockOrder(*recorded, *ours);
  const auto rewritten = codec::ParseJson(checkpoint::FormatKubeletState(*ours), path);
  return FirstDifference(path, expected, rewritten ? *rewritten : got);
}

Difference CompareFiles(const Json& expect, const Json& got) {
  if (const Json& file = At(expect, "cpu_manager_state"); !file.is_null())
    if (Difference d = FirstDifference("cpu_manager_state", file, At(got, "cpu_manager_state"))) return d;
  if (const Json& file = At(expect, "memory_manager_state"); !file.is_null())
    return CompareMemoryFile(file, At(got, "memory_manager_state"));
  return std::nullopt;
}

// ---- trace ----

Difference BrokenSteps(const NodeFacts& node, const std::vector<StateFacts>& states) {
  for (std::size_t i = 0; i < states.size(); ++i)
    if (const auto broken = BrokenPromises(node, states[i]); !broken.empty())
      return "steps[" + std::to_string(i) + "]: broken promise: " + broken.front();
  return std::nullopt;
}

Difference CompareSteps(const ReplayResult& result, const Json& expect, const Verdict& verdict) {
  const Json& expected = At(expect, "steps");
  const Json& got = At(result.json, "steps");
  if (!verdict.promises_only_from && expected.size() != got.size())
    return "steps: expected " + std::to_string(expected.size()) + ", got " + std::to_string(got.size());
  const std::size_t compared = verdict.promises_only_from.value_or(expected.size());
  for (std::size_t i = 0; i < compared; ++i)
    if (Difference d = CompareStep("steps[" + std::to_string(i) + "]", expected[i], got[i])) return d;
  return verdict.promises_only_from ? Difference() : CompareFiles(expect, result.json);
}

/// The kubelet gave the last shared CPU away, which a node of ours refuses (docs/differences.md).
bool EmptiesSharedPool(const Json& step) { return At(step, "shared") == "" && !At(step, "cpus").empty(); }

/// Promises in all steps; answers where nothing the recorder does differently has had an effect.
Difference CompareOwnNode(const TraceCase& trace, const ReplayResult& result, const Json& expected, Verdict& verdict) {
  static const std::string kWhere = " on a node of Berth's own";
  const std::vector<OwnStep> steps = RunOnOwnNode(trace, result);
  const std::size_t model = std::min(verdict.promises_only_from.value_or(expected.size()), expected.size());
  verdict.steps = steps.size();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string path = "steps[" + std::to_string(i) + "]";
    if (const auto broken = BrokenPromises(*result.node, steps[i].state); !broken.empty())
      return path + kWhere + ": broken promise: " + broken.front();
    if (i >= model || !steps[i].comparable || EmptiesSharedPool(expected[i])) continue;
    ++verdict.compared_on_own_node;
    // What a rejected pod leaves behind is the recorder's habit too: then the answer alone.
    const bool rejected = At(expected[i], "admit") == false && At(steps[i].answer, "admit") == false;
    const Difference d =
        rejected ? FirstDifference(path + ".reason", At(expected[i], "reason"), At(steps[i].answer, "reason"))
                 : CompareStep(path, expected[i], steps[i].answer);
    if (d) return *d + kWhere;
  }
  return std::nullopt;
}

Difference CompareTrace(const TraceCase& trace, const TraceGuide& guide, const ReplayResult& result, const Json& expect,
                        Verdict& verdict) {
  const Json& error = At(result.json, "error");
  if (!At(expect, "error").is_null())
    return error.is_null() ? Difference("error: expected a refused configuration, but it was accepted") : Difference();
  if (!error.is_null()) return "error: expected steps, but the configuration was refused: " + Show(error);
  if (!At(expect, "steps").is_array()) return "steps: not in `expect`";
  const bool as_recorded = guide.reserved == RecordedNode::Reserved::kAsRecorded;
  if (!as_recorded) {
    if (auto excuse = FindExcuse(trace, *result.node, At(expect, "steps"))) {
      verdict.promises_only_from = excuse->step;
      verdict.excuse = std::move(excuse->why);
    }
  }
  if (Difference d = CompareSteps(result, expect, verdict)) return d;
  const NodeFacts books = as_recorded ? FactsWithoutChoice(trace) : *result.node;
  if (Difference d = BrokenSteps(books, result.states)) return d;
  return CompareOwnNode(trace, result, At(expect, "steps"), verdict);
}

}  // namespace

TraceGuide GuideOf(const ReplayCase& replay, const codec::Json& expect) {
  TraceGuide guide;
  const auto* trace = std::get_if<TraceCase>(&replay.what);
  const Json& steps = At(expect, "steps");
  if (trace == nullptr || !trace->config || !steps.is_array()) return guide;
  if (Irregular(trace->machine) && !FirstBroken(*trace, FactsWithoutChoice(*trace), steps))
    guide.reserved = RecordedNode::Reserved::kAsRecorded;
  std::set<std::string> rejected;
  for (std::size_t i = 0; i < steps.size() && i < trace->steps.size(); ++i) {
    guide.wishes.emplace_back();
    guide.cpus_swept.push_back(!LeftoverCpus(steps[i], rejected));
    const auto* add = std::get_if<AddPod>(&trace->steps[i]);
    if (add == nullptr) continue;
    guide.wishes.back() = WishesOf(steps[i], add->pod.uid);
    if (At(steps[i], "admit") == false) rejected.insert(add->pod.uid);
  }
  return guide;
}

Verdict CheckReplay(const ReplayCase& replay, const TraceGuide& guide, const ReplayResult& result,
                    const codec::Json& expect) {
  Verdict verdict;
  if (!expect.is_object()) {
    verdict.difference = "expect: expected an object";
  } else if (const auto* trace = std::get_if<TraceCase>(&replay.what)) {
    verdict.difference = CompareTrace(*trace, guide, result, expect, verdict);
  } else if (const auto* take = std::get_if<TakeCase>(&replay.what)) {
    verdict.difference = Compare(*take, result, expect);
  } else if (const auto* merge = std::get_if<MergeCase>(&replay.what)) {
    verdict.difference = Compare(*merge, result, expect);
  }
  return verdict;
}

}  // namespace berth::conformance
