// BerthConfiguration: Berth's own settings.
#include <algorithm>

#include "base/text.h"
#include "manifest/config_file.h"
#include "manifest/manifest.h"
#include "manifest/names.h"

namespace berth::manifest {
namespace {

constexpr TypeMeta kBerthConfiguration{.api_version = "berth.dev/v1alpha1", .kind = "BerthConfiguration"};
constexpr std::string_view kLogLevels[] = {"debug", "info", "warning", "error"};
constexpr std::string_view kCpuPartitions[] = {"none", "root", "isolated"};
constexpr std::string_view kRuntimes[] = {"process", "cri"};
constexpr std::string_view kUnknownPods[] = {"report", "adopt"};
constexpr std::string_view kManifestOwners[] = {"root", "any"};
constexpr std::string_view kUnsupportedFields[] = {"refuse", "warn"};
constexpr std::size_t kLongestSocketPath = 107;  // sun_path less the final NUL
constexpr std::int32_t kMostEvents = 1'000'000;
constexpr std::chrono::milliseconds kShortestReconcile{100};

void CheckAbsolute(Object& object, std::string_view field, const std::string& path) {
  const std::vector<std::string_view> parts = Split(path, '/');
  const bool climbs = std::ranges::find(parts, "..") != parts.end();
  if (path.starts_with('/') && !climbs) return;
  object.report().Problem(object.PathOf(field),
                          "Invalid value: \"" + Printable(path, 80) + "\": must be an absolute path without \"..\"");
}

template <std::size_t N>
void CheckOneOf(Object& object, std::string_view field, const std::string& value, const std::string_view (&words)[N]) {
  if (std::ranges::find(words, value) != std::end(words)) return;
  std::string supported;
  for (const std::string_view word : words)
    supported.append(supported.empty() ? "\"" : ", \"").append(word).append("\"");
  object.report().Problem(object.PathOf(field),
                          "Unsupported value: \"" + Printable(value, 60) + "\": supported values: " + supported);
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

void Check(Object& object, const BerthConfiguration& c) {
  CheckAbsolute(object, "stateDir", c.state_dir);
  CheckAbsolute(object, "runDir", c.run_dir);
  if (object.Take("logDir") != nullptr) CheckAbsolute(object, "logDir", c.log_dir);
  CheckAbsolute(object, "seccompDir", c.seccomp_dir);
  CheckNodeIps(object, c.node_ips);
  CheckAbsolute(object, "socket", c.socket);
  if (c.socket.size() > kLongestSocketPath)
    object.report().Problem(object.PathOf("socket"), "Invalid value: \"" + Printable(c.socket, 80) +
                                                         "\": the kernel takes no more than " +
                                                         std::to_string(kLongestSocketPath) + " bytes");
  if (!c.node_name.empty())
    if (std::string bad = CheckSubdomainName(c.node_name); !bad.empty())
      object.report().Problem(object.PathOf("nodeName"), std::move(bad));
  CheckOneOf(object, "logLevel", c.log_level, kLogLevels);
  CheckOneOf(object, "runtime", c.runtime, kRuntimes);
  CheckOneOf(object, "cpuPartition", c.cpu_partition, kCpuPartitions);
  CheckOneOf(object, "unknownPods", c.unknown_pods, kUnknownPods);
  CheckOneOf(object, "manifestOwners", c.manifest_owners, kManifestOwners);
  CheckOneOf(object, "unsupportedFields", c.unsupported_fields, kUnsupportedFields);
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
  object.Read("socket", c.socket);
  object.Read("socketGroup", c.socket_group);
  object.Read("logDir", c.log_dir);
  object.Read("nodeName", c.node_name);
  ReadNodeIps(object, c.node_ips);
  object.Read("runtimeClasses", c.runtime_classes);
  object.Read("runtime", c.runtime);
  object.Read("logLevel", c.log_level);
  object.Read("nodeFit", c.node_fit);
  object.Read("wholeCores", c.whole_cores);
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
  BERTH_RETURN_IF_ERROR(ErrorOf(report, file));
  out.warnings = WarningsOf(report, document, file);
  return out;
}

}  // namespace berth::manifest
