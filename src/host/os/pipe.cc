#include "host/os/pipe.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace berth::os {

Result<Pipe> MakePipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return FailErrno("make a pipe", "", errno);
  Pipe pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
  if (::fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0) return FailErrno("make a pipe", "", errno);
  return pipe;
}

Result<SocketPair> MakeSocketPair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()) != 0)
    return FailErrno("make a socket pair", "", errno);
  return SocketPair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace berth::os
