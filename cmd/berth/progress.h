// Progress line of a long command, on the terminal of whoever waits for it.
#ifndef BERTH_CMD_BERTH_PROGRESS_H_
#define BERTH_CMD_BERTH_PROGRESS_H_

#include <string>

#include "berth/command_context.h"
#include "host/os/clock.h"

namespace berth::cli {

/// A line on the error stream that is written over again and again, and gone at the end. Nothing is written unless that
/// stream is a terminal.
class Progress {
 public:
  explicit Progress(const Session& session);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { Clear(); }

  /// Shows `text`, at most ten times a second, and not in the first tenth: a short command shows nothing.
  void Tell(const std::string& text);
  /// Takes the line away, so that something else can be written.
  void Clear();

 private:
  const Session& session_;
  bool shown_;
  bool written_ = false;
  os::MonoTime next_;
};

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_PROGRESS_H_
