#include "api/server.h"

#include <grp.h>
#include <httplib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "api/unix_http_server.h"
#include "api/wire.h"
#include "base/mutex.h"
#include "base/text.h"
#include "codec/views.h"

namespace berth::api {
namespace {

constexpr std::size_t kWorkers = 3;
constexpr std::size_t kMostWorkers = 16;  // more than commands run in containers at a time
constexpr int kBacklog = 128;
constexpr std::chrono::seconds kTimeout{10};
constexpr const char* kJson = "application/json";

template <class T>
codec::Json JsonOf(const T& value) {
  return codec::ToJson(value);
}
template <class T>
codec::Json JsonOf(const std::shared_ptr<const T>& value) {
  return codec::ToJson(*value);
}

template <class T>
void Answer(const Result<T>& result, httplib::Response& response, int status = 200) {
  response.status = result ? status : HttpStatusOf(result.error().code);
  response.set_content(result ? FormatBody(JsonOf(*result)) : FormatError(result.error()), kJson);
}

/// A whole number from a query parameter; absent: nullopt.
Result<std::optional<std::size_t>> Count(const httplib::Request& request, const char* name) {
  if (!request.has_param(name)) return std::nullopt;
  const std::string text = request.get_param_value(name);
  const auto value = ParseDecimal<std::size_t>(text);
  if (!value) return Fail(Code::kInvalid, std::string(name) + "=" + Printable(text) + ": must be a whole number");
  return value;
}

bool IsSet(const httplib::Request& request, const char* name) {
  const std::string text = request.get_param_value(name);
  return text == "1" || text == "true";
}

Result<EventList> GetEvents(const httplib::Request& request, Backend& backend) {
  EventQuery query{request.get_param_value("since"), request.get_param_value("pod"), std::nullopt};
  BERTH_TRY(query.limit, Count(request, "limit"));
  return backend.Events(query);
}

Result<LogPage> GetLogs(const httplib::Request& request, Backend& backend) {
  LogQuery query;
  query.namespace_ = request.matches[1];
  query.pod = request.matches[2];
  query.container = request.matches[3];
  query.previous = IsSet(request, "previous");
  query.since = request.get_param_value("since");
  query.follow = IsSet(request, "follow");
  query.log = request.get_param_value("log");
  query.after = request.get_param_value("after");
  BERTH_TRY(query.tail, Count(request, "tail"));
  return backend.Logs(query);
}

/// {"command": ["ls", "-l"], "timeoutSeconds": 60}
Result<ExecQuery> ReadExec(const httplib::Request& request, const std::string& body) {
  constexpr std::int64_t kLongest = 86'400;
  ExecQuery query;
  query.namespace_ = request.matches[1];
  query.pod = request.matches[2];
  query.container = request.matches[3];
  query.caller_fd = request.remote_port;
  BERTH_TRY(const codec::Json json, codec::ParseJson(body, "request"));
  const auto fail = [](const char* what) { return Fail(Code::kInvalid, std::string("request: ") + what); };
  if (!json.is_object()) return fail("must be an object with \"command\"");
  for (const auto& [key, value] : json.items()) {
    if (key == "command" && value.is_array()) {
      for (const codec::Json& word : value) {
        if (!word.is_string()) return fail("\"command\" must be a list of words");
        query.command.push_back(word.get<std::string>());
      }
    } else if (key == "timeoutSeconds" && value.is_number_integer()) {
      query.limit = std::chrono::seconds(value.get<std::int64_t>());
    } else {
      return fail(("unknown field, or of another type: " + Printable(key, 40)).c_str());
    }
  }
  if (query.command.empty() || query.command.front().empty()) return fail("\"command\" names no program");
  if (query.limit.count() < 1 || query.limit.count() > kLongest) return fail("timeoutSeconds must be 1 to 86400");
  return query;
}

Result<CommandEnd> PostExec(const httplib::Request& request, const std::string& body, Backend& backend) {
  BERTH_TRY(const ExecQuery query, ReadExec(request, body));
  return backend.Exec(query);
}

/// Reads a body without interpreting it (a form's content type would be cut at 8 KiB otherwise).
std::optional<std::string> ReadBody(const httplib::ContentReader& reader, httplib::Response& response) {
  std::string body;
  const bool ok = reader([&](const char* data, std::size_t size) {
    body.append(data, size);
    return true;
  });
  if (ok) return body;
  if (response.status < 400) response.status = 400;
  return std::nullopt;
}

/// Threads that answer calls: a few, and one more whenever all of them are held up, so that calls that last (commands
/// in containers) hold up no other.
class Workers final : public httplib::TaskQueue {
 public:
  Workers(std::size_t few, std::size_t most) : most_(most) {
    const MutexLock lock(mutex_);
    for (std::size_t i = 0; i < few; ++i) threads_.emplace_back([this] { Work(); });
  }

