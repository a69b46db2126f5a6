#include "testing/raw_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>

#include "base/text.h"
#include "host/os/poll.h"

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

RawServer::RawServer(Talk talk) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener_.get(), 64), 0);
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

void RawServer::Serve(const Talk& talk) {
  std::vector<std::thread> talks;
  for (;;) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) break;
    {
      const MutexLock lock(mutex_);
      open_.insert(fd);
    }
    talks.emplace_back([this, &talk, fd] {
      talk(fd);
      const MutexLock lock(mutex_);
      open_.erase(fd);
      ::close(fd);
    });
  }
  {
    const MutexLock lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& each : talks) each.join();
}

RawServer::Talk Answering(std::function<std::string(const RawRequest&)> answer) {
  return [answer = std::move(answer)](int fd) {
    const std::string text = ReceiveAll(fd, "\r\n\r\n");
    if (!text.ends_with("\r\n\r\n")) return;
    const std::vector<std::string_view> lines = Split(text, '\n');
    const std::vector<std::string_view> words = SplitWords(lines.front());
    if (words.size() != 3) return;
    RawRequest request{.method = std::string(words[0]), .target = std::string(words[1]), .headers = {}};
    for (const std::string_view line : lines)
      if (const std::size_t colon = line.find(':'); colon != std::string_view::npos)
        request.headers.emplace(line.substr(0, colon), Trim(line.substr(colon + 1)));
    SendAll(fd, answer(request));
  };
}

std::string HttpText(int status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " It Is So\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers +
         "\r\n" + body;
}

}  // namespace berth::testkit
