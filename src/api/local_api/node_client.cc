#include "api/local_api/node_client.h"

#include <utility>

#include "api/codec/views.h"
#include "rpc/http/url.h"

namespace berth::api {
namespace {

std::string PodPath(std::string_view what, const std::string& namespace_, const std::string& name) {
  return "/v1/" + std::string(what) + "/" + http::EncodeQuery(namespace_) + "/" + http::EncodeQuery(name);
}

Result<std::string> CommandBody(const ExecQuery& query) {
  const codec::Json body = {{"command", query.command}, {"timeoutSeconds", query.limit.count()}};
  std::string text = codec::FormatJson(body);
  if (const auto back = codec::ParseJson(text, "command"); back && *back == body) return text;
  return Fail(Code::kInvalid, "the command has bytes that are not UTF-8, which a container runtime does not take");
}

}  // namespace

template <class T>
Result<T> NodeClient::Ask(std::string_view method, const std::string& path, Result<T> (*read)(const codec::Json&),
                          const std::string& body, std::chrono::seconds beyond) const {
  BERTH_TRY(const codec::Json json, Call(socket_, method, path, body, timeout_ + beyond));
  auto value = read(json);
  if (!value) return Wrap(std::move(value).error(), "answer of berthd on " + socket_);
  return value;
}

Result<DaemonStatus> NodeClient::Status() const { return Ask("GET", "/v1/status", codec::DaemonStatusFromJson); }
Result<Health> NodeClient::GetHealth() const { return Ask("GET", "/v1/health", codec::HealthFromJson); }
Result<Machine> NodeClient::GetMachine() const { return Ask("GET", "/v1/machine", codec::MachineFromJson); }
Result<DeviceInventory> NodeClient::Devices() const {
  return Ask("GET", "/v1/devices", codec::DeviceInventoryFromJson);
}
Result<NodeView> NodeClient::Node() const { return Ask("GET", "/v1/node", codec::NodeViewFromJson); }
Result<Ledger> NodeClient::GetLedger() const { return Ask("GET", "/v1/ledger", codec::LedgerFromJson); }
Result<PodList> NodeClient::Pods() const { return Ask("GET", "/v1/pods", codec::PodListFromJson); }
Result<TreeView> NodeClient::Tree() const { return Ask("GET", "/v1/tree", codec::TreeViewFromJson); }
Result<StatsSummary> NodeClient::Stats() const { return Ask("GET", "/stats/summary", codec::StatsSummaryFromJson); }
Result<ImageList> NodeClient::Images() const { return Ask("GET", "/v1/images", codec::ImageListFromJson); }

Result<PodDetails> NodeClient::GetPod(const std::string& namespace_, const std::string& name) const {
  return Ask("GET", PodPath("pods", namespace_, name), codec::PodDetailsFromJson);
}

Result<StoredPods> NodeClient::ApplyPods(const ApplyQuery& query) const {
  http::PathAndQuery path("/v1/pods");
  if (query.templates) path.Add("templates", "1");
  if (query.dry_run) path.Add("dryRun", "1");
  path.Add("file", query.file);
  return Ask("POST", path.text(), codec::StoredPodsFromJson, query.manifests);
}

Result<DeletedPod> NodeClient::DeletePod(const std::string& namespace_, const std::string& name) const {
  return Ask("DELETE", PodPath("pods", namespace_, name), codec::DeletedPodFromJson);
}

Result<RestartedPod> NodeClient::RestartPod(const std::string& namespace_, const std::string& name) const {
  return Ask("POST", PodPath("restart", namespace_, name), codec::RestartedPodFromJson);
}

Result<DeletedPod> NodeClient::DeleteDocument(DocumentKind kind, const std::string& namespace_,
                                              const std::string& name) const {
  return Ask("DELETE", PodPath(kind == DocumentKind::kSecret ? "secrets" : "configmaps", namespace_, name),
             codec::DeletedPodFromJson);
}

Result<Outlook> NodeClient::Explain(const std::string& manifest) const {
  return Ask("POST", "/v1/explain", codec::OutlookFromJson, manifest);
}

Result<Move> NodeClient::MoveContainer(const MoveRequest& request) const {
  return Ask("POST", "/v1/moves", codec::MoveFromJson, codec::FormatJson(codec::ToJson(request)));
}

Result<EventList> NodeClient::Events(const EventQuery& query) const {
  http::PathAndQuery path("/v1/events");
  path.Add("since", query.since).Add("pod", query.pod).Add("limit", query.limit);
  return Ask("GET", path.text(), codec::EventListFromJson);
}

Result<LogPage> NodeClient::Logs(const LogQuery& query) const {
  http::PathAndQuery path(PodPath("logs", query.namespace_, query.pod) + "/" + http::EncodeQuery(query.container));
  path.Add("tail", query.tail).Add("since", query.since).Add("previous", query.previous ? "1" : "");
  path.Add("follow", query.follow ? "1" : "").Add("log", query.log).Add("after", query.after);
  return Ask("GET", path.text(), codec::LogPageFromJson);
}

Result<CommandEnd> NodeClient::Exec(const ExecQuery& query) const {
  BERTH_TRY(const std::string body, CommandBody(query));
  return Ask("POST", PodPath("exec", query.namespace_, query.pod) + "/" + http::EncodeQuery(query.container),
             codec::CommandEndFromJson, body, query.limit);
}

}  // namespace berth::api
