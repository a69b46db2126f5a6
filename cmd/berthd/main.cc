// berthd: reads the command line and hands over to the daemon. docs/reference/berthd.md.
#include <malloc.h>
#include <syslog.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/web/web_server.h"
#include "base/problems.h"
#include "base/text.h"
#include "base/words.h"
#include "daemon/cgroup_driver.h"
#include "daemon/daemon.h"
#include "daemon/give_node_back.h"
#include "daemon/host_check.h"
#include "daemon/host_groups.h"
#include "daemon/notify.h"
#include "daemon/settings.h"
#include "daemon/start_check.h"
#include "daemon/web_options.h"
#include "frontend/nri_agent/launched.h"
#include "host/cgroup/cgroup.h"
#include "host/os/cgroup_namespace.h"
#include "host/os/fs.h"
#include "host/os/process.h"
#include "kubernetes/kube_client/access.h"
#include "man/man_page.h"
#include "man/wrong_arguments.h"
#include "model/kubelet_version.h"
#include "rpc/nri/launch.h"
#include "telemetry/events/log.h"

namespace berth::daemon {
namespace {

constexpr int kFailed = 1;   // settings are wrong, or something berthd needs is missing
constexpr int kUsage = 2;    // the command line is wrong
constexpr int kInUse = 3;    // another berthd has the state, the run directory, the cgroup root or the socket
constexpr int kMissing = 4;  // rights, cgroup controllers or delegation that berthd needs

constexpr const char* kAbout =
    "Runs pods on this node and gives their containers CPUs, memory nodes and devices of their own.\n"
    "\n"
    "berthd reads pod manifests from a folder, decides as the kubelet would, keeps the decisions on disk,\n"
    "and runs the containers as processes in cgroups. `berth` talks to it.";

constexpr const char* kMore =
    "Examples:\n"
    "  berthd --pod-dir /etc/berth/pods                 run what lies in that folder\n"
    "  berthd --kubelet-config kubelet.yaml --check-config\n"
    "  berthd --machine m.tar.bz2 --state-dir /tmp/x/state --run-dir /tmp/x/run --pod-dir pods\n"
    "                                                   what would happen on that machine (a dry run)\n"
    "\n"
    "Signals: HUP reads the settings again; TERM and INT stop berthd, containers go on (see --stop-containers).\n"
    "Exit status: 0 stopped on request, 1 failed, 2 wrong command line, 3 another berthd is in the way,\n"
    "4 rights, cgroup controllers or delegation are missing.\n";

struct Arguments {
  CommandLine line;
  bool check = false;
  bool give_back = false;
  bool man = false;  ///< print the manual page, for the build
};

void AddOptions(CLI::App& app, Arguments& args) {
  CommandLine& line = args.line;
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--config", line.config,
                 std::string("Berth's settings (BerthConfiguration); default ") + kDefaultConfig + " if it is there")
      ->type_name("FILE");
  app.add_option("--kubelet-config", line.kubelet_config, "the kubelet's settings (KubeletConfiguration)")
      ->type_name("FILE");
  app.add_option("--pod-dir", line.pod_dir,
                 std::string("folder of pod manifests; default staticPodPath, else ") + kDefaultPodDir)
      ->type_name("DIR");
  app.add_option("--state-dir", line.state_dir, "where the ledger is kept; default /var/lib/berth")->type_name("DIR");
  app.add_option("--run-dir", line.run_dir, "records of running containers and the socket; default /run/berth")
      ->type_name("DIR");
  app.add_option("--log-dir", line.log_dir, "output of containers; default the kubelet's podLogsDir")->type_name("DIR");
  app.add_option("--socket", line.socket,
                 "unix socket of the API; default the setting socket, else berth.sock in the run directory")
      ->type_name("PATH");
  app.add_option("--cgroup-root", line.cgroup_root, "cgroup below which Berth works; default cgroupRoot, else /")
      ->type_name("PATH");
  app.add_option("--node-name", line.node_name, "name of this node; default the host's")->type_name("NAME");
  app.add_option("--machine", line.machine,
                 "decide for another machine: a captured tree or tarball, hwloc XML, MachineInfo JSON or hwloc\n"
                 "synthetic text. Implies --dry-run")
      ->type_name("FROM");
  app.add_option("--runtime", line.runtime,
                 "what runs containers: process, cri, or nri (beside a kubelet); default the setting runtime")
      ->type_name("NAME")
      ->check(CLI::IsMember({"process", "cri", "nri"}));
  app.add_option("--runtime-endpoint", line.runtime_endpoint,
                 "socket of the container runtime; default containerRuntimeEndpoint")
      ->type_name("SOCKET");
  app.add_option("--shim", line.shim, "the program berth-shim; default beside berthd")->type_name("FILE");
  app.add_option("--log-level", line.log_level, "debug, info, warning or error")->type_name("LEVEL");
  app.add_flag("--dry-run", line.dry_run, "decide and keep a ledger, but touch no cgroup and start nothing");
  app.add_flag("--stop-containers", line.stop_containers, "end all containers before berthd stops");
  app.add_flag(
      "--give-back", args.give_back,
      "beside a kubelet, when berthd does not run: all containers on all CPUs again, remove its state, and exit");
  app.add_flag("--man", args.man)->group("");
  app.add_flag("--check-config", args.check, "check settings and machine, say what is wrong, and exit");
}

/// A line for each problem.
int Refuse(const std::string& why) {
  for (const std::string_view line : Split(why, '\n')) std::fprintf(stderr, "berthd: %s\n", std::string(line).c_str());
  return kFailed;
}

/// What a start would find wrong with this host.
void CheckThisHost(const Settings& settings, cgroup::Driver driver, Problems& problems,
                   std::vector<std::string>& warnings) {
  auto root = os::OpenFs("/");
  if (!problems.Take(root)) return;
  auto layout = cgroup::DiscoverLayout(**root);
  if (!problems.Take(layout)) return;
  const HostFindings found = CheckHost(**root, settings, *layout, driver);
  warnings.insert(warnings.end(), found.warnings.begin(), found.warnings.end());
  for (const std::string& problem : found.problems) problems.Add({Code::kInvalid, 0, problem});
  problems.Take(CheckRuntimeSocket(**root, settings));
}

/// What is wrong with the access to the cluster that is to be told of the node, or asked for its pods.
void CheckCluster(const Settings& settings, Problems& problems) {
  auto root = os::OpenFs("/");
  if (!problems.Take(root)) return;
  const auto look = [&](const char* setting, const std::string& kubeconfig) {
    auto access = kube::LoadOwnAccess(**root, kubeconfig);
    if (!access) problems.Add(Wrap(std::move(access).error(), std::string(setting) + ".kubeconfig").error());
  };
  const config::BerthConfiguration& berth = settings.berth;
  if (berth.publish) look("publish", berth.publish->kubeconfig);
  if (berth.pod_specs) look("podSpecs", berth.pod_specs->kubeconfig);
}

/// Files of the live page that are missing or not as they should be.
void CheckPage(const Settings& settings, Problems& problems) {
  if (!settings.berth.web) return;
  if (auto checked = web::CheckFiles(WebOptionsOf(settings)); !checked)
    problems.Add(Wrap(std::move(checked).error(), "web").error());
}

void PrintSettings(const Settings& settings, const NodeParts& parts, std::optional<cgroup::Driver> driver) {
  const KubeletConfiguration& config = parts.node.config();
  std::printf("  settings         %s\n", settings.config_file.empty() ? "(defaults)" : settings.config_file.c_str());
  std::printf("  kubelet settings %s\n", settings.kubelet_file.empty() ? "(defaults)" : settings.kubelet_file.c_str());
  std::printf("  kubelet version  %s (%s)\n", std::string(Name(settings.kubelet_version)).c_str(),
              settings.kubelet_version_from.c_str());
  std::printf("  node             %s\n", settings.berth.node_name.c_str());
  std::printf("  machine          %s%s\n", parts.node.machine().source.c_str(), parts.dry_run ? " (dry run)" : "");
  std::printf("  CPUs             %s, reserved %s\n", FormatIds(parts.node.all_cpus()).c_str(),
              parts.node.reserved_cpus().empty() ? "none" : FormatIds(parts.node.reserved_cpus()).c_str());
  std::printf("  policies         CPU %s, memory %s, topology %s (%s)\n", config.cpu_manager_policy.c_str(),
              config.memory_manager_policy.c_str(), config.topology_manager_policy.c_str(),
              config.topology_manager_scope.c_str());
  if (driver) std::printf("  cgroup driver    %s\n", std::string(cgroup::Name(*driver)).c_str());
  std::printf("  pod folder       %s\n", settings.pod_dir.c_str());
  if (!settings.kubelet.static_pod_url.empty())
    std::printf("  pod URL          %s\n", settings.kubelet.static_pod_url.c_str());
  if (settings.berth.web) std::printf("  live page        %s\n", settings.berth.web->address.c_str());
}

/// All problems at once. LoadSettings, LoadNode, FindDriver, WhatIsMissing, NamesOf and CheckHost are what a start
/// refuses by, and the exit status is that start's.
int CheckConfig(const CommandLine& line) {
  auto settings = LoadSettings(line);
  if (!settings) return Refuse(settings.error().message);
  Problems problems;
  std::vector<std::string> warnings = settings->warnings;
  const auto parts = LoadNode(*settings);
  problems.Take(parts);
  std::optional<cgroup::Driver> driver;
  if (parts ? !parts->dry_run : !IsPlayed(*settings)) {
    const auto found = FindDriver(*settings);
    if (problems.Take(found)) driver = *found;
  }
  const std::vector<std::string> missing = WhatIsMissing(*settings);
  for (const std::string& what : missing) problems.Add({Code::kInvalid, 0, what});
  if (driver && problems.Take(NamesOf(*settings, *driver))) CheckThisHost(*settings, *driver, problems, warnings);
  CheckCluster(*settings, problems);
  CheckPage(*settings, problems);
  if (parts) warnings.insert(warnings.end(), parts->warnings.begin(), parts->warnings.end());
  for (const std::string& warning : warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  if (auto fine = problems.Done(); !fine) {
    Refuse(fine.error().message);
    return missing.empty() ? kFailed : kMissing;
  }
  PrintSettings(*settings, *parts, driver);
  if (warnings.empty())
    std::printf("settings are fine\n");
  else
    std::printf("settings can be used, with %s\n",
                Counted(static_cast<std::int64_t>(warnings.size()), "warning").c_str());
  return 0;
}

int GiveBack(const CommandLine& line) {
  auto settings = LoadSettings(line);
  if (!settings) return Refuse(settings.error().message);
  const auto count = GiveNodeBack(*settings);
  if (!count) {
    Refuse(count.error().message);
    return count.error().code == Code::kInUse ? kInUse : kFailed;
  }
  std::printf("%zu containers may use all CPUs again\n", *count);
  return 0;
}

/// A runtime that has started berthd as a plug-in of its own (an executable in its folder of plug-ins) does so once,
/// and would not start without it. Nobody sees what a plug-in prints.
int RefuseLaunch(const Result<std::optional<nri::Launch>>& launch) {
  constexpr const char* kCure =
      "a container runtime has started berthd as a pre-installed NRI plug-in, and would not do so again when berthd "
      "has "
      "ended; remove it from the runtime's folder of plug-ins, and start it by itself (berthd.service, or its "
      "DaemonSet): it joins the runtime's socket";
  const auto left = launch ? nri_agent::LeaveLaunched(**launch) : std::unexpected(launch.error());
  const std::string why = left ? kCure : kCure + ("; " + left.error().message);
  ::openlog("berthd", LOG_PID, LOG_DAEMON);
  ::syslog(LOG_ERR, "%s", why.c_str());
  return Refuse(why);
}

int Serve(const CommandLine& line) {
  events::Log log(events::LogLevel::kInfo);
  auto settings = LoadSettings(line);
  if (!settings) {
    log.Error(settings.error().message);
    return kFailed;
  }
  log.SetLevel(settings->log_level);
  if (const std::vector<std::string> missing = WhatIsMissing(*settings); !missing.empty()) {
    for (const std::string& what : missing) log.Error(what);
    return kMissing;
  }
  auto daemon = Daemon::Make(line, *std::move(settings), BERTH_VERSION, Notifier::FromEnvironment(), log);
  if (!daemon) {
    log.Error(daemon.error().message);
    return daemon.error().code == Code::kInUse ? kInUse : kFailed;
  }
  if (auto done = (*daemon)->Run(); !done) {
    log.Error(done.error().message);
    return kFailed;
  }
  return 0;
}

int Main(int argc, char** argv) {
  ::mallopt(M_ARENA_MAX, 2);  // few threads: more arenas would only cost memory
  PrepareSignals();
  os::RaiseOpenFiles();  // two descriptors per container
  // In a container: groups by the host's names. Where that is not allowed, by those of its own namespace.
  static_cast<void>(os::EnterCgroupNamespaceOfInit());
  if (const auto launch = nri::FindLaunch(&std::getenv); !launch || *launch) return RefuseLaunch(launch);
  Arguments args;
  CLI::App app(kAbout, "berthd");
  app.set_version_flag("--version", std::string("berthd ") + BERTH_VERSION);
  app.footer(kMore);
  app.get_formatter()->column_width(26);
  try {
    AddOptions(app, args);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fputs(man::FormatRefusal(app, error).c_str(), stderr);
    return kUsage;
  }
  if (args.man) {
    std::fputs(man::FormatDaemon(app, kAbout, kMore, BERTH_VERSION).c_str(), stdout);
    return 0;
  }
  if (args.give_back) return GiveBack(args.line);
  return args.check ? CheckConfig(args.line) : Serve(args.line);
}

}  // namespace
}  // namespace berth::daemon

int main(int argc, char** argv) {
  try {
    return berth::daemon::Main(argc, argv);
  } catch (const std::exception& error) {  // out of memory and the like: nothing else throws up to here
    std::fprintf(stderr, "berthd: %s\n", error.what());
    return 1;
  }
}
