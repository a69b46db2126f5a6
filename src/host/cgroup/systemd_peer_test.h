// A systemd for tests that is really asked over D-Bus, and answers late.
#ifndef BERTH_HOST_CGROUP_SYSTEMD_PEER_TEST_H_
#define BERTH_HOST_CGROUP_SYSTEMD_PEER_TEST_H_

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-id128.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "host/cgroup/played_systemd_test.h"
#include "host/os/clock.h"
#include "host/os/event_fd.h"
#include "host/os/unique_fd.h"

namespace berth::cgroup {

/// Listens on a unix socket as systemd does on its own; does what it is asked for in `world`.
///
/// Thread: the world's figures may be read when this is gone.
class SystemdPeer {
 public:
  SystemdPeer(PlayedSystemd::World& world, std::string socket) : systemd_(world), socket_(std::move(socket)) {
    listener_ = os::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    BERTH_CHECK(socket_.size() < sizeof where.sun_path);
    std::memcpy(where.sun_path, socket_.data(), socket_.size());
    const void* const address = &where;
    BERTH_CHECK(::bind(listener_.get(), static_cast<const sockaddr*>(address), sizeof where) == 0);
    BERTH_CHECK(::listen(listener_.get(), 4) == 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~SystemdPeer() {
    stop_.Signal();
    thread_.join();
  }
  SystemdPeer(const SystemdPeer&) = delete;
  SystemdPeer& operator=(const SystemdPeer&) = delete;

  std::string address() const { return "unix:path=" + socket_; }
  int calls() const { return calls_; }
  /// Somebody has asked and was not answered yet.
  bool is_asked() const { return is_asked_; }
  /// From now on everything is done that long after it was asked for, and answered half as long after that.
  void set_delay(os::Millis delay) { delay_ = delay; }

 private:
  static os::EventFd OpenStop() {
    auto stop = os::EventFd::Open();
    BERTH_CHECK(stop.has_value());
    return *std::move(stop);
  }
  /// Serves one connection after the other.
  void Run() {
    while (WaitFor(listener_.get(), POLLIN)) {
      const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) Serve(fd);
    }
  }
  /// False: it is over.
  bool WaitFor(int fd, int events) {
    pollfd fds[2] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                     {.fd = fd, .events = static_cast<short>(events), .revents = 0}};
    ::poll(fds, 2, -1);
    return fds[0].revents == 0;
  }
  void Serve(int fd) {
    sd_bus* bus = nullptr;
    sd_id128_t id{};
    bool good = ::sd_bus_new(&bus) >= 0 && ::sd_id128_randomize(&id) >= 0 && ::sd_bus_set_fd(bus, fd, fd) >= 0 &&
                ::sd_bus_set_server(bus, 1, id) >= 0 && ::sd_bus_set_anonymous(bus, 1) >= 0 &&
                ::sd_bus_add_filter(bus, nullptr, &SystemdPeer::OnMessage, this) >= 0 && ::sd_bus_start(bus) >= 0;
    while (good) {
      const int worked = ::sd_bus_process(bus, nullptr);
      if (worked > 0) continue;
      const int events = worked < 0 ? -1 : ::sd_bus_get_events(bus);
      good = events >= 0 && WaitFor(fd, events);
    }
    ::sd_bus_close_unref(bus);
  }

