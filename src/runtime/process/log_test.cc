// Writer and reader of container logs together.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "host/os/append_file.h"
#include "runtime/process/log_reader.h"
#include "runtime/process/log_writer.h"
#include "testing/fixtures.h"

namespace berth::runtime {
namespace {

const os::WallTime kNow = std::chrono::sys_days{std::chrono::year{2026} / 1 / 2};
constexpr std::string_view kTime = "2026-01-02T00:00:00.000000000Z";

std::string Line(std::string_view stream, char tag, std::string_view text) {
  return std::string(kTime) + " " + std::string(stream) + " " + tag + " " + std::string(text) + "\n";
}

TEST(LogLineTest, ParsesTheFormatAndNothingElse) {
  const std::optional<LogEntry> full = ParseLogLine("2026-01-02T03:04:05.678901234Z stdout F hello world");
  ASSERT_TRUE(full);
  EXPECT_EQ(*full, (LogEntry{"2026-01-02T03:04:05.678901234Z", "stdout", "hello world", false}));
  EXPECT_TRUE(ParseLogLine("2026-01-02T03:04:05+01:00 stderr P x")->partial);
  EXPECT_EQ(ParseLogLine("2026-01-02T03:04:05Z stderr F ")->text, "");
  EXPECT_EQ(ParseLogLine("2026-01-02T03:04:05Z stderr F:tag  two ")->text, " two ");
  for (const char* junk :
       {"", " ", "hello", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z stdout", "2026-01-02T03:04:05Z stdout F",
        "2026-01-02T03:04:05Z stdin F x", "2026-01-02T03:04:05Z stdout X x", "2026-01-02T03:04:05Z stdout FP x",
        "yesterday stdout F x", "2026-01-02T03:04:05Z  stdout F x", "{\"log\":\"x\"}"}) {
    EXPECT_FALSE(ParseLogLine(junk)) << junk;
  }
}

TEST(LogTextTest, PiecesAreJoinedPerStream) {
  const std::string text = Line("stdout", 'P', "a") + Line("stderr", 'P', "x") + "junk\n" + Line("stdout", 'P', "b") +
                           Line("stderr", 'F', "y") + Line("stdout", 'F', "c") + Line("stdout", 'P', "open") +
                           "2026-01-02T00:00:00Z stdout F cut off";
  const std::vector<LogEntry> entries = ParseLog(text);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].text, "xy");
  EXPECT_EQ(entries[1].text, "abc");
  EXPECT_EQ(entries[2].text, "open");
}

class LogTest : public testing::Test {
 protected:
  LogWriter Writer(std::uint64_t max_bytes = 10U << 20, int max_files = 5) const {
    return LogWriter({.path = path_, .max_bytes = max_bytes, .max_files = max_files});
  }
  std::vector<LogEntry> Tail(TailOptions options = {}) const {
    Result<LogPart> tail = TailLog(path_, options);
    if (!tail) ADD_FAILURE() << tail.error().message;
    return tail.value_or(LogPart()).entries;
  }
  std::size_t Files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(temp_.path()), std::filesystem::directory_iterator()));
  }
  testkit::TempDir temp_;
  std::string path_ = temp_ / "0.log";
};

TEST_F(LogTest, LinesArriveWholeWhateverTheChunks) {
  LogWriter writer = Writer();
  writer.Write(Stream::kStdout, "one\ntw", kNow);
  EXPECT_EQ(testkit::ReadText(path_), Line("stdout", 'F', "one"));
  writer.Write(Stream::kStderr, "oops\n", kNow);
  writer.Write(Stream::kStdout, "o\n\nend", kNow);
  writer.Finish(kNow);
  EXPECT_EQ(testkit::ReadText(path_), Line("stdout", 'F', "one") + Line("stderr", 'F', "oops") +
                                          Line("stdout", 'F', "two") + Line("stdout", 'F', "") +
                                          Line("stdout", 'P', "end"));
  EXPECT_EQ(writer.lost_bytes(), 0U);
}

TEST_F(LogTest, LongLinesAreWrittenInPieces) {
  LogWriter writer = Writer();
  const std::string exact(LogWriter::kMaxLine, 'e');
  const std::string longer(LogWriter::kMaxLine * 2 + 1, 'l');
  writer.Write(Stream::kStdout, exact + "\n" + longer + "\n", kNow);
  EXPECT_EQ(testkit::ReadText(path_),
            Line("stdout", 'F', exact) + Line("stdout", 'P', longer.substr(0, LogWriter::kMaxLine)) +
                Line("stdout", 'P', longer.substr(0, LogWriter::kMaxLine)) + Line("stdout", 'F', "l"));
  ASSERT_EQ(Tail().size(), 2U);
  EXPECT_EQ(Tail()[1].text, longer);
}

