#include "host/os/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/os/children.h"
#include "host/os/own_cpus.h"
#include "host/os/pidfd.h"
#include "host/os/pipe.h"

namespace berth::os {
namespace {

constexpr int kFirstHighFd = 10;  // descriptors of ours are kept away from those the program gets
constexpr int kFailedStart = 127;

/// The thread sanitizer knows fork(3) only: with a bare clone3 a child would wait for locks that another thread held.
#ifdef __SANITIZE_THREAD__
constexpr bool kOnlyFork = true;
#else
constexpr bool kOnlyFork = false;
#endif

enum class Step : std::int32_t { kCgroup, kCpus, kOomScore, kConfine, kMounts, kFds, kIdentity, kWorkingDir, kExec };

// What the child tells about a failed step; goes through the pipe that closes on exec.
struct Report {
  Step step = Step::kExec;
  std::int32_t index = 0;  // which cgroup directory, ConfineStep or IdentityStep; of a mount: IndexOf
  std::int32_t sys = 0;
};

// Everything the child needs, made before it exists: between clone and exec only system calls are made.
struct Plan {
  std::vector<char*> argv;
  std::vector<char*> env;
  std::vector<std::string> programs;  // candidates, tried in order
  const char* working_dir = nullptr;
  std::vector<UniqueFd> join;  // cgroup.procs files
  UniqueFd cpu_list;           // the cpuset's effective CPUs, if it has a cpuset
  std::vector<char> list_buffer = std::vector<char>(std::size_t{32} << 10);
  std::array<char, 16> oom_score{};
  std::size_t oom_score_size = 0;
  const Confinement* confinement = nullptr;
  const OwnMounts* mounts = nullptr;
  std::vector<int> mount_fds;  // room for MakeMounts
  const Identity* identity = nullptr;
  std::array<UniqueFd, 4> fds;  // become 0..3
  UniqueFd report;
};

// A failed mount in one number, and back.
constexpr int kMountSteps = 16;
int IndexOf(const MountFailure& failure) { return failure.index * kMountSteps + static_cast<int>(failure.step); }
MountFailure FailureOf(const Report& report) {
  return {.step = static_cast<MountStep>(report.index % kMountSteps),
          .index = report.index / kMountSteps,
          .sys = report.sys};
}

// ---- child side: async-signal-safe only ----

void Tell(const Plan& plan, Step step, int index, int sys) {
  const Report report{step, index, sys};
  while (::write(plan.report.get(), &report, sizeof report) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void GiveUp(const Plan& plan, Step step, int index, int sys) {
  Tell(plan, step, index, sys);
  ::_exit(kFailedStart);
}

void ResetSignals() {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) ::sigaction(signal, &action, nullptr);
}

void CloseOnExecFrom(unsigned first) {
  if (::syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > (1U << 20)) limit.rlim_cur = 1U << 20;
  for (unsigned fd = first; fd < limit.rlim_cur; ++fd) ::fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);
}

/// The limit of open files before RaiseOpenFiles; no soft limit is above its hard one, so this one means "not raised".
rlimit original_open_files{.rlim_cur = RLIM_INFINITY, .rlim_max = 0};

void RestoreOpenFiles() {
  if (original_open_files.rlim_cur <= original_open_files.rlim_max)
    ::setrlimit(RLIMIT_NOFILE, &original_open_files);  // lowering is always allowed
}

void EnterCgroups(Plan& plan) {
  AllowAllCpus();
  for (std::size_t i = 0; i < plan.join.size(); ++i)
    if (::write(plan.join[i].get(), "0", 1) < 0) GiveUp(plan, Step::kCgroup, static_cast<int>(i), errno);
  AllowAllCpus();
  if (!plan.cpu_list.valid()) return;
  if (const int sys = CheckOwnCpus(plan.cpu_list.get(), plan.list_buffer); sys != 0) GiveUp(plan, Step::kCpus, 0, sys);
}

void SetOomScore(const Plan& plan) {
  if (plan.oom_score_size == 0) return;
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0 || ::write(fd, plan.oom_score.data(), plan.oom_score_size) < 0) Tell(plan, Step::kOomScore, 0, errno);
  if (fd >= 0) ::close(fd);
}

void TakeMeans(const Plan& plan) {
  if (plan.confinement == nullptr) return;
  const ConfineFailure failure = Confine(*plan.confinement);
  if (failure.sys == 0) return;
  const int step = static_cast<int>(failure.step);
  if (!CannotConfine(failure)) GiveUp(plan, Step::kConfine, step, failure.sys);
  Tell(plan, Step::kConfine, step, failure.sys);
}

// Its outputs are pipes of ours: it may open them again by their names in /proc.
void OwnOutputs(const Plan& plan) {
  if (!plan.identity->user) return;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat of{};
    if (::fstat(fd, &of) != 0 || !S_ISFIFO(of.st_mode)) continue;
    if (::fchown(fd, *plan.identity->user, static_cast<gid_t>(-1)) != 0) continue;  // it still has it open
  }
}

