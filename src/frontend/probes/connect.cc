#include "frontend/probes/connect.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include "host/os/poll.h"

namespace berth::probes {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

std::string Where(const std::string& host, const std::string& port) { return "dial tcp " + host + ":" + port + ": "; }

Result<Addresses> LookUp(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (failed == EAI_NONAME) {
    hints.ai_flags = AI_NUMERICSERV;
    failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  }
  if (failed != 0) return Fail(Code::kUnreachable, Where(host, port) + ::gai_strerror(failed));
  return Addresses(found);
}

/// Until the connection is made or refused. Returns errno, 0: it is made.
Result<int> Wait(int fd, os::MonoTime deadline, int cancel_fd) {
  for (;;) {
    std::array<pollfd, 2> of = {pollfd{fd, POLLOUT, 0}, pollfd{cancel_fd, POLLIN, 0}};
    const int ready = ::poll(of.data(), of.size(), os::PollTime(os::SystemClock().Now(), deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (of[1].revents != 0) return Fail(Code::kCancelled, "it was given up");
    if (ready == 0 && os::SystemClock().Now() < deadline) continue;  // a long time in parts
    if (ready == 0) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
  }
}

Result<os::UniqueFd> ConnectTo(const addrinfo& at, const std::string& where, os::MonoTime deadline, int cancel_fd) {
  os::UniqueFd fd(::socket(at.ai_family, at.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at.ai_protocol));
  if (!fd.valid()) return FailErrno("make a socket", "", errno);
  // What was only tried leaves nothing behind: no port stays taken by it.
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  int error = 0;
  if (::connect(fd.get(), at.ai_addr, at.ai_addrlen) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      BERTH_TRY(error, Wait(fd.get(), deadline, cancel_fd));
    }
  }
  if (error == 0) return fd;
  const bool late = error == ETIMEDOUT;
  return Fail(late ? Code::kTimeout : Code::kUnreachable,
              where + (late ? "i/o timeout" : "connect: " + std::system_category().message(error)));
}

}  // namespace

Result<os::UniqueFd> Connect(const std::string& host, const std::string& port, os::MonoTime deadline, int cancel_fd) {
  BERTH_TRY(const Addresses addresses, LookUp(host, port));
  const std::string where = Where(host, port);
  Result<os::UniqueFd> last = Fail(Code::kUnreachable, where + "no address");
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    last = ConnectTo(*at, where, deadline, cancel_fd);
    if (last || last.error().code == Code::kCancelled || last.error().code == Code::kTimeout) return last;
  }
  return last;
}

}  // namespace berth::probes
