#include "host/os/pidfd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>

#include "base/text.h"
#include "host/os/host.h"
#include "host/os/poll.h"

namespace berth::os {
namespace {

constexpr auto kWaitPidfd = static_cast<idtype_t>(3);  // P_PIDFD; glibc 2.36 has it as an enumerator only

// The whole of a small /proc file.
Result<std::string> ReadProc(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return FailErrno("read", path, errno);
  std::string out;
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno("read", path, errno);
    if (n == 0) return out;
    out.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

std::optional<std::uint64_t> StatField(std::string_view stat, std::size_t field) {
  constexpr std::size_t kFirst = 3;              // of those after the name
  const std::size_t name_end = stat.rfind(')');  // the name may hold blanks and parentheses
  if (name_end == std::string_view::npos) return std::nullopt;
  const auto fields = SplitWords(stat.substr(name_end + 1));
  return fields.size() > field - kFirst ? ParseDecimal<std::uint64_t>(fields[field - kFirst]) : std::nullopt;
}

Result<std::uint64_t> ParseStartTicks(std::string_view stat) {
  constexpr std::size_t kStartTime = 22;
  if (const auto ticks = StatField(stat, kStartTime)) return *ticks;
  return Fail(Code::kCorrupt, "no start time in process status '" + Printable(stat) + "'");
}

Result<std::uint64_t> StartTicksOf(int pid) {
  BERTH_TRY(const std::string stat, ReadProc("/proc/" + std::to_string(pid) + "/stat"));
  return ParseStartTicks(stat);
}

namespace {

/// The letter after the name.
char StateOf(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string_view::npos || name_end + 2 >= stat.size() ? '?' : stat[name_end + 2];
}

}  // namespace

std::optional<int> UnreapedStatus(int pid, std::uint64_t start_ticks) {
  constexpr std::size_t kExitCode = 52;
  const Result<std::string> stat = ReadProc("/proc/" + std::to_string(pid) + "/stat");
  if (!stat || StateOf(*stat) != 'Z' || ::geteuid() != 0) return std::nullopt;
  const auto started = ParseStartTicks(*stat);
  if (!started || *started != start_ticks) return std::nullopt;
  const auto status = StatField(Trim(*stat), kExitCode);
  return status ? std::optional(static_cast<int>(*status)) : std::nullopt;
}

char StateOf(int pid) {
  const Result<std::string> stat = ReadProc("/proc/" + std::to_string(pid) + "/stat");
  return stat ? StateOf(*stat) : '?';
}

bool HasPendingKill(std::string_view status) {
  constexpr std::uint64_t kKillBit = std::uint64_t{1} << (SIGKILL - 1);
  for (const std::string_view line : Split(status, '\n')) {
    if (!line.starts_with("SigPnd:") && !line.starts_with("ShdPnd:")) continue;
    const std::string_view mask = Trim(line.substr(line.find(':') + 1));
    std::uint64_t signals = 0;
    std::from_chars(mask.data(), mask.data() + mask.size(), signals, 16);
    if ((signals & kKillBit) != 0) return true;
  }
  return false;
}

bool SurvivesKill(int pid) {
  const Result<std::string> status = ReadProc("/proc/" + std::to_string(pid) + "/status");
  return status && HasPendingKill(*status);
}

bool IsStopped(int pid) {
  const char state = StateOf(pid);
  return state == 'T' || state == 't';
}

Result<Bytes> ResidentMemoryOf(int pid) {
  constexpr std::size_t kResidentPages = 24;
  BERTH_TRY(const std::string stat, ReadProc("/proc/" + std::to_string(pid) + "/stat"));
  const auto pages = StatField(stat, kResidentPages);
  if (!pages) return Fail(Code::kCorrupt, "no memory in process status '" + Printable(stat) + "'");
  return Bytes{static_cast<std::int64_t>(*pages) * PageSize().v};
}

Result<std::vector<std::string>> CgroupLinesOf(int pid) {
  BERTH_TRY(const std::string text, ReadProc("/proc/" + std::to_string(pid) + "/cgroup"));
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n'))
    if (!line.empty()) lines.emplace_back(line);
  return lines;
}

std::string BootId() {
  const Result<std::string> text = ReadProc("/proc/sys/kernel/random/boot_id");
  return text ? std::string(Trim(*text)) : std::string();
}

Result<UniqueFd> OpenPidfd(int pid, std::uint64_t start_ticks) {
  const std::string name = "process " + std::to_string(pid);
  if (pid <= 0) return Fail(Code::kNotFound, name + " is no process");
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.valid()) return FailErrno("open", name, errno == EINVAL ? ESRCH : errno);
  // Read after opening: if the start time fits now, the handle was opened on the process that is meant.
  BERTH_TRY(const std::uint64_t ticks, StartTicksOf(pid));
  if (ticks != start_ticks) return Fail(Code::kNotFound, name + " is another process by now");
  if (HasEnded(fd.get())) return Fail(Code::kNotFound, name + " has ended");
  return fd;
}

Result<void> SendSignal(int pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0 || errno == ESRCH) return {};
  return FailErrno("send signal " + std::to_string(signal), "", errno);
}

bool HasEnded(int pidfd) { return WaitEnd(pidfd, Millis(0)); }

bool WaitEnd(int pidfd, Millis limit) {
  const auto ended = WaitFor(pidfd, POLLIN, SystemClock().Now() + limit);
  return ended && *ended;
}

void Reap(int pidfd) {
  siginfo_t info{};
  while (::waitid(kWaitPidfd, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) < 0 && errno == EINTR) {
  }
}

Result<PidfdSet> PidfdSet::Open() {
  UniqueFd fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!fd.valid()) return FailErrno("make an epoll instance", "", errno);
  return PidfdSet(std::move(fd));
}

Result<void> PidfdSet::Add(int pidfd, std::uint64_t token) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = token;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd, &event) != 0) return FailErrno("watch a process", "", errno);
  return {};
}

void PidfdSet::Remove(int pidfd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, pidfd, nullptr); }

std::vector<std::uint64_t> PidfdSet::Ready() {
  std::vector<std::uint64_t> out;
  std::array<epoll_event, 64> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < n; ++i) {
    const std::uint64_t token = events[static_cast<std::size_t>(i)].data.u64;  // a copy: epoll_event is packed
    out.push_back(token);
  }
  return out;
}

}  // namespace berth::os