void Become(const Plan& plan) {
  OwnOutputs(plan);
  const IdentityFailure failure = TakeOn(*plan.identity);
  if (failure.sys == 0) return;
  if (!LacksTheRight(failure) || plan.identity->must_drop)
    GiveUp(plan, Step::kIdentity, static_cast<int>(failure.step), failure.sys);
  Tell(plan, Step::kIdentity, static_cast<int>(failure.step), failure.sys);
}

void SealIdentity(const Plan& plan) {
  const IdentityFailure failure = Seal(*plan.identity);
  if (failure.sys != 0) GiveUp(plan, Step::kIdentity, static_cast<int>(failure.step), failure.sys);
}

void Mount(Plan& plan) {
  if (plan.mounts->empty()) return;
  const MountFailure failure = MakeMounts(*plan.mounts, plan.mount_fds);
  if (failure.sys != 0) GiveUp(plan, Step::kMounts, IndexOf(failure), failure.sys);
}

void Execute(const Plan& plan) {
  int found = ENOENT;  // as execvp(3): a candidate that may not be executed is reported rather than the missing ones
  for (const std::string& program : plan.programs) {
    ::execve(program.c_str(), plan.argv.data(), plan.env.data());
    if (errno == EACCES) {
      found = EACCES;
    } else if (errno != ENOENT && errno != ENOTDIR) {
      found = errno;
      break;
    } else if (plan.programs.size() == 1) {
      found = errno;
    }
  }
  GiveUp(plan, Step::kExec, 0, found);
}

[[noreturn]] void RunChild(Plan& plan) {
  EnterCgroups(plan);
  SetOomScore(plan);
  TakeMeans(plan);
  Mount(plan);
  ::setsid();
  ::umask(022);
  ResetSignals();
  CloseOnExecFrom(3);
  RestoreOpenFiles();
  for (std::size_t i = 0; i < plan.fds.size(); ++i) {
    if (plan.fds[i].valid() && ::dup2(plan.fds[i].get(), static_cast<int>(i)) < 0) GiveUp(plan, Step::kFds, 0, errno);
  }
  Become(plan);
  if (plan.working_dir != nullptr && ::chdir(plan.working_dir) != 0) GiveUp(plan, Step::kWorkingDir, 0, errno);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  SealIdentity(plan);
  Execute(plan);
  ::_exit(kFailedStart);
}

// ---- parent side ----

// `fd`, or /dev/null, as a descriptor of our own out of the way of 0..3.
Result<UniqueFd> HighFd(int fd, int null_flags) {
  UniqueFd null;
  if (fd < 0) {
    null = UniqueFd(::open("/dev/null", null_flags | O_CLOEXEC));
    if (!null.valid()) return FailErrno("open", "/dev/null", errno);
    fd = null.get();
  }
  UniqueFd high(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstHighFd));
  if (!high.valid()) return FailErrno("duplicate a descriptor", "", errno);
  return high;
}

std::vector<std::string> Candidates(const std::string& program, std::string_view search_path) {
  if (program.empty() || program.find('/') != std::string::npos) return {program};
  std::vector<std::string> out;
  for (const std::string_view dir : Split(search_path, ':'))
    out.push_back(dir.empty() ? "./" + program : std::string(dir) + "/" + program);
  return out;
}

// execve wants char*; the strings are not written to.
std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

