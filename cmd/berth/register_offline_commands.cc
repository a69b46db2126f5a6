// The commands that need no daemon.
#include "base/text.h"
#include "berth/check_command.h"
#include "berth/defrag_command.h"
#include "berth/explain_command.h"
#include "berth/machine_command.h"
#include "berth/registry.h"
#include "berth/running_node.h"
#include "berth/simulate_command.h"

namespace berth::cli {
namespace {

constexpr const char* kMachineText =
    "host, a captured tree or tarball, hwloc XML (.xml), MachineInfo (.json), or synthetic text";

void AddNodeOptions(CLI::App& app, offline::OfflineOptions& node) {
  node.ask = AskRunning;
  app.add_option("-m,--machine", node.machine, std::string("The machine: ") + kMachineText)->type_name("FILE");
  app.add_option("-c,--config", node.config, "KubeletConfiguration; without it the kubelet's defaults")
      ->type_name("FILE");
  app.add_option(
         "--berth-config", node.berth_config,
         "BerthConfiguration: its options of decisions, podPolicies, and its kubeletConfig where -c is not given")
      ->type_name("FILE");
  app.add_option("--devices", node.devices, "Device inventory: resource, ids, NUMA nodes, health")->type_name("FILE");
  app.add_option("--ledger", node.ledger, "What is placed already: a ledger file or the socket of a running berthd")
      ->type_name("FILE");
  app.add_flag("!--no-node-fit", node.node_fit, "Do not reject what exceeds the node's allocatable resources");
  app.add_flag("!--no-whole-cores", node.whole_cores,
               "Under full-pcpus-only give parts of cores where the kubelet's formulas do");
  app.add_flag("--close-devices", node.close_devices,
               "Among equal choices, take devices that lie close together on PCI, and CPUs local to them");
  app.add_flag("--judge-by-free-memory", node.judge_by_free_memory,
               "Judge how few nodes pinned memory needs by what is free, not by what empty nodes could give");
  app.add_flag("--memory-groups-overlap", node.memory_groups_overlap,
               "Let pinned memory lie on any NUMA nodes with room for it, whatever nodes other memory is tied to");
  app.add_flag("--pod-falls-back", node.pod_falls_back,
               "In scope pod, place container by container what fits on no set of nodes as a whole");
  app.add_flag("--keep-rest-aligned", node.keep_rest_aligned,
               "Under best-effort, keep the rest aligned where one resource has no node in common with it");
  app.add_flag("--look-ahead", node.look_ahead,
               "In scope container, try other nodes for earlier containers before a pod is rejected for a later one");
}

Command MachineCommand() {
  return {.name = "machine",
          .group = "Without a daemon",
          .summary = "Show what a machine is made of, or capture this host for others",
          .details = "",
          .examples = {{"machine", "this host"},
                       {"machine -m \"pack:2 numa:2 core:8 pu:2\"", "a machine described in words"},
                       {"machine -m topo.xml -o machineinfo", "hwloc XML as the kubelet would see it"},
                       {"machine --capture host.tar.gz", "save this host's tree to send it to somebody"}},
          .statuses = "",
          .asks_daemon = false,
          .prints_data = false,
          .stray = "-m",
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<MachineOptions>();
            app.add_option("-m,--machine", options->from, kMachineText)->type_name("FILE")->default_str("host");
            AddChoice(app, "-o,--output", options->output, "table|wide|json|yaml|jsonpath=TEMPLATE|machineinfo",
                      "How to print it")
                ->default_str("table");
            app.add_option("--capture", options->capture, "Save the tree to this tar file instead (.gz: compressed)")
                ->type_name("FILE");
            return [options](const Session& session) {
              options->table = session.table();
              options->terminal = session.around().terminal;
              return RunMachine(*options, session.out(), session.err());
            };
          }};
}

void AddClusterOptions(CLI::App& app, ClusterOptions& cluster) {
  app.add_option(
         "--cluster", cluster.nodes,
         "Many nodes, once for each group: COUNT[=MACHINE][,config=FILE][,devices=FILE]; what is left out is as "
         "-m, -c and --devices say")
      ->type_name("NODES")
      ->expected(1)
      ->take_all();
  AddChoice(app, "--rule", cluster.rule, "all|default|topology|extender", "With --cluster: what the scheduler knows")
      ->default_str("all");
  AddChoice(app, "--score", cluster.score, "tight|balanced|packed|spread",
            "With --cluster: which nodes the extender prefers")
      ->default_str("balanced");
  app.add_option("--pods", cluster.workload.pods,
                 "With --cluster: how many come to the full cluster; 0: as many as there is room for")
      ->type_name("COUNT")
      ->default_str("0");
  app.add_option("--hours", cluster.workload.hours,
                 "With --cluster: within how long; pods stay as long as keeps the load")
      ->type_name("HOURS")
      ->check(CLI::Range(1, 8760))
      ->default_str("24");
  app.add_option("--percentage-of-nodes-to-score", cluster.percents,
                 "With --cluster: as kube-scheduler's setting, several to compare them; 0: its own choice")
      ->type_name("PERCENT")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 100))
      ->default_str("0");
  app.add_option("--load", cluster.workload.load, "With --cluster: percent of the cluster that is asked for at a time")
      ->type_name("PERCENT")
      ->check(CLI::Range(1, 1000))
      ->default_str("90");
  app.add_option("--seed", cluster.workload.seed, "With --cluster: other pods, as many and as large")
      ->type_name("NUMBER")
      ->default_str("1");
}

