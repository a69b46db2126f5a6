#include "rpc/http/http_server.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "host/os/poll.h"
#include "host/os/socket_keeper.h"
#include "host/os/threads.h"
#include "rpc/http/exchange.h"
#include "rpc/http/mail.h"

namespace berth::http {
namespace {

using Stage = Exchange::Stage;
using os::MonoTime;

/// Twice the headers' limit: the library keeps parsed headers beside the bytes.
constexpr std::size_t kConnectionMemory = 2 * kMostRequestHeaderBytes;
constexpr std::size_t kLargeCall = std::size_t{256} << 10;  // memory is given back after one
constexpr os::Millis kStopTime{5'000};
constexpr os::Millis kAcceptAgain{100};
constexpr std::size_t kMostDrained = std::size_t{64} << 20;
constexpr const char* kNoRoomForBody = "the bodies of other calls take all the memory there is for them; try again";

struct DaemonEnd {
  void operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }
};
using Daemon = std::unique_ptr<MHD_Daemon, DaemonEnd>;

/// The server's thread: all of the library's work, and nothing that waits for anybody.
class Loop {
 public:
  Loop(ServerOptions options, std::vector<Listener> listeners, std::shared_ptr<Mail> mail)
      : options_(std::move(options)),
        limits_(options_.limits),
        listeners_(std::move(listeners)),
        mail_(std::move(mail)),
        workers_({.most = limits_.workers, .stay = 1}) {}

  Result<void> OpenDaemons();
  void Run();
  const std::vector<Listener>& listeners() const { return listeners_; }

 private:
  static MHD_Result OnAccess(void* loop, MHD_Connection* connection, const char* url, const char* method,
                             const char* version, const char* data, std::size_t* size, void** call);
  static void OnConnection(void* loop, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode what);

  Daemon OpenDaemon(const Listener& listener);
  void Wait();
  void EndGone(Exchange& exchange);
  void Accept(std::size_t listener);
  os::SocketKeeper KeeperOf(Listener& listener);
  bool CutOldest(std::optional<uid_t> user);
  void Linger(os::UniqueFd fd);
  void DrainLingering();
  void TakeMail();
  void EndLate();
  void Stop();

  MHD_Result Begin(Exchange& exchange, const char* url, const char* method);
  MHD_Result TakeBody(Exchange& exchange, const char* data, std::size_t size);
  MHD_Result Finish(Exchange& exchange);
  MHD_Result Reply(Exchange& exchange);
  void Refuse(Exchange& exchange, int status, const std::string& why);
  bool Hold(Exchange& exchange, std::size_t bytes);
  void Release(Exchange& exchange);
  void GiveToWorker(Exchange& exchange);
  void GiveNextLarge();
  void Resume(Exchange& exchange);
  static void Cut(const Exchange& exchange) { ::shutdown(exchange.fd, SHUT_RDWR); }

  const ServerOptions options_;
  const Limits& limits_;
  std::vector<Listener> listeners_;
  std::vector<Daemon> daemons_;            // one a listener
  std::vector<os::SocketKeeper> keepers_;  // one a unix socket
  std::shared_ptr<Mail> mail_;
  std::map<std::uint64_t, Exchange> exchanges_;
  std::uint64_t next_id_ = 1;
  std::optional<Exchange> accepted_;  // while the library is given it
  /// A connection whose answer was sent before its body was read.
  struct Lingering {
    os::UniqueFd fd;
    MonoTime until;
    std::size_t left = kMostDrained;  // bytes
  };
  std::vector<Lingering> lingering_;
  std::size_t large_held_ = 0;               // of Limits::large_bodies
  bool large_runs_ = false;                  // a handler with a large body
  std::deque<std::uint64_t> large_waiting_;  // exchanges that will be next
  MonoTime now_;
  MonoTime accept_again_{};
  bool stopping_ = false;
  bool trim_ = false;
  os::Threads workers_;  // goes first: handlers use the rest
};

/// The library would decode before the path is cut into segments.
std::size_t LeaveEscaped(void* /*loop*/, MHD_Connection* /*connection*/, char* text) {
  return std::string_view(text).size();
}

Daemon Loop::OpenDaemon(const Listener& listener) {
  const bool tls = !listener.certificate.empty();
  std::vector<MHD_OptionItem> items = {
      {MHD_OPTION_CONNECTION_LIMIT, static_cast<std::intptr_t>(limits_.connections), nullptr},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<std::intptr_t>(kConnectionMemory), nullptr},
      {MHD_OPTION_CONNECTION_TIMEOUT, std::chrono::ceil<std::chrono::seconds>(limits_.idle_time).count(), nullptr},
      {MHD_OPTION_STRICT_FOR_CLIENT, 1, nullptr},
      {MHD_OPTION_NOTIFY_CONNECTION, reinterpret_cast<std::intptr_t>(&OnConnection), this},
      {MHD_OPTION_UNESCAPE_CALLBACK, reinterpret_cast<std::intptr_t>(&LeaveEscaped), nullptr}};
  if (tls) {
    items.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, const_cast<char*>(listener.certificate.c_str())});
    items.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, const_cast<char*>(listener.key.c_str())});
  }
  items.push_back({MHD_OPTION_END, 0, nullptr});
  unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME;
  if (tls) flags |= MHD_USE_TLS;
  return Daemon(
      MHD_start_daemon(flags, 0, nullptr, nullptr, &OnAccess, this, MHD_OPTION_ARRAY, items.data(), MHD_OPTION_END));
}

