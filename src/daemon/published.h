// The newest value of something, handed from the one thread that makes it to all others.
#ifndef BERTH_DAEMON_PUBLISHED_H_
#define BERTH_DAEMON_PUBLISHED_H_

#include <memory>
#include <utility>

#include "base/mutex.h"

namespace berth::daemon {

/// Thread: any. The lock is held for the copy of a pointer only: no reader holds up the writer, nor the writer a
/// reader.
template <class T>
class Published {
 public:
  /// Never null.
  explicit Published(std::shared_ptr<const T> first) : newest_(std::move(first)) {}

  std::shared_ptr<const T> Get() const BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return newest_;
  }
  /// Readers keep what they got for as long as they like. Requires: not null.
  void Put(std::shared_ptr<const T> value) BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    newest_.swap(value);
  }  // the value before, if nobody has it any more, goes when the lock is given back

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const T> newest_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_PUBLISHED_H_
