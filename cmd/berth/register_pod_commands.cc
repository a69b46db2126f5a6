// The commands about pods, bound to their options.
#include "berth/apply_command.h"
#include "berth/describe_command.h"
#include "berth/exec_command.h"
#include "berth/logs_command.h"
#include "berth/pods_command.h"
#include "berth/registry.h"
#include "berth/resize_command.h"
#include "berth/restart_command.h"
#include "berth/run_command.h"
#include "berth/selector.h"
#include "berth/usage_problem.h"

namespace berth::cli {
namespace {

constexpr const char* kAsPodsText =
    "Make pods of the templates of Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs: NAME-0, NAME-1, ...";
constexpr const char* kPodText = "NAME or NAMESPACE/NAME; the beginning is enough when only one pod has it";
constexpr const char* kChangedPodText =
    "NAME or NAMESPACE/NAME, whole; \"-NODE\" at the end of a pod's may be left out";

/// Of commands that read about it.
void AddPod(CLI::App& app, std::string& pod, std::string& namespace_) {
  app.add_option("pod", pod, kPodText)->type_name("POD")->required();
  AddNamespace(app, namespace_, "Namespace of the pod; any unless given");
}

/// Of commands that change the pod.
void AddChangedPod(CLI::App& app, std::string& pod, std::string& namespace_) {
  app.add_option("pod", pod, kChangedPodText)->type_name("POD")->required();
  AddNamespace(app, namespace_, "Namespace of the pod")->default_str("default");
}

/// kubectl's "delete pod web".
void RefuseKind(const std::string& command, const std::vector<std::string>& pods) {
  if (const std::string why = WhyNoKind(command, pods); !why.empty()) throw CLI::ValidationError(why);
}

/// `excludes`: an option with which there is nothing to wait for; may be null.
void AddWait(CLI::App& app, WaitOptions& wait, const std::string& until, CLI::Option* excludes = nullptr) {
  auto* flag = app.add_flag("--wait", wait.wait, "Wait until " + until);
  if (excludes != nullptr) flag->excludes(excludes);
  app.add_option("--timeout", wait.timeout_s, "Seconds to wait at most")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86'400).description(""))
      ->default_str("60");
}

Command PodsCommand() {
  return {.name = "pods",
          .group = "Pods",
          .summary = "List the pods of this node and what they hold",
          .details = "CPUS are a pod's own CPUs, or \"shared\" when it runs in the shared pool.",
          .examples = {{"pods", "all pods"},
                       {"pods -o wide", "with requests, UID and manifest"},
                       {"pods web db", "only these"},
                       {"pods -n edge -o json", "one namespace, for a program"},
                       {"pods -l app=web -o name", "NAMESPACE/NAME of those with this label"},
                       {"pods -o jsonpath='{.pods[*].name}'", "what a path finds in the JSON"},
                       {"pods -w", "all, and a line for each that changes, until Ctrl-C"}},
          .names = true,
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<PodsOptions>();
            app.add_option("pods", options->pods, kPodText)->type_name("POD");
            AddNamespaces(app, options->namespace_);
            AddSelector(app, options->selector);
            app.add_flag("-w,--watch", options->watch, "Go on with a line for each pod that changes; with JSON too");
            app.callback([options] { RefuseKind("pods", options->pods); });
            return [options](const Session& session) { return RunPods(*options, session); };
          }};
}

Command DescribeCommand() {
  return {.name = "describe",
          .group = "Pods",
          .summary = "Show one pod: its containers, where they run and why; or the node",
          .details =
              "For a rejected pod it says what was short. With -o json it has the trace and the manifest as well. "
              "'node' is "
              "the node: how berthd is doing, policies, what keeps pods waiting, who asked for how much, and its last "
              "events; a pod of that name is default/node.",
          .examples = {{"describe web", "the pod web, or the only one whose name begins with web"},
                       {"describe edge/web -o yaml", "of namespace edge, as YAML"},
                       {"describe node", "the node with all that is on it"}},
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<DescribeOptions>();
            AddPod(app, options->pod, options->namespace_);
            return [options](const Session& session) { return RunDescribe(*options, session); };
          }};
}

void AddRaw(CLI::App& app, bool& raw) {
  app.add_flag("--raw", raw, "Print escape sequences as they are, also on a terminal, which obeys them");
}

