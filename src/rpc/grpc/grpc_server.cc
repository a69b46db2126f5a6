#include "rpc/grpc/grpc_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "host/os/lock_file.h"
#include "host/os/path.h"
#include "host/os/socket_keeper.h"

namespace berth::grpc {

/// A connection of the server, which looks at every call that comes on it.
class Server::Peer final : public Watched {
 public:
  Peer(Server& server, std::shared_ptr<Connection> connection) : server_(server), connection_(std::move(connection)) {}
  ~Peer() override { server_.Remove(this); }
  int fd() const override { return connection_->fd(); }
  Wants Prepare(os::MonoTime now) override { return connection_->Prepare(now); }
  bool Serve(short happened, os::MonoTime now) override {
    const bool goes_on = connection_->Serve(happened, now);
    for (const StreamPtr& stream : connection_->TakeTouched()) server_.Arrived(connection_, stream);
    return goes_on;
  }
  const std::shared_ptr<Connection>& connection() const { return connection_; }

 private:
  Server& server_;
  std::shared_ptr<Connection> connection_;
};

/// A socket that is listened at.
class Server::Door final : public Watched {
 public:
  Door(Server& server, UnixListener listener, unsigned mode)
      : server_(server), listener_(std::move(listener)), mode_(mode) {}
  int fd() const override { return listener_->fd(); }
  Wants Prepare(os::MonoTime now) override {
    if (now < again_) return {.events = 0, .at = again_};
    return {.events = POLLIN};
  }
  bool Serve(short happened, os::MonoTime now) override {
    if (server_.stopping()) return false;
    if ((happened & POLLIN) == 0) return true;
    os::UniqueFd socket(::accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      static_cast<void>(server_.Adopt(std::move(socket)));  // one that is too many is closed
    } else if (errno == EMFILE || errno == ENFILE) {
      again_ = now + kWithoutDescriptors;
    }
    return true;
  }
  const UnixListener& listener() const { return *listener_; }
  /// In place of a socket that nobody can reach any more, which stays after an error. Errors: as UnixListener::Open.
  Result<void> ListenAgain() {
    BERTH_RETURN_IF_ERROR(os::MakeDirs(os::FolderOf(listener_->path()), kFolderMode));
    BERTH_TRY(UnixListener again, UnixListener::Open(listener_->path(), mode_));
    listener_.emplace(std::move(again));
    return {};
  }

 private:
  static constexpr os::Millis kWithoutDescriptors{200};  // who knocks goes on knocking
  static constexpr unsigned kFolderMode = 0750;
  os::MonoTime again_{};
  Server& server_;
  std::optional<UnixListener> listener_;  // never nullopt
  unsigned mode_;
};

/// Looks after the file of a socket that is listened at.
class Server::FileKeeper final : public Watched {
 public:
  FileKeeper(Server& server, const std::shared_ptr<Door>& door)
      : server_(server),
        keeper_({.socket = door->listener().path(),
                 .pause = server.options_.listen_again,
                 .has_its_file = [door] { return door->listener().HasItsFile(); },
                 .listen_again = [door] { return door->ListenAgain(); },
                 .tell =
                     [&server, door](const Result<void>& again) {
                       server.options_.on_lost_socket(door->listener().path(), again);
                     }}) {}
  int fd() const override { return keeper_.fd(); }
  Wants Prepare(os::MonoTime /*now*/) override { return {.events = POLLIN, .at = keeper_.next()}; }
  bool Serve(short happened, os::MonoTime now) override {
    if (server_.stopping()) return false;
    if (happened != 0 || (keeper_.next() && now >= *keeper_.next())) keeper_.Look(now);
    return true;
  }

