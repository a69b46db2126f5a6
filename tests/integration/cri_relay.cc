#include "cri_relay.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "os/unique_fd.h"

namespace berth::testkit {
namespace {

constexpr std::size_t kPreface = 24;     // of HTTP/2, before the client's first frame
constexpr std::size_t kFrameHead = 9;    // length, type, flags, stream
constexpr std::size_t kMessageHead = 5;  // of gRPC, before the message
constexpr std::uint8_t kData = 0;
constexpr std::uint8_t kHeaders = 1;
constexpr std::uint8_t kEndStream = 1;
constexpr std::size_t kIdSize = 64;

struct Frame {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::size_t size = 0;  // with its head
  std::string_view body;
  bool ends_stream() const { return (type == kData || type == kHeaders) && (flags & kEndStream) != 0; }
};

/// The first frame of `bytes` when all of it is there.
std::optional<Frame> FirstFrame(std::string_view bytes) {
  if (bytes.size() < kFrameHead) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < 3; ++i) length = length << 8U | static_cast<std::uint8_t>(bytes[i]);
  if (bytes.size() < kFrameHead + length) return std::nullopt;
  return Frame{.type = static_cast<std::uint8_t>(bytes[3]),
               .flags = static_cast<std::uint8_t>(bytes[4]),
               .size = kFrameHead + length,
               .body = bytes.substr(kFrameHead, length)};
}

/// ":path" of a block of compressed headers.
std::string PathIn(std::string_view block) {
  nghttp2_hd_inflater* made = nullptr;
  if (nghttp2_hd_inflate_new(&made) != 0) return "";
  const std::unique_ptr<nghttp2_hd_inflater, void (*)(nghttp2_hd_inflater*)> inflater(made, nghttp2_hd_inflate_del);
  const auto* in = reinterpret_cast<const std::uint8_t*>(block.data());
  std::size_t left = block.size();
  for (;;) {
    nghttp2_nv field{};
    int flags = 0;
    const ssize_t used = nghttp2_hd_inflate_hd2(made, &field, &flags, in, left, 1);
    if (used < 0) return "";
    in += used;
    left -= static_cast<std::size_t>(used);
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0 &&
        std::string_view(reinterpret_cast<const char*>(field.name), field.namelen) == ":path")
      return {reinterpret_cast<const char*>(field.value), field.valuelen};
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0 || (left == 0 && used == 0)) return "";
  }
}

/// nullopt: the request is not complete yet.
std::optional<RelayedCall> CallIn(std::string_view bytes) {
  RelayedCall out;
  std::string body;
  if (bytes.size() < kPreface) return std::nullopt;
  bytes.remove_prefix(kPreface);
  while (const auto frame = FirstFrame(bytes)) {
    if (frame->type == kHeaders) out.method = PathIn(frame->body);
    if (frame->type == kData) body.append(frame->body);
    if (frame->ends_stream()) {
      out.method.erase(0, out.method.rfind('/') + 1);
      if (body.size() > kMessageHead) out.request = body.substr(kMessageHead);
      constexpr std::string_view kFieldOfId{"\x0A\x40", 2};  // the first field, a text of 64 bytes
      if (out.request.starts_with(kFieldOfId) && out.request.size() >= kFieldOfId.size() + kIdSize)
        out.about = out.request.substr(kFieldOfId.size(), kIdSize);
      return out;
    }
    bytes.remove_prefix(frame->size);
  }
  return std::nullopt;
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  std::memcpy(out.sun_path, path.data(), std::min(path.size(), sizeof out.sun_path - 1));
  return out;
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// False: nothing more will come.
bool Receive(int fd, std::string& into) {
  std::array<char, 65536> buffer{};
  const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (n <= 0) return false;
  into.append(buffer.data(), static_cast<std::size_t>(n));
  return true;
}

}  // namespace

struct CriRelay::Inner {
  std::string target;
  os::UniqueFd listener;
  os::UniqueFd stop{::eventfd(0, EFD_CLOEXEC)};
  std::thread acceptor;

  mutable std::mutex mutex;
  Judge judge;
  std::vector<RelayedCall> calls;

  struct Peer {
    std::atomic<bool> done = false;
    std::thread thread;
  };

