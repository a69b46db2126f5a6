// The commands about the node, bound to their options.
#include "berth/diff_command.h"
#include "berth/events_command.h"
#include "berth/images_command.h"
#include "berth/map_command.h"
#include "berth/node_command.h"
#include "berth/registry.h"
#include "berth/state_command.h"
#include "berth/top_command.h"
#include "berth/tree_command.h"
#include "model/kubelet_version.h"

namespace berth::cli {
namespace {

Command MapCommand() {
  return {
      .name = "map",
      .group = "Node",
      .summary = "Draw the machine: sockets, NUMA nodes, L3, cores, threads, and who holds what",
      .details =
          "Every CPU has its number and a mark: a letter for the pod that owns it, a dot for the shared pool, # "
          "for CPUs reserved for the system. Below the picture the letters are explained. Large machines are "
          "drawn with less detail. -o json gives every CPU with its place and holders, -o svg a drawing with devices "
          "and distances for a browser or a report (-o png: in pixels), -o html a page with it. --with says what would "
          "change if these "
          "pods "
          "came, --compare what has changed since a state that was saved.",
      .examples = {{"map", "this node as berthd sees it"},
                   {"map -m host", "this host, without a daemon and without pods"},
                   {"map -m \"pack:2 numa:2 core:8 pu:2\"", "a machine described in words"},
                   {"map -o svg >node.svg", "as a drawing"},
                   {"map --with pod.yaml", "with this pod, and what it would take"},
                   {"map --compare before.json -o html >changes.html",
                    "what changed since 'state show -o json >before.json'"},
                   {"map --color always | less -R", "in colour, page by page"}},
      .draws = true,
      .draws_pages = true,
      .stray = "-m",
      .bind = [](CLI::App& app) -> Runner {
        auto options = std::make_shared<MapCommandOptions>();
        auto* machine = app.add_option("-m,--machine", options->machine,
                                       "Draw this machine without pods: host, a captured tree, hwloc XML or synthetic "
                                       "text, MachineInfo")
                            ->type_name("FILE");
        auto* with =
            app.add_option("--with", options->with, "Simulate the pods of these manifests, and show what changes")
                ->type_name("FILE");
        app.add_option("-c,--config", options->config, "With -m and --with: KubeletConfiguration")
            ->type_name("FILE")
            ->needs(machine)
            ->needs(with);
        app.add_option("--compare", options->compare,
                       "Show what changed since: a ledger, or JSON of berth state show or simulate")
            ->type_name("FILE")
            ->excludes(machine)
            ->excludes(with);
        app.add_option("--width", options->width, "Columns to use")
            ->type_name("COLUMNS")
            ->check(CLI::Range(40, 1000).description(""))
            ->default_str("the terminal's, else 100");
        app.add_flag("--ascii", options->ascii, "No characters beyond ASCII");
        return [options](const Session& session) { return RunMap(*options, session); };
      }};
}

Command NodeCommand() {
  return {.name = "node",
          .group = "Node",
          .summary = "Show policies, reserved CPUs, capacity and what is allocatable",
          .details = "",
          .examples = {{"node", "as a table"}, {"node -o json", "for a program"}},
          .bind = [](CLI::App&) -> Runner { return [](const Session& session) { return RunNode(session); }; }};
}

Command StatusCommand() {
  return {
      .name = "status",
      .group = "Node",
      .summary = "Show how berthd is doing",
      .details =
          "Warnings are what berthd found at its start and could not put right by itself. --probe is for a kubelet's "
          "probes: startup: what was there before berthd has been taken over; liveness: its loop turns; readiness: it "
          "can place containers: the ledger is durable and, beside a kubelet, the runtime has taken it in.",
      .examples = {{"status", "version, runtime, ledger, warnings"},
                   {"status --probe readiness", "status 0, or why not and status 1"}},
      .bind = [](CLI::App& app) -> Runner {
        auto probe = std::make_shared<std::string>();
        app.add_option("--probe", *probe, "Print nothing; status 1 with the reason when it is not so")
            ->type_name("startup|liveness|readiness")
            ->check(CLI::IsMember({"startup", "liveness", "readiness"}).description(""));
        return
            [probe](const Session& session) { return probe->empty() ? RunStatus(session) : RunProbe(*probe, session); };
      }};
}

Command TopCommand() {
  return {
      .name = "top",
      .group = "Node",
      .summary = "Show who uses how much CPU and memory",
      .details =
          "CPU in thousandths of one, since the look before; MEMORY is the working set: what is charged less "
          "inactive file pages. THROTTLED is the part of the periods of its quota in which a container had used it "
          "up, since the look before; WAITING that of the last ten seconds in which a process of it waited for a CPU / "
          "for memory. REMOTE is its memory on other NUMA nodes than NODES, which are those of its own CPUs and "
          "memory. -o wide and a screen of 120 columns add percents of what each pod requests and of its limits. Sums "
          "of the tiers, and what nodes and L3 caches do, follow. On a terminal it fills the screen, anew every two "
          "seconds; h shows its keys. -o json is the kubelet's /stats/summary.",
      .examples = {{"top", "on a terminal, until q"},
                   {"top --once --sort memory", "as text, the largest first"},
                   {"top --filter web", "only pods with this in their name, or a container's"},
                   {"top --once -n edge -l app=web", "only pods of a namespace, or with a label"},
                   {"top -o json", "for a program"}},
      .stray = "--filter",
      .bind = [](CLI::App& app) -> Runner {
        auto options = std::make_shared<TopOptions>();
        auto order = std::make_shared<std::string>("cpu");
        app.add_flag("--once", options->once, "As text, then end");
        AddChoice(app, "--sort", *order, "cpu|memory|name", "What stands first")->default_str("cpu");
        app.add_option("--filter", options->filter, "Only pods with this in their name, or a container's")
            ->type_name("TEXT");
        AddNamespaces(app, options->namespace_);
        AddSelector(app, options->selector);
        return [options, order](const Session& session) {
          if (*order == "memory") options->order = view::UsageOrder::kMemory;
          if (*order == "name") options->order = view::UsageOrder::kName;
          return RunTop(*options, session);
        };
      }};
}

Command TreeCommand() {
  return {
      .name = "tree",
      .group = "Node",
      .summary = "Show the cgroup tree: each value, what it should be, and why",
      .details =
          "Values are read from the kernel at that moment, with the names of its files. SHOULD BE is empty where the "
          "value is right; WHY is the formula with its numbers. Containers' CPUs on cgroup v2 are the effective ones.",
      .examples = {{"tree", "all levels with their values"},
                   {"tree --wrong", "only what differs; status 1 when something does"},
                   {"tree -o json", "for a program"}},
      .statuses = "With --wrong: 1 when a value differs.",
      .bind = [](CLI::App& app) -> Runner {
        auto options = std::make_shared<TreeOptions>();
        app.add_flag("--wrong", options->wrong, "Only values that are not what they should be");
        return [options](const Session& session) { return RunTree(*options, session); };
      }};
}

Command DiffCommand() {
  return {
      .name = "diff",
      .group = "Node",
      .summary = "Compare ledger, kernel and manifests, and show what differs",
      .details =
          "Every promise of the ledger and every value of the cgroup tree against what the kernel says (as root), and "
          "pods that have a manifest and no place, or a place and no manifest. With -f also these manifests against "
          "the node's pods, field by field: what apply would change.",
      .examples = {{"diff", "is the node what it should be?"},
                   {"diff -f pod.yaml", "and does it run what this file says?"}},
      .statuses = "1 also when something differs",
      .stray = "-f",
      .bind = [](CLI::App& app) -> Runner {
        auto options = std::make_shared<DiffOptions>();
        app.add_option("-f,--filename", options->files,
                       "Manifests to compare with; folders of them; - for standard input")
            ->type_name("FILE");
        return [options](const Session& session) { return RunDiff(*options, session); };
      }};
}

Command EventsCommand() {
  return {.name = "events",
          .group = "Node",
          .summary = "Show what happened on the node",
          .details = "",
          .examples = {{"events --since 10m", "of the last ten minutes"},
                       {"events --pod web", "of one pod, also when it is gone"},
                       {"events -w", "and all that follows, until Ctrl-C"}},
          .stray = "--pod",
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<EventsOptions>();
            app.add_option("--since", options->since, "A duration back (90s, 10m, 2h) or a time (RFC 3339)")
                ->type_name("TIME");
            app.add_option("--pod", options->pod, "Only events of this pod")->type_name("POD");
            AddNamespaces(app, options->namespace_);
            app.add_option("--limit", options->limit, "Only the newest")
                ->type_name("EVENTS")
                ->check(CLI::Range(1, 1'000'000).description(""));
            app.add_flag("-w,--watch,-f,--follow", options->follow, "Go on with what happens next");
            return [options](const Session& session) { return RunEvents(*options, session); };
          }};
}

Command ImagesCommand() {
  return {.name = "images",
          .group = "Node",
          .summary = "List the images of the container runtime, or import some from a file",
          .details =
              "import hands an archive (of docker save, podman save or skopeo; - for standard input) to containerd's "
              "own tool ctr, because the container interface itself has no import, and prints the names that came in.",
          .examples = {{"images", "name, tag, id and size"},
                       {"images import app.tar", "no registry needed"},
                       {"images -o name", "what a manifest calls them, for other commands"},
                       {"images -o json", "for a program, with digests"}},
          .names = true,
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<ImagesOptions>();
            AddChoice(app, "action", options->action, "list|import", "What to do")->default_str("list");
            auto* file = app.add_option("file", options->file, "The archive (import)")->type_name("FILE");
            app.callback([options, file] {
              if (options->action == "import" && file->count() == 0) throw CLI::RequiredError("FILE");
              if (options->action == "list" && file->count() > 0) throw CLI::ExtrasError({options->file});
            });
            return [options](const Session& session) { return RunImages(*options, session); };
          }};
}

