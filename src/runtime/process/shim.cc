#include "runtime/process/shim.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "host/os/children.h"
#include "host/os/fs.h"
#include "host/os/path.h"
#include "host/os/pidfd.h"
#include "host/os/pipe.h"
#include "host/os/process.h"
#include "host/os/supervisor_message.h"
#include "host/os/volatile_file.h"
#include "runtime/process/log_writer.h"
#include "runtime/process/process_spec.h"
#include "runtime/process/record.h"

namespace berth::runtime {
namespace {

constexpr std::size_t kChunk = std::size_t{16} << 10;
constexpr std::size_t kDrainAtEnd = std::size_t{1} << 20;  // what an ended container's pipe can hold, and more
constexpr os::Millis kKillLeftovers{1'000};
constexpr int kKilledExitCode = 128 + SIGKILL;
constexpr int kSaveTries = 600;  // once a second, while the run directory is full

// The number of OOM kills that `file` of a memory cgroup tells of; nullopt: there is no such file (any more).
std::optional<std::uint64_t> OomKillsOf(const std::string& dir, const char* file) {
  Result<std::unique_ptr<os::Fs>> fs = os::OpenFs(dir);
  if (!fs) return std::nullopt;
  const Result<std::string> text = (*fs)->Read(file);
  if (!text) return std::nullopt;
  for (const std::string_view line : Split(*text, '\n'))
    if (line.starts_with("oom_kill ")) return ParseDecimal<std::uint64_t>(line.substr(9));
  return std::nullopt;
}

/// OOM kills so far.
struct OomKills {
  std::optional<std::uint64_t> own;    ///< in the container's group
  std::optional<std::uint64_t> above;  ///< v2: in its pod's, with all below it
};

OomKills ReadOomKills(const std::vector<std::string>& dirs) {
  OomKills out;
  for (const std::string& dir : dirs) {
    for (const char* file : {"memory.events", "memory.oom_control"})
      if (!out.own) out.own = OomKillsOf(dir, file);
    if (!out.above) out.above = OomKillsOf(os::FolderOf(dir), "memory.events");
  }
  return out;
}

/// systemd may have removed the container's group by the time that its end is looked at; its pod's is there then.
bool HasRunOutOfMemory(const OomKills& before, const OomKills& now, const ShimState& state) {
  if (state.exit_code == 0) return false;
  if (now.own) return *now.own > before.own.value_or(0);
  return state.exit_code == kKilledExitCode && now.above && *now.above > before.above.value_or(0);
}

class Shim {
 public:
  Shim(std::string dir, std::unique_ptr<os::Fs> fs, os::UniqueFd socket)
      : dir_(std::move(dir)), fs_(std::move(fs)), socket_(std::move(socket)) {}

  /// Up to the container's first instruction. False: nothing runs, the shim is done.
  Result<bool> Start();
  /// Until the container's end is recorded.
  void Supervise();

 private:
  /// What only matters while this boot lasts; the end itself is made durable.
  Result<void> Save() { return os::ReplaceVolatile(dir_ + "/" + std::string(kStateFile), FormatState(state_)); }
  Result<void> SaveDurably() { return fs_->Replace(kStateFile, FormatState(state_)); }
  Result<bool> WaitForGo();
  Result<bool> StartProcess();
  Result<void> RecordRunning(const os::Process& process);
  std::size_t Drain(Stream stream, std::size_t limit);
  bool ReapUntilMain();
  void RecordEnd();

  std::string dir_;
  std::unique_ptr<os::Fs> fs_;  // dir_
  os::UniqueFd socket_;
  os::UniqueFd child_events_;
  std::array<os::UniqueFd, 2> output_;  // stdout, stderr; closed at their end
  std::optional<LogWriter> log_;
  ShimRequest request_;
  ShimState state_;
  OomKills oom_kills_before_;
};

Result<bool> Shim::WaitForGo() {
  BERTH_RETURN_IF_ERROR(Save());
  BERTH_RETURN_IF_ERROR(os::SendMessage(socket_.get(), kMessageReady));
  BERTH_TRY(const std::optional<os::Message> word, os::ReceiveMessage(socket_.get(), std::nullopt));
  return word && word->text == kMessageGo;
}

Result<void> Shim::RecordRunning(const os::Process& process) {
  state_.phase = ShimPhase::kRunning;
  state_.pid = process.pid;
  state_.start = process.start_ticks;
  state_.started_at = os::FormatTime(os::SystemClock().Wall());
  state_.warnings = process.warnings;
  BERTH_TRY(const std::vector<std::string> lines, os::CgroupLinesOf(process.pid));
  state_.cgroups = OwnCgroupLines(lines, request_.cgroup.dirs);
  return Save();
}

Result<bool> Shim::StartProcess() {
  BERTH_TRY(os::Pipe out, os::MakePipe());
  BERTH_TRY(os::Pipe err, os::MakePipe());
  BERTH_TRY(os::ProcessSpec spec, SpecOf(request_));
  spec.stdout_fd = out.write_end.get();
  spec.stderr_fd = err.write_end.get();
  oom_kills_before_ = ReadOomKills(request_.cgroup.dirs);
  BERTH_TRY(const os::Process process, os::Spawn(spec));
  output_ = {std::move(out.read_end), std::move(err.read_end)};
  if (process.refused) {
    state_.phase = ShimPhase::kExited;
    state_.exit_code = kStartErrorExitCode;
    state_.message = process.refused->message;
    state_.warnings = process.warnings;
    state_.started_at = state_.finished_at = os::FormatTime(os::SystemClock().Wall());
    BERTH_RETURN_IF_ERROR(Save());
    if (!os::SendMessage(socket_.get(), kMessageRefused)) socket_.reset();  // as below: the record is what counts
    return false;
  }
  if (Result<void> done = RecordRunning(process); !done) {  // what is not recorded must not run
    Result<void> killed = os::SendSignal(process.pidfd.get(), SIGKILL);
    os::ReapChild(process.pid);
    BERTH_RETURN_IF_ERROR(killed);
    return Wrap(std::move(done).error(), "record the container's process");
  }
  // The daemon may be gone by now: the record is there for the next one.
  if (!os::SendMessage(socket_.get(), kMessageRunning, process.pidfd.get())) socket_.reset();
  return true;
}

Result<bool> Shim::Start() {
  BERTH_TRY(child_events_, os::BecomeSupervisor());
  BERTH_TRY(const std::string text, fs_->Read(kRequestFile));
  BERTH_TRY(request_, ParseRequest(text));
  state_.boot_id = os::BootId();
  state_.shim_pid = ::getpid();
  BERTH_TRY(state_.shim_start, os::StartTicksOf(state_.shim_pid));
  BERTH_TRY(const bool go, WaitForGo());
  if (!go) return false;
  state_.phase = ShimPhase::kStarting;
  BERTH_RETURN_IF_ERROR(Save());
  log_.emplace(LogOptions{request_.log_path, request_.log_max_bytes, request_.log_max_files});
  Result<bool> running = StartProcess();
  if (!running) {
    state_.phase = ShimPhase::kFailed;
    if (Result<void> saved = Save(); !saved) return Wrap(std::move(running).error(), saved.error().message);
  }
  return running;
}

// Moves what the pipe holds into the log, about `limit` bytes of it. Returns how much.
std::size_t Shim::Drain(Stream stream, std::size_t limit) {
  os::UniqueFd& fd = output_[stream == Stream::kStdout ? 0 : 1];
  std::array<char, kChunk> chunk;
  std::size_t total = 0;
  while (fd.valid() && total < limit) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) {
      fd.reset();
      break;
    }
    total += static_cast<std::size_t>(n);
    log_->Write(stream, std::string_view(chunk.data(), static_cast<std::size_t>(n)), os::SystemClock().Wall());
  }
  return total;
}

// Reaps orphans; true when the container's own process has ended (that one stays until its end is recorded).
bool Shim::ReapUntilMain() {
  while (const std::optional<os::ChildEnd> child = os::PeekEndedChild()) {
    if (child->pid == state_.pid) {
      state_.exit_code = child->exit_code;
      state_.signal = child->signal;
      return true;
    }
    os::ReapChild(child->pid);
  }
  return false;
}

void Shim::Supervise() {
  socket_.reset();
  while (!ReapUntilMain()) {
    // A closed output has descriptor -1, which poll ignores.
    std::array<pollfd, 3> events = {pollfd{child_events_.get(), POLLIN, 0}, pollfd{output_[0].get(), POLLIN, 0},
                                    pollfd{output_[1].get(), POLLIN, 0}};
    if (::poll(events.data(), events.size(), -1) < 0) continue;
    std::array<char, 128> signal_info;
    while (::read(child_events_.get(), signal_info.data(), signal_info.size()) > 0) {
    }
    if (events[1].revents != 0) Drain(Stream::kStdout, kChunk);
    if (events[2].revents != 0) Drain(Stream::kStderr, kChunk);
  }
  // What is still in the pipes is the container's; leftover processes that go on writing do not count.
  Drain(Stream::kStdout, kDrainAtEnd);
  Drain(Stream::kStderr, kDrainAtEnd);
  log_->Finish(os::SystemClock().Wall());
  // Whatever group they moved to: they are below us, and go before it counts as ended.
  if (!os::KillChildrenBut(state_.pid, kKillLeftovers))
    state_.warnings.emplace_back("processes it left behind do not die");
  RecordEnd();
  os::ReapChild(state_.pid);
}

void Shim::RecordEnd() {
  state_.phase = ShimPhase::kExited;
  state_.finished_at = os::FormatTime(os::SystemClock().Wall());
  state_.oom_killed = HasRunOutOfMemory(oom_kills_before_, ReadOomKills(request_.cgroup.dirs), state_);
  if (log_->lost_bytes() > 0) {
    state_.warnings.push_back(std::to_string(log_->lost_bytes()) + " bytes of output were lost: " + log_->last_error());
  }
  for (int i = 0; i < kSaveTries; ++i) {
    const Result<void> saved = SaveDurably();
    if (saved || saved.error().code == Code::kNotFound) return;  // not found: the record was thrown away
    ::poll(nullptr, 0, 1000);
  }
}

}  // namespace

