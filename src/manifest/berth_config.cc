// BerthConfiguration: Berth's own settings.
#include <algorithm>

#include "base/text.h"
#include "manifest/config_file.h"
#include "manifest/local_device_reader.h"
#include "manifest/manifest.h"
#include "manifest/names.h"

namespace berth::manifest {
namespace {

constexpr TypeMeta kBerthConfiguration{.api_version = "berth.dev/v1alpha1", .kind = "BerthConfiguration"};
constexpr std::size_t kLongestSocketPath = 107;  // sun_path less the final NUL
constexpr std::size_t kLongestGrpcSocket = 102;  // src/wire makes it under a longer name
constexpr std::int32_t kMostEvents = 1'000'000;
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
void ReadMetricsAddress(Object& object, std::string& out) {
  const Node* const node = object.Take("metricsAddress");
  if (node != nullptr && node->kind == Node::Kind::kNumber)
    out = node->text;
  else
    object.Read("metricsAddress", out);
  if (out.empty() || ParseMetricsAddress(out)) return;
  object.report().Problem(object.PathOf("metricsAddress"),
                          "Invalid value: \"" + Printable(out, 80) +
                              "\": must be a port, or an IP address with a port such as \"10.0.0.1:9950\" or "
                              "\"[fd00::1]:9950\"");
}

/// 07 without quotes is a number of YAML's.
void ReadIndex(Object& object, std::string& out) {
  const Node* const node = object.Take("nriIndex");
  if (node != nullptr && node->kind == Node::Kind::kNumber)
    out = node->text;
  else
    object.Read("nriIndex", out);
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

void Check(Object& object, const BerthConfiguration& c) {
  CheckAbsolute(object, "stateDir", c.state_dir);
  CheckAbsolute(object, "runDir", c.run_dir);
  if (object.Take("logDir") != nullptr) CheckAbsolute(object, "logDir", c.log_dir);
  CheckAbsolute(object, "seccompDir", c.seccomp_dir);
  if (!c.device_plugin_dir.value_or("").empty()) CheckAbsolute(object, "devicePluginDir", *c.device_plugin_dir);
  CheckNodeIps(object, c.node_ips);
  CheckSocket(object, "socket", c.socket, kLongestSocketPath);
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
  c.socket = c.run_dir + "/berth.sock";
  if (object.Take("devicePluginDir") != nullptr) object.Read("devicePluginDir", c.device_plugin_dir.emplace());
  ReadLocalDevices(object, c.local_devices);
  object.Read("socket", c.socket);
  object.Read("socketGroup", c.socket_group);
  ReadMetricsAddress(object, c.metrics_address);
  object.Read("podResourcesSocket", c.pod_resources_socket);
  ReadPublish(object, c.publish);
  object.Read("logDir", c.log_dir);
  object.Read("nodeName", c.node_name);
  ReadNodeIps(object, c.node_ips);
  object.Read("runtimeClasses", c.runtime_classes);
  object.Read("runtime", c.runtime);
  object.Read("nriSocket", c.nri_socket);
  ReadIndex(object, c.nri_index);
  object.Read("nriUnplaced", c.nri_unplaced);
  object.Read("nriContested", c.nri_contested);
  object.Read("kubeletDir", c.kubelet_dir);
  object.Read("logLevel", c.log_level);
  object.Read("nodeFit", c.node_fit);
  object.Read("wholeCores", c.whole_cores);
  object.Read("closeDevices", c.close_devices);
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

std::optional<MetricsAddress> ParseMetricsAddress(std::string_view text) {
  MetricsAddress out{.address = "127.0.0.1"};
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

std::string DevicePluginDir(const BerthConfiguration& config) {
  if (config.device_plugin_dir) return *config.device_plugin_dir;
  return config.state_dir == BerthConfiguration().state_dir ? "/var/lib/kubelet/device-plugins" : "";
}

Result<ParsedBerthConfiguration> ParseBerthConfiguration(std::string_view text, std::string_view file) {
  BERTH_TRY(const Document document, ReadOnlyDocument(text, file));
  Report report;
  const Path top;
  Object object(document.root, top, report);
  CheckTypeMeta(object, kBerthConfiguration, /*required=*/true);
  ParsedBerthConfiguration out;
  ReadFields(object, out.config);
  Check(object, out.config);
  out.config.kubelet_config = ResolveBeside(file, out.config.kubelet_config);
  if (out.config.publish) out.config.publish->kubeconfig = ResolveBeside(file, out.config.publish->kubeconfig);
  BERTH_RETURN_IF_ERROR(ErrorOf(report, file));
  out.warnings = WarningsOf(report, document, file);
  return out;
}

}  // namespace berth::manifest
