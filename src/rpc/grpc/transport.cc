#include "rpc/grpc/transport.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace berth::grpc {
namespace {

constexpr int kBacklog = 128;

class SocketPipe final : public Transport {
 public:
  explicit SocketPipe(os::UniqueFd socket) : socket_(std::move(socket)) {}
  int fd() const override { return socket_.get(); }
  Result<std::optional<std::size_t>> Read(std::span<char> into) override {
    return Moved(::recv(socket_.get(), into.data(), into.size(), 0), "receive");
  }
  Result<std::optional<std::size_t>> Write(std::string_view bytes) override {
    return Moved(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), "send");
  }
  void Shutdown() override { ::shutdown(socket_.get(), SHUT_RDWR); }

 private:
  static Result<std::optional<std::size_t>> Moved(ssize_t n, const char* doing) {
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return std::nullopt;
    return FailErrno(doing, "", errno);
  }
  os::UniqueFd socket_;
};

Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof out.sun_path)
    return Fail(Code::kInvalid, "the path of the socket is empty or too long: " + Printable(path));
  std::memcpy(out.sun_path, path.data(), path.size());
  return out;
}

Result<os::UniqueFd> UnixSocket() {
  os::UniqueFd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.valid()) return FailErrno("create a socket", "", errno);
  return out;
}

/// Who looks for sockets in the folder, as the kubelet does for plug-ins, passes over hidden ones.
std::string HiddenBeside(const std::string& path) {
  const std::size_t name = path.rfind('/') + 1;
  return path.substr(0, name) + "." + path.substr(name) + "~";
}

Result<std::unique_ptr<Transport>> ConnectUnix(const std::string& path) {
  BERTH_TRY(const sockaddr_un address, AddressOf(path));
  auto socket = UnixSocket();
  const bool connected =
      socket && ::connect(socket->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (connected) return SocketTransport(*std::move(socket));
  Error error = socket ? FailErrno("connect to", path, errno).error() : socket.error();
  error.code = Code::kUnreachable;  // other codes are answers of whoever listens there
  return std::unexpected(std::move(error));
}

}  // namespace

std::unique_ptr<Transport> SocketTransport(os::UniqueFd socket) {
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  return std::make_unique<SocketPipe>(std::move(socket));
}

Connector UnixConnector(std::string path) {
  return [path = std::move(path)] { return ConnectUnix(path); };
}

Result<UnixListener> UnixListener::Open(const std::string& path, unsigned mode) {
  const std::string unnamed = HiddenBeside(path);
  BERTH_TRY(const sockaddr_un address, AddressOf(unnamed));
  const auto answer = ConnectUnix(path);
  if (answer) return Fail(Code::kInUse, path + ": somebody listens there already");
  if (const int sys = answer.error().sys; sys != ECONNREFUSED && sys != ENOENT && sys != ENOTDIR)
    return Fail(Code::kInUse, path + ": somebody may listen there: " + answer.error().message);
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode))
    return Fail(Code::kInvalid, path + ": this is no socket; it is not replaced");
  BERTH_TRY(os::UniqueFd socket, UnixSocket());
  ::unlink(unnamed.c_str());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return FailErrno("bind a socket to", unnamed, errno);
  UnixListener out(std::move(socket), path);
  if (::chmod(unnamed.c_str(), mode) == 0 && ::listen(out.fd(), kBacklog) == 0 &&
      ::lstat(unnamed.c_str(), &info) == 0 && std::rename(unnamed.c_str(), path.c_str()) == 0) {
    out.device_ = info.st_dev;
    out.inode_ = info.st_ino;
    return out;
  }
  const int sys = errno;
  ::unlink(unnamed.c_str());
  return FailErrno("listen at", path, sys);
}

bool UnixListener::HasItsFile() const {
  struct stat info{};
  return ::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

UnixListener::~UnixListener() {
  if (socket_.valid() && HasItsFile()) ::unlink(path_.c_str());
}

}  // namespace berth::grpc
