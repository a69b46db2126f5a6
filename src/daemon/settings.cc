#include "daemon/settings.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "base/name_validation.h"
#include "base/problems.h"
#include "base/quantity.h"
#include "base/text.h"
#include "config/kubelet_reader.h"
#include "daemon/fit_config.h"
#include "daemon/kubelet_version_choice.h"
#include "frontend/static_pods/static_pod_options.h"
#include "host/cgroup/node_values.h"
#include "host/machine/load_machine.h"
#include "host/os/fs.h"
#include "host/os/host.h"
#include "host/os/input.h"
#include "host/os/path.h"
#include "model/kubelet_rules.h"
#include "model/machine_change.h"
#include "node/eviction/thresholds.h"
#include "rpc/http/listener.h"

namespace berth::daemon {
namespace {

bool IsFile(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

void Keep(std::vector<std::string>& out, const std::vector<manifest::Warning>& warnings) {
  for (const manifest::Warning& warning : warnings) out.push_back(warning.where + ": " + warning.message);
}

Result<void> LoadBerth(Settings& settings, const CommandLine& line, const std::string& cwd) {
  if (line.config) {
    settings.config_file = os::SeenFrom(cwd, *line.config);
  } else if (IsFile(kDefaultConfig)) {
    settings.config_file = kDefaultConfig;
  }
  if (settings.config_file.empty()) return {};
  BERTH_TRY(const std::string text, os::ReadFile(settings.config_file));
  config::ParsedBerthConfiguration parsed;
  auto read = config::ReadBerthConfiguration(text, settings.config_file, parsed);
  Keep(settings.warnings, parsed.warnings);
  settings.berth = std::move(parsed.config);
  return read;
}

Result<void> LoadKubelet(Settings& settings, const CommandLine& line, const std::string& cwd) {
  if (line.kubelet_config) {
    settings.kubelet_file = os::SeenFrom(cwd, *line.kubelet_config);
  } else if (!settings.berth.kubelet_config.empty()) {
    settings.kubelet_file = os::SeenFrom(os::FolderOf(settings.config_file), settings.berth.kubelet_config);
  }
  if (settings.kubelet_file.empty()) return {};
  BERTH_TRY(const std::string text, os::ReadFile(settings.kubelet_file));
  config::ParsedKubeletConfiguration parsed;
  auto read = config::ReadKubeletConfiguration(text, settings.kubelet_file, settings.kubelet_version, parsed);
  Keep(settings.warnings, parsed.warnings);
  settings.kubelet = std::move(parsed.config);
  settings.kubelet_text = text;
  return read;
}

constexpr os::Millis kApiServerLimit{2'000};  // it may well be away
constexpr os::Millis kProgramLimit{30'000};   // a large file on a disk that may be slow and busy: the node starts

/// A kubelet may be beside berthd, or have been here before it. A simulated node has none.
KubeletVersionChoice KubeletVersionOf(const Settings& settings, bool played) {
  const config::BerthConfiguration& berth = settings.berth;
  if (berth.kubelet_version) return {*berth.kubelet_version, "kubeletVersion in " + settings.config_file};
  if (played) return {kDefaultKubeletVersion, "a simulated machine has no kubelet"};
  KubeletVersionSources sources{.node = {}, .program = {}, .kubelet_dir = berth.kubelet_dir};
  if (!berth.kubelet_dir.empty())
    sources.program = [] {
      const char* const path = std::getenv("PATH");
      return AskKubeletProgram(path != nullptr ? path : "", kProgramLimit);
    };
  if (BesideKubelet(settings) && (berth.pod_specs || berth.publish))
    sources.node = [&] {
      return AskNodesKubelet(berth.pod_specs ? berth.pod_specs->kubeconfig : berth.publish->kubeconfig, berth.node_name,
                             kApiServerLimit);
    };
  return ChooseKubeletVersion(sources);
}

Result<std::string> NodeName(const std::string& given) {
  std::string name = given;
  if (name.empty()) {
    std::array<char, HOST_NAME_MAX + 1> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) return FailErrno("find the host name", "", errno);
    name = host.data();
  }
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (const std::string bad = CheckSubdomainName(name); !bad.empty())
    return BadSetting("nodeName" + std::string(given.empty() ? ", which is the host's" : ""),
                      bad + "; give another one with --node-name or nodeName");
  return name;
}

std::string BesideOwnProgram() {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  const std::string folder =
      size > 0 ? os::FolderOf(std::string(buffer.data(), static_cast<std::size_t>(size))) : "/usr/bin";
  for (const std::string& path : {folder + "/berth-shim", os::FolderOf(folder) + "/libexec/berth/berth-shim"})
    if (IsFile(path)) return path;
  return folder + "/berth-shim";
}

void Override(std::string& value, const std::optional<std::string>& given, const std::string& cwd) {
  if (given) value = *given;
  value = os::SeenFrom(cwd, value);
}

/// What depends on the command line or on both files.
void CheckTogether(const Settings& settings, Problems& problems) {
  if (settings.reconcile_period < std::chrono::milliseconds(100))
    problems.Add(
        BadSetting("reconcilePeriod (by default cpuManagerReconcilePeriod)", "must be at least 100ms").error());
  problems.Take(http::CheckSocket(settings.berth.socket, settings.berth.socket_group));
  if (!settings.kubelet.static_pod_url.empty())
    if (auto checked = pod_sources::CheckHttp(UrlOptions(settings)); !checked)
      problems.Add(Wrap(std::move(checked).error(), settings.kubelet_file).error());
}

void WarnOfLogFolders(Settings& settings) {
  if (settings.berth.log_dir.empty() || settings.kubelet.pod_logs_dir == KubeletConfiguration().pod_logs_dir) return;
  settings.warnings.push_back(settings.kubelet_file + ": podLogsDir: has no effect: logs are below Berth's logDir, " +
                              settings.berth.log_dir);
}

/// Nobody: a kubelet has its own rules.
manifest::RunBy RunnerOf(const std::string& runtime) {
  if (runtime == "cri") return manifest::RunBy::kCri;
  return runtime == "process" ? manifest::RunBy::kProcess : manifest::RunBy::kNobody;
}

}  // namespace

Result<Settings> LoadSettings(const CommandLine& line) {
  Settings out;
  Problems problems;
  BERTH_TRY(const std::string cwd, os::WorkingFolder());
  problems.Take(LoadBerth(out, line, cwd));
  if (line.runtime) out.berth.runtime = *line.runtime;
  if (line.runtime) out.berth.names_runtime = true;
  Problems further;
  auto name = NodeName(line.node_name.value_or(out.berth.node_name));
  if (further.Take(name)) out.berth.node_name = *std::move(name);
  out.machine = line.machine.value_or("host");
  out.dry_run = line.dry_run;
  KubeletVersionChoice version = KubeletVersionOf(out, IsPlayed(out));
  out.kubelet_version = version.version;
  out.kubelet_version_from = std::move(version.from);
  out.kubelet_version_certain = version.certain;
  problems.Take(LoadKubelet(out, line, cwd));
  Override(out.berth.state_dir, line.state_dir, cwd);
  if (line.log_dir || !out.berth.log_dir.empty()) Override(out.berth.log_dir, line.log_dir, cwd);
  Override(out.berth.run_dir, line.run_dir, cwd);
  Override(out.berth.socket, line.socket, cwd);
  if (out.berth.socket.empty()) out.berth.socket = out.berth.run_dir + "/berth.sock";
  if (line.log_level) out.berth.log_level = *line.log_level;
  const auto level = events::ParseLogLevel(out.berth.log_level);
  out.log_level = level.value_or(out.log_level);
  if (!level)
    further.Add(BadSetting("logLevel",
                           fmt::format("'{}': must be debug, info, warning or error", Printable(out.berth.log_level)))
                    .error());
  out.berth.stop_containers_on_exit = out.berth.stop_containers_on_exit || line.stop_containers;
  out.pod_dir = out.kubelet.static_pod_path.empty() ? kDefaultPodDir : out.kubelet.static_pod_path;
  Override(out.pod_dir, line.pod_dir, cwd);
  out.cgroup_root = line.cgroup_root.value_or(out.kubelet.cgroup_root);
  if (out.cgroup_root.empty()) out.cgroup_root = "/";
  if (line.runtime_endpoint)
    out.kubelet.container_runtime_endpoint =
        line.runtime_endpoint->contains("://") ? *line.runtime_endpoint : os::SeenFrom(cwd, *line.runtime_endpoint);
  out.reconcile_period = out.berth.reconcile_period.value_or(out.kubelet.cpu_manager_reconcile_period);
  out.shim = line.shim ? os::SeenFrom(cwd, *line.shim) : BesideOwnProgram();
  CheckTogether(out, further);
  WarnOfLogFolders(out);
  if (IsPlayed(out) && !line.state_dir)
    further.Add(
        {Code::kInvalid, 0, "a dry run keeps its ledger apart from the node's own: give --state-dir and --run-dir"});
  // Whoever mends these is told at once of what a start would find next.
  if (!problems.empty() || !further.empty()) further.Take(LoadNode(out));
  problems.AddUntold(further);
  BERTH_RETURN_IF_ERROR(problems.Done());
  return out;
}

std::string PodLogsOf(const Settings& settings) {
  return settings.berth.log_dir.empty() ? settings.kubelet.pod_logs_dir : settings.berth.log_dir + "/pods";
}

std::string LogLinksOf(const Settings& settings) {
  return settings.berth.log_dir.empty() ? "/var/log/containers" : settings.berth.log_dir + "/containers";
}

std::uint64_t LongestLogOf(const Settings& settings) {
  const auto size = Quantity::Parse(settings.kubelet.container_log_max_size);
  return size && size->Value() > 0 ? static_cast<std::uint64_t>(size->Value()) : pods::StaticPodOptions().log_max_bytes;
}

pod_sources::HttpOptions UrlOptions(const Settings& settings) {
  return {.url = settings.kubelet.static_pod_url,
          .headers = settings.kubelet.static_pod_url_header,
          .node_name = settings.berth.node_name,
          .period = settings.kubelet.http_check_frequency};
}

manifest::PodOptions PodRules(const Settings& settings, bool dry_run) {
  manifest::PodOptions out;
  if (!dry_run || settings.berth.names_runtime) out.run_by = RunnerOf(settings.berth.runtime);
  out.refuse_unsupported = settings.berth.unsupported_fields == "refuse";
  out.se_linux = dry_run || os::HasSeLinux();  // of a machine that is played it is not known
  out.node_name = settings.berth.node_name;
  return out;
}

Result<NodeParts> LoadNode(const Settings& settings, const Machine* known) {
  BERTH_TRY(Machine machine, machine::Load(settings.machine));
  if (known != nullptr) machine = WithCpusOf(std::move(machine), *known);
  const bool dry_run = settings.dry_run || !machine.this_host;
  // Beside a kubelet it is the kubelet's and its scheduler's to count; Berth does not see all that they count.
  const allocator::EngineOptions options{.kubelet_version = settings.kubelet_version,
                                         .node_fit = settings.berth.node_fit && !BesideKubelet(settings),
                                         .whole_cores = settings.berth.whole_cores,
                                         .close_devices = settings.berth.close_devices,
                                         .judge_by_free_memory = settings.berth.judge_by_free_memory,
                                         .memory_groups_overlap = settings.berth.memory_groups_overlap,
                                         .pod_falls_back = settings.berth.pod_falls_back,
                                         .keep_rest_aligned = settings.berth.keep_rest_aligned,
                                         .look_ahead = settings.berth.look_ahead,
                                         .own = settings.berth.own};
  auto node = allocator::Node::Make(machine, settings.kubelet, options);
  std::vector<std::string> changes;
  if (!node && IsFile(settings.berth.state_dir + "/ledger")) {
    KubeletConfiguration fitted = settings.kubelet;
    changes = FitToMachine(fitted, machine);
    if (!changes.empty())
      if (auto again = allocator::Node::Make(std::move(machine), std::move(fitted), options)) node = std::move(again);
  }
  Problems problems;
  problems.Take(node);
  // Known only to those who write groups and watch for pressure; a start would find it late.
  problems.Take(
      cgroup::SharesOfNode(settings.kubelet, KubeletRulesOf(options.kubelet_version), {}, std::nullopt, -1, true));
  problems.Take(eviction::ReadThresholds(settings.kubelet));
  BERTH_RETURN_IF_ERROR(problems.Done());
  return NodeParts{*std::move(node), dry_run, std::move(changes)};
}

std::vector<std::string> TakeReloadable(Settings& settings, const Settings& now) {
  config::BerthConfiguration& berth = settings.berth;
  berth.log_level = now.berth.log_level;
  settings.log_level = now.log_level;
  berth.kubelet_version = now.berth.kubelet_version;  // what it comes to is another question
  berth.max_events = now.berth.max_events;
  berth.reconcile_period = now.berth.reconcile_period;
  settings.reconcile_period = now.reconcile_period;
  berth.unknown_pods = now.berth.unknown_pods;
  berth.stop_containers_on_exit = now.berth.stop_containers_on_exit;
  std::vector<std::string> out;
  const auto note = [&](const char* name, bool same) {
    if (!same) out.emplace_back(name);
  };
  note("cpuOptions", berth.own.cpu == now.berth.own.cpu);
  note("isolatedCpus", berth.own.isolated_apart == now.berth.own.isolated_apart);
  note("podPolicies", berth.own.pods == now.berth.own.pods);
  note("closeDevices", berth.close_devices == now.berth.close_devices);
  note("cpuPartition", berth.cpu_partition == now.berth.cpu_partition);
  note("kubeletVersion", settings.kubelet_version == now.kubelet_version || !now.kubelet_version_certain);
  note("kubeletConfig", berth.kubelet_config == now.berth.kubelet_config);
  note("logDir", berth.log_dir == now.berth.log_dir);
  note("metricsAddress", berth.metrics_address == now.berth.metrics_address);
  note("judgeByFreeMemory", berth.judge_by_free_memory == now.berth.judge_by_free_memory);
  note("memoryGroupsOverlap", berth.memory_groups_overlap == now.berth.memory_groups_overlap);
  note("keepRestAligned", berth.keep_rest_aligned == now.berth.keep_rest_aligned);
  note("lookAhead", berth.look_ahead == now.berth.look_ahead);
  note("podFallsBack", berth.pod_falls_back == now.berth.pod_falls_back);
  note("evictionIgnoresPageCache", berth.eviction_ignores_page_cache == now.berth.eviction_ignores_page_cache);
  note("preemption", berth.preemption == now.berth.preemption);
  note("waiting", berth.waiting == now.berth.waiting);
  note("nodeFit", berth.node_fit == now.berth.node_fit);
  note("nodeName", berth.node_name == now.berth.node_name);
  note("devicePluginDir", berth.device_plugin_dir == now.berth.device_plugin_dir);
  note("localDevices", berth.local_devices == now.berth.local_devices);
  note("seccompDir", berth.seccomp_dir == now.berth.seccomp_dir);
  note("podResourcesSocket", berth.pod_resources_socket == now.berth.pod_resources_socket);
  note("publish", berth.publish == now.berth.publish);
  note("runDir", berth.run_dir == now.berth.run_dir);
  note("runtime", berth.runtime == now.berth.runtime);
  note("nriSocket", berth.nri_socket == now.berth.nri_socket);
  note("nriIndex", berth.nri_index == now.berth.nri_index);
  note("nriUnplaced", berth.nri_unplaced == now.berth.nri_unplaced);
  note("nriContested", berth.nri_contested == now.berth.nri_contested);
  note("podSpecs", berth.pod_specs == now.berth.pod_specs);
  note("kubeletDir", berth.kubelet_dir == now.berth.kubelet_dir);
  note("nodeIP", berth.node_ips == now.berth.node_ips);
  note("runtimeClasses", berth.runtime_classes == now.berth.runtime_classes);
  note("runtimeCgroups", berth.runtime_cgroups == now.berth.runtime_cgroups);
  note("socket", berth.socket == now.berth.socket);
  note("socketGroup", berth.socket_group == now.berth.socket_group);
  note("stateDir", berth.state_dir == now.berth.state_dir);
  note("web", berth.web == now.berth.web);
  note("wholeCores", berth.whole_cores == now.berth.whole_cores);
  if (out.empty() && berth != now.berth) out.emplace_back("Berth's own settings");
  settings.kubelet.cpu_manager_reconcile_period = now.kubelet.cpu_manager_reconcile_period;
  if (settings.kubelet != now.kubelet) out.emplace_back("the kubelet's settings");
  if (settings.pod_dir != now.pod_dir) out.emplace_back("the pod folder");
  if (settings.cgroup_root != now.cgroup_root) out.emplace_back("the cgroup root");
  return out;
}

}  // namespace berth::daemon
