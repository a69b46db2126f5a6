#include "telemetry/events/log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "host/os/clock.h"

namespace berth::events {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warning", "error"};
constexpr std::array<std::string_view, 4> kJournalPrefix = {"<7>", "<6>", "<4>", "<3>"};
constexpr std::size_t kMaxLine = 4096;

/// JOURNAL_STREAM is "device:inode" of the stream systemd gave us; stderr may have been redirected since.
bool StderrIsJournal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat info{};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &info) != 0) return false;
  return stream == std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
}

}  // namespace

std::optional<LogLevel> ParseLogLevel(std::string_view name) {
  const auto* it = std::ranges::find(kNames, name);
  if (it == kNames.end()) return std::nullopt;
  return static_cast<LogLevel>(it - kNames.begin());
}

Log::Log(LogLevel level) : level_(level), journal_(StderrIsJournal()) {}

void Log::SetLevel(LogLevel level) {
  const MutexLock lock(mutex_);
  level_ = level;
}

void Log::Write(LogLevel level, std::string_view message) {
  const MutexLock lock(mutex_);
  if (level < level_) return;
  const auto index = static_cast<std::size_t>(level);
  std::string line = journal_ ? std::string(kJournalPrefix[index])
                              : os::FormatTime(os::SystemClock().Wall()) + " " + std::string(kNames[index]) + " ";
  line += Printable(message, kMaxLine);
  line += '\n';
  // Nobody is left to tell when the log itself cannot be written.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace berth::events