std::string FormatFailure(const Error& error) {
  return "failed " + std::to_string(static_cast<int>(error.code)) + " " + std::to_string(error.sys) + " " +
         error.message;
}

Error ParseFailure(std::string_view text) {
  const std::vector<std::string_view> words = SplitWords(text);
  if (words.size() < 4 || words[0] != "failed")
    return {Code::kInternal, 0, "unexpected answer '" + Printable(text) + "'"};
  const int code = ParseDecimal<int>(words[1]).value_or(-1);
  const bool known = code >= 0 && code <= static_cast<int>(Code::kInternal);
  return {known ? static_cast<Code>(code) : Code::kInternal, ParseDecimal<int>(words[2]).value_or(0),
          std::string(text.substr(static_cast<std::size_t>(words[3].data() - text.data())))};
}

int RunShim(const std::string& dir, int socket) {
  os::UniqueFd connection(socket);
  Result<std::unique_ptr<os::Fs>> fs = os::OpenFs(dir);
  if (!fs) {
    // Nobody to tell but the daemon; if it is gone, there is nothing left to do.
    return os::SendMessage(connection.get(), FormatFailure(fs.error())) ? 1 : 2;
  }
  const int peer = connection.get();
  Shim shim(dir, *std::move(fs), std::move(connection));
  const Result<bool> running = shim.Start();
  if (!running) return os::SendMessage(peer, FormatFailure(running.error())) ? 1 : 2;
  if (*running) shim.Supervise();
  return 0;
}

}  // namespace berth::runtime