Command LogsCommand() {
  return {.name = "logs",
          .group = "Pods",
          .summary = "Print what a container wrote",
          .details = "Without --tail or --since: the last 1000 lines. With -f it ends when the container has ended.",
          .examples = {{"logs web", "of the pod's only container"},
                       {"logs web -c proxy --tail 20", "the last lines of one container"},
                       {"logs web --previous", "of the attempt before the last restart"},
                       {"logs web --since 10m", "of the last ten minutes"},
                       {"logs web -f", "and all that follows, until the container ends or Ctrl-C"}},
          .stray = "-c",
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<LogsOptions>();
            AddPod(app, options->pod, options->namespace_);
            app.add_option("-c,--container", options->container, "The container; needed when the pod has several")
                ->type_name("CONTAINER");
            app.add_option("--tail", options->tail, "Only the last lines")
                ->type_name("LINES")
                ->check(CLI::Range(0, 1'000'000).description(""));
            app.add_option("--since", options->since,
                           "Only newer lines: a duration back (90s, 10m) or a time (RFC 3339)")
                ->type_name("TIME");
            auto* previous = app.add_flag("-p,--previous", options->previous, "Of the attempt before the current one");
            app.add_flag("-f,--follow", options->follow, "Go on with what is written next")->excludes(previous);
            app.add_flag("-t,--timestamps", options->timestamps, "Put the time before each line");
            AddRaw(app, options->raw);
            return [options](const Session& session) { return RunLogs(*options, session); };
          }};
}

Command ExecCommand() {
  return {
      .name = "exec",
      .group = "Pods",
      .summary = "Run a command in a container",
      .details =
          "For containers of a container runtime (containerd, CRI-O). What the command wrote is printed when it has "
          "ended, at most 16 MiB. It has no standard input and no terminal: the interface's ExecSync has none.",
      .examples = {{"exec web -- ps", "in the pod's only container"},
                   {"exec web -c proxy -- sh -c 'ls | wc -l'", "a shell's line, in one of several"},
                   {"exec web --timeout 5m -- make check", "it is killed after that time; 60s unless given"}},
      .statuses =
          "else the command's own: 124 it was killed after --timeout, 126 it cannot be executed, 127 it was "
          "not found",
      .prints_data = false,
      .bind = [](CLI::App& app) -> Runner {
        auto options = std::make_shared<ExecOptions>();
        AddChangedPod(app, options->pod, options->namespace_);
        app.add_option("command", options->command, "The command and its arguments, after --")
            ->type_name("COMMAND")
            ->required();
        app.add_option("-c,--container", options->container, "The container; needed when the pod has several")
            ->type_name("CONTAINER");
        app.add_option("--timeout", options->timeout, "How long the command may last: 30s, 5m")
            ->type_name("TIME")
            ->default_str("60s");
        AddRaw(app, options->raw);
        return [options](const Session& session) { return RunExec(*options, session); };
      }};
}

void AddRunOptions(CLI::App& app, RunOptions& options) {
  app.add_option("--cpus", options.request.cpus, "CPUs: a whole number are its own, under the static CPU policy; 500m")
      ->type_name("AMOUNT");
  app.add_option("--memory", options.request.memory, "The most memory it may use: 512Mi, 4Gi; no limit unless given")
      ->type_name("AMOUNT");
  app.add_option("--numa", options.request.numa, "CPUs and memory of these NUMA nodes: 1, or 0,2-3")
      ->type_name("NODES");
  app.add_option("--device", options.request.devices, "A device, or several: vendor.example/gpu=2")
      ->type_name("RESOURCE")
      ->allow_extra_args(false);
  app.add_flag("--isolate", options.isolate, "Only with CPUs of its own, not in the shared pool");
  AddNamespace(app, options.request.namespace_, "Namespace of the pod")->default_str("default");
  app.add_option("--name", options.request.name, "Name of the pod; made of the program's unless given")
      ->type_name("NAME");
  app.add_option("--timeout", options.timeout_s, "Seconds to wait for the place at most")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86'400).description(""))
      ->default_str("60");
  app.add_flag("-q,--quiet", options.quiet, "Do not print the place");
}