Result<void> Loop::OpenDaemons() {
  for (Listener& listener : listeners_) {
    if (!listener.socket.empty()) keepers_.push_back(KeeperOf(listener));
    daemons_.push_back(OpenDaemon(listener));
    if (daemons_.back() != nullptr) continue;
    if (!listener.certificate.empty())
      return Fail(Code::kInvalid,
                  "the TLS certificate or its key cannot be used; both have to be PEM and fit together");
    return Fail(Code::kIo, "the HTTP server cannot be readied");
  }
  return {};
}

void Loop::Run() {
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  while (!stopping_ || !exchanges_.empty()) {
    Wait();
    now_ = os::SystemClock().Now();
    TakeMail();
    EndLate();
    for (const Daemon& daemon : daemons_) MHD_run(daemon.get());
    // Not on this thread: it takes some milliseconds and waits for whoever allocates.
    if (std::exchange(trim_, false)) workers_.Do([] { ::malloc_trim(0); });
  }
}

/// For something to do. Whose stream pauses, and who goes before its request is whole, the library does not see.
void Loop::Wait() {
  std::optional<MonoTime> until;
  const auto at = [&](MonoTime time) { until = std::min(until.value_or(time), time); };
  std::vector<pollfd> fds = {{mail_->fd(), POLLIN, 0}};
  for (const Daemon& daemon : daemons_) {
    fds.push_back({MHD_get_daemon_info(daemon.get(), MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, POLLIN, 0});
    MHD_UNSIGNED_LONG_LONG left = 0;
    if (MHD_get_timeout(daemon.get(), &left) == MHD_YES) at(now_ + os::Millis(std::min(left, 60'000ULL)));
  }
  const std::size_t first = fds.size();
  const bool accept = !stopping_ && now_ >= accept_again_;
  if (!stopping_ && !accept) at(accept_again_);
  for (const Listener& listener : listeners_) fds.push_back({accept ? listener.fd.get() : -1, POLLIN, 0});
  std::vector<Exchange*> watched;
  for (auto& [id, exchange] : exchanges_) {
    if (exchange.deadline) at(*exchange.deadline);
    if (exchange.gone || exchange.stage == Stage::kWork || exchange.stage == Stage::kAnswer) continue;
    watched.push_back(&exchange);
    // Who half-closes a unix socket may still listen; over TCP that is how the end of a caller looks.
    const bool half = exchange.stage != Stage::kPause || exchange.user == kNobodyKnown;
    fds.push_back({exchange.fd, static_cast<short>(half ? POLLRDHUP : 0), 0});
  }
  for (const Lingering& lingering : lingering_) {
    at(lingering.until);
    fds.push_back({lingering.fd.get(), POLLIN, 0});
  }
  const std::size_t first_keeper = fds.size();
  for (const os::SocketKeeper& keeper : keepers_) {
    if (!stopping_ && keeper.next()) at(*keeper.next());
    fds.push_back({stopping_ ? -1 : keeper.fd(), POLLIN, 0});
  }
  ::poll(fds.data(), fds.size(), os::PollTime(os::SystemClock().Now(), until));
  now_ = os::SystemClock().Now();
  for (std::size_t i = 0; i < watched.size(); ++i)
    if (fds[first + listeners_.size() + i].revents != 0) EndGone(*watched[i]);
  for (std::size_t i = 0; i < listeners_.size(); ++i)
    if (fds[first + i].revents != 0) Accept(i);
  if (!lingering_.empty()) DrainLingering();
  for (std::size_t i = 0; i < keepers_.size(); ++i)
    if (!stopping_ && (fds[first_keeper + i].revents != 0 || (keepers_[i].next() && now_ >= *keepers_[i].next())))
      keepers_[i].Look(now_);
}

/// Takes what a caller says whose call was refused already, until he goes: who sends all of a body before he reads
/// would find the connection gone instead of the answer. Over TCP the answer might even be lost.
void Loop::Linger(os::UniqueFd fd) {
  ::shutdown(fd.get(), SHUT_WR);
  if (stopping_) return;
  if (lingering_.size() >= limits_.connections) lingering_.erase(lingering_.begin());
  lingering_.push_back({.fd = std::move(fd), .until = now_ + limits_.body_time});
}

void Loop::DrainLingering() {
  std::array<char, std::size_t{64} << 10> unread;
  std::erase_if(lingering_, [&](Lingering& lingering) {
    const ssize_t size = ::recv(lingering.fd.get(), unread.data(), unread.size(), MSG_DONTWAIT);
    if (size < 0) return (errno != EAGAIN && errno != EINTR) || now_ >= lingering.until;
    if (size == 0 || static_cast<std::size_t>(size) >= lingering.left) return true;
    lingering.left -= static_cast<std::size_t>(size);
    return now_ >= lingering.until;
  });
}

/// Without a pause: the lock of the path keeps those away who are about to listen there.
os::SocketKeeper Loop::KeeperOf(Listener& listener) {
  return os::SocketKeeper({.socket = listener.socket,
                           .has_its_file = [&listener] { return HasItsFile(listener); },
                           .listen_again = [&listener] { return ListenAgain(listener); },
                           .tell =
                               [this, &listener](const Result<void>& again) {
                                 if (options_.on_lost_socket) options_.on_lost_socket(listener.socket, again);
                               }});
}

/// The caller says no more.
void Loop::EndGone(Exchange& exchange) {
  int unread = 0;
  if (exchange.stage != Stage::kPause && ::ioctl(exchange.fd, FIONREAD, &unread) == 0 && unread > 0) return;
  exchange.gone = true;
  if (exchange.stage == Stage::kPause) {
    Resume(exchange);
  } else {
    Cut(exchange);
  }
}

/// User of the caller at the other end.
uid_t UserOf(int fd) {
  ucred caller{};
  socklen_t size = sizeof caller;
  int family = AF_UNSPEC;
  socklen_t family_size = sizeof family;
  ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &family_size);
  if (family != AF_UNIX || ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &caller, &size) != 0) return kNobodyKnown;
  return caller.uid;
}

/// Cuts the connection that has waited longest without having said all of its request; nullopt: of anybody. False:
/// there is none.
bool Loop::CutOldest(std::optional<uid_t> user) {
  for (auto& [id, exchange] : exchanges_) {  // the oldest first
    const bool waits = exchange.stage == Stage::kHeader || exchange.stage == Stage::kBody;
    if (!waits || exchange.gone || (user && exchange.user != *user)) continue;
    exchange.gone = true;
    Cut(exchange);
    return true;
  }
  return false;
}

void Loop::Accept(std::size_t listener) {
  if (exchanges_.size() >= limits_.connections) {
    // Who knocks is let in when that one is closed.
    if (!CutOldest(std::nullopt)) accept_again_ = now_ + kAcceptAgain;
    return;
  }
  os::UniqueFd fd(::accept4(listeners_[listener].fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) accept_again_ = now_ + kAcceptAgain;
    return;
  }
  const uid_t user = UserOf(fd.get());
  const auto of_user = [&](const auto& entry) { return entry.second.user == user; };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(exchanges_, of_user));
  if (user != 0 && count >= (limits_.connections + 1) / 2 && !CutOldest(user)) return;
  accepted_.emplace(Exchange{.id = next_id_++, .fd = fd.get(), .user = user, .since = now_});
  accepted_->deadline = now_ + limits_.header_time;
  sockaddr_storage from{};  // the library wants an address, and uses it for a limit we do not set
  from.ss_family = AF_UNIX;
  MHD_add_connection(daemons_[listener].get(), fd.release(), reinterpret_cast<const sockaddr*>(&from), sizeof from);
  accepted_.reset();
}

/// Begin and end of a connection: its exchange lives as long as it does.
void Loop::OnConnection(void* loop, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode what) {
  Loop& self = *static_cast<Loop*>(loop);
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    const std::uint64_t id = self.accepted_->id;
    Exchange& exchange = self.exchanges_.emplace(id, *std::exchange(self.accepted_, std::nullopt)).first->second;
    exchange.connection = connection;
    *context = &exchange;
    return;
  }
  Exchange& exchange = *static_cast<Exchange*>(*context);
  if (exchange.other_end.valid()) self.Linger(std::move(exchange.other_end));
  self.Release(exchange);
  if (exchange.received >= kLargeCall || (exchange.answer && exchange.answer->body.size() >= kLargeCall))
    self.trim_ = true;
  self.exchanges_.erase(exchange.id);
}

