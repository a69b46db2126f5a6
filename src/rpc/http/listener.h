// Listening sockets of a server: a unix socket, or TCP with or without TLS.
#ifndef BERTH_RPC_HTTP_LISTENER_H_
#define BERTH_RPC_HTTP_LISTENER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/os/lock_file.h"
#include "host/os/unique_fd.h"

namespace berth::http {

struct Listener {
  os::UniqueFd fd;
  std::string socket;  ///< path of a unix socket; "" for TCP
  std::uint16_t port = 0;
  std::string certificate;  ///< PEM; "" without TLS
  std::string key;          ///< PEM
  std::string group = {};   ///< of the socket's file, as ListenUnix was told
  dev_t device = 0;         ///< of the socket's file, with the inode
  ino_t inode = 0;
  std::optional<os::LockFile> lock = {};  ///< "<socket>.lock", so that no two servers are about to take one path
};

/// For the owner and `group` ("": the process's own). The file has mode 0660 from the moment somebody can connect, and
/// never a wider one; the process's umask is left alone. The folder exists; "<path>.lock" is made there, locked for as
/// long as the listener lives, and stays. A socket that refuses connections was left by a dead server and is replaced,
/// no other one. Errors: kInUse when somebody answers there, is about to, or may; kInvalid (path too long, not a
/// socket, unknown group); kPermission and kIo from the system, naming the socket.
Result<Listener> ListenUnix(const std::string& path, const std::string& group);

/// What ListenUnix would refuse of path and group alone. Errors: kInvalid.
Result<void> CheckSocket(const std::string& path, const std::string& group);

/// The file of a unix socket is the one that `listener` made: it was not removed, nor replaced by somebody else.
bool HasItsFile(const Listener& listener);
/// Makes socket and file anew for a listener whose file is gone, and its folder if need be. The old socket, which
/// nobody could reach any more, is closed. Errors: as ListenUnix; `listener` goes on as it is.
Result<void> ListenAgain(Listener& listener);

struct TlsFiles {
  std::string certificate;  ///< path of a PEM file: the certificate, then those that vouch for it
  std::string key;          ///< path of a PEM file
};
/// `address`: an IPv4 or IPv6 address; `port` 0: any. `tls`: null for plain HTTP. Errors: kInvalid for an address that
/// is none; of reading the files and of bind(2), naming file or address.
Result<Listener> ListenTcp(const std::string& address, std::uint16_t port, const TlsFiles* tls);

/// kInUse when a server answers on the unix socket `path`, kNotFound when there is no file, kUnreachable when nobody
/// answers behind it, kPermission when it may not be opened, kInvalid when the path is too long, kIo otherwise.
Error ProbeSocket(const std::string& path);

}  // namespace berth::http

#endif  // BERTH_RPC_HTTP_LISTENER_H_
