#include "simulator/cluster/fleet.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include "allocator/engine.h"
#include "base/text.h"
#include "model/decision.h"
#include "model/explanation.h"
#include "simulator/cluster/packed_pod.h"
#include "simulator/cluster/shape.h"

namespace berth::cluster {
namespace {

std::size_t PlaceKey(std::string_view uid) { return std::hash<std::string_view>()(uid); }

std::string ReasonOf(const Reject& reject) {
  return reject.details.empty() ? reject.message : Join(reject.details, "; ");
}

/// "cpu: 8 CPUs asked, ...".
std::string ShortText(std::string resource, Shortage::Scope scope, std::int64_t asked, std::int64_t free,
                      std::int64_t capacity) {
  Shortage out;
  out.resource = std::move(resource);
  out.scope = scope;
  out.requested = asked;
  out.free = std::max<std::int64_t>(0, free);
  out.capacity = capacity;
  out.missing = out.requested - out.free;
  return ShortageText(out);
}

std::map<NumaId, MemoryNodeState> With(std::map<NumaId, MemoryNodeState> memory,
                                       const std::map<NumaId, MemoryNodeState>& changed) {
  for (const auto& [id, node] : changed) memory.insert_or_assign(id, node);
  return memory;
}

Answer AnswerOf(const Shape& shape, const State& state) {
  Answer out;
  const Kind& kind = *state.kind;
  const Decision decision = allocator::Decide(kind.node, state.books, shape.pod, kind.inputs, nullptr);
  if (const auto* const admit = std::get_if<Admit>(&decision)) {
    out.admitted = true;
    Held held;  // devices are no part of what is spare
    if (const CpuSet& apart = kind.node.apart_cpus(); !apart.empty())
      held.apart = (ExclusiveCpus(state.books) | ExclusiveCpus(*admit->delta.put)) & apart;
    const Ledger after = BooksOf(admit->delta.shared, With(state.books.memory, admit->delta.memory), held);
    out.fitness = FitnessOf(kind, state.spare, SpareOf(kind, after));
  } else {
    out.reason = ReasonOf(std::get<Reject>(decision));
  }
  return out;
}

}  // namespace

// ---- nodes ----

Result<NodeIndex> Fleet::Put(std::string_view name, NodeDescription description, const Ledger& ledger) {
  BERTH_TRY(const KindRef kind, kinds_.Find(std::move(description)));
  NodeIndex node = 0;
  if (const auto known = Find(name)) {
    node = *known;
  } else if (!free_.empty()) {
    node = free_.back();
    free_.pop_back();
  } else {
    node = static_cast<NodeIndex>(slots_.size());
    slots_.emplace_back();
  }
  by_name_.emplace(name, node);
  Slot& slot = slots_[node];
  slot.name = name;
  Enter(slot, states_.Find(kind, kind->node.EmptyLedger()));
  PutLedger(node, ledger);
  return node;
}

void Fleet::PutLedger(NodeIndex node, const Ledger& ledger) {
  DropPods(node);
  Slot& slot = slots_[node];
  Held held;
  slot.pods.reserve(ledger.pods.size());
  for (const auto& [uid, record] : ledger.pods) {
    AddHeld(*slot.state->kind, record, held);
    AddPod(node, record);
  }
  Enter(slot, states_.Find(slot.state->kind, BooksOf(ledger.shared, ledger.memory, held)));
}

void Fleet::Remove(NodeIndex node) {
  DropPods(node);
  Slot& slot = slots_[node];
  by_name_.erase(slot.name);
  states_.Leave(std::exchange(slot.state, nullptr));
  slot = Slot();
  slot.version = ++version_;
  free_.push_back(node);
}

std::optional<NodeIndex> Fleet::Find(std::string_view name) const {
  const auto known = by_name_.find(std::string(name));
  if (known == by_name_.end()) return std::nullopt;
  return known->second;
}

std::vector<NodeIndex> Fleet::Nodes() const {
  std::vector<NodeIndex> out;
  out.reserve(size());
  for (NodeIndex node = 0; node < slots_.size(); ++node)
    if (slots_[node].state != nullptr) out.push_back(node);
  return out;
}

void Fleet::Enter(Slot& slot, StateRef state) {
  slot.version = ++version_;
  states_.Leave(std::exchange(slot.state, std::move(state)));
}

// ---- pods of a node ----

const std::string* Fleet::FindPod(const Slot& slot, std::string_view uid) const {
  const auto found = std::ranges::find_if(slot.pods, [&](const std::string& pod) { return UidOf(pod) == uid; });
  return found == slot.pods.end() ? nullptr : &*found;
}

std::int64_t Fleet::UsedOf(const Slot& slot, std::string_view resource) {
  for (const Used& used : slot.used)
    if (used.resource == resource) return used.amount;
  return 0;
}

void Fleet::AddUsed(Slot& slot, const ResourceList& requests) {
  for (const auto& [resource, amount] : requests) {
    auto used = std::ranges::find(slot.used, resource, &Used::resource);
    if (used == slot.used.end()) used = slot.used.insert(used, Used{.resource = resource});
    used->sum += amount;
    used->amount = AmountIn(resource, used->sum);
  }
  slot.cpu_milli = UsedOf(slot, "cpu");
  slot.memory = UsedOf(slot, "memory");
}

/// Sums that were at their bound cannot be subtracted from, so they are made anew.
void Fleet::CountAgain(Slot& slot, const Ledger& books) {
  slot.used.clear();
  slot.cpu_milli = slot.memory = 0;
  for (const auto& [uid, record] : books.pods) AddUsed(slot, record.requests);
}

void Fleet::AddPod(NodeIndex node, const PodRecord& record) {
  Slot& slot = slots_[node];
  slot.pods.push_back(Pack(record));
  AddUsed(slot, record.requests);
  places_.emplace(PlaceKey(record.uid), node);
}

void Fleet::DropPods(NodeIndex node) {
  Slot& slot = slots_[node];
  for (const std::string& pod : slot.pods) ForgetPlace(UidOf(pod), node);
  slot.pods.clear();
  slot.used.clear();
  slot.cpu_milli = slot.memory = 0;
}

void Fleet::ForgetPlace(std::string_view uid, NodeIndex node) {
  const auto [begin, end] = places_.equal_range(PlaceKey(uid));
  for (auto place = begin; place != end; ++place) {
    if (place->second != node) continue;
    places_.erase(place);
    return;
  }
}

Ledger Fleet::FullLedger(const Slot& slot) const {
  Ledger out;
  out.shared = slot.state->books.shared;
  out.memory = slot.state->books.memory;
  for (const std::string& pod : slot.pods) {
    PodRecord record = Unpack(pod);
    std::string uid = record.uid;
    out.pods.emplace(std::move(uid), std::move(record));
  }
  return out;
}

bool Fleet::Holds(std::string_view uid, NodeIndex node) const {
  const auto [begin, end] = places_.equal_range(PlaceKey(uid));
  return std::any_of(begin, end, [&](const auto& place) { return place.second == node; }) &&
         FindPod(slots_[node], uid) != nullptr;
}

// ---- questions ----

Verdicts Fleet::Filter(const Pod& pod) { return Filter(pod, Nodes()); }

Shaped& Fleet::ShapedOf(const Pod& pod) {
  Shaped& out = answers_.Of(pod, slots_.size());
  if (out.seen.size() < slots_.size()) out.seen.resize(slots_.size());
  return out;
}

Verdicts Fleet::Filter(const Pod& pod, std::span<const NodeIndex> nodes) {
  Shaped& shaped = ShapedOf(pod);
  DecideAll(shaped, nodes);
  Verdicts out{.shape = &shaped.shape, .nodes = {}};
  out.nodes.reserve(nodes.size());
  const bool placed = places_.contains(PlaceKey(pod.uid));
  for (const NodeIndex node : nodes) {
    Verdict verdict = Ask(shaped, node);
    if (placed && Holds(pod.uid, node)) verdict = {.node = node, .why = Why::kThere, .admitted = true};
    out.nodes.push_back(verdict);
  }
  return out;
}

/// Requires: DecideAll had the node.
Verdict Fleet::Ask(Shaped& shaped, NodeIndex node) {
  Shaped::Seen& seen = shaped.seen[node];
  if (seen.version != slots_[node].version) {
    Verdict fresh = RuledOut(shaped, node);
    if (fresh.why == Why::kDecided) {
      fresh.answer = shaped.answers[slots_[node].state->id];
      fresh.admitted = fresh.answer->admitted;
    }
    seen = {.version = slots_[node].version,
            .answer = fresh.answer,
            .asked = fresh.asked,
            .why = fresh.why,
            .admitted = fresh.admitted};
  }
  return {.node = node, .why = seen.why, .admitted = seen.admitted, .asked = seen.asked, .answer = seen.answer};
}

const Ask& Fleet::AskOf(Shaped& shaped, const KindRef& kind) {
  const auto known = shaped.asks.find(kind->id);
  if (known != shaped.asks.end()) return known->second;
  return shaped.asks.emplace(kind->id, cluster::AskOf(shaped.shape, *kind)).first->second;
}

/// More pods, or more of a resource, than is allocatable; `verdict` says which.
bool Fleet::TooMuchInSum(Shaped& shaped, Verdict& verdict) {
  const Slot& slot = slots_[verdict.node];
  const Kind& kind = *slot.state->kind;
  const cluster::Ask& ask = AskOf(shaped, slot.state->kind);
  verdict.why = Why::kTooMany;
  if (kind.pods && static_cast<std::int64_t>(slot.pods.size()) + 1 > *kind.pods) return true;
  verdict.why = Why::kRequested;
  for (const Asked& asked : shaped.shape.asked) {
    const Limit& limit = ask.limits[verdict.asked];
    const bool looked_at = limit.concern == Concern::kLimited ||
                           (limit.concern == Concern::kHeldOnly && slot.state->Holds(asked.resource));
    if (looked_at && asked.amount > limit.amount - UsedOf(slot, asked.resource)) return true;
    ++verdict.asked;
  }
  return false;
}

/// What rules a node out without a decision is what would make the decision a no: sums above what is allocatable, and
/// more exclusive CPUs than are free. kDecided: nothing does.
Verdict Fleet::RuledOut(Shaped& shaped, NodeIndex node) {
  const State& state = *slots_[node].state;
  Verdict out{.node = node};
  if (state.kind->node.options().node_fit && TooMuchInSum(shaped, out)) return out;
  const bool few = AskOf(shaped, state.kind).exclusive_cpus > state.spare.available;
  out.why = few ? Why::kTooFewCpus : Why::kDecided;
  return out;
}

bool Fleet::FitsInSum(Shaped& shaped, NodeIndex node) {
  const Slot& slot = slots_[node];
  if (slot.state == nullptr) return false;
  Shaped::Sums& sums = shaped.sums[node];
  if (sums.version != slot.version) {
    Verdict verdict{.node = node};
    // What no plug-in has registered is not in the status of the Node that a scheduler reads.
    const bool unknown = std::ranges::any_of(AskOf(shaped, slot.state->kind).limits,
                                             [](const Limit& limit) { return limit.concern == Concern::kHeldOnly; });
    sums = {.version = slot.version, .fits = !unknown && !TooMuchInSum(shaped, verdict)};
  }
  return sums.fits;
}

FittingInSum Fleet::FilterBySums(const Pod& pod, NodeIndex from, std::size_t most,
                                 const std::function<bool(NodeIndex)>& also) {
  Shaped& shaped = ShapedOf(pod);
  if (shaped.sums.size() < slots_.size()) shaped.sums.resize(slots_.size());
  FittingInSum out{.verdicts = {.shape = &shaped.shape, .nodes = {}}};
  NodeIndex node = slots_.empty() ? 0 : static_cast<NodeIndex>(from % slots_.size());
  for (; out.looked_at < slots_.size() && out.verdicts.nodes.size() < most; ++out.looked_at) {
    if (out.looked_at != 0 && ++node == slots_.size()) node = 0;
    if (FitsInSum(shaped, node) && (!also || also(node)))
      out.verdicts.nodes.push_back({.node = node, .admitted = true});
  }
  return out;
}

/// Works out what the states of these nodes say, where that is not known and nothing rules the node out.
void Fleet::DecideAll(Shaped& shaped, std::span<const NodeIndex> nodes) {
  std::vector<const State*> states;
  for (const NodeIndex node : nodes) {
    if (shaped.seen[node].version == slots_[node].version) continue;
    if (RuledOut(shaped, node).why != Why::kDecided) continue;
    const State& state = *slots_[node].state;
    if (shaped.answers.emplace(state.id, nullptr).second) states.push_back(&state);
  }
  decisions_ += states.size();
  std::vector<Answer> answers(states.size());
  const auto decide = [&](std::size_t i) { answers[i] = AnswerOf(shaped.shape, *states[i]); };
  if (run_all_ && states.size() > 1) {
    run_all_(states.size(), decide);
  } else {
    for (std::size_t i = 0; i < states.size(); ++i) decide(i);
  }
  for (std::size_t i = 0; i < states.size(); ++i)
    shaped.answers[states[i]->id] = &*shaped.texts.insert(std::move(answers[i])).first;
}

std::string Fleet::Reason(const Verdicts& of, const Verdict& verdict) const {
  const Slot& slot = slots_[verdict.node];
  const Kind& kind = *slot.state->kind;
  switch (verdict.why) {
    case Why::kThere: return "";
    case Why::kDecided: return verdict.answer->reason;
    case Why::kTooMany: {
      const auto pods = static_cast<std::int64_t>(slot.pods.size());
      return ShortText("pods", Shortage::Scope::kNodeFit, 1, kind.pods.value_or(0) - pods, kind.pods.value_or(0));
    }
    case Why::kTooFewCpus: {
      const std::int64_t asked = cluster::AskOf(*of.shape, kind).exclusive_cpus;
      return ShortText("cpu", Shortage::Scope::kMachine, asked, slot.state->spare.available, kind.exclusive_cpus);
    }
    case Why::kRequested: break;
  }
  const Asked& asked = of.shape->asked[verdict.asked];
  const std::int64_t limit = cluster::AskOf(*of.shape, kind).limits[verdict.asked].amount;
  return ShortText(asked.resource, Shortage::Scope::kNodeFit, asked.amount, limit - UsedOf(slot, asked.resource),
                   limit);
}

int Fleet::Score(const Verdicts& of, const Verdict& verdict, Preference preference) const {
  const NodeFigures figures = Figures(verdict.node);
  const auto part = [](std::int64_t amount, std::int64_t all) {
    return all <= 0 ? 0.0F : static_cast<float>(static_cast<double>(amount) / static_cast<double>(all));
  };
  Load load;
  load.cpu_before = part(figures.cpu_milli_requested, figures.cpu_milli);
  load.memory_before = part(figures.memory_requested, figures.memory);
  load.cpu = part(figures.cpu_milli_requested + of.shape->cpu_milli, figures.cpu_milli);
  load.memory = part(figures.memory_requested + of.shape->memory, figures.memory);
  return ScoreOf(preference, verdict.answer == nullptr ? Fitness() : verdict.answer->fitness, load);
}

NodeFigures Fleet::Figures(NodeIndex node) const {
  const Slot& slot = slots_[node];
  const Kind& kind = *slot.state->kind;
  return {.cpu_milli = kind.cpu_milli,
          .cpu_milli_requested = slot.cpu_milli,
          .memory = kind.memory,
          .memory_requested = slot.memory,
          .pods = slot.pods.size()};
}

// ---- changes ----

Verdict Fleet::Assume(const Pod& pod, NodeIndex node) {
  if (Holds(pod.uid, node)) return {.node = node, .why = Why::kThere, .admitted = true};
  Shaped& shaped = ShapedOf(pod);
  DecideAll(shaped, {&node, 1});
  const Verdict verdict = Ask(shaped, node);
  if (!verdict.admitted) return verdict;
  const StateRef& state = slots_[node].state;
  ++decisions_;
  Decision decision =
      allocator::Decide(state->kind->node, state->books, shaped.shape.pod, state->kind->inputs, nullptr);
  auto* const admit = std::get_if<Admit>(&decision);
  BERTH_CHECK(admit != nullptr && admit->delta.put);
  PodRecord& record = *admit->delta.put;
  record.uid = pod.uid;
  Held held = state->Held();
  AddHeld(*state->kind, record, held);
  AddPod(node, record);
  Ledger books = BooksOf(admit->delta.shared, With(state->books.memory, admit->delta.memory), held);
  Enter(slots_[node], states_.Find(state->kind, std::move(books)));
  return verdict;
}

void Fleet::Start(std::string_view uid, NodeIndex node) {
  Slot& slot = slots_[node];
  const std::string* const packed = FindPod(slot, uid);
  if (packed == nullptr) return;
  const auto is_init = [](const Placement& placement) { return placement.kind == ContainerKind::kInit; };
  if (std::ranges::none_of(Unpack(*packed).placements, is_init)) return;  // most pods: others keep what they have
  Ledger ledger = FullLedger(slot);
  const std::uint64_t revision = ledger.revision;
  const std::vector<Placement> placements = ledger.pods.find(uid)->second.placements;
  for (const Placement& placement : placements) {
    const LedgerDelta delta =
        allocator::ContainerStarted(slot.state->kind->node, ledger, uid, placement.container, nullptr);
    if (delta.put) Apply(ledger, delta);
  }
  if (ledger.revision == revision) return;
  slot.pods[static_cast<std::size_t>(packed - slot.pods.data())] = Pack(ledger.pods.find(uid)->second);
  Enter(slot, states_.Find(slot.state->kind, BooksOf(ledger.shared, ledger.memory, slot.state->Held())));
}

void Fleet::Release(std::string_view uid, NodeIndex node) {
  Slot& slot = slots_[node];
  const std::string* const packed = FindPod(slot, uid);
  if (packed == nullptr) return;
  Ledger ledger = FullLedger(slot);
  Apply(ledger, allocator::Release(slot.state->kind->node, ledger, uid, nullptr));
  ForgetPlace(uid, node);
  slot.pods.erase(slot.pods.begin() + (packed - slot.pods.data()));
  CountAgain(slot, ledger);
  Held held;
  for (const auto& [left, record] : ledger.pods) AddHeld(*slot.state->kind, record, held);
  Enter(slot, states_.Find(slot.state->kind, BooksOf(ledger.shared, ledger.memory, held)));
}

void Fleet::Release(std::string_view uid) {
  const auto [begin, end] = places_.equal_range(PlaceKey(uid));
  std::vector<NodeIndex> nodes;
  for (auto place = begin; place != end; ++place) nodes.push_back(place->second);
  std::ranges::sort(nodes);
  for (const NodeIndex node : nodes) Release(uid, node);
}

}  // namespace berth::cluster