constexpr const char* kDecideAs = "Decide as this version of the kubelet; without it as the settings say";

std::string CheckReplicas(const std::string& given) {
  constexpr int kMost = 100'000;
  const auto number = ParseDecimal<int>(given);
  return given == "max" || (number && *number >= 1 && *number <= kMost) ? "" : "must be max, or 1 to 100000";
}

Command SimulateCommand() {
  return {
      .name = "simulate",
      .group = "Without a daemon",
      .summary = "Try pods on a simulated machine: what would be placed where, what rejected",
      .details =
          "Steps are taken in order: a manifest admits its pods, resize:FILE changes what pods that are there may use, "
          "remove:NAMESPACE/NAME takes one away. With --cluster pods come to many nodes and go again, under what "
          "different schedulers know of them.",
      .examples = {{"simulate -m \"pack:2 core:8 pu:2\" -c kubelet.yaml web.yaml db.yaml", "two pods, one table"},
                   {"simulate --map -m host web.yaml remove:web db.yaml", "with the map after each step"},
                   {"simulate -m host -c kubelet.yaml web.yaml resize:larger.yaml", "may it grow while it runs?"},
                   {"simulate --ledger /run/berth/berth.sock new.yaml", "on top of what runs on this node"},
                   {"simulate -m host -c kubelet.yaml --replicas max -f web.yaml", "how many of it fit?"},
                   {"simulate -m host -c kubelet.yaml --kubelet-version 1.36,1.38 pods.yaml",
                    "what would another kubelet decide otherwise?"},
                   {"simulate --cluster 100 -m node.tar.gz -c kubelet.yaml", "a hundred such nodes"},
                   {"simulate --cluster 90=a.tar.gz --cluster 10=b.tar.gz,devices=gpus.yaml -c kubelet.yaml -o svg",
                    "two kinds of nodes, as a picture"}},
      .statuses = "3 a pod was not admitted (not with --cluster)",
      .asks_daemon = false,
      .prints_data = true,
      .draws = true,
      .bind = [](CLI::App& app) -> Runner {
        auto options = std::make_shared<SimulateOptions>();
        app.add_option("steps", options->steps,
                       "Manifests (- for standard input), resize:FILE and remove:[NAMESPACE/]NAME")
            ->type_name("FILE");
        AddNodeOptions(app, options->node);
        AddKubeletVersions(app, options->versions,
                           std::string(kDecideAs) + "; of several: what each decides otherwise");
        app.add_option("-f,--filename", options->files, "Manifests, before all other steps")->type_name("FILE");
        app.add_option("--replicas", options->replicas,
                       "So many copies of each pod, or max: until one finds no place. Says how many fit")
            ->type_name("COUNT")
            ->check([](const std::string& given) { return CheckReplicas(given); }, "", "copies");
        app.add_flag("--map", options->map, "Draw the machine after each step");
        AddClusterOptions(app, options->cluster);
        return [options](const Session& session) { return RunSimulate(*options, session); };
      }};
}

Command ExplainCommand() {
  return {.name = "explain",
          .group = "Without a daemon",
          .summary = "Say why a pod would be placed where it is, or what stands in its way",
          .details =
              "For a rejection: what is short where, who holds it, the nearest request that would be admitted, and "
              "the fewest containers whose removal would admit it. Without -m, -c, --devices and --ledger the running "
              "node is "
              "asked; nothing is changed.",
          .examples = {{"explain -f pod.yaml", "on this node"},
                       {"explain -m \"pack:2 core:8 pu:2\" -c kubelet.yaml -f pod.yaml", "on a simulated machine"},
                       {"explain -f pods.yaml --pod edge/web -o json", "one of several pods, for a program"}},
          .statuses = "3 the pod would not be admitted",
          .asks_daemon = true,
          .prints_data = true,
          .stray = "-f",
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<ExplainOptions>();
            app.add_option("-f,--filename", options->file, "Manifest of the pod; - for standard input")
                ->type_name("FILE")
                ->required();
            app.add_option("--pod", options->pod, "Which pod, when the manifest has several")->type_name("NAME");
            AddNodeOptions(app, options->node);
            AddKubeletVersion(app, options->node.kubelet_version, kDecideAs);
            return [options](const Session& session) { return RunExplain(*options, session); };
          }};
}

