// One connection to the database of events: SQLite behind a few verbs. Internal to the component.
#ifndef BERTH_TELEMETRY_HISTORY_DATABASE_H_
#define BERTH_TELEMETRY_HISTORY_DATABASE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "telemetry/history/entry.h"

namespace berth::history {

/// Errors everywhere: kCorrupt (damaged, or not a database of ours), kUnsupported (written by a newer Berth),
/// kExhausted (disk full), kBusy (locked by somebody), kPermission (read-only), kNotFound, kIo; the message names the
/// file. Thread: one at a time.
class Database {
 public:
  /// Opens for writing, making the file and its table when missing, and checks every page of an old one.
  static Result<Database> OpenForWriting(const std::string& path, std::size_t max_entries);
  /// Opens what is there for questions.
  static Result<Database> OpenForReading(const std::string& path);

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  /// All or none, in one transaction; the oldest beyond the bound go. Not synced: a power failure may take the newest
  /// entries, never the rest.
  Result<void> Store(std::span<const Entry> entries);
  /// Oldest first.
  Result<std::vector<Entry>> Find(const Query& query);

  std::uint64_t kept() const;
  /// In force with the next Store.
  void SetMaxEntries(std::size_t max_entries);

 private:
  struct Parts;
  explicit Database(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::history

#endif  // BERTH_TELEMETRY_HISTORY_DATABASE_H_
