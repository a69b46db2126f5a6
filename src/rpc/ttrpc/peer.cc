#include "rpc/ttrpc/peer.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "host/os/event_fd.h"

namespace berth::ttrpc {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;
constexpr int kMostReads = 16;  // in a row: answers that wait have their turn
/// What is not taken by the other side. It is heard again when it has taken some: what it asks costs it an answer.
constexpr std::size_t kMostUnsent = 2 * kLongestData;

/// A call of this side, for the thread that waits.
struct Waiting {
  explicit Waiting(os::EventFd event_) : event(std::move(event_)) {}
  os::EventFd event;
  std::optional<Result<std::string>> outcome;
};

}  // namespace

/// The session behind a mutex, with the transport its bytes go through. Whoever has something to send sends it at once;
/// the thread of the Io reads, and sends what did not fit.
class Peer::Link final : public grpc::Watched, public std::enable_shared_from_this<Link> {
 public:
  Link(std::unique_ptr<grpc::Transport> transport, std::string name, const PeerOptions& options, os::EventFd ended,
       grpc::Wake wake, Peer& peer)
      : transport_(std::move(transport)),
        wake_(std::move(wake)),
        ended_(std::move(ended)),
        peer_(peer),
        session_(options.lanes, options.limits, std::move(name)) {}

  int fd() const override { return transport_->fd(); }
  Wants Prepare(os::MonoTime) override BERTH_EXCLUDES(mutex_);
  bool Serve(short happened, os::MonoTime now) override BERTH_EXCLUDES(mutex_);

  Result<std::string> Call(const Request& request, const grpc::Patience& patience) BERTH_EXCLUDES(mutex_);
  void Answer(std::uint32_t stream, const Reply& reply) BERTH_EXCLUDES(mutex_);
  void Break(const std::string& why) BERTH_EXCLUDES(mutex_);
  int ended_fd() const { return ended_.get(); }
  std::optional<std::string> ended() const BERTH_EXCLUDES(mutex_);

 private:
  void Flush() BERTH_REQUIRES(mutex_);
  void Receive() BERTH_REQUIRES(mutex_);
  void HandOver() BERTH_REQUIRES(mutex_);
  void Close(const std::string& why) BERTH_REQUIRES(mutex_);

  const std::unique_ptr<grpc::Transport> transport_;
  const grpc::Wake wake_;
  const os::EventFd ended_;
  Peer& peer_;
  mutable Mutex mutex_;
  Session session_ BERTH_GUARDED_BY(mutex_);
  std::map<std::uint32_t, std::shared_ptr<Waiting>> waiting_ BERTH_GUARDED_BY(mutex_);
  bool full_ BERTH_GUARDED_BY(mutex_) = false;  // the transport takes nothing now
  bool deaf_ BERTH_GUARDED_BY(mutex_) = false;  // the other side takes nothing any more
  std::optional<std::string> why_ended_ BERTH_GUARDED_BY(mutex_);
};

// ---- the thread of the Io ----

grpc::Watched::Wants Peer::Link::Prepare(os::MonoTime now) {
  const MutexLock lock(mutex_);
  Wants out;
  if (session_.output().size() <= kMostUnsent) out.events |= POLLIN;
  if (full_) out.events |= POLLOUT;
  if (why_ended_) out.at = now;
  return out;
}

bool Peer::Link::Serve(short happened, os::MonoTime) {
  std::vector<Session::Incoming> requests;
  bool goes_on = true;
  {
    const MutexLock lock(mutex_);
    if ((happened & POLLOUT) != 0) full_ = false;
    if ((happened & ~POLLOUT) != 0 && !why_ended_) Receive();
    Flush();
    HandOver();
    requests = session_.TakeRequests();
    goes_on = !why_ended_;
  }
  for (Session::Incoming& incoming : requests) peer_.Arrived(shared_from_this(), std::move(incoming));
  return goes_on;
}

void Peer::Link::Receive() {
  std::array<char, kReadAtOnce> buffer{};
  for (int i = 0; i < kMostReads; ++i) {
    const auto n = transport_->Read(buffer);
    if (!n && n.error().sys != ECONNRESET) return Close("the connection broke: " + n.error().message);
    if (!n || *n == 0) return Close("the connection was closed by the other side");
    if (!*n) return;
    if (const auto taken = session_.Receive({buffer.data(), **n}); !taken) return Close(taken.error().message);
  }
}

