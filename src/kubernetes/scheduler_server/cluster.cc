#include "kubernetes/scheduler_server/cluster.h"

#include <optional>

#include "api/codec/node_state_json.h"
#include "manifest/manifest.h"

namespace berth::scheduler_server {
namespace {

std::size_t Index(Kind kind) { return static_cast<std::size_t>(kind); }

/// A state of the node that its object is named after.
Result<NodeState> ReadStateOf(const kube::Object& object) {
  BERTH_TRY(NodeState state, codec::ReadNodeState(object.json));
  if (state.node != object.key.name) return Fail(Code::kInvalid, "it is another node's state");
  return state;
}

/// status.nominatedNodeName, which few pods have.
std::string NominatedNode(const std::string& pod) {
  constexpr std::string_view kName = "nominatedNodeName";
  if (!pod.contains(kName)) return "";
  const auto json = codec::ParseJson(pod, "Pod");
  if (!json) return "";
  const codec::Json node = json->value(codec::Json::json_pointer("/status/nominatedNodeName"), codec::Json());
  return node.is_string() ? node.get<std::string>() : "";
}

}  // namespace

std::string_view Name(Kind kind) { return kind == Kind::kNodeStates ? "nodestates" : "pods"; }

Cluster::Cluster(ClusterOptions options, cluster::RunAll run_all, const os::Clock& clock)
    : options_(options), clock_(clock), books_(options.books, std::move(run_all)) {}

// ---- what the API server tells ----

/// What is wrong with it; "": nothing. Reading takes a while and holds up nobody.
std::string Cluster::TakeNodeState(const kube::Change& change) {
  const std::string& node = change.object.key.name;
  if (change.kind == kube::Change::Kind::kGone) {
    const MutexLock lock(mutex_);
    books_.DropNode(node);
    return "";
  }
  auto state = ReadStateOf(change.object);
  const MutexLock lock(mutex_);
  if (!state) {
    books_.SpoilNode(node, state.error().message);
    return state.error().message;
  }
  const auto set = books_.SetNode(*std::move(state));
  return set ? "" : set.error().message;
}

std::string Cluster::TakePod(const kube::Change& change) {
  const kube::ObjectKey& key = change.object.key;
  if (change.kind == kube::Change::Kind::kGone) {
    const MutexLock lock(mutex_);
    books_.DropPod(key.namespace_, key.name);
    return "";
  }
  auto pod = manifest::ParsePodJson(change.object.json, "Pod");
  const std::string nominated = NominatedNode(change.object.json);
  const MutexLock lock(mutex_);
  if (!pod) {
    books_.DropPod(key.namespace_, key.name);
    return pod.error().message;
  }
  books_.SetPod(*pod, nominated);
  return "";
}

/// Whether it has to be said.
bool Cluster::IsNews(Kind kind, const kube::ObjectKey& key, const std::string& problem) {
  const MutexLock lock(mutex_);
  auto& problems = problems_[Index(kind)];
  if (problem.empty()) {
    problems.erase(key);
    return false;
  }
  std::string& before = problems[key];
  if (before == problem) return false;
  before = problem;
  return true;
}

std::vector<std::string> Cluster::Take(Kind kind, const std::vector<kube::Change>& changes) {
  std::vector<std::string> out;
  for (const kube::Change& change : changes) {
    if (change.kind == kube::Change::Kind::kSynced) {
      const MutexLock lock(mutex_);
      followed_[Index(kind)].known = true;
      continue;
    }
    const kube::ObjectKey& key = change.object.key;
    const std::string problem = kind == Kind::kNodeStates ? TakeNodeState(change) : TakePod(change);
    if (!IsNews(kind, key, problem)) continue;
    out.push_back(kind == Kind::kNodeStates
                      ? "the NodeState of " + key.name + " cannot be used: " + problem
                      : "pod " + key.namespace_ + "/" + key.name + " cannot be read, and does not count: " + problem);
  }
  const MutexLock lock(mutex_);
  ++changes_;
  changed_.NotifyAll();
  return out;
}

void Cluster::SetTrouble(Kind kind, std::string why) {
  const MutexLock lock(mutex_);
  followed_[Index(kind)].trouble = std::move(why);
}

void Cluster::Hurry() {
  const MutexLock lock(mutex_);
  hurry_ = true;
  changed_.NotifyAll();
}

// ---- questions ----

std::string Cluster::WhyNotReady() const {
  const MutexLock lock(mutex_);
  std::string out;
  for (const Kind kind : kKinds) {
    const Followed& followed = followed_[Index(kind)];
    if (followed.known) continue;
    if (!out.empty()) out += "; ";
    out += "not all " + std::string(Name(kind)) + " are known yet";
    if (!followed.trouble.empty()) out += ": " + followed.trouble;
  }
  return out;
}

Result<scheduler_extender::Filtered> Cluster::Filter(const scheduler_extender::Call& call) {
  const os::MonoTime deadline = clock_.Now() + options_.patience;
  const MutexLock lock(mutex_);
  while (true) {
    auto out = books_.Filter(call.pod, call.nodes, clock_.Now());
    if (!out || !out->may_change) return out;
    const std::uint64_t seen = changes_;
    while (changes_ == seen && !hurry_ && clock_.Now() < deadline) changed_.WaitUntil(mutex_, deadline);
    if (changes_ == seen) return out;
  }
}

std::vector<int> Cluster::Prioritize(const scheduler_extender::Call& call) {
  const MutexLock lock(mutex_);
  return books_.Prioritize(call.pod, call.nodes);
}

void Cluster::Expire() {
  constexpr std::size_t kFew = 4;
  for (bool more = true; more;) {
    const MutexLock lock(mutex_);
    more = books_.Expire(clock_.Now(), kFew);
  }
}

ClusterFigures Cluster::figures() {
  const bool ready = WhyNotReady().empty();
  const MutexLock lock(mutex_);
  ClusterFigures out{
      .books = books_.figures(), .unreadable_pods = problems_[Index(Kind::kPods)].size(), .ready = ready};
  for (const Kind kind : kKinds) out.trouble[Index(kind)] = !followed_[Index(kind)].trouble.empty();
  return out;
}

}  // namespace berth::scheduler_server
