// Reader of container logs (docs/formats/container-log.md): parsing, the last entries over rotated
// files, and what follows them.
#ifndef BERTH_RUNTIME_PROCESS_LOG_READER_H_
#define BERTH_RUNTIME_PROCESS_LOG_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/os/append_file.h"
#include "model/operation_results.h"

namespace berth::runtime {

/// One line of a log file: "<RFC 3339> stdout|stderr F|P text". nullopt for anything else.
std::optional<LogEntry> ParseLogLine(std::string_view line);

/// All entries of `text`, oldest first: pieces (P) are joined per stream, lines that do not parse are skipped, an
/// unfinished last line of the file is left out, open pieces at the end are entries of their own.
std::vector<LogEntry> ParseLog(std::string_view text);

/// A place between two lines of a log, whatever its files are called by now. {}: before the oldest line there is.
struct LogPlace {
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const LogPlace&, const LogPlace&) = default;
};
std::string FormatPlace(const LogPlace& place);
std::optional<LogPlace> ParsePlace(std::string_view text);

struct LogPart {
  std::vector<LogEntry> entries;  ///< oldest first
  LogPlace next;                  ///< where the log goes on
  bool more = false;              ///< there is more at `next` already
  bool gap = false;               ///< what followed the place asked for is gone
};

struct TailOptions {
  std::size_t entries = 1000;                ///< at most so many
  std::size_t bytes = std::size_t{4} << 20;  ///< at most so many bytes are read
};

/// The last entries of `path`, continued backwards into path.1, path.2 ..., pieces joined. Never reads more than
/// options.bytes. Errors: kNotFound when there is no log, kPermission, kIo.
Result<LogPart> TailLog(const std::string& path, const TailOptions& options);

/// What follows `from`, at most `bytes` of it, over files rotated since; pieces are entries of their own.
/// Errors: as TailLog.
Result<LogPart> ReadLog(const std::string& path, const LogPlace& from, std::size_t bytes);
/// The same of one file, which may be removed by now; a place in another file means its beginning.
Result<LogPart> ReadLog(const os::OpenedFile& file, const LogPlace& from, std::size_t bytes);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_PROCESS_LOG_READER_H_
