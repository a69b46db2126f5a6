#include "kubernetes/scheduler_extender/books.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "allocator/engine.h"
#include "manifest/mirror_pod.h"
#include "model/ledger.h"
#include "model/pod_wishes.h"

namespace berth::scheduler_extender {
namespace {

/// All of a pod that decisions rest on, and its names.
Pod Essence(const Pod& pod, std::string uid) {
  const auto bare = [](const std::vector<Container>& containers) {
    std::vector<Container> out(containers.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].name = containers[i].name;
      out[i].resources = containers[i].resources;
      out[i].restartable_init = containers[i].restartable_init;
    }
    return out;
  };
  Pod out;
  out.name = pod.name;
  out.namespace_ = pod.namespace_;
  out.uid = std::move(uid);
  for (const std::string_view wish : kWishAnnotations)
    if (const auto found = pod.annotations.find(std::string(wish)); found != pod.annotations.end())
      out.annotations.insert(*found);
  out.init_containers = bare(pod.init_containers);
  out.containers = bare(pod.containers);
  out.overhead = pod.overhead;
  out.resources = pod.resources;
  out.status_qos = pod.status_qos;
  return out;
}

std::string PodKey(std::string_view namespace_, std::string_view name) {
  return std::string(namespace_) + "/" + std::string(name);
}

bool HasEnded(const Pod& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }

/// A fleet's score as a scheduler takes it.
int HostScoreOf(int score) {
  constexpr int kStep = cluster::kBestScore / kBestHostScore;
  return (score + kStep / 2) / kStep;
}

}  // namespace

/// A pod that counts where no node's state shows it.
struct Books::Claim {
  enum class Stage {
    kAsked,     ///< it was told nodes a moment ago, and counts on the likeliest of them
    kSettled,   ///< nothing was heard for a while: it counts on the likeliest one
    kReserved,  ///< the scheduler keeps its node free for it (status.nominatedNodeName)
    kBound,
  };
  Pod pod;
  Stage stage = Stage::kAsked;
  std::uint64_t number = 0;          // no other claim has it
  Instant asked{};                   // when it was
  std::vector<Station*> at;          // where it counts, the likeliest first
  std::vector<std::uint8_t> scores;  // kAsked: what Prioritize says, by number in the fleet

  /// Somebody has said where it is.
  bool sent() const { return stage == Stage::kReserved || stage == Stage::kBound; }
};

/// A node that published something, or that pods are bound to.
struct Books::Station {
  std::string name;
  std::optional<cluster::NodeIndex> node;  // in the fleet; nullopt: no state that can be used
  std::string problem;                     // why not; "": it published none
  std::vector<Claim*> pending;             // in the order in which they are decided
  /// The fleet has the published books and the first `booked` of `pending`, or it is stale: it has pods that are no
  /// longer pending.
  std::size_t booked = 0;
  bool stale = false;
  std::optional<Ledger> published;  // there when the fleet has anything else
};

Books::Books(BooksOptions options, cluster::RunAll run_all) : options_(options), fleet_(std::move(run_all)) {}
Books::~Books() = default;

// ---- nodes ----

Books::Station* Books::FindStation(std::string_view name) const {
  const auto found = stations_.find(std::string(name));
  return found == stations_.end() ? nullptr : found->second.get();
}

Books::Station& Books::StationOf(std::string_view name) {
  std::unique_ptr<Station>& station = stations_[std::string(name)];
  if (station == nullptr) {
    station = std::make_unique<Station>();
    station->name = name;
  }
  return *station;
}

/// May end the station.
void Books::Tidy(Station& station) {
  if (!station.pending.empty()) return;
  if (!station.stale) station.published.reset();
  if (!station.node && station.problem.empty()) stations_.erase(std::string(station.name));
}

