#include "host/os/supervisor_message.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "host/os/poll.h"

namespace berth::os {
namespace {

union Control {
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
  cmsghdr align;
};

// Errors: kTimeout when `deadline` passed.
Result<void> WaitReadable(int socket, std::optional<MonoTime> deadline) {
  const auto came = WaitFor(socket, POLLIN, deadline);
  if (!came) return Wrap(came.error(), "wait for a message");
  return *came ? Result<void>() : Fail(Code::kTimeout, "no answer in time");
}

UniqueFd TakeFd(msghdr& header) {
  UniqueFd out;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(part), sizeof fd);
    out = UniqueFd(fd);
  }
  return out;
}

}  // namespace

Result<void> SendMessage(int socket, std::string_view text, int fd) {
  std::string copy(text.substr(0, kMaxMessage));
  iovec bytes{.iov_base = copy.data(), .iov_len = copy.size()};
  Control control{};
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = control.bytes.size();
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
  }
  for (;;) {
    if (::sendmsg(socket, &header, MSG_NOSIGNAL) >= 0) return {};
    if (errno != EINTR) return FailErrno("send a message", "", errno);
  }
}

Result<std::optional<Message>> ReceiveMessage(int socket, std::optional<MonoTime> deadline) {
  for (;;) {
    BERTH_RETURN_IF_ERROR(WaitReadable(socket, deadline));
    std::array<char, kMaxMessage> buffer;
    iovec bytes{.iov_base = buffer.data(), .iov_len = buffer.size()};
    Control control{};
    msghdr header{};
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    header.msg_control = control.bytes.data();
    header.msg_controllen = control.bytes.size();
    const ssize_t n = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0 && errno != ECONNRESET) return FailErrno("receive a message", "", errno);
    if (n <= 0) return std::optional<Message>();
    Message message;
    message.text.assign(buffer.data(), static_cast<std::size_t>(n));
    message.fd = TakeFd(header);
    return message;
  }
}

}  // namespace berth::os
