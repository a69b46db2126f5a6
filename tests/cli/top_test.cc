// `berth top` on a terminal: a pseudo terminal, as ssh and tmux have one.
#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <string>
#include <vector>

#include "berthd_fixture.h"
#include "host/os/unique_fd.h"

namespace berth {
namespace {

using testing::HasSubstr;

constexpr const char* kEnter = "\x1b[?1049h";
constexpr const char* kLeave = "\x1b[?1049l";
constexpr const char* kDrawn = "q quit";

/// A terminal with a program on it.
class Terminal {
 public:
  Terminal() {
    winsize size{.ws_row = 20, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
    int master = -1;
    int slave = -1;
    if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0) return;
    master_ = os::UniqueFd(master);
    slave_ = os::UniqueFd(slave);
  }
  ~Terminal() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  void Run(std::vector<std::string> words) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::login_tty(slave_.get());
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  /// Everything shown since the last call, up to `text` and with it; a test failure when it does not come.
  std::string Until(const std::string& text) {
    constexpr int kPatienceMs = 30'000;
    for (;;) {
      if (const std::size_t at = shown_.find(text); at != std::string::npos) {
        std::string out = shown_.substr(0, at + text.size());
        shown_.erase(0, out.size());
        return out;
      }
      pollfd wait{.fd = master_.get(), .events = POLLIN, .revents = 0};
      char bytes[4096];
      const ssize_t n = ::poll(&wait, 1, kPatienceMs) > 0 ? ::read(master_.get(), bytes, sizeof bytes) : -1;
      if (n <= 0) {
        ADD_FAILURE() << "'" << text << "' does not come after:\n" << shown_;
        return shown_;
      }
      shown_.append(bytes, static_cast<std::size_t>(n));
    }
  }
  void Type(const std::string& keys) {
    EXPECT_EQ(static_cast<ssize_t>(keys.size()), ::write(master_.get(), keys.data(), keys.size()));
  }
  void Resize(unsigned short rows, unsigned short columns) {
    winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(0, ::ioctl(master_.get(), TIOCSWINSZ, &size));
  }
  /// It waits for whole lines and shows what is typed, as a shell expects it.
  bool AsItWas() const {
    termios modes{};
    return ::tcgetattr(slave_.get(), &modes) == 0 && (modes.c_lflag & (ICANON | ECHO)) == (ICANON | ECHO);
  }
  void Kill(int signal) { ::kill(pid_, signal); }
  /// As waitpid(2) gives it.
  int WaitForEnd() {
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  os::UniqueFd master_;
  os::UniqueFd slave_;  // keeps the modes to look at
  std::string shown_;   // and not looked at yet
  int pid_ = -1;
};

class TopTest : public BerthdTest {
 protected:
  std::vector<std::string> Top() const { return {BERTH, "top", "--socket", socket()}; }
};

TEST_F(TopTest, FillsTheScreenAndObeysItsKeys) {
  AddPod("web", "2");
  AddPod("db", "1");
  Terminal terminal;
  terminal.Run(Top());
  const std::string first = terminal.Until(kDrawn);
  EXPECT_THAT(first, HasSubstr(kEnter));
  EXPECT_THAT(first, HasSubstr("n1"));
  EXPECT_THAT(first, HasSubstr("default/web-n1"));
  EXPECT_FALSE(terminal.AsItWas()) << "keys come one by one";
  terminal.Type("m");
  terminal.Until("by memory");
  terminal.Type("/web");
  terminal.Until("only 'web_");
  terminal.Type("\r");
  const std::string narrowed = terminal.Until(kDrawn);
  EXPECT_THAT(narrowed, HasSubstr("only 'web'"));
  EXPECT_THAT(narrowed, testing::Not(HasSubstr("default/db-n1")));
  terminal.Type("h");
  terminal.Until("arrows");
  terminal.Resize(30, 60);
  terminal.Until(kDrawn);
  terminal.Type("q");
  EXPECT_THAT(terminal.Until(kLeave), HasSubstr("\x1b[?25h")) << "the cursor is back";
  EXPECT_EQ(0, terminal.WaitForEnd());
  EXPECT_TRUE(terminal.AsItWas());
}

TEST_F(TopTest, TheTerminalIsAsItWasAfterEverySignal) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV}) {
    Terminal terminal;
    terminal.Run(Top());
    terminal.Until(kDrawn);
    terminal.Kill(signal);
    terminal.Until(kLeave);
    const int status = terminal.WaitForEnd();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << signal << " gave status " << status;
    EXPECT_TRUE(terminal.AsItWas()) << signal;
  }
}

TEST_F(TopTest, CtrlCEndsItAndCtrlZStopsItForAWhile) {
  Terminal terminal;
  terminal.Run({"bash", "--norc", "-ic", std::string(BERTH " top --socket ") + socket() + "; echo stopped=$?; fg"});
  terminal.Until(kDrawn);
  terminal.Type("\x1a");
  EXPECT_THAT(terminal.Until("stopped=148"), HasSubstr(kLeave));
  EXPECT_THAT(terminal.Until(kDrawn), HasSubstr(kEnter));
  terminal.Type("\x03");
  terminal.Until(kLeave);
  EXPECT_TRUE(WIFEXITED(terminal.WaitForEnd())) << "of the shell, which has its terminal again";
}

TEST_F(TopTest, GoesOnWhenBerthdDoesNot) {
  Terminal terminal;
  terminal.Run(Top());
  terminal.Until(kDrawn);
  StopBerthd();
  terminal.Until("nothing newer");
  terminal.Type("q");
  EXPECT_EQ(0, terminal.WaitForEnd());
  EXPECT_TRUE(terminal.AsItWas());
}

TEST_F(TopTest, WithoutATerminalItIsText) {
  AddPod("web", "2");
  const Ran ran = Ask({"top", "--filter", "web", "--sort", "name"});
  EXPECT_EQ(0, ran.status) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("default/web-n1"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("\x1b")));
}

TEST_F(TopTest, WideTextHasPercentsOfTheLimitsThatComeWithThePods) {
  AddPod("web", "2");
  const codec::Json pods = AskJson({"pods"});
  EXPECT_EQ(R"({"cpu":"2","memory":"64Mi"})", pods.at("pods").at(0).at("limits").dump());
  const Ran wide = Ask({"top", "-o", "wide"});
  EXPECT_EQ(0, wide.status) << wide.err;
  EXPECT_THAT(wide.out, HasSubstr("CPU/REQ  CPU/LIM  MEM/REQ  MEM/LIM"));
  EXPECT_THAT(Ask({"top"}).out, testing::Not(HasSubstr("/LIM")));
}

}  // namespace
}  // namespace berth
