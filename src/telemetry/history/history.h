// Event history of the node, kept across restarts in a database of bounded size. Never in the way: whoever records an
// entry does not wait for a disk, and nothing that happens to the database is an error of his. What could not be kept
// is counted.
//
// One thread of its own opens, writes and repairs the database; entries wait for it in a bounded queue. Questions are
// answered on the thread that asks, by a connection of their own. The file: docs/formats/history.md.
#ifndef BERTH_TELEMETRY_HISTORY_HISTORY_H_
#define BERTH_TELEMETRY_HISTORY_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "telemetry/history/entry.h"

namespace berth::history {

struct Options {
  std::string folder;  ///< made (0700) when missing; the database is <folder>/events.db
  std::size_t max_entries = 10'000;
  std::size_t max_waiting = 1'024;  ///< entries that wait for the disk; beyond, the oldest of them are lost
};

struct State {
  std::string path;         ///< the database
  std::uint64_t kept = 0;   ///< entries in it
  std::size_t waiting = 0;  ///< recorded, not written yet
  std::uint64_t lost = 0;   ///< recorded since the start and never written
  std::string problem;      ///< why the last write failed; "" when it worked
};

/// Something an operator should be told once: the database was set aside, entries were lost, it works again.
struct Note {
  bool warning = false;
  std::string reason;  ///< "HistoryDamaged", "HistoryUnavailable", "HistoryRestored", "HistoryLost"
  std::string message;
};

/// Thread: any, for every function.
class History {
 public:
  /// Starts the thread; the database is opened there. Errors: only when there can be no thread or descriptor.
  static Result<std::unique_ptr<History>> Start(const Options& options);
  /// Gives what waits two more seconds to be written. A thread that hangs in a system call is left behind.
  virtual ~History() = default;

  virtual void Record(Entry entry) = 0;
  /// Oldest first. Errors: kNotFound (no database yet), kOverloaded (another question takes long), kCorrupt (it is
  /// damaged and will be set aside), kIo.
  virtual Result<std::vector<Entry>> Find(const Query& query) = 0;
  virtual State state() const = 0;
  virtual void SetMaxEntries(std::size_t max_entries) = 0;

  /// Readable when TakeNotes has something.
  virtual int event_fd() const = 0;
  virtual std::vector<Note> TakeNotes() = 0;

  /// Waits until nothing waits for the disk, a write begun after this call failed, or `patience` is over. True: all is
  /// written.
  virtual bool Drain(os::Millis patience) = 0;
};

}  // namespace berth::history

#endif  // BERTH_TELEMETRY_HISTORY_HISTORY_H_
