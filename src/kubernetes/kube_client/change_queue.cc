#include "kubernetes/kube_client/change_queue.h"

#include <utility>

namespace berth::kube {

bool ChangeQueue::Put(Change change) {
  const MutexLock lock(mutex_);
  const std::size_t size = BytesOf(change);
  while (!ended_ && !changes_.empty() && (changes_.size() >= most_changes_ || bytes_ + size > most_bytes_))
    changed_.Wait(mutex_);
  if (ended_) return false;
  bytes_ += size;
  changes_.push_back(std::move(change));
  fd_.Signal();
  return true;
}

std::vector<Change> ChangeQueue::Take(std::size_t most) {
  std::vector<Change> out;
  const MutexLock lock(mutex_);
  while (out.size() < most && !changes_.empty()) {
    bytes_ -= BytesOf(changes_.front());
    out.push_back(std::move(changes_.front()));
    changes_.pop_front();
  }
  if (changes_.empty()) fd_.Clear();
  changed_.NotifyAll();
  return out;
}

void ChangeQueue::SetTrouble(std::optional<CallError> trouble) {
  const MutexLock lock(mutex_);
  const bool same = trouble.has_value() == trouble_.has_value() && (!trouble || trouble->message == trouble_->message);
  trouble_ = std::move(trouble);
  if (!same) fd_.Signal();
}

std::optional<CallError> ChangeQueue::trouble() const {
  const MutexLock lock(mutex_);
  return trouble_;
}

void ChangeQueue::End() {
  const MutexLock lock(mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

bool ChangeQueue::ended() const {
  const MutexLock lock(mutex_);
  return ended_;
}

void ChangeQueue::Wait(os::Millis time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  const MutexLock lock(mutex_);
  while (!ended_ && std::chrono::steady_clock::now() < deadline) changed_.WaitUntil(mutex_, deadline);
}

}  // namespace berth::kube
