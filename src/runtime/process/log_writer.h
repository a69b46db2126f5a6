// Writer of a container's log from its output (docs/formats/container-log.md). Bounded memory; never fails, counts what
// is lost.
#ifndef BERTH_RUNTIME_PROCESS_LOG_WRITER_H_
#define BERTH_RUNTIME_PROCESS_LOG_WRITER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/os/append_file.h"
#include "host/os/clock.h"

namespace berth::runtime {

enum class Stream { kStdout, kStderr };
std::string_view Name(Stream stream);  ///< "stdout", "stderr"

struct LogOptions {
  std::string path;
  std::uint64_t max_bytes = 10U << 20;  ///< a file that would grow beyond this is rotated before
  int max_files = 5;                    ///< path included; at least 1
};

class LogWriter {
 public:
  static constexpr std::size_t kMaxLine = 16384;  ///< longer lines are written in pieces of this size

  /// The file is opened by the first Write; an existing one is continued.
  explicit LogWriter(LogOptions options) : options_(std::move(options)) {}

  /// Output read from `stream` at `now`: its whole lines reach the file before this returns, the rest waits for its
  /// newline. What cannot be written (disk full) is dropped and counted; a later Write tries again and first leaves a
  /// line that says how much is missing.
  void Write(Stream stream, std::string_view bytes, os::WallTime now);
  /// The end of the output: what waits is written as unfinished lines.
  void Finish(os::WallTime now);

  std::uint64_t lost_bytes() const { return lost_; }        ///< output dropped so far
  const std::string& last_error() const { return error_; }  ///< why, "" if never

 private:
  void AddLine(Stream stream, char tag, std::string_view text, os::WallTime now);
  void Flush(os::WallTime now);
  bool Append(std::string_view entries);

  LogOptions options_;
  std::array<std::string, 2> open_lines_;
  std::string batch_;                // entries not in the file yet
  std::uint64_t batch_payload_ = 0;  // output bytes in batch_
  std::optional<os::AppendFile> file_;
  std::uint64_t lost_ = 0;
  std::uint64_t unreported_ = 0;  // lost since the last line that says so
  std::string error_;
};

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_PROCESS_LOG_WRITER_H_