  static int OnMessage(sd_bus_message* m, void* self, sd_bus_error*) {
    auto* const peer = static_cast<SystemdPeer*>(self);
    if (::sd_bus_message_is_method_call(m, nullptr, nullptr) <= 0) return 1;
    ++peer->calls_;
    peer->is_asked_ = true;
    peer->Answer(m);
    peer->is_asked_ = false;
    return 1;
  }
  void Answer(sd_bus_message* m) {
    os::SleepFor(delay_);
    const std::string_view method = ::sd_bus_message_get_member(m);
    const char* unit = "";
    ::sd_bus_message_read(m, "s", &unit);
    if (method == "GetUnit") {
      ::sd_bus_reply_method_return(m, "o", "/org/freedesktop/systemd1/unit/x");
    } else if (method == "SetUnitProperties") {
      int runtime = 0;
      ::sd_bus_message_read(m, "b", &runtime);
      const auto set = systemd_.Set(unit, ReadProperties(m));
      Dawdle();
      Reply(m, set);
    } else if (method == "AttachProcessesToUnit") {
      const char* below = "";
      ::sd_bus_message_read(m, "s", &below);
      const auto pids = ReadArray<std::uint32_t>(m, 'u');
      Reply(m, systemd_.Attach(unit, static_cast<int>(pids.empty() ? 0 : pids.front())));
    } else {
      DoJob(m, method, unit);
    }
  }
  void Dawdle() const { os::SleepFor(delay_.load() / 2); }
  void DoJob(sd_bus_message* m, std::string_view method, const char* unit) {
    const char* mode = "";
    ::sd_bus_message_read(m, "s", &mode);
    Result<bool> done = true;
    if (method == "StartTransientUnit") done = systemd_.StartTransient(unit, ReadProperties(m));
    Result<void> other;
    if (method == "StartUnit") other = systemd_.Start(unit);
    if (method == "StopUnit") other = systemd_.Stop(unit);
    Dawdle();
    if (!done || !other) return Reply(m, std::unexpected(done ? other.error() : done.error()));
    if (!*done) {
      ::sd_bus_reply_method_errorf(m, "org.freedesktop.systemd1.UnitExists", "Unit %s exists", unit);
      return;
    }
    const std::string job = "/org/freedesktop/systemd1/job/" + std::to_string(++last_job_);
    ::sd_bus_reply_method_return(m, "o", job.c_str());
    ::sd_bus_emit_signal(::sd_bus_message_get_bus(m), "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                         "JobRemoved", "uoss", last_job_, job.c_str(), unit, "done");
  }
  static void Reply(sd_bus_message* m, const Result<void>& done) {
    if (done) {
      ::sd_bus_reply_method_return(m, "");
      return;
    }
    const char* name = done.error().code == Code::kNotFound ? "org.freedesktop.systemd1.NoSuchUnit"
                                                            : "org.freedesktop.DBus.Error.Failed";
    ::sd_bus_reply_method_errorf(m, name, "%s", done.error().message.c_str());
  }

  template <class T>
  static std::vector<T> ReadArray(sd_bus_message* m, char element) {
    const void* data = nullptr;
    std::size_t bytes = 0;
    ::sd_bus_message_read_array(m, element, &data, &bytes);
    std::vector<T> out(bytes / sizeof(T));
    if (bytes > 0) std::memcpy(out.data(), data, out.size() * sizeof(T));
    return out;
  }
  static std::vector<Property> ReadProperties(sd_bus_message* m) {
    std::vector<Property> out;
    ::sd_bus_message_enter_container(m, 'a', "(sv)");
    while (::sd_bus_message_enter_container(m, 'r', "sv") > 0) {
      const char* name = "";
      const char* type = "";
      ::sd_bus_message_read(m, "s", &name);
      ::sd_bus_message_peek_type(m, nullptr, &type);
      const std::string_view is = type;
      ::sd_bus_message_enter_container(m, 'v', type);
      Property property{.name = name, .value = false};
      if (is == "ay") {
        property.value = ReadArray<std::uint8_t>(m, 'y');
      } else if (is == "au") {
        property.value = ReadArray<std::uint32_t>(m, 'u');
      } else if (is == "t") {
        std::uint64_t number = 0;
        ::sd_bus_message_read(m, "t", &number);
        property.value = number;
      } else if (is == "s") {
        const char* text = "";
        ::sd_bus_message_read(m, "s", &text);
        property.value = std::string(text);
      } else {
        int yes = 0;
        ::sd_bus_message_read(m, "b", &yes);
        property.value = yes != 0;
      }
      ::sd_bus_message_exit_container(m);
      ::sd_bus_message_exit_container(m);
      out.push_back(std::move(property));
    }
    ::sd_bus_message_exit_container(m);
    return out;
  }

  PlayedSystemd systemd_;  // the thread's
  const std::string socket_;
  const os::EventFd stop_ = OpenStop();
  os::UniqueFd listener_;
  std::uint32_t last_job_ = 0;
  std::atomic<int> calls_ = 0;
  std::atomic<bool> is_asked_ = false;
  std::atomic<os::Millis> delay_ = os::Millis(0);
  std::thread thread_;  // last: it uses the others
};

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_SYSTEMD_PEER_TEST_H_