/// Sends what is to be sent, as far as it goes.
void Peer::Link::Flush() {
  while (!full_ && !deaf_ && !why_ended_ && !session_.output().empty()) {
    const auto n = transport_->Write(session_.output());
    if (!n) {
      deaf_ = true;  // what it said before it closed is still to be read
    } else if (!*n) {
      full_ = true;
      wake_->Signal();
    } else {
      session_.Sent(**n);
    }
  }
}

/// Gives outcomes to those who wait for them.
void Peer::Link::HandOver() {
  for (Session::Ended& ended : session_.TakeEnded()) {
    const auto found = waiting_.find(ended.call);
    if (found == waiting_.end()) continue;
    found->second->outcome = std::move(ended.outcome);
    found->second->event.Signal();
    waiting_.erase(found);
  }
}

void Peer::Link::Close(const std::string& why) {
  if (why_ended_) return;
  why_ended_ = why;
  session_.Break(why);
  HandOver();
  transport_->Shutdown();
  ended_.Signal();
  wake_->Signal();
}

// ---- calls ----

Result<std::string> Peer::Link::Call(const Request& request, const grpc::Patience& patience) {
  BERTH_TRY(auto event, os::EventFd::Open());
  const auto waiting = std::make_shared<Waiting>(std::move(event));
  std::uint32_t call = 0;
  {
    const MutexLock lock(mutex_);
    BERTH_TRY(call, session_.Call(request));
    waiting_.emplace(call, waiting);
    Flush();
  }
  const auto waited = grpc::WaitFor(waiting->event, patience);
  const MutexLock lock(mutex_);
  if (waiting->outcome) return *std::move(waiting->outcome);
  waiting_.erase(call);
  return std::unexpected(session_.Forget(call, waited.error()));
}

void Peer::Link::Answer(std::uint32_t stream, const Reply& reply) {
  const MutexLock lock(mutex_);
  session_.Answer(stream, reply);
  Flush();
}

void Peer::Link::Break(const std::string& why) {
  const MutexLock lock(mutex_);
  Close(why);
}

std::optional<std::string> Peer::Link::ended() const {
  const MutexLock lock(mutex_);
  return why_ended_;
}

// ---- the peer ----

Peer::Peer(Handlers handlers, std::unique_ptr<grpc::Io> io, const Limits& limits)
    : handlers_(std::move(handlers)), io_(std::move(io)), workers_({.most = limits.calls}) {}

Result<std::unique_ptr<Peer>> Peer::Start(std::unique_ptr<grpc::Transport> transport, std::string name,
                                          Handlers handlers, const PeerOptions& options) {
  BERTH_TRY(auto io, grpc::Io::Start());
  BERTH_TRY(auto ended, os::EventFd::Open());
  const grpc::Wake wake = io->wake();
  std::unique_ptr<Peer> out(new Peer(std::move(handlers), std::move(io), options.limits));
  out->link_ = std::make_shared<Link>(std::move(transport), std::move(name), options, std::move(ended), wake, *out);
  out->io_->Add(out->link_);
  return out;
}

Peer::~Peer() {
  link_->Break("this side ended it");
  io_->End();
}

/// Of the thread of the Io.
void Peer::Arrived(const std::shared_ptr<Link>& link, Session::Incoming incoming) {
  const std::uint32_t stream = incoming.stream;
  IncomingCall call{.name = incoming.request.service + "/" + incoming.request.method,
                    .deadline = std::nullopt,
                    .arrived = os::SystemClock().Now()};
  if (incoming.request.timeout) {
    constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);
    call.deadline = call.arrived + std::min(*incoming.request.timeout, kLongest);
  }
  const auto handler = handlers_.find(call.name);
  if (handler == handlers_.end()) {
    link->Answer(stream,
                 std::unexpected(grpc::Status(grpc::StatusCode::kUnimplemented, "there is no method " + call.name)));
    return;
  }
  // No more wait than may be open: the session refuses the others.
  workers_.Do([link, stream, &run = handler->second, call = std::move(call),
               payload = std::move(incoming.request.payload)] { link->Answer(stream, run(call, payload)); });
}

Result<std::string> Peer::Call(const std::string& service, const std::string& method, const std::string& payload,
                               const grpc::Patience& patience) {
  Request request{.service = service, .method = method, .payload = payload};
  if (patience.deadline) request.timeout = *patience.deadline - os::SystemClock().Now();
  return link_->Call(request, patience);
}

void Peer::Break(const std::string& why) { link_->Break(why); }
int Peer::ended_fd() const { return link_->ended_fd(); }
std::optional<std::string> Peer::ended() const { return link_->ended(); }

}  // namespace berth::ttrpc