/// Pods that may be elsewhere no longer count there.
void Books::ForgetState(Station& station) {
  if (station.node) {
    for (const auto& [uid, claim] : claims_)  // the next node may get its number
      if (*station.node < claim->scores.size()) claim->scores[*station.node] = 0;
    fleet_.Remove(*std::exchange(station.node, std::nullopt));
  }
  if (!station.problem.empty()) --unusable_;
  station.problem.clear();
  station.published.reset();
  station.stale = false;
  station.booked = 0;
  std::erase_if(station.pending, [&](Claim* claim) {
    if (!claim->sent()) std::erase(claim->at, &station);
    return !claim->sent();
  });
}

Result<void> Books::SetNode(NodeState state) {
  const cluster::NodeDescription description{.machine = std::move(state.machine),
                                             .config = std::move(state.config),
                                             .options = {.kubelet_version = state.kubelet_version,
                                                         .node_fit = state.node_fit,
                                                         .whole_cores = state.whole_cores,
                                                         .close_devices = state.close_devices,
                                                         .judge_by_free_memory = state.judge_by_free_memory,
                                                         .memory_groups_overlap = state.memory_groups_overlap,
                                                         .pod_falls_back = state.pod_falls_back,
                                                         .keep_rest_aligned = state.keep_rest_aligned,
                                                         .look_ahead = state.look_ahead,
                                                         .own = std::move(state.own)},
                                             .devices = std::move(state.devices)};
  const auto node = fleet_.Put(state.node, description, state.ledger);
  if (!node) {
    SpoilNode(state.node, node.error().message);
    return Wrap(node.error(), "node " + state.node);
  }
  Station& station = StationOf(state.node);
  if (!station.problem.empty()) --unusable_;
  station.problem.clear();
  station.node = *node;
  station.booked = 0;
  station.stale = false;
  station.published.reset();
  // What a node says of a pod counts for itself alone: whether the pod is bound there is the API server's to tell.
  std::vector<Claim*> there;
  for (Claim* const claim : station.pending)
    if (state.ledger.pods.contains(claim->pod.uid)) there.push_back(claim);
  for (Claim* const claim : there) {
    if (claim->stage == Claim::Stage::kBound) {
      MarkShown(*claim);
      DropClaim(std::string(claim->pod.uid));
    } else {
      std::erase(claim->at, &station);
      std::erase(station.pending, claim);
    }
  }
  return {};
}

void Books::SpoilNode(std::string_view name, std::string why) {
  Station& station = StationOf(name);
  ForgetState(station);
  station.problem = why.empty() ? "it cannot be read" : std::move(why);
  ++unusable_;
}

void Books::DropNode(std::string_view name) {
  Station* const station = FindStation(name);
  if (station == nullptr) return;
  ForgetState(*station);
  Tidy(*station);
}

bool Books::Shows(const Station& station, std::string_view uid) const {
  if (!station.node) return false;
  return station.published ? station.published->pods.contains(uid) : fleet_.Holds(uid, *station.node);
}

/// Brings the fleet to the published books with all that is pending, pod by pod. One that no longer fits is left out.
void Books::BookPending(Station& station) {
  if (!station.node) return;
  if (station.stale) {
    fleet_.PutLedger(*station.node, *station.published);
    station.booked = 0;
    station.stale = false;
  }
  if (station.booked < station.pending.size() && !station.published) station.published = fleet_.Books(*station.node);
  for (; station.booked < station.pending.size(); ++station.booked)
    fleet_.Assume(station.pending[station.booked]->pod, *station.node);
  if (station.pending.empty()) station.published.reset();
}

// ---- pods ----

Books::Claim* Books::FindClaim(std::string_view uid) const {
  const auto found = claims_.find(std::string(uid));
  return found == claims_.end() ? nullptr : found->second.get();
}

/// Undecided, and nowhere.
Books::Claim& Books::NewClaim(const Pod& pod, std::string uid) {
  std::unique_ptr<Claim>& claim = claims_[uid];
  claim = std::make_unique<Claim>();
  claim->pod = Essence(pod, std::move(uid));
  claim->number = ++asked_;
  ++undecided_;
  return *claim;
}