Result<void> OpenCgroups(const ProcessSpec& spec, Plan& plan) {
  for (const std::string& dir : spec.cgroup_dirs) {
    const std::string procs = dir + "/cgroup.procs";
    UniqueFd fd(::open(procs.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) return FailErrno("open", procs, errno);
    BERTH_TRY(UniqueFd high, HighFd(fd.get(), 0));
    plan.join.push_back(std::move(high));
    for (const char* name : {"/cpuset.cpus.effective", "/cpuset.effective_cpus"}) {
      const UniqueFd list(::open((dir + name).c_str(), O_RDONLY | O_CLOEXEC));
      if (!list.valid()) continue;
      BERTH_TRY(plan.cpu_list, HighFd(list.get(), 0));
    }
  }
  return {};
}

Result<void> MakePlan(const ProcessSpec& spec, Plan& plan) {
  plan.argv = Pointers(spec.argv);
  plan.env = Pointers(spec.env);
  plan.programs = Candidates(spec.argv[0], spec.search_path);
  if (!spec.working_dir.empty()) plan.working_dir = spec.working_dir.c_str();
  if (spec.oom_score_adj) {
    const int size = std::snprintf(plan.oom_score.data(), plan.oom_score.size(), "%d", *spec.oom_score_adj);
    plan.oom_score_size = static_cast<std::size_t>(size);
  }
  if (spec.confinement) plan.confinement = &*spec.confinement;
  plan.mounts = &spec.mounts;
  plan.mount_fds.resize(spec.mounts.volumes.size());
  plan.identity = &spec.identity;
  BERTH_RETURN_IF_ERROR(OpenCgroups(spec, plan));
  BERTH_TRY(plan.fds[0], HighFd(spec.stdin_fd, O_RDONLY));
  BERTH_TRY(plan.fds[1], HighFd(spec.stdout_fd, O_WRONLY));
  BERTH_TRY(plan.fds[2], HighFd(spec.stderr_fd, O_WRONLY));
  if (spec.extra_fd >= 0) {
    BERTH_TRY(plan.fds[3], HighFd(spec.extra_fd, 0));
  }
  return {};
}

// clone3 as fork; `cgroup` >= 0: the child starts in that cgroup. Returns as fork.
long Clone(int* pidfd, int cgroup) {
  if (kOnlyFork) {
    errno = ENOSYS;
    return -1;
  }
  clone_args args{};
  args.flags = CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uintptr_t>(pidfd);
  args.exit_signal = SIGCHLD;
  if (cgroup >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(cgroup);
  }
  return ::syscall(SYS_clone3, &args, sizeof args);
}

// Kernels (and sandboxes) without clone3: the handle is opened afterwards, before anybody can reap the child.
long Fork(int* pidfd) {
  const long pid = ::fork();
  if (pid > 0) *pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  return pid;
}

// Creates the child, which never returns from here. Errors: as clone3(2).
Result<Process> StartChild(const ProcessSpec& spec, Plan& plan) {
  UniqueFd dir;
  if (spec.cgroup_v2 && spec.cgroup_dirs.size() == 1) {
    dir = UniqueFd(::open(spec.cgroup_dirs[0].c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!dir.valid()) return FailErrno("open cgroup", spec.cgroup_dirs[0], errno);
  }
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of ours may run in the child
  int pidfd = -1;
  std::vector<UniqueFd> join;
  if (dir.valid()) plan.join.swap(join);  // the kernel puts it in place
  long pid = Clone(&pidfd, dir.get());
  if (pid < 0 && dir.valid() && (errno == E2BIG || errno == EINVAL || errno == ENOSYS)) {
    plan.join.swap(join);  // before Linux 5.7: the child enters by itself
    pid = Clone(&pidfd, -1);
  }
  if (pid < 0 && errno == ENOSYS) pid = Fork(&pidfd);
  if (pid == 0) RunChild(plan);
  const int sys = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return FailErrno("start a process in cgroup", dir.valid() ? spec.cgroup_dirs[0] : "", sys);
  Process process;
  process.pid = static_cast<int>(pid);
  process.pidfd = UniqueFd(pidfd);
  return process;
}

std::unexpected<Error> ExecError(const ProcessSpec& spec, int sys) {
  std::unexpected<Error> failed = FailErrno("exec", spec.argv[0], sys);
  Error error = std::move(failed).error();
  if (sys == ENOENT && spec.argv[0].find('/') == std::string::npos) {
    error.message += " (searched " + spec.search_path + ")";
  } else if (sys == ENOENT && spec.argv[0].starts_with('/') && ::access(spec.argv[0].c_str(), F_OK) == 0) {
    error.message += " (it exists: its interpreter does not)";
  }
  return std::unexpected(std::move(error));
}

std::unexpected<Error> ErrorOf(const ProcessSpec& spec, const Report& report) {
  switch (report.step) {
    case Step::kCgroup: {
      auto failed = FailErrno("enter cgroup", spec.cgroup_dirs[static_cast<std::size_t>(report.index)], report.sys);
      if (report.sys != ENOSPC) return failed;
      Error error = std::move(failed).error();
      error.message += " (its cpuset.cpus or cpuset.mems is empty)";
      return std::unexpected(std::move(error));
    }
    case Step::kCpus:
      if (report.sys == EXDEV)
        return Fail(Code::kInternal, "the kernel lets the process run on CPUs outside its cpuset");
      return FailErrno("check the CPUs of the process", "", report.sys);
    case Step::kOomScore: return FailErrno("set oom_score_adj", "", report.sys);
    case Step::kConfine: return FailErrno(Name(static_cast<ConfineStep>(report.index)), "", report.sys);
    case Step::kFds: return FailErrno("set up standard input and output", "", report.sys);
    case Step::kMounts: return std::unexpected(ErrorOf(spec.mounts, FailureOf(report)));
    case Step::kIdentity: return FailErrno(Name(static_cast<IdentityStep>(report.index)), "", report.sys);
    case Step::kWorkingDir: return FailErrno("change to working directory", spec.working_dir, report.sys);
    case Step::kExec: break;
  }
  return ExecError(spec, report.sys);
}

bool IsLeftUnconfined(const ProcessSpec& spec, const Report& report) {
  if (report.step == Step::kConfine)
    return CannotConfine({.step = static_cast<ConfineStep>(report.index), .sys = report.sys});
  return report.step == Step::kIdentity && !spec.identity.must_drop &&
         LacksTheRight({.step = static_cast<IdentityStep>(report.index), .sys = report.sys});
}

// Reads the child's reports until it executes its program or ends; nullopt: it executes.
std::optional<Report> ReadReports(int fd, const ProcessSpec& spec, std::vector<std::string>& warnings) {
  for (;;) {
    Report report;
    const ssize_t n = ::read(fd, &report, sizeof report);
    if (n < 0 && errno == EINTR) continue;
    if (n != static_cast<ssize_t>(sizeof report)) return std::nullopt;
    if (report.step != Step::kOomScore && !IsLeftUnconfined(spec, report)) return report;
    const std::string what = report.step == Step::kOomScore ? " (wanted " + std::to_string(*spec.oom_score_adj) + ")"
                                                            : " (so it can change in which cgroups it is)";
    warnings.push_back(ErrorOf(spec, report).error().message + what);
  }
}

}  // namespace

void RaiseOpenFiles() {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur >= now.rlim_max) return;
  const rlimit most{.rlim_cur = now.rlim_max, .rlim_max = now.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &most) == 0) original_open_files = now;
}