  void enqueue(std::function<void()> task) override {
    const MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    GrowIfShort();
    changed_.NotifyAll();
  }

  /// What was left is done first.
  void shutdown() override {
    std::vector<std::thread> threads;
    {
      const MutexLock lock(mutex_);
      stop_ = true;
      threads.swap(threads_);
      changed_.NotifyAll();
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  /// One at a time: a thread that was just started may be all that is needed.
  void GrowIfShort() BERTH_REQUIRES(mutex_) {
    if (tasks_.size() > idle_ && started_ == threads_.size() && threads_.size() < most_ && !stop_)
      threads_.emplace_back([this] { Work(); });
  }

  void Work() {
    for (bool first = true;; first = false) {
      std::function<void()> task;
      {
        const MutexLock lock(mutex_);
        if (first) ++started_;
        ++idle_;
        while (tasks_.empty() && !stop_) changed_.Wait(mutex_);
        --idle_;
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
        GrowIfShort();
      }
      task();
    }
  }

  const std::size_t most_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ BERTH_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ BERTH_GUARDED_BY(mutex_);
  std::size_t started_ BERTH_GUARDED_BY(mutex_) = 0;  // threads that have come to look for tasks
  std::size_t idle_ BERTH_GUARDED_BY(mutex_) = 0;
  bool stop_ BERTH_GUARDED_BY(mutex_) = false;
};

class HttpServer final : public Server {
 public:
  HttpServer(const ServerOptions& options, Backend& backend) : options_(options), backend_(backend) { Configure(); }

  ~HttpServer() override {
    if (!thread_.joinable()) return;
    http_.stop();
    thread_.join();
    ::unlink(options_.socket.c_str());
  }

  Result<void> Listen() {
    BERTH_RETURN_IF_ERROR(ReplaceStaleSocket());
    const mode_t mask = ::umask(0117);  // the socket is 0660 from its first moment
    errno = 0;
    const bool bound = http_.bind_to_port(options_.socket, 80);
    const int error = errno;
    ::umask(mask);
    // The library's queue of five callers would refuse the sixth at once; asking again makes it longer.
    if (bound && ::listen(listener_, kBacklog) != 0) return FailErrno("listen on socket", options_.socket, errno);
    if (!bound) return FailErrno("listen on socket", options_.socket, error != 0 ? error : EIO);
    if (auto group = SetGroup(); !group) {
      ::unlink(options_.socket.c_str());
      return group;
    }
    thread_ = std::thread([this] { http_.listen_after_bind(); });
    while (!http_.is_running()) std::this_thread::yield();  // stop() before that would be lost
    return {};
  }

 private:
  Result<void> ReplaceStaleSocket() {
    const Error probe = ProbeSocket(options_.socket);
    if (probe.code == Code::kInvalid) return std::unexpected(probe);
    if (probe.code == Code::kInUse)
      return Fail(Code::kInUse, probe.message + "; stop that program or choose another socket with --socket");
    struct stat info{};
    if (::lstat(options_.socket.c_str(), &info) != 0) return {};
    if (!S_ISSOCK(info.st_mode))
      return Fail(Code::kInvalid, options_.socket + " exists and is not a socket; remove it or choose another socket");
    if (::unlink(options_.socket.c_str()) != 0 && errno != ENOENT)
      return FailErrno("remove stale socket", options_.socket, errno);
    return {};
  }

  Result<void> SetGroup() {
    if (options_.group.empty()) return {};
    group entry{};
    group* found = nullptr;
    std::array<char, 16384> buffer{};
    const int error = ::getgrnam_r(options_.group.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (found == nullptr)
      return Fail(Code::kInvalid, "socketGroup: no group '" + Printable(options_.group) + "' on this host" +
                                      (error != 0 ? " (" + std::to_string(error) + ")" : ""));
    if (::chown(options_.socket.c_str(), static_cast<uid_t>(-1), found->gr_gid) != 0)
      return FailErrno("give to group " + options_.group + " the socket", options_.socket, errno);
    return {};
  }

  void Configure() {
    http_.set_address_family(AF_UNIX);
    http_.set_socket_options([this](int fd) { listener_ = fd; });
    http_.new_task_queue = [] { return new Workers(kWorkers, kMostWorkers); };  // httplib deletes it
    http_.set_payload_max_length(options_.max_body_bytes);
    http_.set_read_timeout(kTimeout);
    http_.set_write_timeout(kTimeout);
    http_.set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      response.set_content(FormatError(DescribeStatus(request, response.status)), kJson);
    });
    http_.set_exception_handler([](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
      response.status = 500;
      response.set_content(FormatError({Code::kInternal, 0, "the call failed inside berthd"}), kJson);
    });
    RouteReads();
    RouteWrites();
  }

  Error DescribeStatus(const httplib::Request& request, int status) const {
    if (status == 413)
      return {
          Code::kInvalid, 0,
          "request body is larger than " + std::to_string(options_.max_body_bytes) + " bytes; send fewer manifests"};
    if (status == 404)
      return {Code::kNotFound, 0,
              "no call " + Printable(request.method) + " " + Printable(request.path) + "; see docs/reference/api.md"};
    return {Code::kInvalid, 0, "bad HTTP request (status " + std::to_string(status) + ")"};
  }

  template <class T>
  void RouteRead(const char* path, Result<T> (Backend::*read)()) {
    http_.Get(path, [this, read](const httplib::Request&, httplib::Response& response) {
      Answer((backend_.*read)(), response);
    });
  }

  void RouteReads() {
    RouteRead("/v1/status", &Backend::Status);
    RouteRead("/v1/machine", &Backend::GetMachine);
    RouteRead("/v1/node", &Backend::Node);
    RouteRead("/v1/ledger", &Backend::GetLedger);
    RouteRead("/v1/tree", &Backend::Tree);
    RouteRead("/v1/images", &Backend::Images);
    RouteRead("/v1/pods", &Backend::Pods);
    http_.Get("/v1/pods/([^/]+)/([^/]+)", [this](const httplib::Request& request, httplib::Response& response) {
      Answer(backend_.GetPod(request.matches[1], request.matches[2]), response);
    });
    http_.Get("/v1/events", [this](const httplib::Request& request, httplib::Response& response) {
      Answer(GetEvents(request, backend_), response);
    });
    http_.Get("/v1/logs/([^/]+)/([^/]+)/([^/]*)", [this](const httplib::Request& request, httplib::Response& response) {
      Answer(GetLogs(request, backend_), response);
    });
  }

  void RouteWrites() {
    http_.Post("/v1/pods",
               [this](const httplib::Request&, httplib::Response& response, const httplib::ContentReader& reader) {
                 if (auto body = ReadBody(reader, response)) Answer(backend_.ApplyPods(*body), response);
               });
    http_.Post("/v1/explain",
               [this](const httplib::Request&, httplib::Response& response, const httplib::ContentReader& reader) {
                 if (auto body = ReadBody(reader, response)) Answer(backend_.Explain(*body), response);
               });
    http_.Post("/v1/exec/([^/]+)/([^/]+)/([^/]*)", [this](const httplib::Request& request, httplib::Response& response,
                                                          const httplib::ContentReader& reader) {
      if (auto body = ReadBody(reader, response)) Answer(PostExec(request, *body, backend_), response);
    });
    http_.Delete("/v1/pods/([^/]+)/([^/]+)", [this](const httplib::Request& request, httplib::Response& response) {
      Answer(backend_.DeletePod(request.matches[1], request.matches[2]), response, 202);
    });
  }

  ServerOptions options_;
  Backend& backend_;
  UnixHttpServer http_;
  int listener_ = -1;  // owned by http_
  std::thread thread_;
};

}  // namespace

int HttpStatusOf(Code code) {
  switch (code) {
    case Code::kInvalid: return 400;
    case Code::kPermission: return 403;
    case Code::kNotFound: return 404;
    case Code::kInUse:
    case Code::kConflict: return 409;
    case Code::kExhausted:
    case Code::kUnsupported: return 422;
    case Code::kOverloaded: return 429;
    case Code::kUncertain:
    case Code::kUnreachable: return 502;
    case Code::kBusy:
    case Code::kCancelled: return 503;
    case Code::kTimeout: return 504;
    case Code::kCorrupt:
    case Code::kIo:
    case Code::kInternal: return 500;
  }
  return 500;
}

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, Backend& backend) {
  auto server = std::make_unique<HttpServer>(options, backend);
  if (auto listening = server->Listen(); !listening) return std::unexpected(std::move(listening).error());
  return server;
}

}  // namespace berth::api
