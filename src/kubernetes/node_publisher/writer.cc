#include "kubernetes/node_publisher/writer.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "api/codec/node_state_json.h"
#include "kubernetes/node_publisher/topology.h"
#include "model/node_state.h"

namespace berth::node_publisher {
namespace {

using codec::Json;

constexpr std::array<std::string_view, 5> kNotCompared = {"apiVersion", "kind", "metadata", "generation", "time"};
constexpr int kNotFound = 404;
constexpr const char* kFingerprint = "topology.node.k8s.io/fingerprint";

kube::Target TargetOf(Kind kind, const std::string& node) {
  kube::Resource resource{.group = "berth.dev", .version = "v1alpha1", .plural = "nodestates"};
  if (kind == Kind::kTopology)
    resource = {.group = "topology.node.k8s.io", .version = "v1alpha2", .plural = "noderesourcetopologies"};
  return {.resource = std::move(resource), .namespace_ = {}, .name = node, .subresource = {}};
}

/// The member, or null where there is none.
Json MemberOf(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? Json() : *found;
}

/// The server leaves out members that are null.
Json WithoutNulls(const Json& json) {
  if (!json.is_structured()) return json;
  Json out = json.is_array() ? Json::array() : Json::object();
  if (json.is_array())
    for (const Json& item : json) out.push_back(WithoutNulls(item));
  else
    for (const auto& [key, value] : json.items())
      if (!value.is_null()) out[key] = WithoutNulls(value);
  return out;
}

/// What counts of an object, ours or the server's: without what the server adds and what tells only of the writing.
std::string EssenceOf(const Json& object) {
  if (!object.is_object()) return "";
  Json out = Json::object();
  for (const auto& [key, value] : object.items())
    if (!value.is_null() && std::ranges::find(kNotCompared, key) == kNotCompared.end()) out[key] = WithoutNulls(value);
  const Json metadata = MemberOf(object, "metadata");
  out["fingerprint"] = MemberOf(MemberOf(metadata, "annotations"), kFingerprint);
  Json owners = Json::array();
  for (const Json& owner : MemberOf(metadata, "ownerReferences")) owners.push_back(MemberOf(owner, "uid"));
  out["owners"] = std::move(owners);
  return codec::FormatJson(out);
}

/// Pods that are more than waiting: those whose phase is Pending count on no side.
std::vector<PodName> PodsOf(const NodeSnapshot& snapshot) {
  std::vector<PodName> out;
  for (const PodSnapshot& pod : snapshot.pods)
    if (pod.view->phase != PodPhase::kPending) out.push_back({pod.view->namespace_, pod.view->name});
  return out;
}

NodeState StateOf(const WriterOptions& options, const Moment& moment) {
  const NodeSnapshot& snapshot = *moment.node;
  return Compact({.node = options.node,
                  .berth_version = options.version,
                  .generation = 0,
                  .time = std::nullopt,
                  .machine = *snapshot.machine,
                  .config = *moment.config,
                  .kubelet_version = snapshot.node->kubelet_version,
                  .node_fit = snapshot.node->node_fit,
                  .whole_cores = snapshot.node->whole_cores,
                  .close_devices = snapshot.node->close_devices,
                  .judge_by_free_memory = snapshot.node->judge_by_free_memory,
                  .memory_groups_overlap = snapshot.node->memory_groups_overlap,
                  .pod_falls_back = snapshot.node->pod_falls_back,
                  .keep_rest_aligned = snapshot.node->keep_rest_aligned,
                  .look_ahead = snapshot.node->look_ahead,
                  .own = snapshot.node->own,
                  .devices = *snapshot.devices,
                  .ledger = *snapshot.ledger});
}

std::string CureOf(const kube::CallError& error) {
  if (error.status == kNotFound) return "; the cluster does not know this kind: apply its CustomResourceDefinition";
  if (error.code == Code::kConflict)
    return "; somebody else writes this object: let only one do it, or delete it if it is a leftover";
  return "";
}

}  // namespace

std::string_view Name(Kind kind) { return kind == Kind::kTopology ? "NodeResourceTopology" : "NodeState"; }

Result<bool> Writer::Write(const Moment& moment, bool look, WallTime now) {
  BERTH_TRY(Json object, Make(moment));
  BERTH_TRY(kube::Client* const client, Connected());
  look = look || !known_;
  if (look || owner_.empty()) LookForOwner(*client);
  if (look) BERTH_RETURN_IF_ERROR(Look(*client));
  if (!owner_.empty())
    object["metadata"]["ownerReferences"] =
        Json::array({{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", options_.node}, {"uid", owner_}}});
  std::string essence = EssenceOf(object);
  if (essence == essence_) return false;
  const bool state = options_.kind == Kind::kState;
  if (state) {
    object["generation"] = generation_ + 1;
    object["time"] = FormatTime(now);
  }
  known_ = false;  // an attempt that fails may have been carried out
  // Nobody but Berth writes a NodeState; the other kind may be another exporter's.
  const auto written = client->Apply(TargetOf(options_.kind, options_.node), codec::FormatJson(object),
                                     {.field_manager = "berthd", .force = state});
  if (!written) {
    Error error = written.error();
    error.message += CureOf(written.error());
    return std::unexpected(std::move(error));
  }
  essence_ = std::move(essence);
  ++generation_;
  known_ = true;
  return true;
}

void Writer::GiveUp() {
  const MutexLock lock(mutex_);
  given_up_ = true;
  if (client_) client_->Stop();
}

/// Lifetime of the answer: this one's; a client is never exchanged.
Result<kube::Client*> Writer::Connected() {
  {
    const MutexLock lock(mutex_);
    if (client_) return client_.get();
  }
  BERTH_TRY(std::unique_ptr<kube::Client> made, connect_());
  const MutexLock lock(mutex_);
  client_ = std::move(made);
  if (given_up_) client_->Stop();
  return client_.get();
}

/// A node that is none of the cluster's, or that we may not see, owns nothing.
void Writer::LookForOwner(kube::Client& client) {
  const auto node =
      client.Get({.resource = {.plural = "nodes"}, .namespace_ = {}, .name = options_.node, .subresource = {}});
  if (node)
    owner_ = node->uid;
  else if (node.error().status != 0)
    owner_.clear();
}

Result<void> Writer::Look(kube::Client& client) {
  const auto there = client.Get(TargetOf(options_.kind, options_.node));
  if (!there && there.error().status != kNotFound) return std::unexpected<Error>(there.error());
  essence_.clear();
  known_ = true;
  if (!there) return {};
  const auto json = codec::ParseJson(there->json, Name(options_.kind));
  if (!json) return {};  // whatever it is, it is not ours
  essence_ = EssenceOf(*json);
  if (const Json generation = MemberOf(*json, "generation"); generation.is_number_unsigned())
    generation_ = std::max(generation_, generation.get<std::uint64_t>());
  return {};
}

Result<Json> Writer::Make(const Moment& moment) const {
  const NodeSnapshot& snapshot = *moment.node;
  if (options_.kind == Kind::kTopology)
    return NodeResourceTopology(options_.node, snapshot, *moment.config, PodsOf(snapshot));
  Json object = codec::ToJson(StateOf(options_, moment));
  BERTH_RETURN_IF_ERROR(codec::FormatNodeState(object));
  return object;
}

}  // namespace berth::node_publisher
