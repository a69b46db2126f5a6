#include "rpc/grpc/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace berth::grpc {
namespace {

constexpr std::size_t kMostUnsent = std::size_t{64} << 10;
constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;
constexpr int kMostReads = 4;  // in a row: other connections have their turn
constexpr os::Millis kLongestGreeting{10'000};
constexpr const char* kClosed = "the connection was closed without an answer";

}  // namespace

Result<std::shared_ptr<Connection>> Connection::Make(Side side, std::unique_ptr<Transport> transport,
                                                     const Limits& limits, const Keepalive& keepalive, std::string peer,
                                                     Wake wake) {
  BERTH_TRY(auto session, Session::Make(side, limits, std::move(peer)));
  return std::shared_ptr<Connection>(
      new Connection(std::move(transport), std::move(session), limits, keepalive, side, std::move(wake)));
}

// ---- the thread of the Io ----

Watched::Wants Connection::Prepare(os::MonoTime) {
  const MutexLock lock(mutex_);
  Wants out{.events = static_cast<short>(full_ ? POLLIN | POLLOUT : POLLIN)};
  const auto ask = [&](os::MonoTime at) { out.at = std::min(out.at.value_or(at), at); };
  if (closed_) ask({});
  if (side_ == Side::kServer && !session_->greeted()) ask(opened_at_ + kLongestGreeting);
  for (const auto& [id, stream] : session_->streams())
    if (stream->deadline && !stream->over) ask(*stream->deadline);
  if (pinged_at_) {
    ask(*pinged_at_ + keepalive_.patience);
  } else if (keepalive_.every && !session_->streams().empty()) {
    ask(heard_at_ + *keepalive_.every);
  }
  return out;
}

bool Connection::Serve(short happened, os::MonoTime now) {
  const MutexLock lock(mutex_);
  if ((happened & POLLOUT) != 0) full_ = false;
  if ((happened & ~POLLOUT) != 0 && !closed_) {
    heard_at_ = now;
    Receive();
  }
  if (side_ == Side::kServer && !session_->greeted() && now >= opened_at_ + kLongestGreeting)
    Close("the other side said nothing");
  EndLate(now);
  KeepAlive(now);
  Flush();
  if (session_->finished()) Close(kClosed);
  return !closed_;
}

void Connection::EndLate(os::MonoTime now) {
  if (side_ != Side::kServer) return;
  for (const auto& [id, stream] : session_->streams())
    if (stream->deadline && now >= *stream->deadline) session_->Expire(*stream);
}

void Connection::KeepAlive(os::MonoTime now) {
  if (!keepalive_.every || closed_) return;
  if (pinged_at_ && session_->TakePong()) pinged_at_.reset();
  if (pinged_at_ && now >= *pinged_at_ + keepalive_.patience) return Close("the other side does not answer any more");
  if (pinged_at_ || session_->streams().empty() || now < heard_at_ + *keepalive_.every) return;
  session_->Ping();
  pinged_at_ = now;
}

void Connection::Receive() {
  std::array<char, kReadAtOnce> buffer{};
  for (int i = 0; i < kMostReads; ++i) {
    const auto n = transport_->Read(buffer);
    if (!n && n.error().sys != ECONNRESET) return Close("the connection broke: " + n.error().message);
    if (!n || *n == 0) return Close(kClosed);
    if (!*n) return;
    if (const auto taken = session_->Receive({buffer.data(), **n}); !taken) return Close(taken.error().message);
  }
}

/// Sends what is to be sent, as far as it goes.
void Connection::Flush() {
  while (!full_ && !deaf_ && !closed_) {
    session_->Produce();
    if (session_->output().empty()) return;
    const auto n = transport_->Write(session_->output());
    if (!n) {
      deaf_ = true;  // what it said before it closed is still to be read
    } else if (!*n) {
      full_ = true;
      wake_->Signal();
    } else {
      session_->Sent(**n);
    }
  }
}

void Connection::Close(const std::string& why) {
  if (std::exchange(closed_, true)) return;
  session_->Break(why);
  transport_->Shutdown();
  wake_->Signal();
}

// ---- calls ----

bool Connection::accepts() {
  const MutexLock lock(mutex_);
  return !closed_ && !deaf_ && session_->accepts();
}

Result<StreamPtr> Connection::Open(const std::string& method, std::optional<os::MonoTime> deadline,
                                   const std::optional<std::string_view>& message, bool ended) {
  std::optional<os::Millis> left;
  if (deadline) left = std::chrono::ceil<os::Millis>(*deadline - os::SystemClock().Now());
  const MutexLock lock(mutex_);
  const bool idle = session_->streams().empty();
  BERTH_TRY(StreamPtr stream, session_->Open(method, left));
  if (idle && keepalive_.every) {  // silence counts from here, for a thread that waits without a bound
    heard_at_ = os::SystemClock().Now();
    wake_->Signal();
  }
  if (message) session_->Write(*stream, *message);
  if (ended) session_->EndWrites(*stream);
  Flush();
  if (closed_ || deaf_)
    session_->Reset(*stream, session_->NotAnswered(*stream, Code::kUncertain, "the connection broke"));
  return stream;
}

/// Returns what the caller is to be told.
Error Connection::GiveUp(Stream& stream, const Error& why) {
  Error out = session_->NotAnswered(stream, why.code, why.message);
  session_->Reset(stream, out);
  Flush();
  return out;
}

Result<void> Connection::CheckEnd(const Stream& stream) const {
  if (!stream.over) return {};
  if (!stream.outcome) return stream.outcome;
  return Fail(Code::kConflict, "the call has ended");
}

Result<void> Connection::Write(const StreamPtr& stream, std::string_view message, const Patience& patience) {
  const os::EventFd* writable = nullptr;
  for (;;) {
    {
      const MutexLock lock(mutex_);
      BERTH_RETURN_IF_ERROR(CheckEnd(*stream));
      if (message.size() > limits_.message || stream->last)
        return std::unexpected(session_->ErrorOf(
            *stream, Code::kInvalid, stream->last ? "its end was written" : "the message is longer than the limit"));
      if (stream->unsent() <= kMostUnsent) {
        session_->Write(*stream, message);
        Flush();
        return {};
      }
      if (!stream->writable) {
        BERTH_TRY(stream->writable, os::EventFd::Open());
      }
      writable = &*stream->writable;
      writable->Clear();
    }
    const auto waited = WaitFor(*writable, patience);
    if (waited) continue;
    const MutexLock lock(mutex_);
    BERTH_RETURN_IF_ERROR(CheckEnd(*stream));
    return std::unexpected(GiveUp(*stream, waited.error()));
  }
}

void Connection::EndWrites(const StreamPtr& stream) {
  const MutexLock lock(mutex_);
  session_->EndWrites(*stream);
  Flush();
}

/// A message that cannot be taken: no later one can.
Result<void> Connection::CheckFront(Stream& stream) {
  using Front = MessageBuffer::Front;
  const Front front = stream.in.front();
  if (front == Front::kMessage || front == Front::kNothing) return {};
  const char* const why = front == Front::kCompressed ? "the message is compressed, which was not asked for"
                                                      : "the message is longer than the limit";
  if (side_ == Side::kServer) return Fail(front == Front::kCompressed ? Code::kUnsupported : Code::kExhausted, why);
  const Error error = session_->ErrorOf(stream, Code::kUncertain, why);
  session_->Reset(stream, error);
  Flush();
  return std::unexpected(error);
}

Result<std::optional<std::string>> Connection::Read(const StreamPtr& stream, const Patience& patience) {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      BERTH_RETURN_IF_ERROR(CheckFront(*stream));
      if (auto message = session_->Take(*stream)) {
        Flush();
        return message;
      }
      if (stream->over && !stream->outcome) return std::unexpected(stream->outcome.error());
      if (stream->over || stream->peer_done) {
        if (stream->in.empty()) return std::nullopt;
        return std::unexpected(session_->ErrorOf(*stream, side_ == Side::kServer ? Code::kInvalid : Code::kInternal,
                                                 "it ends in the middle of a message"));
      }
      stream->event.Clear();
    }
    const auto waited = WaitFor(stream->event, patience);
    if (waited) continue;
    const MutexLock lock(mutex_);
    if (stream->over || stream->in.front() != MessageBuffer::Front::kNothing) continue;
    return std::unexpected(GiveUp(*stream, waited.error()));
  }
}

