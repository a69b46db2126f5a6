#include "host/os/foreground.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "host/os/own_cpus.h"
#include "host/os/pidfd.h"
#include "host/os/pipe.h"
#include "host/os/poll.h"

namespace berth::os {
namespace {

constexpr std::array kHeld = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};

sigset_t SetOf(bool with_child, bool all) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kHeld) {
    const bool asks = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
    if (signal == SIGCHLD ? with_child : all || asks) sigaddset(&set, signal);
  }
  return set;
}

// In the child, between fork and exec.
[[noreturn]] void BecomeProgram(int gate, int word, char* const* argv) {
  pollfd opened{.fd = gate, .events = POLLIN, .revents = 0};
  while (::poll(&opened, 1, -1) < 0 && errno == EINTR) {
  }
  char byte = 0;
  if (::read(gate, &byte, 1) != 1) ::_exit(0);
  AllowAllCpus();
  const sigset_t held = SetOf(true, true);
  ::sigprocmask(SIG_UNBLOCK, &held, nullptr);
  ::execvp(argv[0], argv);
  const int sys = errno;
  [[maybe_unused]] const ssize_t told = ::write(word, &sys, sizeof sys);
  ::_exit(sys == ENOENT ? 127 : 126);
}

int StatusOf(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace

HeldSignals::HeldSignals() {
  const sigset_t held = SetOf(true, true);
  ::sigprocmask(SIG_BLOCK, &held, &before_);
}

HeldSignals::~HeldSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

std::optional<int> HeldSignals::Asked(Millis time) const {
  const sigset_t set = SetOf(false, false);
  const timespec limit{.tv_sec = time.count() / 1000, .tv_nsec = time.count() % 1000 * 1'000'000};
  const int signal = ::sigtimedwait(&set, nullptr, &limit);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

ForegroundChild::ForegroundChild(ForegroundChild&& other) noexcept
    : program_(std::move(other.program_)),
      pid_(std::exchange(other.pid_, 0)),
      start_ticks_(other.start_ticks_),
      gate_(std::move(other.gate_)),
      word_(std::move(other.word_)) {}

ForegroundChild::~ForegroundChild() {
  gate_.reset();
  if (pid_ != 0) Reaped();
}

int ForegroundChild::Reaped() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return StatusOf(status);
}

Result<ForegroundChild> ForegroundChild::Start(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  BERTH_TRY(Pipe gate, MakePipe());
  BERTH_TRY(Pipe word, MakePipe());
  const pid_t pid = ::fork();
  if (pid < 0) return FailErrno("start a process", argv.front(), errno);
  if (pid == 0) {
    gate.write_end.reset();  // else the gate would never end
    BecomeProgram(gate.read_end.get(), word.write_end.get(), words.data());
  }
  ForegroundChild child(argv.front(), pid, std::move(gate.write_end), std::move(word.read_end));
  BERTH_TRY(child.start_ticks_, StartTicksOf(pid));
  return child;
}

Result<void> ForegroundChild::Open() {
  const char byte = 1;
  if (::write(gate_.get(), &byte, 1) != 1) return FailErrno("let a process go on", std::to_string(pid_), errno);
  if (const auto heard = WaitFor(word_.get(), POLLIN, std::nullopt); !heard) return std::unexpected(heard.error());
  int sys = 0;
  if (::read(word_.get(), &sys, sizeof sys) != sizeof sys) return {};
  Reaped();
  return FailErrno("execute", program_, sys);
}

int ForegroundChild::Attend() {
  const sigset_t held = SetOf(true, true);
  for (;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&held, &info);
    if (signal == SIGCHLD) {
      siginfo_t end{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == pid_)
        return Reaped();
    } else if (signal > 0 && info.si_code != SI_KERNEL) {  // the terminal's go to the whole process group
      ::kill(pid_, signal);
    }
  }
}

}  // namespace berth::os
