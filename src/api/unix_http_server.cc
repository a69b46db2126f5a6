#include "api/unix_http_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "os/clock.h"
#include "os/poll.h"
#include "os/unique_fd.h"

namespace berth::api {
namespace {

// What is overridden and called below is not part of the library's interface.
static_assert(std::string_view(CPPHTTPLIB_VERSION).starts_with("0.11."), "look at httplib::Server of this version");

/// Waits for `events` or the connection's end.
bool WaitFor(int fd, short events, os::Millis limit) {
  const auto happened = os::WaitFor(fd, events, os::SystemClock().Now() + limit);
  return happened && *happened;
}

/// Bytes of one connection; each wait for the other side is limited.
class ConnectionStream final : public httplib::Stream {
 public:
  ConnectionStream(int fd, os::Millis read_limit, os::Millis write_limit)
      : fd_(fd), read_limit_(read_limit), write_limit_(write_limit) {}

  bool is_readable() const override { return at_ < end_ || WaitFor(fd_, POLLIN, read_limit_); }
  bool is_writable() const override { return WaitFor(fd_, POLLOUT, write_limit_); }

  ssize_t read(char* out, std::size_t room) override {
    if (at_ == end_ && !Fill()) return last_;
    const std::size_t n = std::min(room, end_ - at_);
    std::copy_n(buffer_.data() + at_, n, out);
    at_ += n;
    return static_cast<ssize_t>(n);
  }

  /// All of it, or -1.
  ssize_t write(const char* bytes, std::size_t size) override {
    for (std::size_t done = 0; done < size;) {
      if (!is_writable()) return -1;
      const ssize_t n = ::send(fd_, bytes + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) {
        done += static_cast<std::size_t>(n);
      } else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
        return -1;
      }
    }
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = fd_;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = -1;
  }
  socket_t socket() const override { return fd_; }

 private:
  /// False: nothing came; last_ says why, as read(2) does.
  bool Fill() {
    last_ = -1;
    do {
      if (!WaitFor(fd_, POLLIN, read_limit_)) return false;
      last_ = ::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    } while (last_ < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK));
    at_ = 0;
    end_ = last_ > 0 ? static_cast<std::size_t>(last_) : 0;
    return last_ > 0;
  }

  const int fd_;
  const os::Millis read_limit_;
  const os::Millis write_limit_;
  std::array<char, 4096> buffer_{};
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  ssize_t last_ = 0;
};

os::Millis Limit(time_t seconds, time_t us) { return os::Millis(seconds * 1'000 + us / 1'000); }

}  // namespace

bool UnixHttpServer::process_and_close_socket(socket_t connection) {
  const os::UniqueFd fd(connection);
  bool answered = false;
  // One that came while the server stops gets no answer.
  if (svr_sock_ != INVALID_SOCKET && WaitFor(fd.get(), POLLIN, Limit(keep_alive_timeout_sec_, 0))) {
    ConnectionStream stream(fd.get(), Limit(read_timeout_sec_, read_timeout_usec_),
                            Limit(write_timeout_sec_, write_timeout_usec_));
    bool closed = false;
    answered = process_request(stream, /*close_connection=*/true, closed, nullptr);
  }
  ::shutdown(fd.get(), SHUT_RDWR);
  return answered;
}

}  // namespace berth::api
