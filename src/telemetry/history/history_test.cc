// With the real SQLite on real files.
#include "telemetry/history/history.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>

#include "testing/fixtures.h"

namespace berth::history {
namespace {

constexpr os::Millis kPatience{20'000};

os::WallTime At(int second) { return os::WallTime(std::chrono::seconds(1'800'000'000 + second)); }

Entry Happened(int n, const std::string& object = "pod/default/web") {
  return {.id = n,
          .time = At(n),
          .warning = n % 2 == 1,
          .reason = "Admitted",
          .object = object,
          .message = "number " + std::to_string(n)};
}

struct HistoryTest : testing::Test {
  std::unique_ptr<History> Open(std::size_t max_entries = 100, std::size_t max_waiting = 50) {
    auto history = History::Start({.folder = folder, .max_entries = max_entries, .max_waiting = max_waiting});
    EXPECT_TRUE(history) << history.error().message;
    return *std::move(history);
  }
  std::vector<int> Ids(History& history, const Query& query = {}) {
    const auto found = history.Find(query);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<int> out;
    if (found)
      for (const Entry& entry : *found) out.push_back(static_cast<int>(entry.id));
    return out;
  }
  /// Waits for the next note.
  std::vector<Note> Notes(History& history) {
    pollfd ready{history.event_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, static_cast<int>(kPatience.count())), 1);
    return history.TakeNotes();
  }
  std::string Bytes() { return testkit::ReadText(database); }
  void SetBytes(const std::string& bytes) { std::ofstream(database, std::ios::binary | std::ios::trunc) << bytes; }

  void Sql(const char* statement) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(database.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statement, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  testkit::TempDir temp;
  std::string folder = temp / "history";
  std::string database = folder + "/events.db";
};

/// Somebody who holds the database's lock.
class Locker {
 public:
  explicit Locker(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
  }
  ~Locker() { Release(); }
  void Release() {
    sqlite3_close(db_);
    db_ = nullptr;
  }

 private:
  sqlite3* db_ = nullptr;
};

/// A disk that SQLite cannot read, but for the first page of each file, while it fails. Made before any connection and
/// destroyed after it.
class FailingDisk {
 public:
  FailingDisk() { Set(reinterpret_cast<sqlite3_syscall_ptr>(&Read)); }
  ~FailingDisk() {
    Fail(false);
    Set(nullptr);
  }
  void Fail(bool fails) { fails_ = fails; }

 private:
  static ssize_t Read(int fd, void* to, std::size_t size, off64_t from) {
    if (!fails_ || from < 4096) return ::pread64(fd, to, size, from);
    errno = EIO;
    return -1;
  }
  static void Set(sqlite3_syscall_ptr read) {
    sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
    for (const char* const name : {"pread", "pread64"})  // the one it was built with
      EXPECT_EQ(vfs->xSetSystemCall(vfs, name, read), SQLITE_OK);
  }
  static inline std::atomic<bool> fails_ = false;
};

TEST_F(HistoryTest, KeepsEntriesAcrossRestarts) {
  const Entry first = Happened(1);
  {
    auto history = Open();
    history->Record(first);
    history->Record(Happened(2));
  }
  auto history = Open();
  const auto found = history->Find({});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->front(), first);
  EXPECT_TRUE(history->Drain(kPatience));
  struct stat info{};
  ASSERT_EQ(::stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(HistoryTest, ARepetitionTakesThePlaceOfTheOlderOne) {
  auto history = Open();
  history->Record(Happened(1));
  history->Record(Happened(2));
  ASSERT_TRUE(history->Drain(kPatience));
  Entry again = Happened(1);
  again.time = At(3);
  again.count = 7;
  history->Record(again);
  ASSERT_TRUE(history->Drain(kPatience));
  EXPECT_EQ(Ids(*history), (std::vector<int>{2, 1}));
  EXPECT_EQ(history->Find({})->back().count, 7U);
  EXPECT_EQ(history->state().kept, 2U);
}

TEST_F(HistoryTest, AnswersBySinceObjectNameAndLimit) {
  auto history = Open();
  history->Record(Happened(1, "pod/default/web"));
  history->Record(Happened(2, "pod/other/web"));
  history->Record(Happened(3, "pod/default/web2"));
  history->Record(Happened(4, "node/n1"));
  ASSERT_TRUE(history->Drain(kPatience));
  EXPECT_EQ(Ids(*history), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(Ids(*history, {.since = At(3)}), (std::vector<int>{3, 4}));
  EXPECT_EQ(Ids(*history, {.objects = {"pod/default/web"}}), (std::vector<int>{1}));
  EXPECT_EQ(Ids(*history, {.pod_names = {"web"}}), (std::vector<int>{1, 2}));
  EXPECT_EQ(Ids(*history, {.objects = {"node/n1"}, .pod_names = {"web"}}), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(Ids(*history, {.limit = 2}), (std::vector<int>{3, 4}));
  EXPECT_EQ(Ids(*history, {.pod_names = {"' OR 1=1 --"}}), std::vector<int>{});
}

TEST_F(HistoryTest, TheOldestGoWhenItIsFull) {
  auto history = Open(10, 1000);
  for (int n = 1; n <= 500; ++n) history->Record(Happened(n));
  ASSERT_TRUE(history->Drain(kPatience));
  EXPECT_EQ(Ids(*history), (std::vector<int>{491, 492, 493, 494, 495, 496, 497, 498, 499, 500}));
  EXPECT_EQ(history->state().lost, 0U);
  history->SetMaxEntries(3);
  history->Record(Happened(501));
  ASSERT_TRUE(history->Drain(kPatience));
  EXPECT_EQ(Ids(*history), (std::vector<int>{499, 500, 501}));
}

TEST_F(HistoryTest, TheFileDoesNotGrowWithoutEnd) {
  auto history = Open(100, 10'000);
  Entry entry = Happened(0);
  entry.message = std::string(100'000, 'x');
  for (int n = 1; n <= 1'000; ++n) {
    entry.id = n;
    history->Record(entry);
    if (n % 250 == 0) {
      ASSERT_TRUE(history->Drain(kPatience));
    }
  }
  EXPECT_EQ(history->Find({.limit = 1})->front().message.size(), 4096U);
  history.reset();
  std::uintmax_t size = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) size += file.file_size();
  EXPECT_LT(size, 4U << 20);
}

TEST_F(HistoryTest, LongTextsAreCutBetweenCharacters) {
  auto history = Open();
  Entry entry = Happened(1);
  entry.message = "x";
  while (entry.message.size() < 5'000) entry.message += "\u00e4";
  history->Record(entry);
  ASSERT_TRUE(history->Drain(kPatience));
  EXPECT_EQ(history->Find({})->front().message.size(), 4095U);
}

TEST_F(HistoryTest, ABurstBeyondTheQueueIsCounted) {
  {
    Open()->Drain(kPatience);
  }
  Locker locker(database);
  auto history = Open(100, 5);
  for (int n = 1; n <= 20; ++n) history->Record(Happened(n));
  locker.Release();
  ASSERT_TRUE(history->Drain(kPatience));
  EXPECT_GE(history->state().lost, 10U);
  EXPECT_EQ(history->state().kept + history->state().lost, 20U);
  EXPECT_EQ(Ids(*history).back(), 20) << "the newest are kept";
  EXPECT_EQ(Notes(*history).back().reason, "HistoryLost");
}

TEST_F(HistoryTest, ALockedDatabaseDelaysNobodyAndLossesAreCounted) {
  auto history = Open(100, 5);
  history->Record(Happened(1));
  ASSERT_TRUE(history->Drain(kPatience));
  Locker locker(database);
  for (int n = 2; n <= 11; ++n) history->Record(Happened(n));
  EXPECT_FALSE(history->Drain(kPatience));
  EXPECT_GE(history->state().lost, 5U);
  EXPECT_LE(history->state().waiting, 5U);
  EXPECT_NE(history->state().problem.find(database), std::string::npos) << history->state().problem;
  EXPECT_EQ(Notes(*history).front().reason, "HistoryUnavailable");
  locker.Release();
  ASSERT_TRUE(history->Drain(kPatience));
  EXPECT_EQ(history->state().problem, "");
  const std::vector<Note> notes = Notes(*history);
  EXPECT_EQ(notes.back().reason, "HistoryRestored");
  EXPECT_NE(notes.back().message.find("meanwhile: " + std::to_string(history->state().lost)), std::string::npos)
      << notes.back().message;
  EXPECT_EQ(Ids(*history).back(), 11);
  EXPECT_EQ(history->state().kept + history->state().lost, 11U);
}

TEST_F(HistoryTest, WithoutAFolderItWaitsForOne) {
  std::ofstream(temp / "file") << "x";
  folder = temp / "file/history";
  auto history = Open();
  history->Record(Happened(1));
  EXPECT_FALSE(history->Drain(kPatience));
  EXPECT_NE(history->state().problem, "");
  EXPECT_FALSE(history->Find({}));
  std::filesystem::remove(temp / "file");
  EXPECT_TRUE(history->Drain(kPatience));
  EXPECT_EQ(Ids(*history), std::vector<int>{1});
}

TEST_F(HistoryTest, EveryDamagedFileIsSetAsideNamedAndReplaced) {
  {
    auto history = Open();
    for (int n = 1; n <= 60; ++n) history->Record(Happened(n));
    ASSERT_TRUE(history->Drain(kPatience));
  }
  const std::string good = Bytes();
  std::vector<std::string> damaged = {"not a database, but long enough to be looked at", good.substr(0, 100),
                                      good.substr(0, good.size() / 2), std::string(good.size(), '\0')};
  std::string half = good;
  std::fill(half.begin() + static_cast<std::ptrdiff_t>(half.size() / 2), half.end(), '\x55');
  damaged.push_back(half);
  for (const std::string& bytes : damaged) {
    SetBytes(bytes);
    auto history = Open();
    history->Record(Happened(100));
    ASSERT_TRUE(history->Drain(kPatience)) << history->state().problem;
    const std::vector<Note> notes = Notes(*history);
    EXPECT_EQ(notes.front().reason, "HistoryDamaged");
    EXPECT_NE(notes.front().message.find(database + ".damaged"), std::string::npos) << notes.front().message;
    EXPECT_EQ(testkit::ReadText(database + ".damaged"), bytes);
    EXPECT_EQ(Ids(*history), std::vector<int>{100});
    std::filesystem::remove(database + ".damaged");
  }
}

TEST_F(HistoryTest, TheFirstFileSetAsideStaysAndTheLogGoesWithEach) {
  std::filesystem::create_directories(folder);
  for (int round = 1; round <= 3; ++round) {
    const std::string number = std::to_string(round);
    SetBytes("not a database " + number);
    if (round < 3) std::ofstream(database + "-wal") << "the log of " + number;
    auto history = Open();
    history->Record(Happened(round));
    ASSERT_TRUE(history->Drain(kPatience)) << history->state().problem;
    EXPECT_EQ(testkit::ReadText(database + ".damaged"), "not a database 1");
    EXPECT_EQ(testkit::ReadText(database + ".damaged-wal"), "the log of 1");
    if (round == 1) continue;
    EXPECT_EQ(testkit::ReadText(database + ".damaged.1"), "not a database " + number);
    EXPECT_NE(Notes(*history).front().message.find(database + ".damaged.1"), std::string::npos);
    EXPECT_EQ(std::filesystem::exists(database + ".damaged.1-wal"), round == 2)
        << "one of another file is no log of it";
  }
}

TEST_F(HistoryTest, AFileThatTheDiskCannotReadIsLeftAlone) {
  {
    auto history = Open(100, 100);
    for (int n = 1; n <= 60; ++n) history->Record(Happened(n));
    ASSERT_TRUE(history->Drain(kPatience));
  }
  const std::string good = Bytes();
  FailingDisk disk;
  disk.Fail(true);
  auto history = Open(100, 100);
  history->Record(Happened(61));
  EXPECT_FALSE(history->Drain(kPatience));
  EXPECT_EQ(history->state().problem, "check the history " + database + ": Input/output error");
  const std::vector<Note> notes = Notes(*history);
  EXPECT_EQ(notes.front().reason, "HistoryUnavailable") << notes.front().message;
  EXPECT_EQ(Bytes(), good);
  disk.Fail(false);
  ASSERT_TRUE(history->Drain(kPatience)) << history->state().problem;
  EXPECT_EQ(Ids(*history).size(), 61U);
  EXPECT_FALSE(std::filesystem::exists(database + ".damaged"));
}

TEST_F(HistoryTest, AQuestionThatTheDiskFailsSaysSo) {
  FailingDisk disk;
  auto history = Open(100, 100);
  for (int n = 1; n <= 60; ++n) history->Record(Happened(n));
  ASSERT_TRUE(history->Drain(kPatience));
  for (const bool in_log : {true, false}) {
    if (!in_log) Sql("PRAGMA wal_checkpoint(TRUNCATE)");
    disk.Fail(true);
    const auto found = history->Find({});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::kIo) << found.error().message;
    EXPECT_EQ(found.error().sys, EIO);
    disk.Fail(false);
    EXPECT_EQ(Ids(*history).size(), 60U);
  }
}

TEST_F(HistoryTest, FlippedBytesNeverStopIt) {
  {
    auto history = Open();
    for (int n = 1; n <= 60; ++n) history->Record(Happened(n));
    ASSERT_TRUE(history->Drain(kPatience));
  }
  const std::string good = Bytes();
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string bytes = good;
    const std::size_t at = round < 30 ? static_cast<std::size_t>(round) * 4 : random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + random() % 255));
    SetBytes(bytes);
    auto history = Open();
    history->Record(Happened(1'000));
    ASSERT_TRUE(history->Drain(kPatience)) << "byte " << at << ": " << history->state().problem;
    const auto found = history->Find({.since = At(1'000)});
    ASSERT_TRUE(found) << "byte " << at << ": " << found.error().message;
    ASSERT_FALSE(found->empty()) << "byte " << at;
  }
}

TEST_F(HistoryTest, DamageThatAppearsWhileItRunsIsSetAsideToo) {
  auto history = Open(100, 100);
  for (int n = 1; n <= 60; ++n) history->Record(Happened(n));
  ASSERT_TRUE(history->Drain(kPatience));
  Sql("PRAGMA wal_checkpoint(TRUNCATE)");  // otherwise the writer's log would heal the file
  SetBytes(std::string(4096, 'x'));
  EXPECT_FALSE(history->Find({}));
  EXPECT_EQ(Notes(*history).front().reason, "HistoryDamaged");
  history->Record(Happened(61));
  ASSERT_TRUE(history->Drain(kPatience)) << history->state().problem;
  EXPECT_EQ(Ids(*history).back(), 61);
}

TEST_F(HistoryTest, FilesOfOthersAndOfANewerVersionAreSetAside) {
  for (const auto& [change, suffix] :
       {std::pair("PRAGMA application_id=1", ".damaged"), std::pair("PRAGMA user_version=9", ".newer")}) {
    {
      Open()->Drain(kPatience);
    }
    Sql(change);
    auto history = Open();
    EXPECT_NE(Notes(*history).front().message.find(database + suffix), std::string::npos);
    history->Record(Happened(1));
    EXPECT_TRUE(history->Drain(kPatience));
  }
}

TEST_F(HistoryTest, AnEmptyFileIsANewDatabase) {
  std::filesystem::create_directories(folder);
  SetBytes("");
  auto history = Open();
  history->Record(Happened(1));
  EXPECT_TRUE(history->Drain(kPatience));
  EXPECT_TRUE(history->TakeNotes().empty());
}

}  // namespace
}  // namespace berth::history
