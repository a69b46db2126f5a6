#include "daemon/mailbox.h"

#include <utility>

namespace berth::daemon {

Result<std::unique_ptr<Mailbox>> Mailbox::Open() {
  BERTH_TRY(os::EventFd fd, os::EventFd::Open());
  return std::unique_ptr<Mailbox>(new Mailbox(std::move(fd)));
}

void Mailbox::Run(std::function<void()> work) {
  auto letter = std::make_shared<Letter>();
  letter->work = std::move(work);
  const MutexLock lock(mutex_);
  if (closed_) return;
  letters_.push_back(letter);
  fd_.Signal();
  while (!letter->done) answered_.Wait(mutex_);
}

void Mailbox::RunAll() {
  fd_.Clear();
  std::vector<std::shared_ptr<Letter>> batch;
  {
    const MutexLock lock(mutex_);
    batch.swap(letters_);
  }
  for (const auto& letter : batch) letter->work();  // the asker waits, so what `work` refers to is alive
  const MutexLock lock(mutex_);
  for (const auto& letter : batch) letter->done = true;
  answered_.NotifyAll();
}

void Mailbox::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  for (const auto& letter : letters_) letter->done = true;
  letters_.clear();
  answered_.NotifyAll();
}

}  // namespace berth::daemon
