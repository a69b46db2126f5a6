// Transport of a connection: a non-blocking byte stream, over a unix socket today. Made for one that has more to do
// (TLS) as well.
#ifndef BERTH_RPC_GRPC_TRANSPORT_H_
#define BERTH_RPC_GRPC_TRANSPORT_H_

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/os/unique_fd.h"

namespace berth::grpc {

/// Bytes both ways, never blocking. Thread: one at a time; Shutdown any.
class Transport {
 public:
  virtual ~Transport() = default;
  /// To be polled. The descriptor stays the transport's.
  virtual int fd() const = 0;
  /// How many bytes were moved; nullopt: none now, wait for the descriptor. 0 from Read: the other side has ended.
  virtual Result<std::optional<std::size_t>> Read(std::span<char> into) = 0;
  virtual Result<std::optional<std::size_t>> Write(std::string_view bytes) = 0;
  /// Ends both directions: the other side sees the end, and Read returns.
  virtual void Shutdown() = 0;
};

/// A connected stream socket. It is made not to block.
std::unique_ptr<Transport> SocketTransport(os::UniqueFd socket);

/// Makes a connection. Errors: kInvalid for a wrong address; kUnreachable, errno kept, when nobody answers there.
using Connector = std::function<Result<std::unique_ptr<Transport>>()>;
/// `path`: absolute, of a unix socket.
Connector UnixConnector(std::string path);

/// A socket that is listened at. Its name is removed with it, unless somebody else has taken it over.
class UnixListener {
 public:
  /// Listens at `path`, which has `mode` from the first moment on. What an ended process has left there is replaced.
  /// Errors: kInUse while somebody listens there, or may, as it cannot be asked; kInvalid: it is something else than a
  /// socket, or longer than a socket's path may be (107 bytes, two fewer here); else as socket(2), bind(2), rename(2).
  /// Thread: any.
  static Result<UnixListener> Open(const std::string& path, unsigned mode);
  UnixListener(UnixListener&&) = default;
  UnixListener& operator=(UnixListener&&) = delete;
  ~UnixListener();
  int fd() const { return socket_.get(); }
  const std::string& path() const { return path_; }
  /// The file at the path is the one that was made for it: it was not removed, nor replaced by somebody else.
  bool HasItsFile() const;

 private:
  UnixListener(os::UniqueFd socket, std::string path) : socket_(std::move(socket)), path_(std::move(path)) {}
  os::UniqueFd socket_;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace berth::grpc

#endif  // BERTH_RPC_GRPC_TRANSPORT_H_
