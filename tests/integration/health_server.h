// A server of grpc.health.v1.Health on the loopback that says what a test wants, for probes.
#ifndef BERTH_TESTS_INTEGRATION_HEALTH_SERVER_H_
#define BERTH_TESTS_INTEGRATION_HEALTH_SERVER_H_

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>

#include "host/os/unique_fd.h"
#include "testing/fixtures.h"
#include "testing/raw_server.h"
#include "testing/scripted_grpc_server.h"

namespace berth::testkit {

class HealthServer {
 public:
  static constexpr char kServing = 1;
  static constexpr char kNotServing = 2;

  HealthServer()
      : grpc_(folder_ / "health.sock", [this](const GrpcRequest& request) { return Answer(request); }),
        front_([this](int fd) { Forward(fd); }) {}

  int port() const { return front_.port(); }
  void Say(char status) { status_ = status; }
  /// The last request: method and message.
  std::string asked() const {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

 private:
  GrpcAnswer Answer(const GrpcRequest& request) {
    const std::scoped_lock lock(mutex_);
    asked_ = request.method + " " + request.message;
    return {.body = GrpcFrame(std::string("\x08") + status_.load())};
  }

  /// Until either side closes.
  void Forward(int fd) const {
    const os::UniqueFd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, (folder_ / "health.sock").c_str(), sizeof address.sun_path - 1);
    if (::connect(server.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
    std::array<pollfd, 2> both{pollfd{.fd = fd, .events = POLLIN, .revents = 0},
                               pollfd{.fd = server.get(), .events = POLLIN, .revents = 0}};
    std::array<char, 4096> bytes{};
    while (::poll(both.data(), both.size(), -1) > 0)
      for (std::size_t side = 0; side < both.size(); ++side) {
        if (both[side].revents == 0) continue;
        const ssize_t count = ::read(both[side].fd, bytes.data(), bytes.size());
        if (count <= 0 || !SendAll(both[1 - side].fd, {bytes.data(), static_cast<std::size_t>(count)})) return;
      }
  }

  TempDir folder_;
  std::atomic<char> status_ = kServing;
  mutable std::mutex mutex_;
  std::string asked_;
  GrpcServer grpc_;
  RawServer front_;  // ends first
};

}  // namespace berth::testkit

#endif  // BERTH_TESTS_INTEGRATION_HEALTH_SERVER_H_