TEST_F(LogTest, RandomOutputInRandomChunksReadsBack) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::filesystem::remove(path_);
    LogWriter writer = Writer();
    std::string all;
    std::vector<std::string> lines;
    for (int i = 0; i < 60; ++i) {
      std::string line(random() % 4 == 0 ? random() % 60'000 : random() % 50, static_cast<char>('a' + random() % 26));
      lines.push_back(line);
      all += line + "\n";
    }
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t size = 1 + random() % 20'000;
      writer.Write(Stream::kStdout, std::string_view(all).substr(at, size), kNow);
      at += size;
    }
    writer.Finish(kNow);
    const std::vector<LogEntry> entries = Tail();
    ASSERT_EQ(entries.size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(entries[i].text, lines[i]) << i;
  }
}

TEST_F(LogTest, FilesAreRotatedBySizeAndTheOldestGoes) {
  LogWriter writer = Writer(1000, 3);
  for (int i = 0; i < 100; ++i) writer.Write(Stream::kStdout, "line " + std::to_string(i) + "\n", kNow);
  EXPECT_EQ(Files(), 3U);
  for (const char* suffix : {"", ".1", ".2"}) EXPECT_LE(testkit::ReadText(path_ + suffix).size(), 1000U);
  const std::vector<LogEntry> entries = Tail();
  EXPECT_EQ(entries.back().text, "line 99");
  for (std::size_t i = 0; i < entries.size(); ++i)
    EXPECT_EQ(entries[i].text, "line " + std::to_string(100 - entries.size() + i));
  EXPECT_GT(entries.size(), 40U);
}

TEST_F(LogTest, OneFileMayBeAllThereIs) {
  LogWriter writer = Writer(100, 1);
  for (int i = 0; i < 10; ++i) writer.Write(Stream::kStdout, std::to_string(i) + "\n", kNow);
  EXPECT_EQ(Files(), 1U);
  EXPECT_EQ(Tail().back().text, "9");
}

TEST_F(LogTest, EntryLargerThanTheLimitStillGetsAFile) {
  LogWriter writer = Writer(10, 2);
  writer.Write(Stream::kStdout, "this is more than ten bytes\nand this\n", kNow);
  EXPECT_EQ(Tail().size(), 2U);
  EXPECT_EQ(writer.lost_bytes(), 0U);
}

TEST_F(LogTest, ExistingFileIsContinued) {
  Writer().Write(Stream::kStdout, "before\n", kNow);
  LogWriter writer = Writer();
  writer.Write(Stream::kStdout, "after\n", kNow);
  ASSERT_EQ(Tail().size(), 2U);
  EXPECT_EQ(Tail()[0].text, "before");
}

TEST_F(LogTest, TailIsBoundedInEntriesAndBytes) {
  LogWriter writer = Writer(2000, 10);
  for (int i = 0; i < 200; ++i) writer.Write(Stream::kStdout, "line " + std::to_string(i) + "\n", kNow);
  ASSERT_EQ(Tail({.entries = 3}).size(), 3U);
  EXPECT_EQ(Tail({.entries = 3})[0].text, "line 197");
  EXPECT_EQ(Tail({.entries = 150}).size(), 150U) << "over several files";
  EXPECT_EQ(Tail({.entries = 1000}).size(), 200U);
  EXPECT_TRUE(Tail({.entries = 0}).empty());
  const std::vector<LogEntry> few = Tail({.entries = 1000, .bytes = 500});
  EXPECT_GT(few.size(), 5U);
  EXPECT_LE(few.size(), 500U / 40);
  EXPECT_EQ(few.back().text, "line 199");
}

TEST_F(LogTest, PieceAcrossARotationIsJoined) {
  std::ofstream(path_ + ".1") << Line("stdout", 'F', "old") << Line("stdout", 'P', "first ");
  std::ofstream(path_) << Line("stdout", 'F', "second");
  ASSERT_EQ(Tail().size(), 2U);
  EXPECT_EQ(Tail()[1].text, "first second");
}

TEST_F(LogTest, LogRotatedAwayThisMomentIsStillFound) {
  std::ofstream(path_ + ".1") << Line("stdout", 'F', "old");
  ASSERT_EQ(Tail().size(), 1U);
}

TEST_F(LogTest, MissingLogIsNotFound) {
  const Result<LogPart> entries = TailLog(path_, {});
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, Code::kNotFound);
}