void Connection::Cancel(const StreamPtr& stream) {
  const MutexLock lock(mutex_);
  if (!stream->over) GiveUp(*stream, {.code = Code::kCancelled, .sys = 0, .message = "given up"});
}

// ---- of a server ----

std::vector<StreamPtr> Connection::TakeTouched() {
  const MutexLock lock(mutex_);
  return session_->TakeTouched();
}

void Connection::Refuse(const StreamPtr& stream) {
  const MutexLock lock(mutex_);
  session_->Refuse(*stream);
  Flush();
}

void Connection::SetDeadline(const StreamPtr& stream, os::MonoTime deadline) {
  const MutexLock lock(mutex_);
  stream->deadline = deadline;
}

void Connection::Answer(const StreamPtr& stream, const std::optional<std::string_view>& message, Status status) {
  const MutexLock lock(mutex_);
  if (stream->over || stream->last) return;
  if (message && message->size() > limits_.message) {
    status = {StatusCode::kResourceExhausted, "the answer is longer than the limit"};
  } else if (message) {
    session_->Write(*stream, *message);
  }
  session_->Finish(*stream, std::move(status));
  Flush();
}

void Connection::Abort(const StreamPtr& stream) {
  const MutexLock lock(mutex_);
  session_->Reset(*stream, session_->ErrorOf(*stream, Code::kCancelled, "broken off"));
  Flush();
}

bool Connection::over(const Stream& stream) {
  const MutexLock lock(mutex_);
  return stream.over;
}

bool Connection::IsWhole(const Stream& stream) {
  const MutexLock lock(mutex_);
  const MessageBuffer::Front front = stream.in.front();
  return stream.over || stream.peer_done || front == MessageBuffer::Front::kCompressed ||
         front == MessageBuffer::Front::kTooLong;
}

bool Connection::WaitOver(const StreamPtr& stream, std::optional<os::MonoTime> until) {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      if (stream->over || std::exchange(stream->woken, false)) return stream->over;
      stream->event.Clear();
    }
    if (!WaitFor(stream->event, {.deadline = until})) return over(*stream);
  }
}

void Connection::WakeStream(const StreamPtr& stream) {
  const MutexLock lock(mutex_);
  stream->woken = true;
  stream->event.Signal();
}

Result<int> Connection::GoneFd(const StreamPtr& stream) {
  const MutexLock lock(mutex_);
  if (!stream->gone) {
    BERTH_TRY(stream->gone, os::EventFd::Open());
    if (stream->over) stream->gone->Signal();
  }
  return stream->gone->get();
}

std::optional<os::MonoTime> Connection::IdleSince() {
  const MutexLock lock(mutex_);
  if (closed_ || !session_->streams().empty()) return std::nullopt;
  return heard_at_;
}

void Connection::Leave() {
  const MutexLock lock(mutex_);
  session_->Leave();
  Flush();
}

void Connection::Break(const std::string& why) {
  const MutexLock lock(mutex_);
  Close(why);
}

}  // namespace berth::grpc
