#include "telemetry/history/database.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"

namespace berth::history {
namespace {

constexpr int kApplicationId = 0x42657274;  // "Bert", in the file's header
constexpr int kVersion = 1;
constexpr int kPatienceMs = 1'000;  // for somebody else's lock

constexpr const char* kMakeTable =
    "CREATE TABLE events (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, warning INTEGER NOT NULL,"
    " reason TEXT NOT NULL, object TEXT NOT NULL, message TEXT NOT NULL, count INTEGER NOT NULL) STRICT;"
    "CREATE INDEX events_by_time ON events (time);";

struct CloseConnection {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Connection = std::unique_ptr<sqlite3, CloseConnection>;
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

Code CodeOfSqlite(int status) {
  switch (status & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Code::kCorrupt;
    case SQLITE_FULL: return Code::kExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Code::kBusy;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return Code::kPermission;
    default: return Code::kIo;
  }
}

std::int64_t Nanos(os::WallTime time) { return time.time_since_epoch().count(); }

std::string TextOf(sqlite3_stmt* row, int column) {
  const unsigned char* text = sqlite3_column_text(row, column);
  if (text == nullptr) return "";
  // SQLite's text is bytes; they are char in all of Berth.
  return std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(sqlite3_column_bytes(row, column)));
}

}  // namespace

struct Database::Parts {
  std::string path;
  Connection db;
  std::size_t max_entries = 0;
  std::uint64_t kept = 0;

  /// errno of a read that failed; 0: none did. SQLite calls it damage when a disk gives EIO for a page.
  int ReadError() const {
    int sys = 0;
    sqlite3_file_control(db.get(), nullptr, SQLITE_FCNTL_LAST_ERRNO, &sys);
    sqlite3_file* log = nullptr;
    sqlite3_file_control(db.get(), nullptr, SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (sys == 0 && log != nullptr && log->pMethods != nullptr)
      log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &sys);
    return sys;
  }
  std::unexpected<Error> Failed(std::string_view doing, int status) const {
    if (CodeOfSqlite(status) == Code::kCorrupt)
      if (const int sys = ReadError(); sys != 0) return FailErrno(fmt::format("{} the history", doing), path, sys);
    Error error{CodeOfSqlite(status), db ? sqlite3_system_errno(db.get()) : 0, ""};
    if (error.code == Code::kIo && error.sys != 0) error.code = CodeOf(error.sys);
    error.message =
        fmt::format("{} the history {}: {}", doing, path, db ? sqlite3_errmsg(db.get()) : sqlite3_errstr(status));
    return std::unexpected(std::move(error));
  }
  Result<void> Run(const char* sql, std::string_view doing) const {
    const int status = sqlite3_exec(db.get(), sql, nullptr, nullptr, nullptr);
    return status == SQLITE_OK ? Result<void>() : Failed(doing, status);
  }
  Result<Statement> Prepare(const std::string& sql, std::string_view doing) const {
    sqlite3_stmt* statement = nullptr;
    const int status = sqlite3_prepare_v2(db.get(), sql.c_str(), -1, &statement, nullptr);
    if (status != SQLITE_OK) return Failed(doing, status);
    return Statement(statement);
  }
  /// First column of the first row.
  Result<std::string> Ask(const std::string& sql, std::string_view doing) const {
    BERTH_TRY(const Statement statement, Prepare(sql, doing));
    const int status = sqlite3_step(statement.get());
    if (status != SQLITE_ROW) return Failed(doing, status);
    return TextOf(statement.get(), 0);
  }
  Result<void> Step(sqlite3_stmt* statement, std::string_view doing) const {
    const int status = sqlite3_step(statement);
    sqlite3_reset(statement);
    return status == SQLITE_DONE ? Result<void>() : Failed(doing, status);
  }