/// All that a reader sees who goes on from `place` in parts of `bytes`; the place where it stopped.
std::string ReadOn(const std::string& path, LogPlace& place, std::size_t bytes = 1U << 20) {
  std::string out;
  for (bool more = true; more;) {
    const Result<LogPart> part = ReadLog(path, place, bytes);
    if (!part) return part.error().message;
    EXPECT_FALSE(part->gap);
    for (const LogEntry& entry : part->entries) out += entry.text + (entry.partial ? "" : "\n");
    place = part->next;
    more = part->more;
  }
  return out;
}

TEST_F(LogTest, AReaderThatGoesOnMissesNothingOverRotations) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random); };
  LogWriter writer = Writer(2000, 20);
  writer.Write(Stream::kStdout, "before\n", kNow);
  LogPlace place = TailLog(path_, {})->next;
  std::string wrote;
  std::string read;
  for (int i = 0; i < 300; ++i) {
    const std::string line(below(120), static_cast<char>('a' + below(26)));
    wrote += line + "\n";
    writer.Write(Stream::kStdout, line + "\n", kNow);
    if (below(6) == 0) read += ReadOn(path_, place, 200 + below(2000));
  }
  read += ReadOn(path_, place, 300);
  EXPECT_EQ(read, wrote);
  EXPECT_EQ(ReadOn(path_, place), "") << "nothing new";
}

TEST_F(LogTest, FromTheBeginningMeansTheOldestFile) {
  LogWriter writer = Writer(100, 3);
  for (int i = 0; i < 10; ++i) writer.Write(Stream::kStdout, std::to_string(i) + "\n", kNow);
  LogPlace place;
  EXPECT_EQ(ReadOn(path_, place), "4\n5\n6\n7\n8\n9\n");
}

TEST_F(LogTest, PiecesAreGivenAsTheyCome) {
  std::ofstream(path_) << Line("stdout", 'P', "long ") << Line("stdout", 'F', "line") << "2026-01-02T00:00:00Z stdo";
  const Result<LogPart> part = ReadLog(path_, {}, 1000);
  ASSERT_TRUE(part) << part.error().message;
  ASSERT_EQ(part->entries.size(), 2U);
  EXPECT_TRUE(part->entries[0].partial);
  EXPECT_FALSE(part->entries[1].partial);
  EXPECT_FALSE(part->more);
  EXPECT_EQ(part->next, TailLog(path_, {})->next) << "before the line that is being written";
}

TEST_F(LogTest, AReaderThatIsTooSlowIsToldOfTheGap) {
  LogWriter writer = Writer(100, 2);
  writer.Write(Stream::kStdout, "0\n", kNow);
  const LogPlace place = TailLog(path_, {})->next;
  const auto first = *os::OpenedFile::Open(path_);  // its inode is not given to another file
  for (int i = 1; i < 10; ++i) writer.Write(Stream::kStdout, std::to_string(i) + "\n", kNow);
  const Result<LogPart> part = ReadLog(path_, place, 1000);
  ASSERT_TRUE(part);
  EXPECT_TRUE(part->gap);
  EXPECT_EQ(part->entries.front().text, "6");
}

TEST_F(LogTest, AFileThatWasCutIsReadFromItsBeginning) {
  std::ofstream(path_) << Line("stdout", 'F', "a long first line") << Line("stdout", 'F', "second");
  const LogPlace place = TailLog(path_, {})->next;
  std::ofstream(path_) << Line("stdout", 'F', "new");
  const Result<LogPart> part = ReadLog(path_, place, 1000);
  ASSERT_TRUE(part);
  EXPECT_TRUE(part->gap);
  ASSERT_EQ(part->entries.size(), 1U);
  EXPECT_EQ(part->entries[0].text, "new");
}

TEST_F(LogTest, ARemovedLogIsReadToItsEnd) {
  LogWriter writer = Writer();
  writer.Write(Stream::kStdout, "one\n", kNow);
  const LogPlace place = TailLog(path_, {})->next;
  const auto file = *os::OpenedFile::Open(path_);
  ASSERT_TRUE(file);
  writer.Write(Stream::kStdout, "two\n", kNow);
  std::filesystem::remove(path_);
  const Result<LogPart> part = ReadLog(*file, place, 1000);
  ASSERT_TRUE(part);
  ASSERT_EQ(part->entries.size(), 1U);
  EXPECT_EQ(part->entries[0].text, "two");
}