Command RunCommand() {
  return {
      .name = "run",
      .group = "Pods",
      .summary = "Run a command, or hold what runs already, on CPUs of its own",
      .details =
          "A pod without a manifest: placed as any other, in the foreground with your terminal, user, folder and "
          "environment, and gone when the command has ended. For a berthd that runs processes itself.",
      .examples = {{"run --cpus 2 -- ./server", "on two CPUs that nobody else runs on"},
                   {"run --cpus 2 --memory 1Gi --dry-run -- ./server", "say where that would be, and why"},
                   {"run -d --cpus 1 --name feed -- ./feed", "let berthd keep it; 'berth delete feed' ends it"},
                   {"run --cpus 1 --pid 4711", "a process that runs, until Ctrl-C gives it back"},
                   {"run --once --cpus 1 -- make", "with no berthd running: with one for as long as it takes"}},
      .statuses =
          "else the command's own: 126 it cannot be executed, 127 it was not found, 128 + signal; 3 there was "
          "no place for it",
      .bind = [](CLI::App& app) -> Runner {
        auto options = std::make_shared<RunOptions>();
        AddRunOptions(app, *options);
        auto* command = app.add_option("command", options->command, "The command and its arguments, after --")
                            ->type_name("COMMAND");
        auto* pids =
            app.add_option("--pid", options->pids, "A process that runs already, with all that descend from it")
                ->type_name("PID")
                ->check(CLI::Range(1, 4'194'304).description(""))
                ->allow_extra_args(false)
                ->excludes(command);
        app.add_flag("--even-placed", options->even_placed,
                     "With --pid: also a process of a container, or of a cpuset of others")
            ->needs(pids);
        auto* detach = app.add_flag("-d,--detach", options->detach, "Return when it runs; berthd keeps it");
        app.add_option("-e,--env", options->environment,
                       "With -d: NAME=VALUE, or NAME for yours; else PATH, HOME, USER, LANG, LC_ALL and TZ are yours")
            ->type_name("NAME[=VALUE]")
            ->allow_extra_args(false)
            ->needs(detach)
            ->excludes(pids);
        auto* dry_run = app.add_flag("--dry-run", options->dry_run, "Only say where it would run, or what is short");
        app.add_flag("--once", options->once, "With a berthd of its own, which ends with the last that needs it")
            ->excludes(detach);
        app.callback([command, pids, dry_run] {
          if (command->count() == 0 && pids->count() == 0 && dry_run->count() == 0)
            throw CLI::RequiredError("a command after --, or --pid");
        });
        return [options](const Session& session) { return RunRun(*options, session); };
      }};
}

Command ApplyCommand() {
  return {.name = "apply",
          .group = "Pods",
          .summary = "Hand pods to berthd, or change them",
          .details =
              "Manifests are checked, then stored in berthd's folder of manifests; from there the pods run until "
              "they are deleted, also after a restart. A wrong file is reported and the others are taken.",
          .examples = {{"apply -f pod.yaml", "create or change what the file says"},
                       {"apply -f pods/ --wait", "every manifest in a folder; wait until all run"},
                       {"apply -f - < pod.yaml", "from standard input"},
                       {"apply -f deployment.yaml --as-pods", "as many pods of its template as it has replicas"},
                       {"apply -f pods/ --dry-run", "say what would be created, changed or refused"}},
          .statuses = "3 a pod was not admitted (with --wait)",
          .stray = "-f",
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<ApplyOptions>();
            app.add_option("-f,--filename", options->files,
                           "Manifests, YAML or JSON; folders of them; - for standard input")
                ->type_name("FILE")
                ->required();
            app.add_flag("--as-pods", options->as_pods, kAsPodsText);
            auto* dry_run = app.add_flag("--dry-run", options->dry_run,
                                         "Change nothing: say what would be created, configured, unchanged or refused");
            AddWait(app, options->wait, "the pods run, ended, or were rejected", dry_run);
            return [options](const Session& session) { return RunApply(*options, session); };
          }};
}

Command RestartCommand() {
  return {.name = "restart",
          .group = "Pods",
          .summary = "End the containers of pods and start them again where they are",
          .details =
              "Every container that runs, but for init containers, is asked to end within the pod's grace period and "
              "started again at once, on the same CPUs, memory nodes and devices: the pod keeps its place. What would "
              "not be started again (restartPolicy Never) is refused.",
          .examples = {{"restart web", "one pod"},
                       {"restart -l app=web --wait", "all with a label; wait until they run again"}},
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<RestartOptions>();
            auto* pods = app.add_option("pods", options->pods, kChangedPodText)->type_name("POD");
            auto* labels = AddSelector(app, options->selector)->excludes(pods);
            AddNamespace(app, options->namespace_, "Namespace of the pods; default unless given, with -l any");
            AddWait(app, options->wait, "all of them have been started again");
            app.callback([options, pods, labels] {
              RefuseKind("restart", options->pods);
              if (pods->count() == 0 && labels->count() == 0) throw CLI::RequiredError("a POD or -l LABELS");
            });
            return [options](const Session& session) { return RunRestart(*options, session); };
          }};
}

