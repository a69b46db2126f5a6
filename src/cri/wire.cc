#include "cri/wire.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "os/poll.h"
#include "os/unique_fd.h"

namespace berth::cri {
namespace {

constexpr std::size_t kPrefix = 5;  // compression flag and length before each message
constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;

// Status codes of gRPC.
constexpr int kOk = 0;
constexpr int kNoStatus = -1;
constexpr int kInvalidArgument = 3;
constexpr int kDeadlineExceeded = 4;
constexpr int kNotFoundStatus = 5;
constexpr int kPermissionDenied = 7;
constexpr int kResourceExhausted = 8;
constexpr int kUnimplemented = 12;
constexpr int kUnavailable = 14;

Code CodeOfStatus(int status) {
  switch (status) {
    case kInvalidArgument: return Code::kInvalid;
    case kNotFoundStatus: return Code::kNotFound;
    case kPermissionDenied: return Code::kPermission;
    case kResourceExhausted: return Code::kExhausted;
    case kUnimplemented: return Code::kUnsupported;
    case kDeadlineExceeded: return Code::kTimeout;
    case kUnavailable: return Code::kUncertain;
    default: return Code::kInternal;
  }
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// Text of grpc-message: percent-encoded; what is no encoding stays as it is.
std::string DecodePercent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string Framed(std::string_view message) {
  std::string out(1, '\0');
  const auto size = static_cast<std::uint32_t>(message.size());
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>((size >> shift) & 0xFFU);
  return out.append(message);
}

/// One call on one connection.
class Exchange {
 public:
  Exchange(const CallTarget& target, std::string_view request, std::optional<os::MonoTime> deadline)
      : target_(target), body_(Framed(request)), deadline_(deadline) {}

  /// Until the answer has ended, or `take` says enough.
  Result<void> Run(const std::function<bool(std::string_view)>& take);

 private:
  Result<void> Connect();
  Result<void> Open();
  Result<void> SubmitRequest();
  Result<void> Turn();
  Result<void> Send();
  Result<void> Receive();
  bool IsUnwanted() const;
  Result<bool> WaitFor(short events, short& happened);
  Result<void> TakeMessages(const std::function<bool(std::string_view)>& take);
  Result<void> Judge() const;
  std::unexpected<Error> NoAnswer(const std::string& why, Code code = Code::kUncertain) const;

  static ssize_t ReadBody(nghttp2_session*, std::int32_t, std::uint8_t* out, std::size_t room, std::uint32_t* flags,
                          nghttp2_data_source*, void* self);
  static int OnHeader(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* self);
  static int OnData(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* data, std::size_t size,
                    void* self);
  static int OnClose(nghttp2_session*, std::int32_t, std::uint32_t error, void* self);

  const CallTarget& target_;
  std::string body_;
  std::size_t body_sent_ = 0;
  std::optional<os::MonoTime> deadline_;
  os::UniqueFd socket_;
  std::unique_ptr<nghttp2_session, void (*)(nghttp2_session*)> session_{nullptr, nghttp2_session_del};
  std::string to_send_;
  std::string received_;  // of the answer's body, not taken yet
  int status_ = kNoStatus;
  std::string status_text_;
  std::string http_status_;
  bool closed_ = false;
  bool enough_ = false;
};

ssize_t Exchange::ReadBody(nghttp2_session*, std::int32_t, std::uint8_t* out, std::size_t room, std::uint32_t* flags,
                           nghttp2_data_source*, void* self) {
  auto& x = *static_cast<Exchange*>(self);
  const std::size_t n = std::min(room, x.body_.size() - x.body_sent_);
  std::memcpy(out, x.body_.data() + x.body_sent_, n);
  x.body_sent_ += n;
  if (x.body_sent_ == x.body_.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(n);
}

int Exchange::OnHeader(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* self) {
  auto& x = *static_cast<Exchange*>(self);
  const std::string_view key(reinterpret_cast<const char*>(name), name_size);
  const std::string_view text(reinterpret_cast<const char*>(value), value_size);
  if (key == ":status") x.http_status_ = text;
  if (key == "grpc-status") x.status_ = ParseDecimal<int>(text).value_or(kNoStatus);
  if (key == "grpc-message") x.status_text_ = DecodePercent(text);
  return 0;
}

int Exchange::OnData(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* data, std::size_t size,
                     void* self) {
  auto& x = *static_cast<Exchange*>(self);
  if (x.received_.size() + size > kLongestMessage + kPrefix) return NGHTTP2_ERR_CALLBACK_FAILURE;
  x.received_.append(reinterpret_cast<const char*>(data), size);
  return 0;
}

int Exchange::OnClose(nghttp2_session*, std::int32_t, std::uint32_t, void* self) {
  static_cast<Exchange*>(self)->closed_ = true;
  return 0;
}

std::unexpected<Error> Exchange::NoAnswer(const std::string& why, Code code) const {
  return Fail(code, "call " + target_.method + " at " + target_.socket + ": " + why);
}

Result<void> Exchange::Connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (target_.socket.size() >= sizeof address.sun_path)
    return Fail(Code::kInvalid, "the path of the runtime's socket is too long: " + Printable(target_.socket));
  std::memcpy(address.sun_path, target_.socket.data(), target_.socket.size());
  socket_ = os::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_.valid()) return FailErrno("create a socket", "", errno);
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return {};
  const int sys = errno;
  Error error = FailErrno("connect to the container runtime at", target_.socket, sys).error();
  error.code = Code::kUnreachable;  // kNotFound is an answer of the runtime
  return std::unexpected(std::move(error));
}

Result<void> Exchange::Open() {
  BERTH_RETURN_IF_ERROR(Connect());
  nghttp2_session_callbacks* made = nullptr;
  if (nghttp2_session_callbacks_new(&made) != 0) return Fail(Code::kExhausted, "no memory for a call");
  const std::unique_ptr<nghttp2_session_callbacks, void (*)(nghttp2_session_callbacks*)> callbacks(
      made, nghttp2_session_callbacks_del);
  nghttp2_session_callbacks_set_on_header_callback(made, OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, OnData);
  nghttp2_session_callbacks_set_on_stream_close_callback(made, OnClose);
  nghttp2_session* session = nullptr;
  if (nghttp2_session_client_new(&session, made, this) != 0) return Fail(Code::kExhausted, "no memory for a call");
  session_.reset(session);
  return SubmitRequest();
}

Result<void> Exchange::SubmitRequest() {
  std::vector<std::pair<std::string, std::string>> fields = {
      {":method", "POST"},         {":scheme", "http"}, {":path", target_.method},
      {":authority", "localhost"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
  if (deadline_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - os::SystemClock().Now()).count();
    fields.emplace_back("grpc-timeout", std::to_string(std::clamp<std::int64_t>(left, 1, 99'999'999)) + "m");
  }
  std::vector<nghttp2_nv> headers;
  for (auto& [name, value] : fields)
    headers.push_back({.name = reinterpret_cast<std::uint8_t*>(name.data()),
                       .value = reinterpret_cast<std::uint8_t*>(value.data()),
                       .namelen = name.size(),
                       .valuelen = value.size(),
                       .flags = NGHTTP2_NV_FLAG_NONE});
  nghttp2_data_provider body{};
  body.read_callback = ReadBody;
  const bool settings = nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, nullptr, 0) == 0;
  if (!settings || nghttp2_submit_request(session_.get(), nullptr, headers.data(), headers.size(), &body, nullptr) < 0)
    return Fail(Code::kExhausted, "no memory for a call");
  return {};
}

bool Exchange::IsUnwanted() const {
  std::array<pollfd, 2> fds{pollfd{.fd = target_.cancel_fd, .events = POLLIN, .revents = 0},
                            pollfd{.fd = target_.caller_fd, .events = 0, .revents = 0}};
  return ::poll(fds.data(), fds.size(), 0) > 0;
}

/// False: the deadline passed. Errors: kCancelled when the call was given up.
Result<bool> Exchange::WaitFor(short events, short& happened) {
  for (;;) {
    const os::MonoTime now = os::SystemClock().Now();
    if (deadline_ && now >= *deadline_) return false;
    const bool firm = now < target_.give_up_from;
    std::optional<os::MonoTime> end = deadline_;
    if (firm) end = std::min(end.value_or(target_.give_up_from), target_.give_up_from);
    std::array<pollfd, 3> fds{pollfd{.fd = socket_.get(), .events = events, .revents = 0},
                              pollfd{.fd = firm ? -1 : target_.cancel_fd, .events = POLLIN, .revents = 0},
                              pollfd{.fd = firm ? -1 : target_.caller_fd, .events = 0, .revents = 0}};
    const int n = ::poll(fds.data(), fds.size(), os::PollTime(now, end));
    if (n < 0 && errno != EINTR) return NoAnswer(std::string("poll: ") + std::strerror(errno));
    if (n <= 0) continue;
    if (fds[1].revents != 0) return NoAnswer("given up", Code::kCancelled);
    if (fds[2].revents != 0) return NoAnswer("given up: whoever asked for it is gone", Code::kCancelled);
    happened = fds[0].revents;
    return true;
  }
}

Result<void> Exchange::Send() {
  while (!to_send_.empty()) {
    const ssize_t n = ::send(socket_.get(), to_send_.data(), to_send_.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (n < 0) {  // what the other side said before it closed is still to be read
      to_send_.clear();
      return {};
    }
    to_send_.erase(0, static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> Exchange::Receive() {
  std::array<std::uint8_t, kReadAtOnce> buffer{};
  const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return {};
  if (n < 0 && errno != ECONNRESET) return NoAnswer(std::string("the connection broke: ") + std::strerror(errno));
  if (n <= 0) return NoAnswer("the connection was closed without an answer; is this a container runtime?");
  const ssize_t taken = nghttp2_session_mem_recv(session_.get(), buffer.data(), static_cast<std::size_t>(n));
  if (taken < 0) return NoAnswer(std::string("this is no gRPC server: ") + nghttp2_strerror(static_cast<int>(taken)));
  return {};
}

/// Sends what is to be sent and takes what has come.
Result<void> Exchange::Turn() {
  for (;;) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t n = nghttp2_session_mem_send(session_.get(), &bytes);
    if (n < 0) return NoAnswer(nghttp2_strerror(static_cast<int>(n)));
    if (n == 0) break;
    to_send_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
  }
  BERTH_RETURN_IF_ERROR(Send());
  short happened = 0;
  BERTH_TRY(const bool in_time, WaitFor(static_cast<short>(POLLIN | (to_send_.empty() ? 0 : POLLOUT)), happened));
  if (!in_time) return NoAnswer("no answer in time", Code::kTimeout);
  if ((happened & ~POLLOUT) != 0) return Receive();
  return {};
}

Result<void> Exchange::TakeMessages(const std::function<bool(std::string_view)>& take) {
  while (received_.size() >= kPrefix && !enough_) {
    std::uint32_t size = 0;
    for (std::size_t i = 1; i < kPrefix; ++i) size = size << 8U | static_cast<std::uint8_t>(received_[i]);
    if (received_[0] != 0) return NoAnswer("the answer is compressed, which was not asked for");
    if (size > kLongestMessage) return NoAnswer("the answer is longer than 16 MiB");
    if (received_.size() < kPrefix + size) return {};
    enough_ = !take(std::string_view(received_).substr(kPrefix, size));
    received_.erase(0, kPrefix + size);
  }
  return {};
}

Result<void> Exchange::Judge() const {
  if (status_ == kOk) return {};
  if (status_ == kNoStatus)
    return NoAnswer(http_status_.empty() || http_status_ == "200" ? "the answer ended without a status"
                                                                  : "HTTP status " + Printable(http_status_, 10));
  return Fail(CodeOfStatus(status_), Printable(status_text_, 2'000));
}

Result<void> Exchange::Run(const std::function<bool(std::string_view)>& take) {
  if (IsUnwanted()) return Fail(Code::kCancelled, "call " + target_.method + ": given up before it was made");
  BERTH_RETURN_IF_ERROR(Open());
  while (!closed_ && !enough_) {
    BERTH_RETURN_IF_ERROR(Turn());
    BERTH_RETURN_IF_ERROR(TakeMessages(take));
  }
  return enough_ ? Result<void>() : Judge();
}

}  // namespace

Result<std::string> Call(const CallTarget& target, std::string_view request, os::MonoTime deadline) {
  Exchange exchange(target, request, deadline);
  std::optional<std::string> answer;
  BERTH_RETURN_IF_ERROR(exchange.Run([&](std::string_view message) {
    answer = message;
    return true;  // the status follows
  }));
  if (!answer) return Fail(Code::kInternal, "call " + target.method + ": the answer has no message");
  return *std::move(answer);
}

Result<void> Listen(const CallTarget& target, std::string_view request,
                    const std::function<bool(std::string_view)>& take) {
  return Exchange(target, request, std::nullopt).Run(take);
}

}  // namespace berth::cri
