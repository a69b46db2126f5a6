// Reads container logs (docs/formats/container-log.md): parsing, and the last entries over rotated files.
#ifndef BERTH_RUNTIME_LOG_READER_H_
#define BERTH_RUNTIME_LOG_READER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::runtime {

/// One line of output.
struct LogEntry {
  std::string time;    ///< RFC 3339 with nanoseconds, of its last piece
  std::string stream;  ///< "stdout" or "stderr"
  std::string text;    ///< without newline; any bytes
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

/// One line of a log file: "<RFC 3339> stdout|stderr F|P text"; `partial` for P. nullopt for anything else.
struct LogLine {
  LogEntry entry;
  bool partial = false;
};
std::optional<LogLine> ParseLogLine(std::string_view line);

/// All entries of `text`, oldest first: pieces (P) are joined per stream, lines that do not parse are skipped, an
/// unfinished last line of the file is left out, open pieces at the end are entries of their own.
std::vector<LogEntry> ParseLog(std::string_view text);

struct TailOptions {
  std::size_t entries = 1000;                ///< at most so many
  std::size_t bytes = std::size_t{4} << 20;  ///< at most so many bytes are read
};

/// The last entries of `path`, continued backwards into path.1, path.2 ..., oldest first. Never reads more than
/// options.bytes. Errors: kNotFound when there is no log, kPermission, kIo.
Result<std::vector<LogEntry>> TailLog(const std::string& path, const TailOptions& options);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_LOG_READER_H_
