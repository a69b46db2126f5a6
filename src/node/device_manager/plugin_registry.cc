#include "node/device_manager/plugin_registry.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "host/os/folder_watch.h"
#include "host/os/poll.h"
#include "host/os/unique_fd.h"
#include "host/os/whole_file.h"
#include "rpc/grpc/grpc_client.h"

namespace berth::device_manager {
namespace {

constexpr std::size_t kMostAsked = 16;  // at a time
constexpr os::Millis kInfoTime{10'000};
constexpr os::Millis kStatusTime{5'000};
constexpr os::Millis kFirstPause{500};
constexpr os::Millis kLongestPause{122'000};
constexpr os::Millis kLookAnyway{10'000};  // also where nothing can be watched

std::string MethodOfRegistration(std::string_view name) {
  return fmt::format("/pluginregistration.Registration/{}", name);
}

}  // namespace

Result<std::unique_ptr<PluginRegistry>> PluginRegistry::Start(std::string folder, RegistryCalls calls) {
  BERTH_TRY(os::EventFd stop, os::EventFd::Open());
  BERTH_TRY(os::EventFd again, os::EventFd::Open());
  std::unique_ptr<PluginRegistry> out(
      new PluginRegistry(std::move(folder), std::move(calls), std::move(stop), std::move(again)));
  if (!out->threads_.DoNow([registry = out.get()] { registry->Run(); }))
    return Fail(Code::kExhausted, "no thread to look for device plug-ins");
  return out;
}

PluginRegistry::PluginRegistry(std::string folder, RegistryCalls calls, os::EventFd stop, os::EventFd again)
    : folder_(std::move(folder)),
      calls_(std::move(calls)),
      stop_(std::move(stop)),
      again_(std::move(again)),
      threads_({.most = 1 + kMostAsked}) {}

PluginRegistry::~PluginRegistry() { stop_.Signal(); }

void PluginRegistry::Run() {
  std::optional<os::FolderWatch> watch;
  bool told = false;
  for (;;) {
    if (!watch) {
      if (auto opened = os::FolderWatch::Open(folder_))
        watch = *std::move(opened);
      else if (!std::exchange(told, true))
        calls_.unwatched(opened.error());
    }
    again_.Clear();
    if (watch && watch->Take().gone) watch.reset();
    const os::MonoTime now = os::SystemClock().Now();
    const os::MonoTime until = std::min(Look(), now + kLookAnyway);
    std::array<pollfd, 3> fds{
        {{stop_.get(), POLLIN, 0}, {again_.get(), POLLIN, 0}, {watch ? watch->fd() : -1, POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), os::PollTime(now, until));
    if (fds[0].revents != 0) return;
  }
}

/// By name, what tells one from the next.
std::map<std::string, std::string> PluginRegistry::SocketsThere() const {
  std::map<std::string, std::string> out;
  const os::UniqueFd dir(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid()) return out;
  for (const std::string& name : os::NamesIn(dir.get(), folder_).value_or(std::vector<std::string>())) {
    struct statx info{};
    if (name.starts_with('.') ||
        ::statx(dir.get(), name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &info) != 0 ||
        !S_ISSOCK(info.stx_mode))
      continue;
    // The other time changes with its rights too, which makes it no other socket.
    const auto& made = (info.stx_mask & STATX_BTIME) != 0 ? info.stx_btime : info.stx_ctime;
    out[name] = fmt::format("{} {}.{}", info.stx_ino, made.tv_sec, made.tv_nsec);
  }
  return out;
}

/// Returns when to look again.
os::MonoTime PluginRegistry::Look() {
  const std::map<std::string, std::string> there = SocketsThere();
  const os::MonoTime now = os::SystemClock().Now();
  os::MonoTime out = os::MonoTime::max();
  std::vector<std::shared_ptr<Endpoint>> parted;
  {
    const MutexLock lock(mutex_);
    for (auto next = sockets_.begin(); next != sockets_.end();) {
      const auto entry = next++;
      const auto found = there.find(entry->first);
      if (entry->second.asking || (found != there.end() && found->second == entry->second.stamp)) continue;
      if (entry->second.joined) parted.push_back(std::move(entry->second.joined));
      sockets_.erase(entry);
    }
  }
  for (const auto& endpoint : parted)
    if (calls_.part(endpoint)) AskOthers(endpoint->resource(), now);
  const MutexLock lock(mutex_);
  for (const auto& [name, stamp] : there) {
    Socket& socket = sockets_.try_emplace(name, Socket{.stamp = stamp, .pause = kFirstPause}).first->second;
    if (socket.asking) continue;
    if (socket.due <= now && threads_.DoNow([this, name] { Ask(name); }))
      socket.asking = true;
    else
      out = std::min(out, std::max(socket.due, now + kFirstPause));
  }
  return out;
}

/// Those that had to give way to somebody who is gone.
void PluginRegistry::AskOthers(const std::string& resource, os::MonoTime now) {
  const MutexLock lock(mutex_);
  for (auto& [name, socket] : sockets_) {
    if (!socket.joined || socket.joined->resource() != resource) continue;
    socket.due = now;
    socket.pause = kFirstPause;
  }
}

/// nullptr: it is none of ours.
Result<std::shared_ptr<Endpoint>> PluginRegistry::Introduce(const std::string& path) const {
  grpc::Client client(grpc::UnixConnector(path), path);
  BERTH_TRY(const std::string answer,
            client.Call(MethodOfRegistration("GetInfo"), "",
                        {.deadline = os::SystemClock().Now() + kInfoTime, .cancel_fd = stop_.get()}));
  BERTH_TRY(PluginInfo info, ReadPluginInfo(answer));
  if (info.type != "DevicePlugin") return nullptr;
  if (info.endpoint.empty()) info.endpoint = path;
  const auto joined = calls_.join(info);
  const Result<void> told = joined ? Result<void>() : std::unexpected(joined.error());
  // It serves, whether it wants to hear of that or not.
  static_cast<void>(client.Call(MethodOfRegistration("NotifyRegistrationStatus"), WriteRegistrationStatus(told),
                                {.deadline = os::SystemClock().Now() + kStatusTime, .cancel_fd = stop_.get()}));
  return joined;
}

void PluginRegistry::Ask(const std::string& name) {
  auto joined = Introduce(folder_ + "/" + name);
  const MutexLock lock(mutex_);
  Socket& socket = sockets_[name];
  socket.asking = false;
  if (joined) {
    socket.joined = *std::move(joined);
    socket.due = os::MonoTime::max();
  } else {
    socket.due = os::SystemClock().Now() + socket.pause;
    socket.pause = std::min(socket.pause * 2, kLongestPause);
  }
  again_.Signal();
}

}  // namespace berth::device_manager