MHD_Result Loop::OnAccess(void* loop, MHD_Connection* connection, const char* url, const char* method,
                          const char* /*version*/, const char* data, std::size_t* size, void** /*call*/) {
  Loop& self = *static_cast<Loop*>(loop);
  Exchange& exchange =
      *static_cast<Exchange*>(MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
  if (exchange.stage == Stage::kHeader) return self.Begin(exchange, url, method);
  if (*size == 0) return self.Finish(exchange);
  const MHD_Result result = self.TakeBody(exchange, data, *size);
  *size = 0;
  return result;
}

MHD_Result Loop::Begin(Exchange& exchange, const char* url, const char* method) {
  exchange.stage = Stage::kBody;
  exchange.deadline = now_ + limits_.body_time;
  Opening opening = Open(exchange, options_, url, method);
  if (opening.status == 0 && !Hold(exchange, opening.length)) {
    opening.status = 503;
    opening.why = kNoRoomForBody;
  }
  if (opening.status == 0) {
    exchange.request.body.reserve(opening.length);
    return MHD_YES;
  }
  if (opening.has_body) exchange.other_end = os::UniqueFd(::fcntl(exchange.fd, F_DUPFD_CLOEXEC, 0));
  Refuse(exchange, opening.status, opening.why);
  return Reply(exchange);
}

/// Counts `bytes` of a body as under way. False: there is no room for them.
bool Loop::Hold(Exchange& exchange, std::size_t bytes) {
  if (!limits_.large_bodies || bytes <= kSmallBody || bytes <= exchange.held) return true;
  const std::size_t more = bytes - exchange.held;
  if (large_held_ + more > *limits_.large_bodies) return false;
  large_held_ += more;
  exchange.held = bytes;
  return true;
}

void Loop::Release(Exchange& exchange) { large_held_ -= std::exchange(exchange.held, 0); }

MHD_Result Loop::TakeBody(Exchange& exchange, const char* data, std::size_t size) {
  exchange.received += size;
  if (exchange.answer) return MHD_YES;
  if (const std::size_t most = MostBody(exchange, limits_); exchange.received > most)
    Refuse(exchange, 413, TooLarge(most));
  else if (!Hold(exchange, exchange.received))
    Refuse(exchange, 503, kNoRoomForBody);
  else
    exchange.request.body.append(data, size);
  return MHD_YES;
}

MHD_Result Loop::Finish(Exchange& exchange) {
  if (exchange.answer) return Reply(exchange);
  if (exchange.stage == Stage::kWork) return MHD_YES;
  exchange.stage = Stage::kWork;
  exchange.deadline.reset();
  MHD_suspend_connection(exchange.connection);
  exchange.one_at_a_time = limits_.large_bodies && exchange.received > kSmallBody && !exchange.route->body;
  if (exchange.one_at_a_time) {
    large_waiting_.push_back(exchange.id);
    if (!large_runs_) GiveNextLarge();
  } else {
    GiveToWorker(exchange);
  }
  return MHD_YES;
}

MHD_Result Loop::Reply(Exchange& exchange) {
  exchange.deadline.reset();
  if (exchange.answer->stream == nullptr) exchange.deadline = now_ + (stopping_ ? kStopTime : limits_.answer_time);
  if (stopping_) exchange.gone = exchange.answer->stream != nullptr;
  return Send(exchange, options_.headers);
}

void Loop::Refuse(Exchange& exchange, int status, const std::string& why) {
  std::string().swap(exchange.request.body);  // its memory too
  Release(exchange);
  exchange.answer = options_.refuse(status, why);
  if (status == 503) exchange.answer->headers.emplace_back("Retry-After", "1");
}

/// The answer of a handler, whatever happens in it.
Answer Ask(const Route& route, const Request& request, const ServerOptions& options) {
  try {
    return route.handler(request);
  } catch (const std::exception&) {
    return options.refuse(500, "the call failed inside berthd");
  }
}

void Loop::GiveToWorker(Exchange& exchange) {
  auto request = std::make_unique<Request>(std::move(exchange.request));
  request->caller_fd = exchange.fd;
  const std::uint64_t id = exchange.id;
  request->wake = [mail = mail_, id] { mail->Post([&](Mail::Letters& letters) { letters.wakes.push_back(id); }); };
  workers_.Do(
      [this, id, &route = *exchange.route, trim = exchange.one_at_a_time, request = std::move(request)]() mutable {
        Answer answer = Ask(route, *request, options_);
        request.reset();             // before memory is given back at the call's end
        if (trim) ::malloc_trim(0);  // before the next one takes as much
        mail_->Post([&](Mail::Letters& letters) { letters.answers.emplace_back(id, std::move(answer)); });
      });
}

/// Of those with large bodies, in the order they came.
void Loop::GiveNextLarge() {
  large_runs_ = !large_waiting_.empty();
  if (!large_runs_) return;
  const std::uint64_t id = large_waiting_.front();
  large_waiting_.pop_front();
  GiveToWorker(exchanges_.at(id));
}

void Loop::Resume(Exchange& exchange) {
  exchange.stage = Stage::kAnswer;
  MHD_resume_connection(exchange.connection);
}

void Loop::TakeMail() {
  Mail::Letters letters = mail_->Take();
  for (auto& [id, answer] : letters.answers) {
    Exchange& exchange = exchanges_.at(id);  // a connection whose handler runs is not closed
    exchange.answer = std::move(answer);
    Resume(exchange);
    if (exchange.one_at_a_time) GiveNextLarge();
  }
  for (const std::uint64_t id : letters.wakes)
    if (const auto it = exchanges_.find(id); it != exchanges_.end() && it->second.stage == Stage::kPause)
      Resume(it->second);
  if (letters.stop && !stopping_) Stop();
}

void Loop::EndLate() {
  for (auto& [id, exchange] : exchanges_) {
    if (!exchange.deadline || now_ < *exchange.deadline) continue;
    exchange.deadline.reset();
    Cut(exchange);
  }
}

void Loop::Stop() {
  stopping_ = true;
  for (auto& [id, exchange] : exchanges_) {
    const bool streams = exchange.answer && exchange.answer->stream != nullptr;
    exchange.gone = exchange.gone || streams;
    if (exchange.stage == Stage::kPause) {
      Resume(exchange);
    } else if (exchange.stage == Stage::kAnswer) {
      exchange.deadline = now_ + kStopTime;
    } else if (exchange.stage != Stage::kWork) {
      Cut(exchange);
    }
  }
}

class RunningServer final : public Server {
 public:
  RunningServer(ServerOptions options, std::vector<Listener> listeners, std::shared_ptr<Mail> mail)
      : mail_(std::move(mail)), loop_(std::move(options), std::move(listeners), mail_) {}
  ~RunningServer() override {
    if (!thread_.joinable()) return;
    mail_->Post([](Mail::Letters& letters) { letters.stop = true; });
    thread_.join();
    for (const Listener& listener : loop_.listeners())
      if (!listener.socket.empty() && HasItsFile(listener)) ::unlink(listener.socket.c_str());
  }

  Result<void> Run() {
    BERTH_RETURN_IF_ERROR(loop_.OpenDaemons());
    thread_ = std::thread([this] { loop_.Run(); });
    return {};
  }

 private:
  std::shared_ptr<Mail> mail_;
  Loop loop_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options, std::vector<Listener> listeners) {
  BERTH_TRY(os::EventFd mail, os::EventFd::Open());
  auto server = std::make_unique<RunningServer>(std::move(options), std::move(listeners),
                                                std::make_shared<Mail>(std::move(mail)));
  BERTH_RETURN_IF_ERROR(server->Run());
  return server;
}

}  // namespace berth::http
