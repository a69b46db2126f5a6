#include "simulator/offline/saved_ledger.h"

#include <set>
#include <utility>
#include <vector>

#include "api/codec/codec.h"
#include "base/id_set.h"
#include "model/promises.h"
#include "node/checkpoint/store.h"

namespace berth::offline {
namespace {

/// The node as it was if only its reserved CPUs were others when the ledger was made.
NodeFacts WithOtherReserved(NodeFacts node, const StateFacts& state) {
  node.reserved = CpuSet();
  if (!node.strict) return node;
  CpuSet known = state.shared;
  for (const HolderFacts& holder : state.holders) known |= holder.cpus;
  for (const auto& [name, pool] : state.pools) known |= HeldCpus(pool);
  node.reserved = node.cpus - known;
  return node;
}

/// "" when both were made under the same policies.
std::string OtherPolicies(const Ledger& ledger, const Ledger& empty) {
  if (ledger.cpu_policy != empty.cpu_policy)
    return "it was made under CPU manager policy \"" + ledger.cpu_policy + "\", the configuration says \"" +
           empty.cpu_policy + "\"";
  return "";
}

}  // namespace

Result<Ledger> ParseLedger(std::string_view text, const std::string& name) {
  if (text.starts_with("berth-ledger")) {
    auto saved = checkpoint::DecodeSaved(text);
    if (!saved) return Wrap(std::move(saved).error(), "read the ledger " + name);
    return std::move(saved->ledger);
  }
  BERTH_TRY(const codec::Json json, codec::ParseJson(text, name));
  auto ledger = codec::LedgerFromJson(json.is_object() && json.contains("ledger") ? json["ledger"] : json);
  if (!ledger) return Wrap(std::move(ledger).error(), "read the ledger " + name);
  return *std::move(ledger);
}

bool TakeMemoryPolicy(const allocator::Node& node, Ledger& ledger) {
  const Ledger empty = node.EmptyLedger();
  if (ledger.memory_policy == empty.memory_policy) return false;
  ledger.memory_policy = empty.memory_policy;
  ledger.memory = empty.memory;
  for (auto& [uid, pod] : ledger.pods) {
    pod.reusable.memory.clear();
    for (Placement& placement : pod.placements) placement.memory.reset();
  }
  return true;
}

std::optional<Misfit> FindMisfit(const allocator::Node& node, const Ledger& ledger) {
  if (std::string other = OtherPolicies(ledger, node.EmptyLedger()); !other.empty())
    return Misfit{.problem = std::move(other)};
  if (auto wrong = Contradictions(ledger); !wrong.empty()) return Misfit{.problem = std::move(wrong.front())};
  std::set<std::string> pods;
  for (const auto& [uid, pod] : ledger.pods) pods.insert(uid);
  const NodeFacts facts = FactsOf(node.machine(), node.config(), node.reserved_cpus(), {}, node.apart_cpus());
  StateFacts state = FactsOf(ledger, std::move(pods));
  for (HolderFacts& holder : state.holders) holder.devices.clear();  // the inventory of another day may lack some
  auto broken = BrokenPromises(facts, state);
  if (broken.empty()) return std::nullopt;
  return Misfit{.problem = std::move(broken.front()),
                .only_reserved = BrokenPromises(WithOtherReserved(facts, state), state).empty()};
}

}  // namespace berth::offline
