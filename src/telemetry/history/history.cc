#include "telemetry/history/history.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "host/os/event_fd.h"
#include "host/os/lock_file.h"
#include "telemetry/history/database.h"

namespace berth::history {
namespace {

constexpr std::size_t kBatch = 256;  // entries of one transaction
constexpr os::Millis kFirstRetry{1'000};
constexpr os::Millis kLastRetry{30'000};
constexpr os::Millis kLastWords{2'000};         // at the end
constexpr os::Millis kQuestionPatience{2'000};  // for the question before
constexpr std::size_t kMaxNotes = 16;
constexpr unsigned kPrivate = 0700;
constexpr std::size_t kMaxReason = 256;
constexpr std::size_t kMaxObject = 1'024;
constexpr std::size_t kMaxMessage = 4'096;

/// At a character's start.
void Cut(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
  text.resize(most);
}

using TimePoint = std::chrono::steady_clock::time_point;
TimePoint After(os::Millis time) { return std::chrono::steady_clock::now() + time; }

/// What the thread and the object share; the thread may outlive the object when it hangs in a system call.
struct Shared {
  explicit Shared(os::EventFd wake_) : wake(std::move(wake_)) {}

  std::string folder;
  std::string path;
  std::size_t max_waiting = 0;
  os::EventFd wake;  // of TakeNotes

  Mutex mutex;
  CondVar changed;
  std::deque<Entry> waiting BERTH_GUARDED_BY(mutex);
  std::size_t in_flight BERTH_GUARDED_BY(mutex) = 0;  // of the front, being written
  std::size_t max_entries BERTH_GUARDED_BY(mutex) = 0;
  std::uint64_t kept BERTH_GUARDED_BY(mutex) = 0;
  std::uint64_t lost BERTH_GUARDED_BY(mutex) = 0;
  std::uint64_t told_lost BERTH_GUARDED_BY(mutex) = 0;    // of those, already in a note
  std::uint64_t attempts BERTH_GUARDED_BY(mutex) = 0;     // to write, begun
  std::uint64_t last_failed BERTH_GUARDED_BY(mutex) = 0;  // the number of one
  std::string problem BERTH_GUARDED_BY(mutex);
  std::vector<Note> notes BERTH_GUARDED_BY(mutex);
  bool hurry BERTH_GUARDED_BY(mutex) = false;    // try again now
  bool suspect BERTH_GUARDED_BY(mutex) = false;  // a question met damage: look at every page again
  bool stop BERTH_GUARDED_BY(mutex) = false;
  bool ended BERTH_GUARDED_BY(mutex) = false;   // the thread is about to return
  bool asking BERTH_GUARDED_BY(mutex) = false;  // a question is under way

  void Tell(Note note) BERTH_REQUIRES(mutex) {
    if (notes.size() >= kMaxNotes) notes.erase(notes.begin());
    notes.push_back(std::move(note));
    wake.Signal();
  }
};

/// The thread: one database, one queue.
class Writer {
 public:
  explicit Writer(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  void Run() {
    Write({});  // opens it, so that its state is known from the start
    while (std::optional<std::vector<Entry>> batch = NextBatch()) Write(*batch);
    database_.reset();
    const MutexLock lock(shared_->mutex);
    shared_->ended = true;
    shared_->changed.NotifyAll();
  }

 private:
  std::optional<std::vector<Entry>> NextBatch();
  void Write(const std::vector<Entry>& batch);
  Result<void> Open();
  Result<void> SetAside(const Error& why);
  void Done(const Result<void>& done);

  std::shared_ptr<Shared> shared_;
  std::optional<Database> database_;
  os::Millis delay_{0};  // since the last failure; zero: none
  TimePoint retry_{};
};

/// Waits for work. nullopt: stop.
std::optional<std::vector<Entry>> Writer::NextBatch() {
  Shared& s = *shared_;
  const MutexLock lock(s.mutex);
  for (;;) {
    const bool due = delay_ == os::Millis(0) || s.hurry || s.stop || std::chrono::steady_clock::now() >= retry_;
    if ((!s.waiting.empty() || s.suspect || delay_ > os::Millis(0)) && due) break;
    if (s.stop) return std::nullopt;
    if (delay_ > os::Millis(0))
      s.changed.WaitUntil(s.mutex, retry_);
    else
      s.changed.Wait(s.mutex);
  }
  if (s.stop && s.waiting.empty()) return std::nullopt;
  if (s.stop && delay_ > os::Millis(0)) {  // it failed a moment ago: no use
    s.lost += std::exchange(s.waiting, {}).size();
    return std::nullopt;
  }
  s.hurry = false;
  ++s.attempts;
  if (std::exchange(s.suspect, false)) database_.reset();
  s.in_flight = std::min(s.waiting.size(), kBatch);
  return std::vector<Entry>(s.waiting.begin(), s.waiting.begin() + static_cast<std::ptrdiff_t>(s.in_flight));
}

Result<void> Writer::SetAside(const Error& why) {
  const std::string& path = shared_->path;
  std::string aside = path + (why.code == Code::kUnsupported ? ".newer" : ".damaged");
  struct stat info{};
  // The first one holds the longest past and stays; each later one takes the place of the one before it.
  if (::lstat(aside.c_str(), &info) == 0 || errno != ENOENT) aside += ".1";
  database_.reset();
  const std::string log = path + "-wal";  // the newest entries may be only there
  const std::string log_aside = aside + "-wal";
  if (::rename(log.c_str(), log_aside.c_str()) != 0) {
    if (errno != ENOENT) return FailErrno("set aside the history", log, errno);
    ::unlink(log_aside.c_str());  // of another file
  }
  if (::rename(path.c_str(), aside.c_str()) != 0) {
    auto failed = FailErrno("set aside the history", path, errno);
    ::rename(log_aside.c_str(), log.c_str());
    return failed;
  }
  ::unlink((path + "-shm").c_str());
  const MutexLock lock(shared_->mutex);
  shared_->Tell(
      {true, "HistoryDamaged", fmt::format("{}; it was set aside as {} and a new one is started", why.message, aside)});
  return {};
}

Result<void> Writer::Open() {
  std::size_t max_entries = 0;
  {
    const MutexLock lock(shared_->mutex);
    max_entries = shared_->max_entries;
  }
  if (database_) {
    database_->SetMaxEntries(max_entries);
    return {};
  }
  BERTH_RETURN_IF_ERROR(os::MakeDirs(shared_->folder, kPrivate));
  auto opened = Database::OpenForWriting(shared_->path, max_entries);
  if (!opened && (opened.error().code == Code::kCorrupt || opened.error().code == Code::kUnsupported)) {
    BERTH_RETURN_IF_ERROR(SetAside(opened.error()));
    opened = Database::OpenForWriting(shared_->path, max_entries);
  }
  if (!opened) return std::unexpected(std::move(opened).error());
  database_ = *std::move(opened);
  return {};
}

void Writer::Write(const std::vector<Entry>& batch) {
  auto done = Open();
  if (done && !batch.empty()) {
    done = database_->Store(batch);
    if (!done) database_.reset();  // damaged: opening again finds out and sets it aside
    if (!done && done.error().code == Code::kCorrupt) {
      done = Open();
      if (done) done = database_->Store(batch);
    }
  }
  Done(done);
}

void Writer::Done(const Result<void>& done) {
  Shared& s = *shared_;
  const MutexLock lock(s.mutex);
  const std::size_t written = std::exchange(s.in_flight, 0);
  if (done) {
    s.waiting.erase(s.waiting.begin(), s.waiting.begin() + static_cast<std::ptrdiff_t>(written));
    s.kept = database_->kept();
    delay_ = os::Millis(0);
    if (!s.problem.empty())
      s.Tell({s.lost > s.told_lost, "HistoryRestored",
              fmt::format("the history {} is written again; events lost meanwhile: {}", s.path, s.lost - s.told_lost)});
    else if (s.lost > s.told_lost)
      s.Tell({true, "HistoryLost",
              fmt::format("events came faster than the history {} could be written; lost: {}", s.path,
                          s.lost - s.told_lost)});
    s.told_lost = s.lost;
    s.problem.clear();
  } else {
    if (s.problem.empty())
      s.Tell({true, "HistoryUnavailable",
              done.error().message + "; decisions go on, events that cannot be kept are counted"});
    s.problem = done.error().message;
    s.last_failed = s.attempts;
    for (; s.waiting.size() > s.max_waiting; s.waiting.pop_front()) ++s.lost;
    delay_ = std::clamp(delay_ * 2, kFirstRetry, kLastRetry);
    retry_ = After(delay_);
  }
  s.changed.NotifyAll();
}

class HistoryThread final : public History {
 public:
  explicit HistoryThread(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~HistoryThread() override;

  Result<void> Start();
  void Record(Entry entry) override;
  Result<std::vector<Entry>> Find(const Query& query) override;
  State state() const override;
  void SetMaxEntries(std::size_t max_entries) override;
  int event_fd() const override { return shared_->wake.get(); }
  std::vector<Note> TakeNotes() override;
  bool Drain(os::Millis patience) override;

 private:
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

Result<void> HistoryThread::Start() {
  try {
    thread_ = std::thread([shared = shared_] { Writer(shared).Run(); });
  } catch (const std::system_error& error) {
    return FailErrno("start the thread of the history", "", error.code().value());
  }
  return {};
}

HistoryThread::~HistoryThread() {
  if (!thread_.joinable()) return;
  bool ended = false;
  {
    Shared& s = *shared_;
    const MutexLock lock(s.mutex);
    s.stop = true;
    s.changed.NotifyAll();
    const TimePoint deadline = After(kLastWords);
    while (!s.ended && std::chrono::steady_clock::now() < deadline) s.changed.WaitUntil(s.mutex, deadline);
    ended = s.ended;
  }
  if (ended)
    thread_.join();
  else
    thread_.detach();  // it holds what it needs
}

void HistoryThread::Record(Entry entry) {
  Cut(entry.reason, kMaxReason);
  Cut(entry.object, kMaxObject);
  Cut(entry.message, kMaxMessage);
  Shared& s = *shared_;
  const MutexLock lock(s.mutex);
  // A repetition of something that still waits takes its place.
  for (std::size_t i = s.waiting.size(); i > s.in_flight; --i)
    if (s.waiting[i - 1].id == entry.id) {
      s.waiting[i - 1] = std::move(entry);
      return;
    }
  if (s.waiting.size() - s.in_flight >= s.max_waiting) {
    ++s.lost;
    s.waiting.erase(s.waiting.begin() + static_cast<std::ptrdiff_t>(s.in_flight));
  }
  s.waiting.push_back(std::move(entry));
  s.changed.NotifyAll();
}

Result<std::vector<Entry>> HistoryThread::Find(const Query& query) {
  Shared& s = *shared_;
  {
    const MutexLock lock(s.mutex);
    const TimePoint deadline = After(kQuestionPatience);
    while (s.asking && std::chrono::steady_clock::now() < deadline) s.changed.WaitUntil(s.mutex, deadline);
    if (s.asking) return Fail(Code::kOverloaded, "another question to the history takes long");
    s.asking = true;
  }
  auto database = Database::OpenForReading(s.path);
  auto found = database ? database->Find(query) : std::unexpected(std::move(database).error());
  const MutexLock lock(s.mutex);
  s.asking = false;
  if (!found && found.error().code == Code::kCorrupt) s.suspect = true;
  s.changed.NotifyAll();
  return found;
}

State HistoryThread::state() const {
  Shared& s = *shared_;
  const MutexLock lock(s.mutex);
  return {.path = s.path, .kept = s.kept, .waiting = s.waiting.size(), .lost = s.lost, .problem = s.problem};
}

void HistoryThread::SetMaxEntries(std::size_t max_entries) {
  const MutexLock lock(shared_->mutex);
  shared_->max_entries = max_entries;
}

std::vector<Note> HistoryThread::TakeNotes() {
  const MutexLock lock(shared_->mutex);
  shared_->wake.Clear();
  return std::exchange(shared_->notes, {});
}

bool HistoryThread::Drain(os::Millis patience) {
  Shared& s = *shared_;
  const MutexLock lock(s.mutex);
  const TimePoint deadline = After(patience);
  const std::uint64_t begun = s.attempts;  // one of these may fail for what was mended since
  s.hurry = true;
  s.changed.NotifyAll();
  while (!s.waiting.empty() && s.last_failed <= begun && std::chrono::steady_clock::now() < deadline)
    s.changed.WaitUntil(s.mutex, deadline);
  return s.waiting.empty();
}

}  // namespace

Result<std::unique_ptr<History>> History::Start(const Options& options) {
  BERTH_TRY(os::EventFd wake, os::EventFd::Open());
  auto shared = std::make_shared<Shared>(std::move(wake));
  shared->folder = options.folder;
  shared->path = options.folder + "/events.db";
  shared->max_waiting = options.max_waiting;
  {
    const MutexLock lock(shared->mutex);
    shared->max_entries = options.max_entries;
  }
  auto out = std::make_unique<HistoryThread>(std::move(shared));
  BERTH_RETURN_IF_ERROR(out->Start());
  return out;
}

}  // namespace berth::history
