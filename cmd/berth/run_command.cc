#include "berth/run_command.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "api/codec/views.h"
#include "api/local_api/node_client.h"
#include "base/text.h"
#include "berth/apply_command.h"
#include "berth/explain_command.h"
#include "berth/hold.h"
#include "berth/once.h"
#include "berth/pod_problem.h"
#include "host/cgroup/movable_processes.h"
#include "host/os/clock.h"
#include "host/os/foreground.h"
#include "host/os/fs.h"
#include "host/os/input.h"
#include "host/os/path.h"
#include "host/os/pidfd.h"
#include "model/placement.h"

namespace berth::cli {
namespace {

constexpr os::Millis kLookAtPod{20};
constexpr os::Millis kForPodsEnd{10'000};
constexpr int kBySignal = 128;
constexpr int kCannotExecute = 126;
constexpr int kNoSuchProgram = 127;

/// The pod of a run, on the node.
struct RunningPod {
  std::string namespace_;
  std::string name;
};

/// One `berth run` against one berthd.
class Run {
 public:
  Run(const RunOptions& options, const Session& session, std::string socket)
      : options_(options), session_(session), socket_(std::move(socket)), berthd_(socket_) {}

  int Go();

 private:
  int Report(const Error& error) const;
  Result<void> CheckNode();
  Result<void> CheckName() const;
  std::vector<std::string> Environment() const;
  Result<codec::Json> Manifest(const std::vector<cgroup::ProcessId>& held) const;
  Result<std::vector<cgroup::ProcessId>> FindHeld() const;
  int DryRun() const;
  int Detach();
  int PrintDetached() const;
  int Foreground();
  int HoldOthers();
  Result<void> Store(const codec::Json& manifest);
  std::optional<int> AwaitPlace(const std::vector<cgroup::ProcessId>& held, const os::HeldSignals& signals);
  int ReportNoPlace(const PodView& pod) const;
  std::optional<int> Judge(const PodView& pod) const;
  std::optional<int> JudgeCpus(const std::string& pod, bool own) const;
  static bool AllIn(const PodView& pod, const std::vector<cgroup::ProcessId>& held);
  void TakeAway() const;
  void AwaitGone(os::Millis patience) const;
  void Print(const PodView& pod) const;
  bool Exists() const;

  const RunOptions& options_;
  const Session& session_;
  std::string socket_;
  api::NodeClient berthd_;
  RunRequest request_;
  NodeView node_;
  int berthd_pid_ = 0;
  RunningPod pod_;
  CpuSet shared_;
};

int Run::Report(const Error& error) const {
  if (!options_.once) return session_.Report(error);
  session_.err() << "berth: " << view::WithoutControls(error.message) << '\n';
  return kFailed;
}

Result<void> Run::CheckNode() {
  BERTH_TRY(const DaemonStatus status, berthd_.Status());
  berthd_pid_ = status.pid;
  // A simulated node can say where it would be; that is all.
  if (status.runtime != "process" && !options_.dry_run)
    return Fail(Code::kUnsupported, "berthd on " + socket_ + " does not run processes itself (its runtime is " +
                                        status.runtime + "); 'berth run --once' has a berthd of its own");
  BERTH_TRY(node_, berthd_.Node());
  return {};
}

Result<void> Run::CheckName() const {
  const auto there = berthd_.GetPod(request_.namespace_, request_.name);
  if (!there) return {};  // whatever else is wrong shows when it is stored
  return Fail(Code::kInvalid, "there is a pod " + FullName(*there->view) +
                                  " already; give another name with --name, or remove that one with 'berth delete'");
}

/// What a detached command needs of ours to find its way, and what it was given.
std::vector<std::string> Run::Environment() const {
  std::vector<std::string> out;
  for (const char* name : {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ"})
    if (const char* value = std::getenv(name); value != nullptr) out.push_back(std::string(name) + "=" + value);
  for (const std::string& given : options_.environment) {
    const std::string name = given.substr(0, given.find('='));
    std::erase_if(out, [&](const std::string& old) { return old.starts_with(name + "="); });
    if (given.contains('=')) {
      out.push_back(given);
    } else if (const char* value = std::getenv(name.c_str()); value != nullptr) {
      out.push_back(name + "=" + value);
    }
  }
  return out;
}

Result<codec::Json> Run::Manifest(const std::vector<cgroup::ProcessId>& held) const {
  std::error_code error;
  if (options_.detach && options_.pids.empty()) {
    RunAs as{.user = ::geteuid(), .group = ::getegid(), .groups = {}, .folder = {}, .environment = Environment()};
    as.groups.resize(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
    as.groups.resize(
        static_cast<std::size_t>(std::max(::getgroups(static_cast<int>(as.groups.size()), as.groups.data()), 0)));
    std::erase(as.groups, as.group);
    as.folder = std::filesystem::current_path(error).string();
    return DetachedPod(request_, options_.command, as, node_);
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  BERTH_TRY(const std::string cwd, os::WorkingFolder());  // not the holder's
  const HoldOptions hold{.socket = os::SeenFrom(cwd, socket_),
                         .give_back = !options_.pids.empty(),
                         .even_placed = options_.even_placed,
                         .processes = held};
  return HolderPod(request_, HoldCommand(self, hold), node_);
}

/// The processes of --pid, when they and all that descend from them may be moved; says who comes.
Result<std::vector<cgroup::ProcessId>> Run::FindHeld() const {
  BERTH_TRY(const auto root, os::OpenFs("/"));
  std::vector<cgroup::ProcessId> held;
  for (const int pid : options_.pids) {
    BERTH_TRY(const std::uint64_t ticks, os::StartTicksOf(pid));
    const cgroup::FamilyMove move{
        .pid = pid,
        .self = ::getpid(),
        .berthd = berthd_pid_,
        .takes_from = options_.even_placed ? cgroup::TakesFrom::kContainers : cgroup::TakesFrom::kNowhere};
    auto family = cgroup::FindMovable(*root, move);
    if (!family) return Wrap(std::move(family).error(), "--pid " + std::to_string(pid));
    held.push_back({.pid = pid, .start_ticks = ticks});
    if (options_.quiet) continue;
    session_.err() << "berth: process " << pid << " (" << family->name << ") comes";
    if (family->pids.size() > 1) session_.err() << " with " << family->pids.size() - 1 << " that descend from it";
    session_.err() << '\n' << std::flush;
  }
  return held;
}

int Run::DryRun() const {
  const auto held = FindHeld();
  if (!held) return Report(held.error());
  const auto manifest = Manifest(*held);
  if (!manifest) return Report(manifest.error());
  const auto outlook = berthd_.Explain(codec::FormatJson(*manifest));
  if (!outlook) return Report(outlook.error());
  const int status = PrintOutlook(*outlook, session_);
  const auto* const admit = std::get_if<Admit>(&outlook->explanation.decision);
  if (status != kOk || admit == nullptr || !admit->delta.put || admit->delta.put->placements.empty()) return status;
  return JudgeCpus(outlook->pod, admit->delta.put->placements.front().cpus.has_value()).value_or(status);
}

Result<void> Run::Store(const codec::Json& manifest) {
  BERTH_TRY(const StoredPods stored, berthd_.ApplyPods({codec::FormatJson(manifest)}));
  for (const std::string& warning : stored.warnings) session_.err() << "berth: warning: " << warning << '\n';
  if (stored.results.empty()) return Fail(Code::kInternal, "berthd took the pod and named none");
  pod_ = {.namespace_ = stored.results.front().namespace_, .name = stored.results.front().name};
  return {};
}

void Run::Print(const PodView& pod) const {
  if (options_.quiet || pod.containers.empty()) return;
  const ContainerView& container = pod.containers.front();
  std::ostream& err = session_.err();
  err << "berth: " << FullName(pod) << ": ";
  if (container.place && container.place->cpus) {
    err << "CPUs " << FormatIds(*container.place->cpus) << " of its own";
  } else if (container.place && !container.place->pool.empty()) {
    err << "CPUs " << FormatIds(container.place->pool_cpus) << " of " << PoolText(container.place->pool);
  } else {
    err << "shared CPUs " << FormatIds(container.place ? PartOfPool(container.place->node_cpus, shared_) : shared_);
  }
  if (container.place && !container.place->memory_nodes.empty())
    err << ", memory nodes " << FormatIds(container.place->memory_nodes);
  if (const auto memory = pod.requests.find("memory"); memory != pod.requests.end())
    err << ", memory " << memory->second.ToString();
  if (container.place)
    for (const DeviceAssignment& device : container.place->devices)
      err << ", " << device.resource << " " << Join(std::vector(device.ids.begin(), device.ids.end()), " ");
  err << '\n' << std::flush;
}

/// The processes of the command are where the holder is.
bool Run::AllIn(const PodView& pod, const std::vector<cgroup::ProcessId>& held) {
  if (held.empty()) return true;
  const auto& last = pod.containers.front().last;
  if (!last || last->pid == 0) return false;
  const auto holder = os::CgroupLinesOf(last->pid);
  return holder && std::ranges::all_of(held, [&](const cgroup::ProcessId& process) {
           const auto lines = os::CgroupLinesOf(process.pid);
           return !lines || cgroup::SharesGroups(*lines, *holder, pod.uid);  // gone is as good as in
         });
}

/// What is short, in words of this node; the kubelet's message where there are none.
int Run::ReportNoPlace(const PodView& pod) const {
  session_.err() << "berth: no place for " << FullName(pod) << ": "
                 << (pod.details.empty() ? pod.message : Join(pod.details, "; ")) << " (" << pod.reason << ")\n";
  return kRejected;
}

/// An exit status when the pod has come to nothing, or to less than was asked for.
std::optional<int> Run::Judge(const PodView& pod) const {
  if (pod.phase == PodPhase::kFailed) return pod.admitted_at ? ReportFailed(pod, session_) : ReportNoPlace(pod);
  if (pod.phase == PodPhase::kPending || pod.containers.empty()) return std::nullopt;
  const auto& place = pod.containers.front().place;
  return place ? JudgeCpus(FullName(pod), place->cpus.has_value()) : std::nullopt;
}

/// `own`: its container has CPUs that nobody else uses.
std::optional<int> Run::JudgeCpus(const std::string& pod, bool own) const {
  if (!options_.isolate || own) return std::nullopt;
  session_.err() << "berth: " << pod << " has no CPUs of its own (--isolate): "
                 << (node_.cpu_policy == "static" ? "that takes --cpus with a whole number"
                                                  : "the node's CPU policy is " + node_.cpu_policy + ", not static")
                 << '\n';
  return kRejected;
}

/// Waits until the pod runs and `held` are in its groups. A status when it does not come to that.
std::optional<int> Run::AwaitPlace(const std::vector<cgroup::ProcessId>& held, const os::HeldSignals& signals) {
  std::string why;
  bool seen = false;  // berthd reads what it has stored a moment later
  for (const os::MonoTime start = os::SystemClock().Now();;) {
    const auto pod = berthd_.GetPod(pod_.namespace_, pod_.name);
    if (!pod && pod.error().code != Code::kNotFound) return Report(pod.error());
    if (!pod && seen) {
      session_.err() << "berth: " << pod_.namespace_ << '/' << pod_.name << " was removed before it had a place"
                     << (held.empty() ? "" : ": by its holder, when what it holds has ended, or by 'berth delete'")
                     << '\n';
      return kFailed;
    }
    if (pod) {
      seen = true;
      shared_ = pod->shared;
      why = WhyNotRunning(*pod->view);
      if (const auto status = Judge(*pod->view)) return status;
      const bool runs = pod->view->phase == PodPhase::kRunning && !pod->view->containers.empty();
      const bool over = held.empty() && pod->view->phase == PodPhase::kSucceeded;  // a short command of berthd's
      if (over || (runs && AllIn(*pod->view, held))) return Print(*pod->view), std::nullopt;
    }
    if (const auto asked = signals.Asked(kLookAtPod)) return kBySignal + *asked;
    if (os::SystemClock().Now() - start < std::chrono::seconds(options_.timeout_s)) continue;
    session_.err() << "berth: there was no place within " << options_.timeout_s << " s"
                   << (why.empty() ? "" : ": " + why) << "; see 'berth describe " << pod_.name << "'\n";
    return kFailed;
  }
}

bool Run::Exists() const {
  const auto pod = berthd_.GetPod(pod_.namespace_, pod_.name);
  return pod || pod.error().code != Code::kNotFound;
}

void Run::AwaitGone(os::Millis patience) const {
  const os::MonoTime start = os::SystemClock().Now();
  while (os::SystemClock().Now() - start < patience) {
    const auto pod = berthd_.GetPod(pod_.namespace_, pod_.name);
    if (!pod) return;
    os::SleepFor(kLookAtPod);
  }
}

void Run::TakeAway() const {
  if (const auto gone = berthd_.DeletePod(pod_.namespace_, pod_.name); !gone && gone.error().code != Code::kNotFound)
    session_.err() << "berth: " << gone.error().message << '\n';
  AwaitGone(kForPodsEnd);
}

/// The name of the pod that berthd keeps, and the pod for a program.
int Run::PrintDetached() const {
  if (session_.for_people()) return session_.out() << pod_.namespace_ << '/' << pod_.name << '\n', kOk;
  const auto pod = berthd_.GetPod(pod_.namespace_, pod_.name);
  return pod ? session_.PrintData(codec::ToJson(*pod)) : Report(pod.error());
}

int Run::Detach() {
  const os::HeldSignals signals;
  const auto manifest = Manifest({});
  if (!manifest) return Report(manifest.error());
  if (auto stored = Store(*manifest); !stored) return Report(stored.error());
  if (const auto status = AwaitPlace({}, signals)) {
    TakeAway();
    return *status;
  }
  return PrintDetached();
}

int Run::Foreground() {
  const os::HeldSignals signals;
  auto started = os::ForegroundChild::Start(options_.command);
  if (!started) return Report(started.error());
  std::optional child(*std::move(started));
  const std::vector<cgroup::ProcessId> held = {{.pid = child->pid(), .start_ticks = child->start_ticks()}};
  const auto manifest = Manifest(held);
  if (!manifest) return Report(manifest.error());
  if (auto stored = Store(*manifest); !stored) return Report(stored.error());
  if (const auto status = AwaitPlace(held, signals)) {
    child.reset();  // its holder waits for its end
    TakeAway();
    return *status;
  }
  int status = 0;
  if (const auto opened = child->Open(); opened) {
    status = child->Attend();
  } else {
    session_.err() << "berth: " << opened.error().message << '\n';
    status = opened.error().code == Code::kNotFound ? kNoSuchProgram : kCannotExecute;
  }
  AwaitGone(kForPodsEnd);  // its holder removes it
  return status;
}

int Run::HoldOthers() {
  const auto held = FindHeld();
  if (!held) return Report(held.error());
  const os::HeldSignals signals;
  const auto manifest = Manifest(*held);
  if (!manifest) return Report(manifest.error());
  if (auto stored = Store(*manifest); !stored) return Report(stored.error());
  if (const auto status = AwaitPlace(*held, signals)) {
    TakeAway();
    return *status;
  }
  if (options_.detach) return PrintDetached();
  constexpr os::Millis kLookAgain{200};
  while (!signals.Asked(kLookAgain))
    if (!Exists()) return kOk;  // they have ended
  TakeAway();
  return kOk;
}

int Run::Go() {
  request_ = options_.request;
  const std::string program = options_.command.empty() ? "pid" : options_.command.front();
  if (request_.name.empty()) request_.name = RunName(program, ::getpid());
  if (auto fine = CheckNode(); !fine) return Report(fine.error());
  if (auto free = CheckName(); !free) return Report(free.error());
  if (options_.dry_run) return DryRun();
  if (!options_.pids.empty()) return HoldOthers();
  return options_.detach ? Detach() : Foreground();
}

}  // namespace

int RunRun(const RunOptions& options, const Session& session) {
  if (!session.for_people() && !options.detach && !options.dry_run) {
    session.err() << "berth run: -o is for -d and --dry-run: in the foreground the output is the command's own\n"
                     "See 'berth run --help'.\n";
    return kUsage;
  }
  if (!options.once) {
    if (session.NobodyListens()) {
      session.err() << "berth: no berthd listens on " << session.socket()
                    << "; start one (systemctl start berthd, or berthd --help), name its socket with --socket, or let "
                       "'berth run --once' have one of its own\n";
      return kUnreachable;
    }
    return Run(options, session, session.socket()).Go();
  }
  const os::HeldSignals signals;  // until what is made for it has been removed
  const auto own = OnceDaemon::Join();
  if (!own) {
    session.err() << "berth: " << own.error().message << '\n';
    return kFailed;
  }
  if (const auto asked = signals.Asked(os::Millis(0))) return kBySignal + *asked;
  return Run(options, session, OnceDaemon::Socket()).Go();
}

}  // namespace berth::cli