Command StateCommand() {
  return {
      .name = "state",
      .group = "Node",
      .summary = "Show, check, import and export what is written down about the node",
      .details =
          "show prints a ledger or a state file of a kubelet; verify checks every promise on files, or on the "
          "running node with its cgroups when none is named; import makes a ledger from a kubelet's files, "
          "keeping its running containers where they are (berthd must not run); export writes the files a "
          "kubelet would have: in the formats of 1.36, which later kubelets read too, or in those of "
          "--kubelet-version. Files are read in the formats of every version.",
      .examples = {{"state verify", "is every promise kept on this node?"},
                   {"state verify /var/lib/berth", "are the files sound?"},
                   {"state show /var/lib/kubelet/cpu_manager_state", "who holds what, checksum verified"},
                   {"state import --kubelet-dir /var/lib/kubelet", "take over a node that ran a kubelet"},
                   {"state export --to /tmp/kubelet", "what a kubelet would have written"},
                   {"state export --to /tmp/kubelet --kubelet-version 1.37",
                    "and what one of version 1.37 would have"}},
      .statuses = "1 also when a promise is broken or a file is damaged (verify)",
      .bind = [](CLI::App& app) -> Runner {
        auto options = std::make_shared<StateOptions>();
        AddChoice(app, "action", options->action, "show|verify|import|export", "What to do")->required();
        app.add_option("files", options->files, "State files, or folders with them (show, verify)")->type_name("FILE");
        app.add_option("--state-dir", options->state_dir, "berthd's state folder, instead of asking berthd")
            ->type_name("FILE");
        app.add_option("--kubelet-dir", options->kubelet_dir, "The kubelet's root folder (import)")
            ->type_name("FILE")
            ->default_str("/var/lib/kubelet");
        app.add_option("--to", options->to, "Where to write (export)")->type_name("FILE");
        auto version = std::make_shared<std::string>(Name(options->kubelet_version));
        AddKubeletVersion(app, *version, "Whose file formats to write (export)")->default_str(*version);
        app.add_option("--cgroup-root", options->cgroup_root, "Where pods run; none: do not look (import)")
            ->type_name("CGROUP")
            ->default_str("/");
        app.add_flag("--force", options->force, "Replace a ledger that has pods (import)");
        return [options, version](const Session& session) {
          options->kubelet_version = ParseKubeletVersion(*version).value_or(options->kubelet_version);
          return RunState(*options, session);
        };
      }};
}

}  // namespace

std::vector<Command> NodeCommands() {
  return {MapCommand(),  TopCommand(),    TreeCommand(),   DiffCommand(), EventsCommand(),
          NodeCommand(), StatusCommand(), ImagesCommand(), StateCommand()};
}

}  // namespace berth::cli
