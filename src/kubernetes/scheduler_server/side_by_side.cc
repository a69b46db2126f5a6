#include "kubernetes/scheduler_server/side_by_side.h"

#include <algorithm>
#include <atomic>

#include "base/mutex.h"

namespace berth::scheduler_server {
namespace {

constexpr std::size_t kPiece = 16;  // one after another, taken by one thread at a time

/// One question, on the asking thread's stack: it outlives whoever helps.
class Question {
 public:
  Question(std::size_t count, const std::function<void(std::size_t)>& work) : count_(count), work_(work) {}

  void Help() {
    for (std::size_t from = next_.fetch_add(kPiece); from < count_; from = next_.fetch_add(kPiece))
      for (std::size_t i = from; i < std::min(from + kPiece, count_); ++i) work_(i);
  }
  void Invite() BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++helpers_;
  }
  void Leave() BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    --helpers_;
    left_.NotifyAll();  // with the lock: whoever waits may end this object once it has it
  }
  void WaitForAll() BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (helpers_ > 0) left_.Wait(mutex_);
  }

 private:
  const std::size_t count_;
  const std::function<void(std::size_t)>& work_;
  std::atomic<std::size_t> next_ = 0;
  Mutex mutex_;
  CondVar left_;
  std::size_t helpers_ BERTH_GUARDED_BY(mutex_) = 0;
};

}  // namespace

void SideBySide::Run(std::size_t count, const std::function<void(std::size_t)>& work) {
  Question question(count, work);
  const std::size_t useful = count == 0 ? 0 : (count - 1) / kPiece;
  for (std::size_t i = 0; i < std::min(helpers_, useful); ++i) {
    question.Invite();
    const bool helps = pool_.DoNow([&question] {
      question.Help();
      question.Leave();
    });
    if (!helps) question.Leave();
  }
  question.Help();
  question.WaitForAll();
}

}  // namespace berth::scheduler_server
