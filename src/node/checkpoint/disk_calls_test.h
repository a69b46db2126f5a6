// Every system call of this program that changes a disk, between the program and the kernel: for tests that count them,
// let the n-th one fail, stop the process there, or write down a trace. The linker puts the doors in (--wrap).
#ifndef BERTH_NODE_CHECKPOINT_DISK_CALLS_TEST_H_
#define BERTH_NODE_CHECKPOINT_DISK_CALLS_TEST_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace berth::checkpoint {

/// One call that was made and succeeded. Paths are absolute.
struct DiskCall {
  enum class Kind { kCreate, kWrite, kSyncFile, kSyncFolder, kRename, kLink, kUnlink, kMakeFolder, kDone };
  Kind kind = Kind::kDone;  ///< kDone: no call, but a mark of the test
  std::string path;         ///< of the file or folder; the source of a rename or link
  std::string to;           ///< of a rename or link
  std::string bytes;        ///< written
};

/// What happens in place of the call with that number.
enum class DiskFault {
  kNone,
  kFail,        ///< not made, errno is set
  kShortWrite,  ///< a write takes half of its bytes; other calls are made
  kStop,        ///< not made; the process ends at once, without cleaning up
  kStopHalf,    ///< a write takes half of its bytes and the process ends; other calls as kStop
};
inline constexpr int kStopped = 42;  ///< exit status of a process that was stopped so

/// Watches the calls below `folder` for as long as it lives; one at a time.
class DiskWatch {
 public:
  explicit DiskWatch(std::string folder);
  DiskWatch(const DiskWatch&) = delete;
  DiskWatch& operator=(const DiskWatch&) = delete;
  ~DiskWatch();

  /// Numbers count from 0 and from this call on.
  void SetFault(int number, DiskFault fault, int sys = 0);
  bool fired() const { return fired_; }
  void Mark() { calls_.push_back({}); }
  const std::vector<DiskCall>& calls() const { return calls_; }
  int Count(DiskCall::Kind kind) const;

  // For the doors.
  bool Watches(const std::string& path) const { return path.starts_with(folder_); }
  /// What to do with the next call.
  DiskFault Next();
  int sys() const { return sys_; }
  void Add(DiskCall call) { calls_.push_back(std::move(call)); }

 private:
  std::string folder_;
  std::vector<DiskCall> calls_;
  int number_ = -1;
  int asked_ = 0;
  int sys_ = 0;
  DiskFault fault_ = DiskFault::kNone;
  bool fired_ = false;
};

}  // namespace berth::checkpoint

#endif  // BERTH_NODE_CHECKPOINT_DISK_CALLS_TEST_H_
