// BerthConfiguration: Berth's own settings.
#include "config/berth_config.h"

#include <algorithm>

#include "base/name_validation.h"
#include "base/text.h"
#include "config/config_file.h"
#include "config/local_device_reader.h"
#include "config/own_rules_reader.h"

namespace berth::config {
namespace {

using manifest::Document;
using manifest::Node;
using manifest::Object;
using manifest::Path;
using manifest::Report;
using manifest::UnsupportedValue;
using manifest::Words;

constexpr TypeMeta kBerthConfiguration{.api_version = "berth.dev/v1alpha1", .kind = "BerthConfiguration"};
constexpr std::size_t kLongestSocketPath = 107;  // sun_path less the final NUL
constexpr std::size_t kLongestGrpcSocket = 102;  // src/rpc/grpc makes it under a longer name
constexpr std::int32_t kMostEvents = 1'000'000;
constexpr std::int32_t kMostWaiting = 10'000;
constexpr std::chrono::milliseconds kShortestReconcile{100};

void CheckAbsolute(Object& object, std::string_view field, const std::string& path) {
  const std::vector<std::string_view> parts = Split(path, '/');
  const bool climbs = std::ranges::find(parts, "..") != parts.end();
  if (path.starts_with('/') && !climbs) return;
  object.report().Problem(object.PathOf(field),
                          "Invalid value: \"" + Printable(path, 80) + "\": must be an absolute path without \"..\"");
}

void CheckSocket(Object& object, std::string_view field, const std::string& path, std::size_t most) {
  CheckAbsolute(object, field, path);
  if (path.size() > most)
    object.report().Problem(object.PathOf(field), "Invalid value: \"" + Printable(path, 80) +
                                                      "\": the kernel takes no more than " + std::to_string(most) +
                                                      " bytes");
}

/// One must be given, or have a default.
void NeedWord(Object& object, std::string_view field, const std::string& value, Words words) {
  if (std::ranges::find(words, value) == words.end())
    object.report().Problem(object.PathOf(field), UnsupportedValue(value, words));
}

/// "10.0.0.1" or "10.0.0.1,fd00::1", as the kubelet's --node-ip.
void ReadNodeIps(Object& object, std::vector<std::string>& out) {
  std::string text;
  object.Read("nodeIP", text);
  if (text.empty()) return;
  for (const std::string_view part : Split(text, ',')) out.emplace_back(Trim(part));
}

void CheckNodeIps(Object& object, const std::vector<std::string>& ips) {
  const auto is_v6 = [](const std::string& ip) { return ip.contains(':'); };
  const bool pair = ips.size() == 2 && is_v6(ips[0]) != is_v6(ips[1]);
  if (std::ranges::all_of(ips, IsIpAddress) && (ips.size() < 2 || pair)) return;
  object.report().Problem(object.PathOf("nodeIP"), "Invalid value: \"" + Printable(Join(ips, ","), 80) +
                                                       "\": must be an IP address, or one of each family with a comma "
                                                       "between them");
}

/// A port alone may be written as a number.
void ReadAddress(Object& object, std::string_view field, std::string& out) {
  const Node* const node = object.Take(field);
  if (node != nullptr && node->kind == Node::Kind::kNumber)
    out = node->text;
  else
    object.Read(field, out);
}

void RefuseAddress(Object& object, std::string_view field, const std::string& value, std::string_view more = "") {
  object.report().Problem(object.PathOf(field), "Invalid value: \"" + Printable(value, 80) +
                                                    "\": must be a port, or an IP address with a port such as "
                                                    "\"10.0.0.1:9950\" or \"[fd00::1]:9950\"" +
                                                    std::string(more));
}

void ReadMetricsAddress(Object& object, std::string& out) {
  ReadAddress(object, "metricsAddress", out);
  if (!out.empty() && !ParseTcpAddress(out)) RefuseAddress(object, "metricsAddress", out);
}

/// Who can connect to the page: this host's users, those who may open a socket, or anybody.
void CheckWeb(Object& web, const WebSettings& settings) {
  const auto needed = [&](std::string_view field, const char* why) {
    web.report().Problem(web.PathOf(field), std::string("Required value: ") + why);
  };
  if (settings.certificate.empty() != settings.key.empty())
    needed(settings.key.empty() ? "key" : "certificate", "certificate and key belong together");
  if (settings.address.starts_with('/')) {
    CheckSocket(web, "address", settings.address, kLongestSocketPath);
    if (!settings.certificate.empty() || !settings.token_file.empty())
      web.report().Problem(web.path(),
                           "Forbidden: on a unix socket its rights say who may see the page; leave out "
                           "certificate, key and tokenFile");
    return;
  }
  const auto tcp = ParseTcpAddress(settings.address);
  if (!tcp) return RefuseAddress(web, "address", settings.address, ", or the path of a unix socket");
  if (!IsLoopback(*tcp) && settings.certificate.empty())
    needed("certificate", "beyond this host the page is only served with TLS; give certificate and key");
  if (!IsLoopback(*tcp) && settings.token_file.empty())
    needed("tokenFile", "beyond this host the page asks for a token; name the file that holds it");
  if (settings.allow_changes && settings.token_file.empty())
    needed("tokenFile",
           "with allowChanges the page asks for a token, or is on a unix socket: who may start pods is as "
           "good as root");
}

void ReadWeb(Object& object, std::optional<WebSettings>& out) {
  object.Within("web", [&](Object& web) {
    WebSettings& settings = out.emplace();
    ReadAddress(web, "address", settings.address);
    web.Read("certificate", settings.certificate);
    web.Read("key", settings.key);
    web.Read("tokenFile", settings.token_file);
    web.Read("allowChanges", settings.allow_changes);
    web.Finish();
    CheckWeb(web, settings);
  });
}

/// 07 without quotes is a number of YAML's.
void ReadIndex(Object& object, std::string& out) {
  const Node* const node = object.Take("nriIndex");
  if (node != nullptr && node->kind == Node::Kind::kNumber)
    out = node->text;
  else
    object.Read("nriIndex", out);
}

/// 1.37 without quotes is a number of YAML's.
void ReadKubeletVersion(Object& object, std::optional<KubeletVersion>& out) {
  const Node* const node = object.Take("kubeletVersion");
  if (node == nullptr) return;
  std::string text;
  if (node->kind == Node::Kind::kNumber)
    text = node->text;
  else
    object.Read("kubeletVersion", text);
  if (text.empty()) return;
  const auto version = ParseKubeletVersion(text);
  if (version)
    out = *version;
  else
    object.report().Problem(object.PathOf("kubeletVersion"), "Invalid value: " + version.error().message);
}

void ReadPublish(Object& object, std::optional<PublishSettings>& out) {
  object.Within("publish", [&](Object& publish) {
    PublishSettings& settings = out.emplace();
    publish.Read("kubeconfig", settings.kubeconfig);
    publish.Read("topology", settings.topology);
    publish.Read("state", settings.state);
    publish.Finish();
    if (!settings.topology && !settings.state)
      publish.report().Problem(publish.path(), "Invalid value: topology and state are both false: leave publish out");
  });
}

void ReadPodSpecs(Object& object, std::optional<PodSpecsSettings>& out) {
  object.Within("podSpecs", [&](Object& specs) {
    specs.Read("kubeconfig", out.emplace().kubeconfig);
    specs.Finish();
  });
}

void ReadWaiting(Object& object, std::optional<WaitingSettings>& out) {
  object.Within("waiting", [&](Object& waiting) {
    WaitingSettings& settings = out.emplace();
    waiting.Read("max", settings.max);
    waiting.Read("overtakes", settings.overtakes);
    waiting.Finish();
    const auto need = [&](const char* name, std::int32_t value, std::int32_t least) {
      if (value >= least && value <= kMostWaiting) return;
      waiting.report().Problem(waiting.PathOf(name), "Invalid value: " + std::to_string(value) + ": must be between " +
                                                         std::to_string(least) + " and " +
                                                         std::to_string(kMostWaiting));
    };
    need("max", settings.max, 1);
    need("overtakes", settings.overtakes, 0);
  });
}

void Check(Object& object, const BerthConfiguration& c) {
  CheckAbsolute(object, "stateDir", c.state_dir);
  CheckAbsolute(object, "runDir", c.run_dir);
  if (object.Take("logDir") != nullptr) CheckAbsolute(object, "logDir", c.log_dir);
  CheckAbsolute(object, "seccompDir", c.seccomp_dir);
  if (!c.device_plugin_dir.value_or("").empty()) CheckAbsolute(object, "devicePluginDir", *c.device_plugin_dir);
  CheckNodeIps(object, c.node_ips);
  if (!c.socket.empty()) CheckSocket(object, "socket", c.socket, kLongestSocketPath);
  if (!c.pod_resources_socket.empty())
    CheckSocket(object, "podResourcesSocket", c.pod_resources_socket, kLongestGrpcSocket);
  if (!c.node_name.empty())
    if (std::string bad = CheckSubdomainName(c.node_name); !bad.empty())
      object.report().Problem(object.PathOf("nodeName"), std::move(bad));
  NeedWord(object, "logLevel", c.log_level, {"debug", "info", "warning", "error"});
  NeedWord(object, "runtime", c.runtime, {"process", "cri", "nri"});
  CheckSocket(object, "nriSocket", c.nri_socket, kLongestSocketPath);
  if (c.nri_index.size() != 2 || !ParseDecimal<std::uint8_t>(c.nri_index))
    object.report().Problem(object.PathOf("nriIndex"),
                            "Invalid value: \"" + Printable(c.nri_index, 20) + "\": must be two digits");
  NeedWord(object, "nriUnplaced", c.nri_unplaced, {"refuse", "share"});
  NeedWord(object, "nriContested", c.nri_contested, {"keep", "stepAside"});
  if (c.runtime == "nri" && c.cpu_partition != "none")
    object.report().Problem(object.PathOf("cpuPartition"),
                            "Forbidden: with runtime nri the groups above are a kubelet's");
  NeedWord(object, "cpuPartition", c.cpu_partition, {"none", "root", "isolated"});
  NeedWord(object, "unknownPods", c.unknown_pods, {"report", "adopt"});
  NeedWord(object, "manifestOwners", c.manifest_owners, {"root", "any"});
  NeedWord(object, "unsupportedFields", c.unsupported_fields, {"refuse", "warn"});
  NeedWord(object, "preemption", c.preemption, {"none", "critical"});
  if (c.reconcile_period && *c.reconcile_period < kShortestReconcile)
    object.report().Problem(
        object.PathOf("reconcilePeriod"),
        "Invalid value: " + std::to_string(c.reconcile_period->count()) + "ms: must be at least 100ms");
  if (c.max_events < 1 || c.max_events > kMostEvents)
    object.report().Problem(object.PathOf("maxEvents"), "Invalid value: " + std::to_string(c.max_events) +
                                                            ": must be between 1 and " + std::to_string(kMostEvents));
}

void ReadFields(Object& object, BerthConfiguration& c) {
  object.Read("kubeletConfig", c.kubelet_config);
  object.Read("stateDir", c.state_dir);
  object.Read("runDir", c.run_dir);
  object.Read("seccompDir", c.seccomp_dir);
  if (object.Take("devicePluginDir") != nullptr) object.Read("devicePluginDir", c.device_plugin_dir.emplace());
  ReadLocalDevices(object, c.local_devices);
  object.Read("socket", c.socket);
  object.Read("socketGroup", c.socket_group);
  ReadMetricsAddress(object, c.metrics_address);
  object.Read("podResourcesSocket", c.pod_resources_socket);
  ReadPublish(object, c.publish);
  ReadWeb(object, c.web);
  object.Read("logDir", c.log_dir);
  object.Read("nodeName", c.node_name);
  ReadNodeIps(object, c.node_ips);
  object.Read("runtimeClasses", c.runtime_classes);
  object.Read("runtime", c.runtime);
  c.names_runtime = object.Take("runtime") != nullptr;
  object.Read("nriSocket", c.nri_socket);
  ReadIndex(object, c.nri_index);
  object.Read("nriUnplaced", c.nri_unplaced);
  object.Read("nriContested", c.nri_contested);
  object.Read("kubeletDir", c.kubelet_dir);
  ReadPodSpecs(object, c.pod_specs);
  object.Read("logLevel", c.log_level);
  ReadKubeletVersion(object, c.kubelet_version);
  object.Read("nodeFit", c.node_fit);
  object.Read("wholeCores", c.whole_cores);
  object.Read("closeDevices", c.close_devices);
  object.Read("judgeByFreeMemory", c.judge_by_free_memory);
  object.Read("memoryGroupsOverlap", c.memory_groups_overlap);
  object.Read("podFallsBack", c.pod_falls_back);
  object.Read("keepRestAligned", c.keep_rest_aligned);
  object.Read("lookAhead", c.look_ahead);
  ReadWaiting(object, c.waiting);
  object.Read("preemption", c.preemption);
  object.Read("evictionIgnoresPageCache", c.eviction_ignores_page_cache);
  ReadOwnRules(object, c.own);
  object.Read("stopContainersOnExit", c.stop_containers_on_exit);
  object.Read("reconcilePeriod", c.reconcile_period);
  object.Read("maxEvents", c.max_events);
  object.Read("cpuPartition", c.cpu_partition);
  object.Read("runtimeCgroups", c.runtime_cgroups);
  object.Read("unknownPods", c.unknown_pods);
  object.Read("manifestOwners", c.manifest_owners);
  object.Read("unsupportedFields", c.unsupported_fields);
  object.Finish();
}

}  // namespace

std::optional<TcpAddress> ParseTcpAddress(std::string_view text) {
  TcpAddress out{.address = "127.0.0.1"};
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    std::string_view address = text.substr(0, colon);
    const bool bracketed = address.starts_with('[') && address.ends_with(']');
    if (bracketed) address = address.substr(1, address.size() - 2);
    if (address.contains(':') != bracketed) return std::nullopt;
    out.address = address;
    text.remove_prefix(colon + 1);
  }
  const auto port = ParseDecimal<std::uint16_t>(text);
  if (!port || *port == 0 || !IsIpAddress(out.address)) return std::nullopt;
  out.port = *port;
  return out;
}

