#include "rpc/grpc/io.h"

#include <poll.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "host/os/poll.h"

namespace berth::grpc {

Result<std::unique_ptr<Io>> Io::Start() {
  BERTH_TRY(os::EventFd wake, os::EventFd::Open());
  std::unique_ptr<Io> out(new Io(std::move(wake)));
  try {
    out->thread_ = std::thread([io = out.get()] { io->Run(); });
  } catch (const std::system_error& error) {
    return Fail(Code::kExhausted, std::string("start a thread for connections: ") + error.what());
  }
  return out;
}

void Io::End() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_->Signal();
  if (thread_.joinable()) thread_.join();
}

void Io::Add(std::shared_ptr<Watched> watched) {
  {
    const MutexLock lock(mutex_);
    added_.push_back(std::move(watched));
  }
  wake_->Signal();
}

/// False: the end has come.
bool Io::TakeNew(std::vector<std::shared_ptr<Watched>>& all) {
  const MutexLock lock(mutex_);
  for (std::shared_ptr<Watched>& watched : added_) all.push_back(std::move(watched));
  added_.clear();
  return !stop_;
}

void Io::Run() {
  std::vector<std::shared_ptr<Watched>> all;
  std::vector<pollfd> fds;
  while (TakeNew(all)) {
    const os::MonoTime now = os::SystemClock().Now();
    std::optional<os::MonoTime> at;
    fds.assign(1, pollfd{.fd = wake_->get(), .events = POLLIN, .revents = 0});
    for (const auto& watched : all) {
      const Watched::Wants wants = watched->Prepare(now);
      if (wants.at) at = std::min(at.value_or(*wants.at), *wants.at);
      fds.push_back({.fd = watched->fd(), .events = wants.events, .revents = 0});
    }
    if (::poll(fds.data(), fds.size(), os::PollTime(now, at)) < 0) continue;
    if (fds[0].revents != 0) wake_->Clear();
    const os::MonoTime then = os::SystemClock().Now();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!all[i]->Serve(fds[i + 1].revents, then)) all[i].reset();
    std::erase(all, nullptr);
  }
}

}  // namespace berth::grpc