void Books::DropClaim(const std::string& uid) {
  const auto found = claims_.find(uid);
  if (found == claims_.end()) return;
  const std::unique_ptr<Claim> claim = std::move(found->second);
  claims_.erase(found);
  if (!claim->sent()) --undecided_;
  for (Station* const station : claim->at) Discount(*claim, *station);
}

/// May end the station.
void Books::Discount(const Claim& claim, Station& station) {
  const auto at = std::ranges::find(station.pending, &claim);
  if (at == station.pending.end()) return;
  if (std::cmp_less(at - station.pending.begin(), station.booked)) station.stale = true;
  station.pending.erase(at);
  Tidy(station);
}

void Books::Send(Claim& claim, Station& station, bool bound) {
  const bool counts = std::ranges::find(claim.at, &station) != claim.at.end();
  for (Station* const other : claim.at)
    if (other != &station) Discount(claim, *other);
  if (!counts) station.pending.push_back(&claim);
  claim.at = {&station};
  claim.scores = {};
  if (!claim.sent()) --undecided_;
  claim.stage = bound ? Claim::Stage::kBound : Claim::Stage::kReserved;
}

/// A pod that counts nowhere does so where the API server said last that its node is kept free.
void Books::KeepReserved(const Pod& pod) {
  const auto found = seen_.find(PodKey(pod.namespace_, pod.name));
  if (found == seen_.end() || FindClaim(pod.uid) != nullptr) return;
  const Seen& seen = found->second;
  if (seen.uid != pod.uid || seen.shown || seen.nominated.empty()) return;
  Send(NewClaim(pod, pod.uid), StationOf(seen.nominated), false);
}

void Books::MarkShown(const Claim& claim) {
  const auto seen = seen_.find(PodKey(claim.pod.namespace_, claim.pod.name));
  if (seen != seen_.end() && seen->second.uid == claim.pod.uid) seen->second.shown = true;
}

void Books::SetPod(const Pod& pod, std::string_view nominated) {
  if (HasEnded(pod)) return DropPod(pod.namespace_, pod.name);
  std::string uid = manifest::UidOnNode(pod);
  Seen& seen = seen_[PodKey(pod.namespace_, pod.name)];
  if (seen.uid != uid) {
    DropClaim(seen.uid);
    seen = {.uid = uid, .nominated = {}};
  }
  const bool bound = !pod.node_name.empty();
  const bool same_nominated = std::exchange(seen.nominated, nominated) == nominated;
  if (seen.shown) return;
  Claim* const claim = FindClaim(uid);
  if (!bound) {
    // What was said before the pod was asked for again is not news.
    if (same_nominated && (nominated.empty() || claim != nullptr)) return;
    if (nominated.empty()) {
      if (claim != nullptr && claim->stage == Claim::Stage::kReserved) DropClaim(uid);
      return;
    }
  }
  Station& station = StationOf(bound ? std::string_view(pod.node_name) : nominated);
  if (bound && Shows(station, uid)) {
    seen.shown = true;
    DropClaim(uid);
    return;
  }
  Send(claim != nullptr ? *claim : NewClaim(pod, std::move(uid)), station, bound);
}

void Books::DropPod(std::string_view namespace_, std::string_view name) {
  const auto seen = seen_.find(PodKey(namespace_, name));
  if (seen == seen_.end()) return;
  DropClaim(seen->second.uid);
  seen_.erase(seen);
}

// ---- questions ----

Books::Asked Books::Ask(std::span<const Candidate> nodes) {
  Asked out;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Station* const station = FindStation(nodes[i].name);
    if (station == nullptr || !station->node) continue;
    BookPending(*station);
    out.positions.push_back(i);
    out.stations.push_back(station);
    out.nodes.push_back(*station->node);
  }
  return out;
}