TEST_F(LogTest, ALineLongerThanAPartIsSkipped) {
  std::ofstream(path_) << std::string(1000, 'x') << "\n" << Line("stdout", 'F', "after");
  LogPlace place;
  EXPECT_EQ(ReadOn(path_, place, 128), "after\n");
}

TEST(LogPlaceTest, IsWrittenAndRead) {
  const LogPlace place{.inode = 12, .offset = 345};
  EXPECT_EQ(ParsePlace(FormatPlace(place)), place);
  for (const char* const junk : {"", ":", "1", "1:", ":1", "1:2:3", "-1:2", "1:x"})
    EXPECT_FALSE(ParsePlace(junk)) << junk;
}

TEST_F(LogTest, OutputThatDoesNotFitOnTheDiskIsCountedAndTheGapIsNamed) {
  LogWriter writer = Writer();
  writer.Write(Stream::kStdout, "before\n", kNow);
  // A file size limit stands in for the full disk: the write fails half-way, as it would there.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  rlimit limit = old_limit;
  limit.rlim_cur = 60;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  writer.Write(Stream::kStdout, "lost\n", kNow);
  writer.Write(Stream::kStderr, "lost too\n", kNow);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  EXPECT_EQ(writer.lost_bytes(), 14U);
  EXPECT_EQ(writer.last_error(), "write " + path_ + ": File too large");
  writer.Write(Stream::kStdout, "after\n", kNow);
  EXPECT_EQ(testkit::ReadText(path_),
            Line("stdout", 'F', "before") +
                Line("stderr", 'F', "[berth: 14 bytes of output are missing here: " + writer.last_error() + "]") +
                Line("stdout", 'F', "after"));
  EXPECT_EQ(writer.lost_bytes(), 14U);
}

TEST_F(LogTest, MissingDirectoryLosesOutputUntilItIsThere) {
  LogWriter writer({.path = temp_ / "later/0.log", .max_bytes = 1000, .max_files = 2});
  writer.Write(Stream::kStdout, "lost\n", kNow);
  EXPECT_EQ(writer.lost_bytes(), 5U);
  ASSERT_TRUE(std::filesystem::create_directory(temp_ / "later"));
  writer.Write(Stream::kStdout, "kept\n", kNow);
  EXPECT_TRUE(testkit::ReadText(temp_ / "later/0.log").ends_with(Line("stdout", 'F', "kept")));
}

/// Container and pod, each once as the swapper of its folder.
TEST_F(LogTest, AFolderThatBecameALinkIsNotFollowedByWriterRotationOrReader) {
  namespace fs = std::filesystem;
  for (const std::string swapped : {"pod/app", "pod"}) {
    const std::string path = temp_ / "logs/pod/app/0.log";
    ASSERT_TRUE(os::MakeFolderOf(path));
    LogWriter writer({.path = path, .max_bytes = 40, .max_files = 3});
    writer.Write(Stream::kStdout, "first\n", kNow);
    const std::string victim = temp_ / "victim-of-" + fs::path(swapped).filename().string();
    fs::create_directories(victim + (swapped == "pod" ? "/app" : ""));
    const std::string precious = victim + (swapped == "pod" ? "/app" : "") + "/0.log";
    std::ofstream(precious) << "precious";
    fs::rename(temp_ / "logs/" + swapped, temp_ / "logs/aside");
    fs::create_directory_symlink(victim, temp_ / "logs/" + swapped);

    for (int i = 0; i < 3; ++i) writer.Write(Stream::kStdout, "more\n", kNow);  // each wants a new file
    EXPECT_EQ(testkit::ReadText(precious), "precious");
    EXPECT_FALSE(fs::exists(precious + ".1"));
    EXPECT_GT(writer.lost_bytes(), 0U);
    EXPECT_NE(writer.last_error().find("a link is in place"), std::string::npos) << writer.last_error();
    const auto tail = TailLog(path, {});
    EXPECT_FALSE(tail);
    EXPECT_FALSE(os::MakeFolderOf(path));
    fs::remove_all(temp_ / "logs");
  }
}

TEST_F(LogTest, SymbolicLinkInPlaceOfTheLogIsNotFollowed) {
  std::ofstream(temp_ / "victim") << "precious";
  std::filesystem::create_symlink(temp_ / "victim", path_);
  LogWriter writer = Writer();
  writer.Write(Stream::kStdout, "x\n", kNow);
  EXPECT_EQ(testkit::ReadText(temp_ / "victim"), "precious");
  EXPECT_EQ(writer.lost_bytes(), 2U);
}

}  // namespace
}  // namespace berth::runtime
