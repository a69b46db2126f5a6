// Crash-loop protection against bad input: a process notes what it works on for the one after it, and input that a
// process died of twice is not tried again.
#ifndef BERTH_HOST_OS_WORK_NOTES_H_
#define BERTH_HOST_OS_WORK_NOTES_H_

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// Two files of a folder on a tmpfs: "working-on" has a place for each piece of work under way and is written before
/// and after each; "set-aside" counts deaths by piece of work. A process that is killed for another reason just then
/// leaves a count of one, which the next one clears by getting through.
///
/// Thread: any.
class WorkNotes {
 public:
  static constexpr int kDeaths = 2;          ///< of one piece of work, one after the other, set it aside
  static constexpr std::size_t kPlaces = 8;  ///< pieces of work that are noted at a time
  static constexpr std::size_t kLongestKey = 255;
  static constexpr std::size_t kMostCounted = 100;  ///< of more than these the rest is forgotten

  /// Reads what the process before left, counts it, and begins anew. Counts that cannot be read begin anew too, and
  /// `warnings` says so: what a process died of is tried again, which ends at most kDeaths more of them, while without
  /// a start nothing would be done at all. Errors: as open(2), write(2).
  static Result<std::unique_ptr<WorkNotes>> Open(const std::string& folder, std::vector<std::string>* warnings);

  /// Work that is noted for as long as this lives.
  class Work {
   public:
    Work(WorkNotes* notes, std::string key);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    WorkNotes* notes_;
    std::string key_;
    std::size_t place_ = kPlaces;  // kPlaces: none was free
  };

  /// A key for `content` found at `place`; other content is another key.
  static std::string KeyOf(std::string_view kind, std::string_view content, std::string_view place);
  /// Whether kDeaths processes died of it. What cannot be tried never gets through: it stays so until the file is
  /// removed, the node restarts, or the key changes.
  bool IsSetAside(const std::string& key) const;
  /// For people: what happened and what to do. `change`: what to change, "the manifest".
  std::string Explain(std::string_view change) const;

 private:
  WorkNotes(UniqueFd fd, std::string counts_path) : fd_(std::move(fd)), counts_path_(std::move(counts_path)) {}
  Result<void> TakeCounts(const std::string& folder, std::vector<std::string>* warnings);
  Result<void> SaveCounts() BERTH_REQUIRES(mutex_);
  std::size_t Note(const std::string& key);
  void Done(std::size_t place, const std::string& key);
  bool WritePlace(std::size_t place, std::string_view key) const;

  UniqueFd fd_;  // working-on
  const std::string counts_path_;
  mutable Mutex mutex_;
  std::array<bool, kPlaces> taken_ BERTH_GUARDED_BY(mutex_){};
  std::map<std::string, int> deaths_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_WORK_NOTES_H_