/// A node without a state that can be used: it passes, or the reason is noted.
void Books::Refuse(const Candidate& node, std::size_t position, Filtered& out) const {
  const Station* const station = FindStation(node.name);
  const bool spoiled = station != nullptr && !station->problem.empty();
  if (!spoiled && options_.pass_unknown) {
    out.passed.push_back(position);
    return;
  }
  out.refused.push_back({.node = node.name,
                         .reason = spoiled ? "its NodeState cannot be used: " + station->problem
                                           : std::string("it publishes no NodeState"),
                         .final = true});
}

/// Whether the node would take the pod if those were elsewhere that may be. Requires: it has claims.
bool Books::WouldFit(const Pod& pod, const Station& station) const {
  const cluster::Kind& kind = fleet_.KindOf(*station.node);
  Ledger books = *station.published;
  const auto admit = [&](const Pod& asked) {
    const Decision decision = allocator::Decide(kind.node, books, asked, kind.inputs, nullptr);
    const auto* const there = std::get_if<Admit>(&decision);
    if (there != nullptr) Apply(books, there->delta);
    return there != nullptr;
  };
  for (const Claim* const claim : station.pending)
    if (claim->stage != Claim::Stage::kAsked) admit(claim->pod);
  return admit(pod);
}

/// The pod counts on the likeliest nodes. These get better scores than their equals, so that they are the likeliest.
void Books::Hold(const Pod& pod, const std::string& uid, const Asked& asked, const cluster::Verdicts& verdicts,
                 Instant now) {
  struct Place {
    int score = 0;  // a fleet's
    std::size_t k = 0;
  };
  std::vector<Place> passed;
  for (std::size_t k = 0; k < asked.nodes.size(); ++k)
    if (verdicts.nodes[k].admitted) passed.push_back({.score = fleet_.Score(verdicts, verdicts.nodes[k]), .k = k});
  if (passed.empty()) return;
  const std::size_t likely = std::min(passed.size(), std::max<std::size_t>(1, options_.most_likely));
  std::ranges::partial_sort(passed, passed.begin() + static_cast<std::ptrdiff_t>(likely),
                            [](Place a, Place b) { return a.score != b.score ? a.score > b.score : a.k < b.k; });
  Claim& claim = NewClaim(pod, uid);
  claim.asked = now;
  claim.scores.resize(*std::ranges::max_element(asked.nodes) + std::size_t{1});
  int most = kBestHostScore;
  for (std::size_t i = 0; i < passed.size(); ++i) {
    const int least = i == 0 ? 2 : i < likely ? 1 : 0;  // of the likeliest, the likely ones, the others
    if (i == 1 || i == likely) most = claim.scores[asked.nodes[passed[i - 1].k]] - 1;
    const int score = std::clamp(HostScoreOf(passed[i].score), least, std::max(least, most));
    claim.scores[asked.nodes[passed[i].k]] = static_cast<std::uint8_t>(score);
    if (i >= likely) continue;
    Station* const station = asked.stations[passed[i].k];
    claim.at.push_back(station);
    station->pending.push_back(&claim);
  }
  settling_.push_back({.at = now + options_.settle, .number = claim.number, .uid = uid});
}

