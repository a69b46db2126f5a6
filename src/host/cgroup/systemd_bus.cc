#include "host/cgroup/systemd_bus.h"

#include <systemd/sd-bus.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "host/os/clock.h"

namespace berth::cgroup {
namespace {

constexpr os::Millis kPatience{5'000};  // for one request with everything it needs
constexpr os::Millis kSilence{2'000};   // after a request without an answer
constexpr os::Millis kReconnect{20};    // between two attempts to connect
constexpr const char* kService = "org.freedesktop.systemd1";
constexpr const char* kObject = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";

struct CloseBus {
  void operator()(sd_bus* bus) const { ::sd_bus_close_unref(bus); }
};
struct FreeMessage {
  void operator()(sd_bus_message* message) const { ::sd_bus_message_unref(message); }
};
using Bus = std::unique_ptr<sd_bus, CloseBus>;
using Message = std::unique_ptr<sd_bus_message, FreeMessage>;

/// An error as sd-bus gives it, freed at the end.
class BusError {
 public:
  BusError() = default;
  ~BusError() { ::sd_bus_error_free(&error_); }
  BusError(const BusError&) = delete;
  BusError& operator=(const BusError&) = delete;
  sd_bus_error* get() { return &error_; }
  bool Is(std::string_view name) const { return error_.name != nullptr && name == error_.name; }
  std::string text() const { return error_.message == nullptr ? "" : Printable(error_.message, 300); }

 private:
  sd_bus_error error_{};
};

/// What went wrong on the way, not with the request: worth another connection.
bool IsConnectionLost(int sys) {
  return sys == ECONNRESET || sys == ENOTCONN || sys == EPIPE || sys == ESHUTDOWN || sys == ECONNREFUSED;
}
bool IsSilence(int sys) { return sys == ETIMEDOUT || IsConnectionLost(sys); }

constexpr std::string_view kCure =
    "it is asked again; if this goes on, 'systemctl status' tells whether systemd answers at all";

/// `sys` is positive.
std::unexpected<Error> FailBus(const std::string& doing, int sys, const BusError& error) {
  const std::string why = error.text().empty() ? std::strerror(sys) : error.text();
  const auto fail = [&](Code code, const std::string& message) {
    return std::unexpected(Error{.code = code, .sys = sys, .message = doing + ": " + message});
  };
  if (error.Is("org.freedesktop.systemd1.NoSuchUnit")) return fail(Code::kNotFound, why);
  if (error.Is("org.freedesktop.DBus.Error.AccessDenied") ||
      error.Is("org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"))
    return fail(Code::kPermission, "systemd refuses it (" + why + "); run berthd as root");
  if (sys == ETIMEDOUT || error.Is("org.freedesktop.DBus.Error.NoReply") ||
      error.Is("org.freedesktop.DBus.Error.Timeout"))
    return std::unexpected(Error{.code = Code::kTimeout,
                                 .sys = ETIMEDOUT,
                                 .message = doing + ": systemd did not answer within " +
                                            std::to_string(kPatience.count() / 1000) + " s; " + std::string(kCure)});
  if (IsConnectionLost(sys))
    return fail(sys == ECONNREFUSED ? Code::kUnreachable : Code::kUncertain,
                "there is no connection to systemd (" + why + "); " + std::string(kCure));
  return fail(sys == EACCES || sys == EPERM ? Code::kPermission : Code::kInvalid, "systemd says: " + why);
}

/// errno of a failed call, with what the bus says in its place where that is clearer.
int SysOf(int status, const BusError& error) {
  if (error.Is("org.freedesktop.DBus.Error.Disconnected")) return ECONNRESET;
  if (error.Is("org.freedesktop.DBus.Error.NoReply")) return ETIMEDOUT;
  if (error.Is("org.freedesktop.DBus.Error.NameHasNoOwner") || error.Is("org.freedesktop.DBus.Error.ServiceUnknown"))
    return ECONNREFUSED;  // systemd is just being executed anew
  return -status;
}

int AppendValue(sd_bus_message* m, const Property& property) {
  struct Appender {
    sd_bus_message* m;
    int operator()(bool v) const { return ::sd_bus_message_append(m, "v", "b", v ? 1 : 0); }
    int operator()(std::uint64_t v) const { return ::sd_bus_message_append(m, "v", "t", v); }
    int operator()(const std::string& v) const { return ::sd_bus_message_append(m, "v", "s", v.c_str()); }
    int operator()(const std::vector<std::uint8_t>& v) const { return Array("ay", 'y', v.data(), v.size()); }
    int operator()(const std::vector<std::uint32_t>& v) const {
      return Array("au", 'u', v.data(), v.size() * sizeof v[0]);
    }
    int Array(const char* type, char element, const void* data, std::size_t bytes) const {
      int status = ::sd_bus_message_open_container(m, 'v', type);
      if (status >= 0) status = ::sd_bus_message_append_array(m, element, data, bytes);
      return status < 0 ? status : ::sd_bus_message_close_container(m);
    }
  };
  return std::visit(Appender{m}, property.value);
}

int AppendProperties(sd_bus_message* m, const std::vector<Property>& properties) {
  int status = ::sd_bus_message_open_container(m, 'a', "(sv)");
  for (const Property& property : properties) {
    if (status >= 0) status = ::sd_bus_message_open_container(m, 'r', "sv");
    if (status >= 0) status = ::sd_bus_message_append(m, "s", property.name.c_str());
    if (status >= 0) status = AppendValue(m, property);
    if (status >= 0) status = ::sd_bus_message_close_container(m);
  }
  return status < 0 ? status : ::sd_bus_message_close_container(m);
}

class HostSystemd final : public Systemd {
 public:
  explicit HostSystemd(std::string own_socket) : own_socket_(std::move(own_socket)) {}

  Result<bool> StartTransient(const std::string& unit, const std::vector<Property>& properties) override;
  Result<void> Start(const std::string& unit) override;
  Result<void> Set(const std::string& unit, const std::vector<Property>& properties) override;
  Result<void> Attach(const std::string& unit, int pid) override;
  Result<void> Stop(const std::string& unit) override;
  void Rest() override { Drop(); }

 private:
  /// Fills in the arguments of a call; negative: errno.
  using Fill = std::function<int(sd_bus_message*)>;
  struct Request {
    const char* method;
    std::string doing;
    Fill fill;
    bool is_job = false;    ///< the answer names a job, whose end is waited for
    const char* fine = "";  ///< an error of this name is an answer: `refused`
  };
  struct Answer {
    bool refused = false;
  };

  Result<Answer> Ask(const Request& request);
  Result<Answer> AskOnce(const Request& request, os::MonoTime deadline);
  Result<void> WaitJob(const Request& request, const std::string& job, os::MonoTime deadline);
  int Connect(os::MonoTime deadline);
  int Open(bool own_socket, os::MonoTime deadline);
  int Wait(os::MonoTime deadline);
  void Drop();
  static int OnJobRemoved(sd_bus_message* m, void* self, sd_bus_error* error);
  static std::uint64_t Left(os::MonoTime deadline);

  const std::string own_socket_;
  Bus bus_;
  std::map<std::string, std::string> ended_jobs_;  ///< object path -> "done", "failed", ...
  os::MonoTime silent_until_;
  std::optional<Error> last_silence_;
};

/// Microseconds, at least 1: 0 would be sd-bus's default.
std::uint64_t HostSystemd::Left(os::MonoTime deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - os::SystemClock().Now());
  return left.count() > 1 ? static_cast<std::uint64_t>(left.count()) : 1;
}

void HostSystemd::Drop() {
  bus_.reset();
  ended_jobs_.clear();
}

int HostSystemd::OnJobRemoved(sd_bus_message* m, void* self, sd_bus_error*) {
  std::uint32_t id = 0;
  const char* job = nullptr;
  const char* unit = nullptr;
  const char* result = nullptr;
  if (::sd_bus_message_read(m, "uoss", &id, &job, &unit, &result) >= 0)
    static_cast<HostSystemd*>(self)->ended_jobs_[job] = result;
  return 0;
}

/// Lets the connection do one thing, or waits for it. Negative: errno.
int HostSystemd::Wait(os::MonoTime deadline) {
  const int worked = ::sd_bus_process(bus_.get(), nullptr);
  if (worked != 0) return worked;
  if (os::SystemClock().Now() >= deadline) return -ETIMEDOUT;
  return ::sd_bus_wait(bus_.get(), Left(deadline));
}

int HostSystemd::Open(bool own_socket, os::MonoTime deadline) {
  sd_bus* opened = nullptr;
  int status = own_socket ? ::sd_bus_new(&opened) : ::sd_bus_open_system(&opened);
  bus_.reset(opened);
  if (own_socket && status >= 0) status = ::sd_bus_set_address(bus_.get(), own_socket_.c_str());
  if (own_socket && status >= 0) status = ::sd_bus_start(bus_.get());
  while (status >= 0 && ::sd_bus_is_ready(bus_.get()) == 0) status = Wait(deadline);
  if (status >= 0) status = ::sd_bus_is_ready(bus_.get());
  // Without a bus in between there are no senders, and systemd tells everybody.
  if (status >= 0)
    status = ::sd_bus_match_signal_async(bus_.get(), nullptr, own_socket ? nullptr : kService, kObject, kManager,
                                         "JobRemoved", &HostSystemd::OnJobRemoved, nullptr, this);
  if (status >= 0 && !own_socket)
    status = ::sd_bus_call_method_async(bus_.get(), nullptr, kService, kObject, kManager, "Subscribe", nullptr, nullptr,
                                        nullptr);
  if (status < 0) Drop();
  return status == -ENOENT ? -ECONNREFUSED : status;  // no socket: nobody is there
}

/// While systemd is executed anew its socket is gone for a moment.
int HostSystemd::Connect(os::MonoTime deadline) {
  for (;;) {
    const int status = Open(true, deadline);
    if (status >= 0 || Open(false, deadline) >= 0) return 0;
    if (!IsConnectionLost(-status) || os::SystemClock().Now() + kReconnect >= deadline) return status;
    os::SleepFor(kReconnect);
  }
}

Result<void> HostSystemd::WaitJob(const Request& request, const std::string& job, os::MonoTime deadline) {
  for (;;) {
    if (const auto ended = ended_jobs_.find(job); ended != ended_jobs_.end()) {
      const std::string result = ended->second;
      ended_jobs_.erase(ended);
      if (result == "done" || result == "skipped") return {};
      return Fail(Code::kIo, request.doing + ": systemd's job ended as '" + Printable(result, 40) +
                                 "'; 'journalctl -b' tells why");
    }
    if (const int status = Wait(deadline); status < 0) return FailBus(request.doing, -status, BusError());
  }
}

Result<HostSystemd::Answer> HostSystemd::AskOnce(const Request& request, os::MonoTime deadline) {
  if (!bus_)
    if (const int status = Connect(deadline); status < 0) return FailBus(request.doing, -status, BusError());
  BusError error;
  sd_bus_message* raw = nullptr;
  int status = ::sd_bus_message_new_method_call(bus_.get(), &raw, kService, kObject, kManager, request.method);
  const Message call(raw);
  if (status >= 0) status = request.fill(call.get());
  raw = nullptr;
  if (status >= 0) status = ::sd_bus_call(bus_.get(), call.get(), Left(deadline), error.get(), &raw);
  const Message reply(raw);
  if (status < 0 && *request.fine != '\0' && error.Is(request.fine)) return Answer{.refused = true};
  if (status < 0) return FailBus(request.doing, SysOf(status, error), error);
  if (!request.is_job) return Answer();
  const char* job = nullptr;
  if (status = ::sd_bus_message_read(reply.get(), "o", &job); status < 0)
    return FailBus(request.doing, -status, BusError());
  BERTH_RETURN_IF_ERROR(WaitJob(request, job, deadline));
  return Answer();
}

/// A connection that broke is opened anew once or twice: that is what a systemd that was executed anew looks like.
Result<HostSystemd::Answer> HostSystemd::Ask(const Request& request) {
  const os::MonoTime begin = os::SystemClock().Now();
  if (begin < silent_until_ && last_silence_)
    return std::unexpected(Error{last_silence_->code, last_silence_->sys, last_silence_->message});
  const os::MonoTime deadline = begin + kPatience;
  for (;;) {
    auto answer = AskOnce(request, deadline);
    if (answer || !IsSilence(answer.error().sys)) return answer;
    Drop();
    if (answer.error().sys != ETIMEDOUT && os::SystemClock().Now() + kReconnect < deadline) {
      os::SleepFor(kReconnect);
      continue;
    }
    silent_until_ = os::SystemClock().Now() + kSilence;
    last_silence_ = answer.error();
    return answer;
  }
}

Result<bool> HostSystemd::StartTransient(const std::string& unit, const std::vector<Property>& properties) {
  BERTH_TRY(const Answer answer, Ask({.method = "StartTransientUnit",
                                      .doing = "start unit " + unit,
                                      .fill =
                                          [&](sd_bus_message* m) {
                                            int status = ::sd_bus_message_append(m, "ss", unit.c_str(), "fail");
                                            if (status >= 0) status = AppendProperties(m, properties);
                                            return status < 0 ? status : ::sd_bus_message_append(m, "a(sa(sv))", 0);
                                          },
                                      .is_job = true,
                                      .fine = "org.freedesktop.systemd1.UnitExists"}));
  return !answer.refused;
}

Result<void> HostSystemd::Start(const std::string& unit) {
  BERTH_TRY([[maybe_unused]] const Answer answer,
            Ask({.method = "StartUnit",
                 .doing = "start unit " + unit,
                 .fill = [&](sd_bus_message* m) { return ::sd_bus_message_append(m, "ss", unit.c_str(), "replace"); },
                 .is_job = true}));
  return {};
}

/// systemd writes to the kernel after it has answered, but before it takes the next request: hence the second one.
Result<void> HostSystemd::Set(const std::string& unit, const std::vector<Property>& properties) {
  const std::string doing = "set properties of unit " + unit;
  BERTH_TRY([[maybe_unused]] const Answer answer,
            Ask({.method = "SetUnitProperties", .doing = doing, .fill = [&](sd_bus_message* m) {
                   const int status = ::sd_bus_message_append(m, "sb", unit.c_str(), 1);
                   return status < 0 ? status : AppendProperties(m, properties);
                 }}));
  BERTH_TRY([[maybe_unused]] const Answer applied,
            Ask({.method = "GetUnit",
                 .doing = doing,
                 .fill = [&](sd_bus_message* m) { return ::sd_bus_message_append(m, "s", unit.c_str()); },
                 .fine = "org.freedesktop.systemd1.NoSuchUnit"}));
  return {};
}

Result<void> HostSystemd::Attach(const std::string& unit, int pid) {
  BERTH_TRY([[maybe_unused]] const Answer answer,
            Ask({.method = "AttachProcessesToUnit",
                 .doing = "move process " + std::to_string(pid) + " into unit " + unit,
                 .fill = [&](sd_bus_message* m) {
                   return ::sd_bus_message_append(m, "ssau", unit.c_str(), "", 1, static_cast<std::uint32_t>(pid));
                 }}));
  return {};
}

Result<void> HostSystemd::Stop(const std::string& unit) {
  BERTH_TRY([[maybe_unused]] const Answer answer,
            Ask({.method = "StopUnit",
                 .doing = "stop unit " + unit,
                 .fill = [&](sd_bus_message* m) { return ::sd_bus_message_append(m, "ss", unit.c_str(), "replace"); },
                 .is_job = true,
                 .fine = "org.freedesktop.systemd1.NoSuchUnit"}));
  return {};
}

}  // namespace

std::unique_ptr<Systemd> OpenSystemd(std::string own_socket) {
  return std::make_unique<HostSystemd>(std::move(own_socket));
}

}  // namespace berth::cgroup
