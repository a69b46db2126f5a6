#include "daemon/mailbox.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace berth::daemon {

Result<std::unique_ptr<Mailbox>> Mailbox::Open() {
  os::UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return FailErrno("create an eventfd", "", errno);
  return std::unique_ptr<Mailbox>(new Mailbox(std::move(fd)));
}

void Mailbox::Run(std::function<void()> work) {
  auto letter = std::make_shared<Letter>();
  letter->work = std::move(work);
  const MutexLock lock(mutex_);
  if (closed_) return;
  letters_.push_back(letter);
  const std::uint64_t one = 1;
  // Cannot fail: the counter would have to be near 2^64.
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
  while (!letter->done) answered_.Wait(mutex_);
}

void Mailbox::RunAll() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &count, sizeof count);
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