  /// False: the relay ends.
  bool WaitFor(int fd) const {
    std::array<pollfd, 2> fds{pollfd{.fd = fd, .events = POLLIN, .revents = 0},
                              pollfd{.fd = stop.get(), .events = POLLIN, .revents = 0}};
    while (::poll(fds.data(), fds.size(), -1) < 0) continue;
    return fds[1].revents == 0;
  }

  /// False: the call is over.
  bool Pass(const RelayedCall& call, Moment moment, int peer) const {
    Judge ask;
    {
      const std::lock_guard lock(mutex);
      ask = judge;
    }
    if (!ask) return true;
    const Fate fate = ask(call, moment);
    if (fate.delay.count() > 0) {
      std::array<pollfd, 2> fds{pollfd{.fd = peer, .events = POLLRDHUP, .revents = 0},
                                pollfd{.fd = stop.get(), .events = POLLIN, .revents = 0}};
      if (::poll(fds.data(), fds.size(), static_cast<int>(fate.delay.count())) > 0 && fds[1].revents != 0) return false;
    }
    return !fate.lost;
  }

  void Serve(int peer) {
    std::string asked;
    std::optional<RelayedCall> call;
    while (!call) {
      if (!WaitFor(peer) || !Receive(peer, asked)) return;
      call = CallIn(asked);
    }
    call->at = os::SystemClock().Now();
    {
      const std::lock_guard lock(mutex);
      calls.push_back(*call);
    }
    if (!Pass(*call, Moment::kAsked, peer)) return;
    const os::UniqueFd runtime(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = AddressOf(target);
    if (::connect(runtime.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
    if (SendAll(runtime.get(), asked)) Relay(*call, peer, runtime.get());
  }

  /// Until either side has closed, or the answer is not to arrive.
  void Relay(const RelayedCall& call, int peer, int runtime) const {
    std::string answer;
    for (;;) {
      std::array<pollfd, 3> fds{pollfd{.fd = peer, .events = POLLIN, .revents = 0},
                                pollfd{.fd = runtime, .events = POLLIN, .revents = 0},
                                pollfd{.fd = stop.get(), .events = POLLIN, .revents = 0}};
      if (::poll(fds.data(), fds.size(), -1) < 0) continue;
      if (fds[2].revents != 0) return;
      if (std::string more; fds[0].revents != 0 && (!Receive(peer, more) || !SendAll(runtime, more))) return;
      if (fds[1].revents == 0) continue;
      if (!Receive(runtime, answer)) return;
      while (const auto frame = FirstFrame(answer)) {
        if (frame->ends_stream() && !Pass(call, Moment::kAnswered, peer)) return;
        if (!SendAll(peer, std::string_view(answer).substr(0, frame->size))) return;
        answer.erase(0, frame->size);
      }
    }
  }

  void Accept() {
    std::list<Peer> peers;
    while (WaitFor(listener.get())) {
      const int fd = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      std::erase_if(peers, [](Peer& peer) {
        if (peer.done) peer.thread.join();
        return !peer.thread.joinable();
      });
      Peer& peer = peers.emplace_back();
      peer.thread = std::thread([this, &peer, fd] {
        const os::UniqueFd held(fd);
        Serve(held.get());
        peer.done = true;
      });
    }
    for (Peer& peer : peers) peer.thread.join();
  }
};

CriRelay::CriRelay(const std::string& listen, std::string target) : inner_(std::make_unique<Inner>()) {
  inner_->target = std::move(target);
  inner_->listener = os::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(listen);
  EXPECT_EQ(0, ::bind(inner_->listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address)) << listen;
  EXPECT_EQ(0, ::listen(inner_->listener.get(), 128));
  inner_->acceptor = std::thread([inner = inner_.get()] { inner->Accept(); });
}

CriRelay::~CriRelay() {
  const std::uint64_t one = 1;
  EXPECT_EQ(static_cast<ssize_t>(sizeof one), ::write(inner_->stop.get(), &one, sizeof one));
  inner_->acceptor.join();
}

void CriRelay::SetJudge(Judge judge) {
  const std::lock_guard lock(inner_->mutex);
  inner_->judge = std::move(judge);
}

std::vector<RelayedCall> CriRelay::Calls() const {
  const std::lock_guard lock(inner_->mutex);
  return inner_->calls;
}

std::size_t CriRelay::Count(std::string_view method) const {
  const std::lock_guard lock(inner_->mutex);
  return static_cast<std::size_t>(std::ranges::count(inner_->calls, method, &RelayedCall::method));
}

}  // namespace berth::testkit