Result<Filtered> Books::Filter(const Pod& pod, std::span<const Candidate> nodes, Instant now) {
  constexpr std::size_t kFew = 4;
  Expire(now, kFew);
  const std::string uid = manifest::UidOnNode(pod);
  const Claim* const before = FindClaim(uid);
  const bool bound = before != nullptr && before->stage == Claim::Stage::kBound;
  if (!bound) DropClaim(uid);
  const Pod essence = Essence(pod, uid);
  if (undecided_ >= options_.most_undecided) {
    KeepReserved(essence);
    return Fail(Code::kOverloaded, std::to_string(undecided_) + " pods have been told nodes and have none yet");
  }
  const Asked asked = Ask(nodes);
  const cluster::Verdicts verdicts = fleet_.Filter(essence, asked.nodes);
  Filtered out;
  std::vector<const Station*> held_up;  // a few
  for (std::size_t i = 0, k = 0; i < nodes.size(); ++i) {
    if (k == asked.positions.size() || asked.positions[k] != i) {
      Refuse(nodes[i], i, out);
      continue;
    }
    const cluster::Verdict& verdict = verdicts.nodes[k];
    if (verdict.admitted) {
      out.passed.push_back(i);
    } else {
      out.refused.push_back({.node = nodes[i].name, .reason = fleet_.Reason(verdicts, verdict)});
      const auto may_go = [](const Claim* claim) { return claim->stage == Claim::Stage::kAsked; };
      if (held_up.size() < 4 * kFew && std::ranges::any_of(asked.stations[k]->pending, may_go))
        held_up.push_back(asked.stations[k]);
    }
    ++k;
  }
  out.may_change = out.passed.empty() &&
                   std::ranges::any_of(held_up, [&](const Station* station) { return WouldFit(essence, *station); });
  if (!bound) Hold(essence, uid, asked, verdicts, now);
  KeepReserved(essence);
  return out;
}

std::vector<int> Books::Prioritize(const Pod& pod, std::span<const Candidate> nodes) {
  std::vector<int> out(nodes.size());
  const Claim* const claim = FindClaim(manifest::UidOnNode(pod));
  if (claim != nullptr && claim->stage == Claim::Stage::kAsked) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Station* const station = FindStation(nodes[i].name);
      if (station != nullptr && station->node && *station->node < claim->scores.size())
        out[i] = claim->scores[*station->node];
    }
    return out;
  }
  const Asked asked = Ask(nodes);
  const Pod essence = Essence(pod, manifest::UidOnNode(pod));
  const cluster::Verdicts verdicts = fleet_.Filter(essence, asked.nodes);
  for (std::size_t k = 0; k < asked.positions.size(); ++k)
    if (verdicts.nodes[k].admitted) out[asked.positions[k]] = HostScoreOf(fleet_.Score(verdicts, verdicts.nodes[k]));
  return out;
}

// ---- time ----

void Books::Settle(Claim& claim) {
  claim.stage = Claim::Stage::kSettled;
  claim.scores = {};
  leaving_.push_back({.at = claim.asked + options_.hold, .number = claim.number, .uid = claim.pod.uid});
  if (claim.at.empty()) return;
  for (Station* const station : std::span(claim.at).subspan(1)) {
    Discount(claim, *station);
    BookPending(*station);
  }
  claim.at.resize(1);
}

/// The first of the queue whose time has come, and to which it has to happen; it leaves the queue.
Books::Claim* Books::NextDue(std::deque<Due>& queue, bool settled, Instant now) {
  const auto stage = settled ? Claim::Stage::kSettled : Claim::Stage::kAsked;
  while (!queue.empty() && queue.front().at <= now) {
    const Due due = std::move(queue.front());
    queue.pop_front();
    Claim* const claim = FindClaim(due.uid);
    if (claim != nullptr && claim->number == due.number && claim->stage == stage) return claim;
  }
  return nullptr;
}

bool Books::Expire(Instant now, std::size_t most) {
  for (std::size_t i = 0; i < most; ++i) {
    if (const Claim* const late = NextDue(leaving_, true, now)) {
      const std::vector<Station*> at = late->at;
      const Pod pod = late->pod;
      DropClaim(pod.uid);
      KeepReserved(pod);
      for (Station* const station : at) BookPending(*station);
    } else if (Claim* const claim = NextDue(settling_, false, now)) {
      Settle(*claim);
    } else {
      return false;
    }
  }
  return true;
}

BooksFigures Books::figures() const {
  return {.nodes = fleet_.size(),
          .unusable = unusable_,
          .undecided = undecided_,
          .awaited = claims_.size() - undecided_,
          .decisions = fleet_.decisions()};
}

}  // namespace berth::scheduler_extender
