#include "extender/books.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/engine.h"
#include "manifest/mirror_pod.h"
#include "model/ledger.h"

namespace berth::extender {
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

}  // namespace

/// A pod that counts where no node's state shows it.
struct Books::Claim {
  Pod pod;
  bool bound = false;               // to the one station
  Instant until;                    // while it is not
  std::vector<Station*> at;         // where it counts
  std::vector<std::uint8_t> score;  // of each of these, while it is not bound

  /// Requires: it counts there, and is not bound.
  void LeaveStation(const Station& station) {
    const auto i = std::ranges::find(at, &station) - at.begin();
    at.erase(at.begin() + i);
    score.erase(score.begin() + i);
  }
};

/// A node that published something, or that pods are bound to.
struct Books::Station {
  std::string name;
  std::optional<fleet::NodeIndex> node;  // in the fleet; nullopt: no state that can be used
  std::string problem;                   // why not; "": it published none
  std::vector<Claim*> pending;           // in the order in which they are decided
  /// The fleet has the published books and the first `booked` of `pending`, or it is stale: it has pods that are no
  /// longer pending.
  std::size_t booked = 0;
  bool stale = false;
  std::optional<Ledger> published;  // there when the fleet has anything else
};

Books::Books(BooksOptions options, fleet::RunAll run_all) : options_(options), fleet_(std::move(run_all)) {}
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
  if (station.node) fleet_.Remove(*std::exchange(station.node, std::nullopt));
  if (!station.problem.empty()) --unusable_;
  station.problem.clear();
  station.published.reset();
  station.stale = false;
  station.booked = 0;
  std::erase_if(station.pending, [&](Claim* claim) {
    if (!claim->bound) claim->LeaveStation(station);
    return !claim->bound;
  });
}

