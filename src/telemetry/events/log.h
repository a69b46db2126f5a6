// The daemon's log: one line a message on stderr, fit for a terminal and for the journal.
#ifndef BERTH_TELEMETRY_EVENTS_LOG_H_
#define BERTH_TELEMETRY_EVENTS_LOG_H_

#include <optional>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"

namespace berth::events {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// "debug", "info", "warning", "error".
std::optional<LogLevel> ParseLogLevel(std::string_view name);

/// Thread: any. Under systemd (JOURNAL_STREAM names stderr) lines carry the journal's priority instead of a time.
class Log {
 public:
  explicit Log(LogLevel level);

  void Debug(std::string_view message) { Write(LogLevel::kDebug, message); }
  void Info(std::string_view message) { Write(LogLevel::kInfo, message); }
  void Warning(std::string_view message) { Write(LogLevel::kWarning, message); }
  void Error(std::string_view message) { Write(LogLevel::kError, message); }
  void SetLevel(LogLevel level) BERTH_EXCLUDES(mutex_);

 private:
  void Write(LogLevel level, std::string_view message) BERTH_EXCLUDES(mutex_);

  Mutex mutex_;
  LogLevel level_ BERTH_GUARDED_BY(mutex_);
  bool journal_ = false;
};

}  // namespace berth::events

#endif  // BERTH_TELEMETRY_EVENTS_LOG_H_