bool IsLoopback(const TcpAddress& address) {
  return address.address == "::1" || (address.address.starts_with("127.") && !address.address.contains(':'));
}

std::string DevicePluginDir(const BerthConfiguration& config) {
  if (config.device_plugin_dir) return *config.device_plugin_dir;
  return config.state_dir == BerthConfiguration().state_dir ? "/var/lib/kubelet/device-plugins" : "";
}

Result<void> ReadBerthConfiguration(std::string_view text, std::string_view file, ParsedBerthConfiguration& out) {
  BERTH_TRY(const Document document, ReadOnlyDocument(text, file));
  Report report;
  const Path top;
  Object object(document.root, top, report);
  CheckTypeMeta(object, kBerthConfiguration, /*required=*/true);
  ReadFields(object, out.config);
  Check(object, out.config);
  out.config.kubelet_config = ResolveBeside(file, out.config.kubelet_config);
  if (out.config.publish) out.config.publish->kubeconfig = ResolveBeside(file, out.config.publish->kubeconfig);
  if (out.config.pod_specs) out.config.pod_specs->kubeconfig = ResolveBeside(file, out.config.pod_specs->kubeconfig);
  if (WebSettings* const web = out.config.web ? &*out.config.web : nullptr)
    for (std::string* const path : {&web->certificate, &web->key, &web->token_file}) *path = ResolveBeside(file, *path);
  out.warnings = WarningsOf(report, document, file);
  return ErrorOf(report, file);
}

Result<ParsedBerthConfiguration> ParseBerthConfiguration(std::string_view text, std::string_view file) {
  ParsedBerthConfiguration out;
  BERTH_RETURN_IF_ERROR(ReadBerthConfiguration(text, file, out));
  return out;
}

}  // namespace berth::config