Result<void> Books::SetNode(NodeState state) {
  const fleet::NodeDescription description{.machine = std::move(state.machine),
                                           .config = std::move(state.config),
                                           .options = {.node_fit = state.node_fit,
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
    if (claim->bound) {
      MarkShown(*claim);
      DropClaim(std::string(claim->pod.uid));
    } else {
      claim->LeaveStation(station);
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
  ++undecided_;
  return *claim;
}

void Books::DropClaim(const std::string& uid) {
  const auto found = claims_.find(uid);
  if (found == claims_.end()) return;
  const std::unique_ptr<Claim> claim = std::move(found->second);
  claims_.erase(found);
  if (!claim->bound) --undecided_;
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

void Books::Bind(Claim& claim, Station& station) {
  const bool counts = std::ranges::find(claim.at, &station) != claim.at.end();
  for (Station* const other : claim.at)
    if (other != &station) Discount(claim, *other);
  if (!counts) station.pending.push_back(&claim);
  claim.at = {&station};
  claim.score.clear();
  if (!claim.bound) --undecided_;
  claim.bound = true;
}

void Books::MarkShown(const Claim& claim) {
  const auto seen = seen_.find(PodKey(claim.pod.namespace_, claim.pod.name));
  if (seen != seen_.end() && seen->second.uid == claim.pod.uid) seen->second.shown = true;
}

void Books::SetPod(const Pod& pod) {
  if (HasEnded(pod)) return DropPod(pod.namespace_, pod.name);
  std::string uid = manifest::UidOnNode(pod);
  Seen& seen = seen_[PodKey(pod.namespace_, pod.name)];
  if (seen.uid != uid) {
    DropClaim(seen.uid);
    seen = {.uid = uid};
  }
  if (pod.node_name.empty() || seen.shown) return;
  Station& station = StationOf(pod.node_name);
  if (Shows(station, uid)) {
    seen.shown = true;
    DropClaim(uid);
    return;
  }
  Claim* const claim = FindClaim(uid);
  Bind(claim != nullptr ? *claim : NewClaim(pod, std::move(uid)), station);
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

int Books::ScoreOf(const fleet::Verdicts& verdicts, const fleet::Verdict& verdict) const {
  constexpr int kStep = fleet::kBestScore / kBestHostScore;
  return (fleet_.Score(verdicts, verdict) + kStep / 2) / kStep;
}

void Books::Hold(const Pod& pod, const std::string& uid, const Asked& asked, const fleet::Verdicts& verdicts,
                 Instant until) {
  if (std::ranges::none_of(verdicts.nodes, &fleet::Verdict::admitted)) return;
  Claim& claim = NewClaim(pod, uid);
  claim.until = until;
  for (std::size_t i = 0; i < asked.stations.size(); ++i) {
    if (!verdicts.nodes[i].admitted) continue;
    claim.at.push_back(asked.stations[i]);
    claim.score.push_back(static_cast<std::uint8_t>(ScoreOf(verdicts, verdicts.nodes[i])));
    asked.stations[i]->pending.push_back(&claim);
  }
}

Result<Filtered> Books::Filter(const Pod& pod, std::span<const Candidate> nodes, Instant now) {
  Expire(now);
  const std::string uid = manifest::UidOnNode(pod);
  const Claim* const before = FindClaim(uid);
  const bool bound = before != nullptr && before->bound;
  if (!bound) DropClaim(uid);
  if (undecided_ >= options_.most_undecided)
    return Fail(Code::kOverloaded, std::to_string(undecided_) + " pods have been told nodes and have none yet");
  const Asked asked = Ask(nodes);
  const Pod essence = Essence(pod, uid);
  const fleet::Verdicts verdicts = fleet_.Filter(essence, asked.nodes);
  Filtered out;
  bool held_up = false;
  for (std::size_t i = 0, k = 0; i < nodes.size(); ++i) {
    if (k == asked.positions.size() || asked.positions[k] != i) {
      Refuse(nodes[i], i, out);
      continue;
    }
    const fleet::Verdict& verdict = verdicts.nodes[k];
    if (verdict.admitted) {
      out.passed.push_back(i);
    } else {
      out.refused.push_back({.node = nodes[i].name, .reason = fleet_.Reason(verdicts, verdict)});
      held_up = held_up || std::ranges::any_of(asked.stations[k]->pending, [](const Claim* c) { return !c->bound; });
    }
    ++k;
  }
  out.may_change = out.passed.empty() && held_up;
  if (!bound) Hold(essence, uid, asked, verdicts, now + options_.hold);
  return out;
}

std::vector<int> Books::Prioritize(const Pod& pod, std::span<const Candidate> nodes) {
  std::vector<int> out(nodes.size());
  if (const Claim* const claim = FindClaim(manifest::UidOnNode(pod)); claim != nullptr && !claim->bound) {
    std::unordered_map<const Station*, int> scores;
    for (std::size_t i = 0; i < claim->at.size(); ++i) scores.emplace(claim->at[i], claim->score[i]);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (const auto score = scores.find(FindStation(nodes[i].name)); score != scores.end()) out[i] = score->second;
    return out;
  }
  const Asked asked = Ask(nodes);
  const Pod essence = Essence(pod, manifest::UidOnNode(pod));
  const fleet::Verdicts verdicts = fleet_.Filter(essence, asked.nodes);
  for (std::size_t k = 0; k < asked.positions.size(); ++k)
    if (verdicts.nodes[k].admitted) out[asked.positions[k]] = ScoreOf(verdicts, verdicts.nodes[k]);
  return out;
}

void Books::Expire(Instant now) {
  if (undecided_ == 0) return;
  std::vector<std::string> late;
  for (const auto& [uid, claim] : claims_)
    if (!claim->bound && claim->until <= now) late.push_back(uid);
  for (const std::string& uid : late) DropClaim(uid);
}

BooksFigures Books::figures() const {
  return {
      .nodes = fleet_.size(), .unusable = unusable_, .undecided = undecided_, .awaited = claims_.size() - undecided_};
}

}  // namespace berth::extender