Command DefragCommand() {
  return {.name = "defrag",
          .group = "Without a daemon",
          .summary = "Plan which running containers to move so that pods that do not fit have room",
          .details =
              "Without -f room is made for the pods that wait or were rejected on the running node. The plan has the "
              "fewest moves, then the least memory to migrate; nothing is changed without --apply. A container that "
              "is moved keeps running: it gets as much on no more NUMA nodes than before. Containers with devices "
              "stay where they are.",
          .examples = {{"defrag", "for the pods that wait on this node"},
                       {"defrag -f pod.yaml --moves 2", "for a pod that is to come"},
                       {"defrag --apply --per-minute 2", "make the moves, one every 30 seconds"},
                       {"defrag -m node.tar.gz -c kubelet.yaml --ledger ledger -f pod.yaml", "offline"}},
          .statuses = "3 there is no room for all of the pods",
          .asks_daemon = true,
          .prints_data = true,
          .stray = "-f",
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<DefragOptions>();
            app.add_option("-f,--filename", options->file, "Pods to make room for; - for standard input")
                ->type_name("FILE");
            app.add_option("--moves", options->moves, "Moves at most, in all")
                ->type_name("NUMBER")
                ->check(CLI::Range(1, 10))
                ->default_str("3");
            app.add_flag("--apply", options->apply, "Make the moves, on the running node");
            app.add_option("--per-minute", options->per_minute, "With --apply: so many moves a minute at most")
                ->type_name("NUMBER")
                ->check(CLI::Range(1, 600))
                ->default_str("6");
            AddNodeOptions(app, options->node);
            AddKubeletVersion(app, options->node.kubelet_version, kDecideAs);
            return [options](const Session& session) { return RunDefrag(*options, session); };
          }};
}

Command CheckCommand() {
  return {
      .name = "check",
      .group = "Without a daemon",
      .summary = "Look at a node with a kubelet: what Berth would find there, and what it would change",
      .details =
          "Only reads, so it can be run on any node. It asks the container runtime what runs, decides for each "
          "container as a berthd with runtime nri would when it joins, and says what stands in the way: a kubelet "
          "or another program that places containers, or NRI that is switched off. Where a berthd runs the plan "
          "goes on from what that has given. Which of several containers gets which CPUs may come out otherwise.",
      .examples = {{"check", "this node, as root"},
                   {"check -c placement.yaml", "placed by these policies"},
                   {"check -o json", "for a program"}},
      .statuses = "3 something stands in the way, 4 no container runtime answers",
      .asks_daemon = false,
      .prints_data = true,
      .bind = [](CLI::App& app) -> Runner {
        auto options = std::make_shared<CheckOptions>();
        options->ask = AskRunning;
        app.add_option("-c,--config", options->config,
                       "KubeletConfiguration to place by; without it the static CPU policy, best-effort, and what "
                       "the kubelet reserves")
            ->type_name("FILE");
        AddKubeletVersion(app, options->kubelet_version,
                          "Place as this version of the kubelet; without it as the berthd that runs here, else by "
                          "the kubelet's state files");
        app.add_option("--endpoint", options->endpoint, "The container runtime's socket")->type_name("FILE");
        app.add_option("--nri-socket", options->nri_socket, "Where it takes plug-ins")
            ->type_name("FILE")
            ->capture_default_str();
        app.add_option("--runtime-config", options->runtime_config, "The runtime's configuration")->type_name("FILE");
        app.add_option("--kubelet-config", options->kubelet_config, "The kubelet's configuration")->type_name("FILE");
        app.add_option("--kubelet-dir", options->kubelet_dir, "The kubelet's folder, with its state files")
            ->type_name("FILE");
        return [options](const Session& session) { return RunCheck(*options, session); };
      }};
}

Command CompletionCommand() {
  return {.name = "completion",
          .group = "Help",
          .summary = "Print the script that completes berth's words in your shell",
          .details = "Commands, options and their values are completed, and pod names as berthd knows them.",
          .examples = {{"completion bash > /etc/bash_completion.d/berth", "for everybody on this host"},
                       {"completion zsh > ~/.zfunc/_berth", "zsh, with ~/.zfunc in $fpath"},
                       {"completion fish > ~/.config/fish/completions/berth.fish", "fish"}},
          .statuses = "",
          .asks_daemon = false,
          .prints_data = false,
          .bind = [](CLI::App& app) -> Runner {
            auto shell = std::make_shared<std::string>();
            AddChoice(app, "shell", *shell, "bash|zsh|fish", "The shell to write for")->required();
            return [shell](const Session& session) {
              session.out() << CompletionScript(*shell);
              return kOk;
            };
          }};
}

Command VersionCommand() {
  return {.name = "version",
          .group = "Help",
          .summary = "Show the version of berth",
          .details = "",
          .examples = {{"version -o json", "for scripts"}},
          .statuses = "",
          .asks_daemon = false,
          .prints_data = true,
          .bind = [](CLI::App&) -> Runner {
            return [](const Session& session) -> int {
              if (!session.for_people()) return session.PrintData({{"version", BERTH_VERSION}});
              session.out() << "berth " BERTH_VERSION "\n";
              return kOk;
            };
          }};
}

}  // namespace

std::vector<Command> OfflineCommands() {
  return {MachineCommand(), SimulateCommand(),   ExplainCommand(), DefragCommand(),
          CheckCommand(),   CompletionCommand(), VersionCommand()};
}

}  // namespace berth::cli
