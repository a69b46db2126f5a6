#include "testing/raw_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>

#include "os/poll.h"

namespace berth::testkit {

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string ReceiveAll(int fd, std::string_view until) {
  const os::MonoTime deadline = os::SystemClock().Now() + std::chrono::minutes(1);
  std::string out;
  for (std::array<char, 4096> buffer{};;) {
    if (!until.empty() && out.ends_with(until)) return out;
    if (!os::WaitFor(fd, POLLIN, deadline).value_or(false)) return out;
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0) return out;
    out.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

RawServer::RawServer(std::function<void(int)> talk) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener_.get(), 8), 0);
  EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this, talk = std::move(talk)] { Serve(talk); });
}

RawServer::RawServer(std::string bytes)
    : RawServer([bytes = std::move(bytes)](int fd) {
        ReceiveAll(fd, "\r\n\r\n");
        SendAll(fd, bytes);
      }) {}

RawServer::~RawServer() {
  ::shutdown(listener_.get(), SHUT_RDWR);  // ends accept
  thread_.join();
}

void RawServer::Serve(const std::function<void(int)>& talk) const {
  for (;;) {
    const os::UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.valid()) return;
    talk(fd.get());
  }
}

}  // namespace berth::testkit
