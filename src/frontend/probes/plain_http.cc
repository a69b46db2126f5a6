#include "frontend/probes/plain_http.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

#include "frontend/probes/connect.h"
#include "host/os/poll.h"
#include "rpc/http/url.h"

namespace berth::probes {
namespace {

// The beginning of a TLS handshake, and an end of line for who reads lines: no server takes it for more than a mistake.
constexpr std::string_view kMistake{"\x16\x03\x01\x00\x02\r\n\r\n", 9};
constexpr std::string_view kAnswer = "HTTP/";

/// False: the deadline has passed, or it was given up.
bool WaitToRead(int fd, os::MonoTime deadline, int cancel_fd) {
  for (;;) {
    std::array<pollfd, 2> of = {pollfd{fd, POLLIN, 0}, pollfd{cancel_fd, POLLIN, 0}};
    const os::MonoTime now = os::SystemClock().Now();
    const int ready = ::poll(of.data(), of.size(), os::PollTime(now, deadline));
    if (of[1].revents != 0 || (ready < 0 && errno != EINTR)) return false;
    if (ready > 0) return true;
    if (now >= deadline) return false;
  }
}

}  // namespace

bool SpeaksPlainHttp(std::string_view url, os::MonoTime deadline, int cancel_fd) {
  const auto at = http::ParseUrl(url, "url", "");
  if (!at) return false;
  const auto connected = Connect(at->host, std::to_string(at->port), deadline, cancel_fd);
  if (!connected || ::send(connected->get(), kMistake.data(), kMistake.size(), MSG_NOSIGNAL) < 0) return false;
  std::array<char, kAnswer.size()> seen{};
  std::size_t size = 0;
  while (size < seen.size() && WaitToRead(connected->get(), deadline, cancel_fd)) {
    const ssize_t n = ::recv(connected->get(), seen.data() + size, seen.size() - size, 0);
    if (n <= 0) return false;
    size += static_cast<std::size_t>(n);
  }
  return std::string_view(seen.data(), size) == kAnswer;
}

}  // namespace berth::probes