  void KeepLogAtClose(bool keep) const {
    sqlite3_db_config(db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
  }

  Result<void> Open(int flags);
  Result<void> CheckOwner() const;
  Result<void> Prepare();
  Result<void> StoreAll(std::span<const Entry> entries);
  Result<void> Prune();
};

Result<void> Database::Parts::Open(int flags) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  db.reset(opened);
  if (status != SQLITE_OK) return Failed("open", status);
  sqlite3_busy_timeout(db.get(), kPatienceMs);
  // Of a file that turns out to be damaged, nothing is changed.
  KeepLogAtClose(true);
  return Run("PRAGMA cache_size=-128", "open");  // 128 KiB
}

/// Tells our own file from a damaged, a foreign and a newer one.
Result<void> Database::Parts::CheckOwner() const {
  BERTH_TRY(const std::string id, Ask("PRAGMA application_id", "open"));
  BERTH_TRY(const std::string version, Ask("PRAGMA user_version", "open"));
  if (id != std::to_string(kApplicationId))
    return Fail(Code::kCorrupt, fmt::format("open the history {}: it is a database of another program", path));
  if (version != std::to_string(kVersion))
    return Fail(Code::kUnsupported,
                fmt::format("open the history {}: it has version {}, this Berth writes {}", path, version, kVersion));
  BERTH_TRY(const std::string check, Ask("PRAGMA quick_check(1)", "check"));
  if (check == "ok") return {};
  if (const int sys = ReadError(); sys != 0) return FailErrno("check the history", path, sys);
  return Fail(Code::kCorrupt, fmt::format("check the history {}: {}", path, check));
}

Result<void> Database::Parts::Prepare() {
  BERTH_TRY(const std::string tables, Ask("SELECT count(*) FROM sqlite_master", "open"));
  if (tables == "0") {
    const std::string make =
        fmt::format("BEGIN IMMEDIATE; PRAGMA application_id={}; PRAGMA user_version={}; {} COMMIT;", kApplicationId,
                    kVersion, kMakeTable);
    // WAL: whoever asks does not stop the writer.
    BERTH_RETURN_IF_ERROR(Run("PRAGMA journal_mode=WAL", "make"));
    if (auto made = Run(make.c_str(), "make"); !made) {
      sqlite3_exec(db.get(), "ROLLBACK", nullptr, nullptr, nullptr);
      return made;
    }
  }
  BERTH_RETURN_IF_ERROR(CheckOwner());
  BERTH_RETURN_IF_ERROR(
      Run("PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=256; PRAGMA journal_size_limit=1048576", "open"));
  BERTH_TRY(const std::string count, Ask("SELECT count(*) FROM events", "open"));
  kept = ParseDecimal<std::uint64_t>(count).value_or(0);
  return {};
}

Database::Database(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::OpenForWriting(const std::string& path, std::size_t max_entries) {
  auto parts = std::make_unique<Parts>();
  parts->path = path;
  parts->max_entries = max_entries;
  BERTH_RETURN_IF_ERROR(parts->Open(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  BERTH_RETURN_IF_ERROR(parts->Prepare());
  parts->KeepLogAtClose(false);
  return Database(std::move(parts));
}

Result<Database> Database::OpenForReading(const std::string& path) {
  auto parts = std::make_unique<Parts>();
  parts->path = path;
  BERTH_RETURN_IF_ERROR(parts->Open(SQLITE_OPEN_READWRITE));
  BERTH_RETURN_IF_ERROR(parts->Run("PRAGMA query_only=1", "open"));
  return Database(std::move(parts));
}

std::uint64_t Database::kept() const { return parts_->kept; }
void Database::SetMaxEntries(std::size_t max_entries) { parts_->max_entries = max_entries; }

Result<void> Database::Store(std::span<const Entry> entries) {
  const std::uint64_t before = parts_->kept;
  BERTH_RETURN_IF_ERROR(parts_->Run("BEGIN IMMEDIATE", "write"));
  auto stored = parts_->StoreAll(entries);
  if (stored) stored = parts_->Prune();
  if (stored) stored = parts_->Run("COMMIT", "write");
  if (stored) return {};
  sqlite3_exec(parts_->db.get(), "ROLLBACK", nullptr, nullptr, nullptr);  // after some errors it is done already
  parts_->kept = before;
  return stored;
}

Result<void> Database::Parts::StoreAll(std::span<const Entry> entries) {
  BERTH_TRY(const Statement update, Prepare("UPDATE events SET time=?2, count=?3 WHERE id=?1", "write"));
  BERTH_TRY(const Statement insert, Prepare("INSERT INTO events VALUES (?1, ?2, ?4, ?5, ?6, ?7, ?3)", "write"));
  for (const Entry& entry : entries) {
    const auto bind_common = [&](sqlite3_stmt* statement) {
      sqlite3_bind_int64(statement, 1, entry.id);
      sqlite3_bind_int64(statement, 2, Nanos(entry.time));
      sqlite3_bind_int64(statement, 3, static_cast<std::int64_t>(entry.count));
    };
    const auto bind_text = [&](int index, const std::string& text) {
      sqlite3_bind_text(insert.get(), index, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    };
    bind_common(update.get());
    BERTH_RETURN_IF_ERROR(Step(update.get(), "write"));
    if (sqlite3_changes(db.get()) > 0) continue;
    bind_common(insert.get());
    sqlite3_bind_int(insert.get(), 4, entry.warning ? 1 : 0);
    bind_text(5, entry.reason);
    bind_text(6, entry.object);
    bind_text(7, entry.message);
    BERTH_RETURN_IF_ERROR(Step(insert.get(), "write"));
    ++kept;
  }
  return {};
}

Result<void> Database::Parts::Prune() {
  if (kept <= max_entries) return {};
  BERTH_TRY(const Statement remove,
            Prepare("DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id LIMIT ?1)", "write"));
  sqlite3_bind_int64(remove.get(), 1, static_cast<std::int64_t>(kept - max_entries));
  BERTH_RETURN_IF_ERROR(Step(remove.get(), "write"));
  kept -= static_cast<std::uint64_t>(sqlite3_changes(db.get()));
  return {};
}

Result<std::vector<Entry>> Database::Find(const Query& query) {
  std::string objects;
  std::vector<std::string> texts;
  for (const std::string& object : query.objects) {
    texts.push_back(object);
    objects += fmt::format("{}object=?{}", objects.empty() ? "" : " OR ", texts.size() + 2);
  }
  for (const std::string& name : query.pod_names) {
    texts.push_back("/" + name);
    objects += fmt::format("{}(substr(object,1,4)='pod/' AND substr(object,-length(?{}))=?{})",
                           objects.empty() ? "" : " OR ", texts.size() + 2, texts.size() + 2);
  }
  BERTH_TRY(
      const Statement find,
      parts_->Prepare("SELECT id, time, warning, reason, object, message, count FROM events WHERE time>=?1" +
                          (objects.empty() ? "" : " AND (" + objects + ")") + " ORDER BY time DESC, id DESC LIMIT ?2",
                      "read"));
  sqlite3_bind_int64(find.get(), 1, Nanos(query.since));
  constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max();
  sqlite3_bind_int64(find.get(), 2, static_cast<std::int64_t>(std::min(query.limit, kMost)));
  for (std::size_t i = 0; i < texts.size(); ++i)
    sqlite3_bind_text(find.get(), static_cast<int>(i) + 3, texts[i].data(), static_cast<int>(texts[i].size()),
                      SQLITE_STATIC);
  std::vector<Entry> out;
  int status = SQLITE_ROW;
  while ((status = sqlite3_step(find.get())) == SQLITE_ROW) {
    sqlite3_stmt* row = find.get();
    out.push_back({.id = sqlite3_column_int64(row, 0),
                   .time = os::WallTime(std::chrono::nanoseconds(sqlite3_column_int64(row, 1))),
                   .warning = sqlite3_column_int(row, 2) != 0,
                   .reason = TextOf(row, 3),
                   .object = TextOf(row, 4),
                   .message = TextOf(row, 5),
                   .count = static_cast<std::uint64_t>(sqlite3_column_int64(row, 6))});
  }
  if (status != SQLITE_DONE) return parts_->Failed("read", status);
  std::ranges::reverse(out);
  return out;
}

}  // namespace berth::history