 private:
  Server& server_;
  os::SocketKeeper keeper_;
};

Result<std::unique_ptr<Server>> Server::Start(Services services, const ServerOptions& options) {
  BERTH_TRY(std::unique_ptr<Io> io, Io::Start());
  return std::unique_ptr<Server>(new Server(std::move(services), options, std::move(io)));
}

Server::~Server() {
  Stop(os::Millis(0));
  io_->End();  // it looks at calls no more, and asks nobody for io_
  io_.reset();
}

Result<void> Server::Listen(const std::string& path, unsigned mode) {
  BERTH_TRY(UnixListener listener, UnixListener::Open(path, mode));
  const auto door = std::make_shared<Door>(*this, std::move(listener), mode);
  io_->Add(door);
  if (options_.on_lost_socket) io_->Add(std::make_shared<FileKeeper>(*this, door));
  return {};
}

bool Server::stopping() {
  const MutexLock lock(mutex_);
  return stopping_;
}

Result<void> Server::Adopt(os::UniqueFd socket) {
  BERTH_TRY(auto connection, Connection::Make(Side::kServer, SocketTransport(std::move(socket)), options_.limits,
                                              options_.keepalive, "this server", io_->wake()));
  auto peer = std::make_shared<Peer>(*this, std::move(connection));
  std::shared_ptr<Connection> goes;
  {
    const MutexLock lock(mutex_);
    if (peers_.size() >= options_.most_connections) goes = LongestIdle();
    if (stopping_ || (goes == nullptr && peers_.size() >= options_.most_connections))
      return Fail(Code::kOverloaded, "too many connections, or the server stops");
    peers_.emplace(peer.get(), peer->connection());
  }
  if (goes) goes->Break("somebody else wants its place");
  io_->Add(std::move(peer));
  return {};
}

/// Nullptr: all have calls.
std::shared_ptr<Connection> Server::LongestIdle() {
  std::shared_ptr<Connection> out;
  os::MonoTime oldest = os::MonoTime::max();
  for (const auto& [peer, connection] : peers_) {
    const auto since = connection->IdleSince();
    if (!since || *since >= oldest) continue;
    oldest = *since;
    out = connection;
  }
  return out;
}

void Server::Remove(const Peer* peer) {
  const MutexLock lock(mutex_);
  peers_.erase(peer);
  changed_.NotifyAll();
}

void Server::Stop(os::Millis grace) {
  const os::MonoTime end = os::SystemClock().Now() + grace;
  std::map<const Peer*, std::shared_ptr<Connection>> left;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    left = peers_;
  }
  io_->wake()->Signal();
  for (const auto& [peer, connection] : left) connection->Leave();
  {
    const MutexLock lock(mutex_);
    while (!peers_.empty() && os::SystemClock().Now() < end) changed_.WaitUntil(mutex_, end);
    left = peers_;
  }
  for (const auto& [peer, connection] : left) connection->Break("the server stops");
}

/// Of the thread of the Io: something came of a call.
void Server::Arrived(const std::shared_ptr<Connection>& connection, const StreamPtr& stream) {
  if (!stream->head_done || stream->dispatched || !LookAt(connection, stream)) return;
  const auto unary = services_.unary.find(stream->method);
  const auto streaming = services_.streaming.find(stream->method);
  ServerStream call(connection, stream);
  call.deadline_ = stream->deadline;
  bool taken = true;
  if (unary != services_.unary.end()) {
    if (!connection->IsWhole(*stream)) return;
    taken = workers_.DoNow([call, &handler = unary->second] { Run(call, handler); });
  } else if (streaming != services_.streaming.end() || services_.other) {
    const StreamHandler& handler = streaming != services_.streaming.end() ? streaming->second : services_.other;
    taken = workers_.DoNow([call, &handler] { Run(call, handler); });
  } else {
    connection->Answer(stream, std::nullopt, {StatusCode::kUnimplemented, "there is no method " + stream->method});
  }
  stream->dispatched = true;
  if (!taken) connection->Refuse(stream);
}

/// False: it is no call of gRPC, or nobody waits for it; it is answered.
bool Server::LookAt(const std::shared_ptr<Connection>& connection, const StreamPtr& stream) {
  if (std::exchange(stream->looked_at, true)) return !connection->over(*stream);
  const Head& head = stream->head;
  const auto timeout = ParseTimeout(head.timeout);
  Status refusal;
  if (head.http_method != "POST" || !head.content_type.starts_with("application/grpc"))
    refusal = {StatusCode::kInternal, "this is no call of gRPC"};
  if (!head.timeout.empty() && !timeout) refusal = {StatusCode::kInvalidArgument, "the grpc-timeout cannot be read"};
  if (refusal.code == StatusCode::kOk) {
    std::optional<std::chrono::nanoseconds> most = options_.longest_call;
    if (timeout) most = std::min<std::chrono::nanoseconds>(most.value_or(*timeout), *timeout);
    if (most) connection->SetDeadline(stream, os::SystemClock().Now() + *most);
    return !connection->over(*stream);
  }
  stream->dispatched = true;
  connection->Answer(stream, std::nullopt, refusal);
  return false;
}

void Server::Run(ServerStream call, const UnaryHandler& handler) {
  const auto request = call.Read();
  if (!request) return call.connection_->Answer(call.stream_, std::nullopt, request.error());
  const auto more = *request ? call.Read() : Result<std::optional<std::string>>();
  if (!more || *more || !*request)
    return call.connection_->Answer(call.stream_, std::nullopt,
                                    {StatusCode::kInvalidArgument, "the request is not one whole message"});
  const Reply reply = handler(call, **request);
  if (reply) return call.connection_->Answer(call.stream_, *reply, {});
  call.connection_->Answer(call.stream_, std::nullopt, reply.error());
}

void Server::Run(ServerStream call, const StreamHandler& handler) {
  call.connection_->Answer(call.stream_, std::nullopt, handler(call));
}

}  // namespace berth::grpc
