// Everything berthd is told: command line, Berth's settings, the kubelet's settings, defaults. In that order of weight.
#ifndef BERTH_DAEMON_SETTINGS_H_
#define BERTH_DAEMON_SETTINGS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/engine.h"
#include "base/result.h"
#include "config/berth_config.h"
#include "frontend/pod_sources/source.h"
#include "model/kubelet_config.h"
#include "model/kubelet_version.h"
#include "model/machine.h"
#include "telemetry/events/log.h"

namespace berth::daemon {

/// What the command line says; nullopt: not given.
struct CommandLine {
  std::optional<std::string> config;  ///< Berth's settings
  std::optional<std::string> kubelet_config;
  std::optional<std::string> machine;  ///< anything machine::Load takes; this host by default
  std::optional<std::string> pod_dir;
  std::optional<std::string> state_dir;
  std::optional<std::string> run_dir;
  std::optional<std::string> log_dir;
  std::optional<std::string> socket;
  std::optional<std::string> cgroup_root;
  std::optional<std::string> node_name;
  std::optional<std::string> log_level;
  std::optional<std::string> shim;
  std::optional<std::string> runtime;           ///< "process", "cri" or "nri"
  std::optional<std::string> runtime_endpoint;  ///< socket of the container runtime
  bool dry_run = false;
  bool stop_containers = false;
};

/// Where Berth's settings are looked for when none are named; missing is fine.
inline constexpr const char* kDefaultConfig = "/etc/berth/berth.yaml";
/// Pod folder when neither staticPodPath nor --pod-dir names one.
inline constexpr const char* kDefaultPodDir = "/etc/berth/pods";

struct Settings {
  config::BerthConfiguration berth;  ///< with the command line's values in place, all paths absolute
  KubeletConfiguration kubelet;
  KubeletVersion kubelet_version = kDefaultKubeletVersion;  ///< whose decisions are made
  std::string kubelet_version_from;                         ///< who tells, for people
  bool kubelet_version_certain = true;                      ///< KubeletVersionChoice::certain
  std::string machine = "host";
  std::string pod_dir;
  std::string cgroup_root;
  std::string shim;
  std::chrono::milliseconds reconcile_period{10'000};  ///< Berth's setting, else the kubelet's
  bool dry_run = false;     ///< asked for; a machine that is not this host has it in any case
  std::string config_file;  ///< files read; "" for none
  std::string kubelet_file;
  std::string kubelet_text;           ///< what stood in kubelet_file
  std::vector<std::string> warnings;  ///< unknown fields and the like
  events::LogLevel log_level = events::LogLevel::kInfo;
};

/// Errors: kInvalid (settings wrong, all problems in the message, those LoadNode would find too), kNotFound (a file
/// that was named is missing), kPermission, kIo. Where kubeletVersion is not set, an API server that Berth has access
/// to and the installed kubelet are asked: that waits two seconds and 30 seconds at most.
Result<Settings> LoadSettings(const CommandLine& line);

/// As the setting `runtime`, and as berthd's status says it.
inline constexpr const char* kBesideKubelet = "nri";
/// A kubelet runs the pods of this node: Berth only says where their containers go.
inline bool BesideKubelet(const Settings& settings) { return settings.berth.runtime == kBesideKubelet; }

/// Asked to touch nothing of this host.
inline bool IsPlayed(const Settings& settings) { return settings.dry_run || settings.machine != "host"; }

/// Folder of the pods' output, and of the links to it.
std::string PodLogsOf(const Settings& settings);
std::string LogLinksOf(const Settings& settings);
/// Bytes after which a container's log is rotated.
std::uint64_t LongestLogOf(const Settings& settings);

/// Of staticPodURL. Requires: it is set.
pod_sources::HttpOptions UrlOptions(const Settings& settings);

/// How strictly the node reads pods. A dry run refuses what the runtime would refuse that the settings name; of none
/// that is named it only looks at them.
manifest::PodOptions PodRules(const Settings& settings, bool dry_run);

struct NodeParts {
  allocator::Node node;
  bool dry_run = false;
  std::vector<std::string> warnings;  ///< reservations that had to be fitted to the machine
};
/// Loads the machine and checks the settings against it. Settings that name CPUs or nodes the machine does not have are
/// refused on a node that is new, and fitted on one that has a ledger: it ran with them before.
/// `known`: the machine as it was loaded before; its CPUs that are offline now are kept (WithCpusOf).
/// What nobody reads before pods are there, reserved shares and eviction thresholds, is refused here.
/// Errors: kInvalid naming the settings, all problems, one a line; or from machine::Load.
Result<NodeParts> LoadNode(const Settings& settings, const Machine* known = nullptr);

/// Takes what may change without a restart from `now` into `settings`; returns the names of settings that differ but
/// need one.
std::vector<std::string> TakeReloadable(Settings& settings, const Settings& now);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_SETTINGS_H_