Command ResizeCommand() {
  return {.name = "resize",
          .group = "Pods",
          .summary = "Give a running pod more or less",
          .details =
              "Changes what a container's manifest asks for. The container goes on running: it keeps the CPUs it has "
              "and gets others beside, or gives some back. What does not fit leaves it as it is; 'berth describe' says "
              "why.",
          .examples = {{"resize web --cpus 4", "four CPUs"},
                       {"resize web -c app --memory 2Gi --wait", "one of several containers; wait until it is done"}},
          .statuses = "3 it was not resized (with --wait)",
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<ResizeOptions>();
            AddChangedPod(app, options->pod, options->namespace_);
            app.add_option("-c,--container", options->container, "The container, if it has several")
                ->type_name("CONTAINER");
            auto* cpus = app.add_option("--cpus", options->cpus, "CPUs")->type_name("NUMBER");
            auto* memory = app.add_option("--memory", options->memory, "Memory")->type_name("SIZE");
            AddWait(app, options->wait, "the pod is resized, or was refused");
            app.callback([cpus, memory] {
              if (cpus->count() == 0 && memory->count() == 0) throw CLI::RequiredError("--cpus or --memory");
            });
            return [options](const Session& session) { return RunResize(*options, session); };
          }};
}

Command DeleteCommand() {
  return {.name = "delete",
          .group = "Pods",
          .summary = "Stop pods and forget them",
          .details = "The manifest is removed; the containers get their grace period, then all they held comes back.",
          .examples = {{"delete web", "one pod, of the namespace default"},
                       {"delete edge/web", "one of namespace edge; -n edge says the same"},
                       {"delete -f pod.yaml", "the pods of a manifest, and its ConfigMaps and Secrets"},
                       {"delete web db --wait", "two, and wait until they are gone"},
                       {"delete -l app=web", "all with a label"},
                       {"delete --all -n edge", "every pod of a namespace"}},
          .bind = [](CLI::App& app) -> Runner {
            auto options = std::make_shared<DeleteOptions>();
            auto* pods = app.add_option("pods", options->pods, kChangedPodText)->type_name("POD");
            auto* files = app.add_option("-f,--filename", options->files,
                                         "Manifests whose pods, ConfigMaps and Secrets to delete")
                              ->type_name("FILE");
            app.add_flag("--as-pods", options->as_pods, "The manifests were applied with --as-pods")->needs(files);
            auto* all = app.add_flag("--all", options->all, "Every pod of the node")->excludes(pods)->excludes(files);
            auto* labels = AddSelector(app, options->selector)->excludes(pods)->excludes(files);
            AddNamespace(app, options->namespace_,
                         "Namespace of the pods; default unless given, with --all or -l any")
                ->excludes(files);  // manifests name their own
            AddWait(app, options->wait, "the pods are gone");
            app.callback([options, pods, files, all, labels] {
              RefuseKind("delete", options->pods);
              const bool many = all->count() > 0 || labels->count() > 0;
              if (pods->count() == 0 && files->count() == 0 && !many)
                throw CLI::RequiredError("a POD, -f FILE or -l LABELS");  // the parser's own way to say so
            });
            return [options](const Session& session) { return RunDelete(*options, session); };
          }};
}

}  // namespace

CLI::Option* AddNamespace(CLI::App& app, std::string& namespace_, const std::string& text) {
  return app.add_option("-n,--namespace", namespace_, text)->type_name("NAMESPACE");
}

void AddNamespaces(CLI::App& app, std::string& namespace_) {
  auto* of_one = AddNamespace(app, namespace_, "Only pods of this namespace");
  app.add_flag("-A,--all-namespaces")->description("Pods of every namespace: so it is anyway")->excludes(of_one);
}

CLI::Option* AddSelector(CLI::App& app, std::string& selector) {
  const auto check = [](const std::string& given) {
    const auto parsed = Selector::Parse(given);
    return parsed ? "" : parsed.error().message;
  };
  return app.add_option("-l,--selector", selector, "Only pods with these labels: app=web,tier!=db,env in (a,b),!old")
      ->type_name("LABELS")
      ->check(check, "", "selector");
}

std::vector<Command> PodCommands() {
  return {RunCommand(),  ApplyCommand(), ResizeCommand(),  PodsCommand(),  DescribeCommand(),
          LogsCommand(), ExecCommand(),  RestartCommand(), DeleteCommand()};
}

}  // namespace berth::cli
