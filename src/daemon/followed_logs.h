// Logs that somebody follows: they stay readable for a while after their pod was removed with its files, so that its
// last words arrive.
#ifndef BERTH_DAEMON_FOLLOWED_LOGS_H_
#define BERTH_DAEMON_FOLLOWED_LOGS_H_

#include <map>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/append_file.h"
#include "host/os/clock.h"
#include "runtime/process/log_reader.h"

namespace berth::daemon {

/// Thread: any.
class FollowedLogs {
 public:
  static constexpr std::size_t kMost = 64;       ///< logs kept open; of more the ones asked for longest ago are let go
  static constexpr os::Millis kKept{10'000};     ///< since they were asked for last
  static constexpr std::size_t kPart = 1 << 20;  ///< bytes read at a time

  /// Somebody follows the log `path`. There is none yet: nothing is kept.
  void Keep(const std::string& path, os::MonoTime now) BERTH_EXCLUDES(mutex_);
  /// What follows `from` in the log `path`, which is kept. No log yet: nothing.
  /// Errors: as runtime::ReadLog.
  Result<runtime::LogPart> Read(const std::string& path, const runtime::LogPlace& from, os::MonoTime now)
      BERTH_EXCLUDES(mutex_);
  /// The same of a log whose pod is gone. Errors: kNotFound when it was not followed, or is read to its end.
  Result<runtime::LogPart> ReadRemoved(const std::string& path, const runtime::LogPlace& from) BERTH_EXCLUDES(mutex_);

 private:
  struct Kept {
    os::OpenedFile file;
    os::MonoTime asked{};
  };

  Mutex mutex_;
  std::map<std::string, Kept> kept_ BERTH_GUARDED_BY(mutex_);  // by path: the newest file
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_FOLLOWED_LOGS_H_
