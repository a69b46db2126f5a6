#include "rpc/nri/plugin.h"

#include <poll.h>

#include <array>
#include <random>
#include <system_error>
#include <utility>

#include "host/os/poll.h"
#include "rpc/grpc/transport.h"
#include "rpc/nri/launch.h"
#include "rpc/nri/nri_messages.h"
#include "rpc/nri/socket_watch.h"
#include "rpc/nri/versions.h"
#include "rpc/ttrpc/peer.h"

namespace berth::nri {
namespace {

constexpr const char* kRuntimeService = "nri.pkg.api.v1alpha1.Runtime";
/// The newest version whose words are spoken here.
constexpr const char* kNriVersion = "0.12.0";
/// A socket has a name before somebody listens at it.
constexpr os::Millis kUntilListening{10};
constexpr int kTriesUntilListening = 50;

std::array<pollfd, 3> Watch(const ttrpc::Peer& peer, const Conversation& conversation, int stop) {
  return {pollfd{.fd = conversation.news_fd(), .events = POLLIN, .revents = 0},
          pollfd{.fd = peer.ended_fd(), .events = POLLIN, .revents = 0},
          pollfd{.fd = stop, .events = POLLIN, .revents = 0}};
}

}  // namespace

Result<std::unique_ptr<Plugin>> Plugin::Start(const PluginOptions& options, Handler& handler) {
  BERTH_RETURN_IF_ERROR(CheckIdentity(options.name, options.index));
  if (MaskOf(options.events) == 0) return Fail(Code::kInvalid, "a plug-in has to ask for some event");
  BERTH_TRY(os::EventFd stop, os::EventFd::Open());
  std::unique_ptr<Plugin> out(new Plugin(options, handler, std::move(stop)));
  try {
    out->thread_ = std::thread([plugin = out.get()] { plugin->Run(); });
  } catch (const std::system_error& error) {
    return Fail(Code::kExhausted, std::string("start a thread for the plug-in: ") + error.what());
  }
  return out;
}

Plugin::~Plugin() {
  stop_.Signal();
  if (thread_.joinable()) thread_.join();
}

bool Plugin::Stopping() const {
  const auto stopped = os::WaitFor(stop_.get(), POLLIN, os::MonoTime{});
  return !stopped || *stopped;
}

/// A socket that appears is tried at once, whatever failed before.
void Plugin::Run() {
  std::minstd_rand random(std::random_device{}());
  SocketWatch socket(options_.socket);
  int failures = 0;
  int eager = 0;  // tries left
  while (!Stopping()) {
    if (!options_.launched_socket) socket.Begin();
    const Attempt attempt = Attend();
    if (options_.launched_socket) break;
    failures = attempt == Attempt::kJoined ? 1 : failures + 1;
    const bool soon = attempt == Attempt::kUnreachable && eager-- > 0;
    const os::Millis wait =
        soon ? kUntilListening : ReconnectDelay(failures, static_cast<std::uint32_t>(random()), options_.between_tries);
    if (!socket.Wait(stop_.get(), os::SystemClock().Now() + wait)) continue;
    failures = 0;
    eager = kTriesUntilListening;
  }
  const MutexLock lock(mutex_);
  status_.over = true;
}

/// One connection, from its beginning to its end.
Plugin::Attempt Plugin::Attend() {
  const auto failed = [&](const Error& error) {
    NoteError(error.message);
    return error.code == Code::kUnreachable ? Attempt::kUnreachable : Attempt::kFailed;
  };
  auto transport =
      options_.launched_socket
          ? Result<std::unique_ptr<grpc::Transport>>(grpc::SocketTransport(os::UniqueFd(*options_.launched_socket)))
          : grpc::UnixConnector(options_.socket)();
  if (!transport) return failed(transport.error());
  auto conversation = Conversation::Make(queue_, MaskOf(options_.events), options_.when_late, options_.longest_answer);
  if (!conversation) return failed(conversation.error());
  auto peer = ttrpc::Peer::Start(*std::move(transport), options_.socket, (*conversation)->Methods());
  if (!peer) return failed(peer.error());
  auto end = Join(**peer, **conversation);
  const bool joined = end.has_value();
  if (joined) {
    Open(**conversation);
    end = Stay(**peer, **conversation);
  }
  const std::string why = end ? "the plug-in leaves" : end.error().message;
  (*peer)->Break(why);
  Close(why);
  peer->reset();  // nothing is asked any more
  if ((*conversation)->runtime()) queue_.PostAnyway([why](Handler& handler) { handler.Left(why); });
  return joined ? Attempt::kJoined : Attempt::kFailed;
}

/// Until the runtime has taken the plug-in in.
Result<void> Plugin::Join(ttrpc::Peer& peer, const Conversation& conversation) {
  const os::MonoTime deadline = os::SystemClock().Now() + options_.joining;
  const auto registered =
      peer.Call(kRuntimeService, "RegisterPlugin", EncodeRegister(options_.name, options_.index, kNriVersion),
                {.deadline = deadline, .cancel_fd = stop_.get()});
  if (!registered) return Wrap(registered.error(), "register at " + options_.socket);
  while (!conversation.joined()) {
    std::array<pollfd, 3> fds = Watch(peer, conversation, stop_.get());
    const os::MonoTime now = os::SystemClock().Now();
    if (now >= deadline) return Fail(Code::kTimeout, "the runtime did not take the plug-in in");
    ::poll(fds.data(), fds.size(), os::PollTime(now, deadline));
    if (const auto spoilt = conversation.spoilt()) return Fail(Code::kConflict, *spoilt);
    if (const auto ended = peer.ended()) return Fail(Code::kUncertain, *ended);
    if (Stopping()) return Fail(Code::kCancelled, "the plug-in leaves");
  }
  return {};
}

/// Until the end of the connection, or of the plug-in (no error).
Result<void> Plugin::Stay(const ttrpc::Peer& peer, const Conversation& conversation) {
  for (;;) {
    conversation.Heard();
    if (const auto spoilt = conversation.spoilt()) return Fail(Code::kConflict, *spoilt);
    if (const auto ended = peer.ended()) return Fail(Code::kUncertain, *ended);
    if (Stopping()) return {};
    std::array<pollfd, 3> fds = Watch(peer, conversation, stop_.get());
    ::poll(fds.data(), fds.size(), -1);
  }
}

void Plugin::Open(const Conversation& conversation) {
  const MutexLock lock(mutex_);
  status_.joined = true;
  status_.runtime = conversation.runtime();
  ++status_.joins;
}

void Plugin::Close(const std::string& why) {
  const MutexLock lock(mutex_);
  status_.joined = false;
  status_.last_error = why;
}

void Plugin::NoteError(const std::string& why) {
  const MutexLock lock(mutex_);
  status_.last_error = why;
}

PluginStatus Plugin::status() const {
  const MutexLock lock(mutex_);
  PluginStatus out = status_;
  out.late_answers = queue_.late();
  return out;
}

}  // namespace berth::nri
