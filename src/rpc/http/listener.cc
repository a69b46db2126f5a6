#include "rpc/http/listener.h"

#include <arpa/inet.h>
#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/problems.h"
#include "base/text.h"
#include "host/os/input.h"
#include "host/os/path.h"

namespace berth::http {
namespace {

constexpr const char* kOtherSocket = "; stop that program or choose another socket with --socket";
constexpr const char* kLockSuffix = ".lock";
constexpr int kBacklog = 1024;  // who finds it full is refused at once, over a unix socket

/// The socket API takes every address family through one pointer type.
template <class Address>
const sockaddr* AsSocketAddress(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Result<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return Fail(Code::kInvalid,
                "socket path '" + path + "' must have 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes");
  std::ranges::copy(path, address.sun_path);
  return address;
}

/// There is a socket that a dead server left, if nobody is about to listen on it. Errors: somebody listens there or
/// may.
Result<bool> LooksStale(const std::string& path) {
  const Error probe = ProbeSocket(path);
  if (probe.code == Code::kInvalid) return std::unexpected(probe);
  if (probe.code == Code::kInUse) return Fail(Code::kInUse, probe.message + kOtherSocket);
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return false;
  if (!S_ISSOCK(info.st_mode))
    return Fail(Code::kInvalid, path + " exists and is not a socket; remove it or choose another socket");
  if (probe.code != Code::kUnreachable)  // nobody knows whether somebody listens
    return Fail(Code::kInUse, "somebody may listen on socket " + path + " (" + probe.message + ")" + kOtherSocket);
  return true;
}

/// nullopt: none is named.
Result<std::optional<gid_t>> GroupOf(const std::string& name) {
  if (name.empty()) return std::nullopt;
  group entry{};
  group* found = nullptr;
  std::array<char, 16384> buffer{};
  const int error = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr)
    return BadSetting("socketGroup", "no group '" + Printable(name) + "' on this host" +
                                         (error != 0 ? " (" + std::to_string(error) + ")" : ""));
  return found->gr_gid;
}

Result<void> SetGroup(const std::string& path, const std::string& name) {
  BERTH_TRY(const std::optional<gid_t> group, GroupOf(name));
  if (group && ::chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0)
    return FailErrno("give to group " + name + " the socket", path, errno);
  return {};
}

/// Nobody can connect before listen(2): until then the file gets the group and the mode it shall have.
Result<void> OpenToGroup(int fd, const std::string& path, const std::string& group) {
  BERTH_RETURN_IF_ERROR(SetGroup(path, group));
  if (::chmod(path.c_str(), 0660) != 0) return FailErrno("set the mode of socket", path, errno);
  if (::listen(fd, kBacklog) != 0) return FailErrno("listen on socket", path, errno);
  return {};
}

template <class Address>
Result<Listener> BindTcp(const Address& address, const std::string& shown) {
  Listener out{
      .fd = os::UniqueFd(::socket(AsSocketAddress(address)->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  const int yes = 1;  // a port whose last connections linger can be had again at once
  if (!out.fd.valid() || ::setsockopt(out.fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(out.fd.get(), AsSocketAddress(address), sizeof address) != 0 || ::listen(out.fd.get(), kBacklog) != 0)
    return FailErrno("listen on", shown, errno);
  sockaddr_in6 bound{};  // large enough for both, with the port in the same place
  socklen_t size = sizeof bound;
  if (::getsockname(out.fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    return FailErrno("listen on", shown, errno);
  out.port = ntohs(bound.sin6_port);
  return out;
}

/// Between bind(2) and listen(2) a socket looks like one of a dead server.
Result<os::LockFile> LockOf(const std::string& path) {
  auto lock = os::LockFile::Take(path + kLockSuffix, os::Millis(0));
  if (!lock && lock.error().code == Code::kInUse) lock.error().message += kOtherSocket;
  return lock;
}

/// Replaces the socket of a dead server. Requires: the path is locked.
Result<Listener> ListenAt(const std::string& path, const std::string& group) {
  BERTH_TRY(const sockaddr_un address, UnixAddress(path));
  BERTH_TRY(const bool stale, LooksStale(path));
  if (stale && ::unlink(path.c_str()) != 0 && errno != ENOENT) return FailErrno("remove stale socket", path, errno);
  Listener out{.fd = os::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
               .socket = path,
               .group = group};
  // The file gets the mode of the socket it is made from, less the umask.
  if (!out.fd.valid() || ::fchmod(out.fd.get(), 0600) != 0 ||
      ::bind(out.fd.get(), AsSocketAddress(address), sizeof address) != 0)
    return FailErrno("listen on socket", path, errno);
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0) {
    out.device = info.st_dev;
    out.inode = info.st_ino;
  }
  if (auto open = OpenToGroup(out.fd.get(), path, group); !open) {
    ::unlink(path.c_str());
    return std::unexpected(std::move(open).error());
  }
  return out;
}

}  // namespace

Error ProbeSocket(const std::string& path) {
  const auto address = UnixAddress(path);
  if (!address) return address.error();
  const os::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return FailErrno("open a socket", "", errno).error();
  // EAGAIN: more callers wait there than it has room for.
  if (::connect(fd.get(), AsSocketAddress(*address), sizeof *address) == 0 || errno == EAGAIN)
    return {Code::kInUse, 0, "somebody answers on socket " + path};
  return FailErrno("connect to", path, errno).error();
}

Result<void> CheckSocket(const std::string& path, const std::string& group) {
  BERTH_TRY([[maybe_unused]] const sockaddr_un address, UnixAddress(path));
  BERTH_TRY([[maybe_unused]] const std::optional<gid_t> known, GroupOf(group));
  return {};
}

Result<Listener> ListenUnix(const std::string& path, const std::string& group) {
  BERTH_RETURN_IF_ERROR(CheckSocket(path, group));
  BERTH_TRY([[maybe_unused]] const bool stale, LooksStale(path));
  BERTH_TRY(os::LockFile lock, LockOf(path));
  BERTH_TRY(Listener out, ListenAt(path, group));
  out.lock = std::move(lock);
  return out;
}

Result<void> ListenAgain(Listener& listener) {
  BERTH_RETURN_IF_ERROR(os::MakeDirs(os::FolderOf(listener.socket), 0755));
  if (!listener.lock || !listener.lock->Guards(listener.socket + kLockSuffix)) {  // it was removed too
    BERTH_TRY(os::LockFile lock, LockOf(listener.socket));
    listener.lock = std::move(lock);
  }
  BERTH_TRY(Listener again, ListenAt(listener.socket, listener.group));
  listener.fd = std::move(again.fd);
  listener.device = again.device;
  listener.inode = again.inode;
  return {};
}

bool HasItsFile(const Listener& listener) {
  struct stat info{};
  return ::lstat(listener.socket.c_str(), &info) == 0 && info.st_dev == listener.device &&
         info.st_ino == listener.inode;
}

Result<Listener> ListenTcp(const std::string& address, std::uint16_t port, const TlsFiles* tls) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  const std::string shown = address + ":" + std::to_string(port);
  const bool is_v4 = ::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
  if (!is_v4 && ::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1)
    return Fail(Code::kInvalid, "'" + Printable(address) + "' is no IPv4 or IPv6 address to listen on");
  BERTH_TRY(Listener out, is_v4 ? BindTcp(v4, shown) : BindTcp(v6, shown));
  if (tls == nullptr) return out;
  BERTH_TRY(out.certificate, os::ReadInput(tls->certificate));
  BERTH_TRY(out.key, os::ReadInput(tls->key));
  return out;
}

}  // namespace berth::http
