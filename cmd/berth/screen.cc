#include "berth/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace berth::cli {
namespace {

// Another page, and no cursor; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::array kTaken = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// What a handler of a crash needs. Written before it may be called.
termios saved_modes{};
volatile std::sig_atomic_t modes_changed = 0;

void WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// Only what a signal handler may call.
void GiveBack() {
  if (modes_changed != 0) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved_modes);
  modes_changed = 0;
  WriteAll(kLeave);
}

void OnCrash(int signal) {  // the handler is reset already
  GiveBack();
  ::raise(signal);
}

sigset_t SetOf(const auto& signals) {
  sigset_t out;
  ::sigemptyset(&out);
  for (const int signal : signals) ::sigaddset(&out, signal);
  return out;
}

int KeyOfSequence(std::string_view sequence) {
  constexpr std::array<std::pair<std::string_view, int>, 10> kKnown = {{{"[A", kKeyUp},
                                                                        {"[B", kKeyDown},
                                                                        {"OA", kKeyUp},
                                                                        {"OB", kKeyDown},
                                                                        {"[5~", kKeyPageUp},
                                                                        {"[6~", kKeyPageDown},
                                                                        {"[H", kKeyHome},
                                                                        {"[F", kKeyEnd},
                                                                        {"[1~", kKeyHome},
                                                                        {"[4~", kKeyEnd}}};
  const auto found = std::ranges::find(kKnown, sequence, &std::pair<std::string_view, int>::first);
  return found == kKnown.end() ? 0 : found->second;
}

/// How long the sequence after an escape is: "[…" up to a letter or ~, "O" and a letter.
std::size_t LengthOfSequence(std::string_view rest) {
  if (rest.starts_with('O')) return std::min<std::size_t>(2, rest.size());
  if (!rest.starts_with('[')) return 0;
  for (std::size_t i = 1; i < rest.size(); ++i)
    if (rest[i] >= '@' && rest[i] <= '~') return i + 1;
  return rest.size();
}

}  // namespace

std::vector<int> KeysOf(std::string_view bytes) {
  constexpr char kEscape = '\x1b';
  std::vector<int> out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != kEscape) {
      out.push_back(static_cast<unsigned char>(bytes[i]));
      continue;
    }
    const std::size_t length = LengthOfSequence(bytes.substr(i + 1));
    const int key = length == 0 ? kKeyEscape : KeyOfSequence(bytes.substr(i + 1, length));
    if (key != 0) out.push_back(key);
    i += length;
  }
  return out;
}

Result<std::unique_ptr<Screen>> Screen::Open() {
  const sigset_t taken = SetOf(kTaken);
  ::sigprocmask(SIG_BLOCK, &taken, nullptr);
  os::UniqueFd signals(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (signals.get() < 0) return FailErrno("wait for signals by", "signalfd", errno);
  auto out = std::unique_ptr<Screen>(new Screen(std::move(signals)));
  out->has_keys_ = ::isatty(STDIN_FILENO) == 1;
  if (out->has_keys_ && ::tcgetattr(STDIN_FILENO, &saved_modes) != 0)
    return FailErrno("read the modes of", "the terminal", errno);
  for (const int signal : kCrashes) {
    struct sigaction action{};
    action.sa_handler = OnCrash;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    ::sigaction(signal, &action, nullptr);
  }
  out->Enter();
  return out;
}

Screen::~Screen() {
  Leave();
  for (const int signal : kCrashes) ::signal(signal, SIG_DFL);
  const sigset_t taken = SetOf(kTaken);
  ::sigprocmask(SIG_UNBLOCK, &taken, nullptr);
}

void Screen::Enter() {
  if (has_keys_) {
    termios modes = saved_modes;
    modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    modes_changed = 1;
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &modes);
  }
  WriteAll(kEnter);
}

void Screen::Leave() { GiveBack(); }

Screen::Size Screen::size() const {
  constexpr int kLeast = 20;  // columns; a terminal that says nothing has the usual size
  winsize size{};
  Size out;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return out;
  return {.width = std::max<int>(size.ws_col, kLeast), .height = size.ws_row};
}

void Screen::Draw(const std::vector<std::string>& lines) {
  std::string out = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) out += (i == 0 ? "" : "\r\n") + lines[i] + "\x1b[K";
  WriteAll(out + "\x1b[J");
}

void Screen::StopForNow() {
  Leave();
  const sigset_t stop = SetOf(std::array{SIGTSTP});
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // here it stops, and goes on
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  Enter();
}

void Screen::TakeSignal(News& news) {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGTSTP) StopForNow();
    if (signal == SIGTSTP || signal == SIGWINCH)
      news.redraw = true;
    else
      news.ended_by = signal;
  }
}

void Screen::TakeKeys(News& news) {
  std::array<char, 256> bytes{};
  const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) news.closed = true;
  if (n > 0) news.keys = KeysOf({bytes.data(), static_cast<std::size_t>(n)});
}

Screen::News Screen::Wait(os::Millis most) {
  News out;
  std::array<pollfd, 2> both = {{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}}};
  const int ready = ::poll(both.data(), both.size(), static_cast<int>(std::max<os::Millis::rep>(0, most.count())));
  if (ready <= 0) return out;
  if (both[0].revents != 0) TakeSignal(out);
  if (both[1].revents != 0 && out.ended_by == 0) TakeKeys(out);
  return out;
}

void EndBySignal(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  std::_Exit(128 + signal);
}

}  // namespace berth::cli