Result<Process> Spawn(const ProcessSpec& spec) {
  BERTH_CHECK(!spec.argv.empty());
  Plan plan;
  BERTH_RETURN_IF_ERROR(MakePlan(spec, plan));
  BERTH_TRY(Pipe pipe, MakePipe());
  ::fcntl(pipe.read_end.get(), F_SETFL, 0);
  BERTH_TRY(plan.report, HighFd(pipe.write_end.get(), 0));
  pipe.write_end.reset();
  BERTH_TRY(Process process, StartChild(spec, plan));
  plan.report.reset();
  const std::optional<Report> failed = ReadReports(pipe.read_end.get(), spec, process.warnings);
  if (failed) {
    ReapChild(process.pid);
    std::unexpected<Error> error = ErrorOf(spec, *failed);
    const bool its_own_fault = failed->step == Step::kExec || failed->step == Step::kWorkingDir ||
                               failed->step == Step::kIdentity || failed->step == Step::kMounts;
    if (!its_own_fault) return error;
    process.refused = std::move(error).error();
    return process;
  }
  const Result<std::uint64_t> ticks = StartTicksOf(process.pid);  // it is not reaped: the pid is still its own
  if (!ticks || !process.pidfd.valid()) {
    ::kill(process.pid, SIGKILL);
    ReapChild(process.pid);
    if (!ticks) return Wrap(ticks.error(), "start " + spec.argv[0]);
    return Fail(Code::kUnsupported,
                "start " + spec.argv[0] + ": this kernel has no pidfd (Linux 5.3 or newer is needed)");
  }
  process.start_ticks = *ticks;
  return process;
}

}  // namespace berth::os
