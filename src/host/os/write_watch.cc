#include "host/os/write_watch.h"

#include <fcntl.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "base/text.h"

namespace berth::os {
namespace {

constexpr std::size_t kAtOnce = 32;  // events between two looks at the clock

std::string LinkTarget(const std::string& link) {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size = ::readlink(link.c_str(), buffer.data(), buffer.size());
  return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : std::string();
}

/// What /proc says about a process that may end at any moment.
std::string Describe(int pid) {
  if (pid <= 0) return "";
  const std::string folder = "/proc/" + std::to_string(pid);
  std::string name;
  std::getline(std::ifstream(folder + "/comm"), name);
  const std::string program = LinkTarget(folder + "/exe");
  std::string out = name.empty() ? "a process that has ended" : Printable(name);
  out += " (pid " + std::to_string(pid);
  if (!program.empty()) out += ", " + Printable(program);
  return out + ")";
}

/// nullopt: it is our own.
std::optional<FileWrite> WriteOf(const fanotify_event_metadata& event, int own_pid) {
  const UniqueFd file(event.fd);
  if (event.pid == own_pid || !file.valid()) return std::nullopt;
  return FileWrite{LinkTarget("/proc/self/fd/" + std::to_string(file.get())), event.pid, Describe(event.pid)};
}

}  // namespace

Result<WriteWatch> WriteWatch::Open() {
  constexpr unsigned kFlags = FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_MARKS;
  UniqueFd fd(::fanotify_init(kFlags, O_RDONLY | O_CLOEXEC | O_LARGEFILE));
  if (!fd.valid()) return FailErrno("watch for writers (fanotify)", "", errno);
  return WriteWatch(std::move(fd));
}

Result<void> WriteWatch::Add(const std::string& folder) {
  const int status = ::fanotify_mark(fd_.get(), FAN_MARK_ADD | FAN_MARK_ONLYDIR, FAN_MODIFY | FAN_EVENT_ON_CHILD,
                                     AT_FDCWD, folder.c_str());
  return status == 0 ? Result<void>() : FailErrno("watch for writers to", folder, errno);
}

WriteWatch::Writes WriteWatch::Take(const Slice& slice) {
  Writes out;
  const int own_pid = ::getpid();
  alignas(fanotify_event_metadata) std::array<char, kAtOnce * FAN_EVENT_METADATA_LEN> buffer{};
  do {
    const ssize_t size = ::read(fd_.get(), buffer.data(), buffer.size());
    if (size <= 0) return out;
    for (std::size_t at = 0; at + FAN_EVENT_METADATA_LEN <= static_cast<std::size_t>(size);) {
      fanotify_event_metadata event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      if (event.event_len < FAN_EVENT_METADATA_LEN) return out;
      at += event.event_len;
      if ((event.mask & FAN_Q_OVERFLOW) != 0) out.lost = true;
      if (auto write = WriteOf(event, own_pid)) out.list.push_back(*std::move(write));
    }
  } while (!slice.over());
  return out;
}

}  // namespace berth::os
