#include "frontend/static_pods/termination_messages.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/os/capabilities.h"
#include "host/os/lock_file.h"
#include "host/os/unique_fd.h"
#include "runtime/process/log_reader.h"

namespace berth::pods {
namespace {

constexpr const char* kDefaultMessagePath = "/dev/termination-log";
constexpr unsigned kMessageFolder = 0755;
constexpr mode_t kWrittenByAnybody = 0666;

/// Whether a file can be mounted at the usual path. Its mount point is made on the host where it is missing, empty and
/// for nobody to read or write, and stays: to remove it would take the file off everywhere. It is in memory.
bool HasUsualPlace() {
  if (::geteuid() != 0 || (os::OwnCapabilities() & os::CapabilityBit(CAP_SYS_ADMIN)) == 0) return false;
  if (::mount_setattr(-1, "", 0, nullptr, 0) != 0 && errno == ENOSYS) return false;  // before Linux 5.12
  const os::UniqueFd made(::open(kDefaultMessagePath, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0));
  struct stat stat = {};
  return made.valid() || (::lstat(kDefaultMessagePath, &stat) == 0 && S_ISREG(stat.st_mode));
}

bool MayMount(const SecurityContext& security) {
  return security.privileged.value_or(false) || std::ranges::any_of(security.add_capabilities, [](const auto& name) {
           return name == "ALL" || os::CapabilityNumber(name) == CAP_SYS_ADMIN;
         });
}

std::string PathOf(const Container& container) {
  return container.termination_message_path.empty() ? kDefaultMessagePath : container.termination_message_path;
}

/// Beside the pod's volumes, none of which has such a name, and removed with them.
std::string MessageFile(const VolumeFolders& folders, const std::string& uid, const std::string& container,
                        int attempt) {
  return fmt::format("{}/{}/.messages/{}-{}", folders.disk, uid, container, attempt);
}

/// Empty, for everybody to write: the container's user is not known.
Result<void> MakeMessageFile(const std::string& file) {
  BERTH_RETURN_IF_ERROR(os::MakeDirs(file.substr(0, file.rfind('/')), kMessageFolder));
  const os::UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kWrittenByAnybody));
  if (!fd.valid() || ::fchmod(fd.get(), kWrittenByAnybody) != 0)
    return FailErrno("make the file of terminationMessagePath", file, errno);
  return {};
}

/// "" also where nothing can be read: it is the container's own file.
std::string EndOf(const std::string& path) {
  const os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat stat = {};
  if (!fd.valid() || ::fstat(fd.get(), &stat) != 0 || !S_ISREG(stat.st_mode)) return "";
  std::string out(kMostMessage, '\0');
  const off_t from = std::max<off_t>(stat.st_size - static_cast<off_t>(out.size()), 0);
  const ssize_t read = ::pread(fd.get(), out.data(), out.size(), from);
  out.resize(static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
  return out;
}

std::string EndOfLog(const std::string& path) {
  const auto log = runtime::TailLog(path, {.entries = kMostMessageLines, .bytes = std::size_t{64} << 10});
  if (!log) return "";
  std::string out;
  for (const LogEntry& entry : log->entries) out += entry.text + "\n";
  return out.size() > kMostMessageOfLog ? out.substr(out.size() - kMostMessageOfLog) : out;
}

/// As it is said, but for what a terminal would obey.
std::string OnLines(std::string_view words) {
  std::string out;
  for (const std::string_view line : Split(words, '\n'))
    out += (out.empty() ? "" : "\n") + Printable(line, kMostMessage);
  return std::string(Trim(out));
}

}  // namespace

std::string MessageOf(const Spoken& spoken) {
  std::string out = spoken.file.empty() ? "" : EndOf(spoken.file);
  if (out.empty() && spoken.log_instead) out = EndOfLog(spoken.log_path);
  return out;
}

bool LeavesMessageToHost(const Container& container) {
  if (PathOf(container) != kDefaultMessagePath) return false;
  const bool named = !container.termination_message_path.empty();
  return (!named && !container.security.read_only_root.value_or(false) && MayMount(container.security)) ||
         std::ranges::find(container.mounts, "/dev", &VolumeMount::mount_path) != container.mounts.end();
}

Result<std::optional<runtime::BoundMount>> MessageMount(const Pod& pod, const Container& container, int attempt,
                                                        const VolumeFolders& folders, bool plain) {
  const std::string path = PathOf(container);
  const bool own = std::ranges::find(container.mounts, path, &VolumeMount::mount_path) != container.mounts.end();
  const bool in_dev = path == kDefaultMessagePath;
  if (own || (plain && (LeavesMessageToHost(container) || (in_dev && !HasUsualPlace())))) return std::nullopt;
  std::string file = MessageFile(folders, pod.uid, container.name, attempt);
  // That of the attempt before may not be read yet; without this they would grow with each restart.
  if (attempt > 1) ::unlink(MessageFile(folders, pod.uid, container.name, attempt - 2).c_str());
  if (auto made = MakeMessageFile(file); !made) {
    if (plain && container.termination_message_path.empty()) return std::nullopt;
    return std::unexpected(std::move(made).error());
  }
  return runtime::BoundMount{.container_path = path, .host_path = std::move(file), .own_files = true};
}

void TerminationMessages::Look(const ManagedPod& managed) {
  if (!managed.lifecycle) return;
  Known& known = known_[managed.pod.uid];
  if (known.version == managed.lifecycle->version()) return;
  known.version = managed.lifecycle->version();
  std::set<std::string> now;
  for (const runtime::ContainerView& view : managed.lifecycle->containers()) {
    if (!view.last || view.last->state == runtime::ContainerState::kRunning) continue;
    now.insert(view.last->id);
    if (!known.read.contains(view.last->id)) Read(managed.pod, *view.last);
  }
  known.read = std::move(now);
}

void TerminationMessages::Read(const Pod& pod, const runtime::ContainerStatus& status) {
  if (status.exit_code == runtime::kStartErrorExitCode) return;
  const Container* const container = FindContainer(pod, status.container).container;
  const bool may_be_of_log = container != nullptr && container->message_from_log;
  const Spoken spoken{.file = MessageFile(context_.options().volumes, pod.uid, status.container, status.attempt),
                      .log_path = status.log_path,
                      .log_instead = may_be_of_log && status.exit_code != 0};
  tasks_.Submit<std::string>(
      "messages", [spoken] { return Result<std::string>(MessageOf(spoken)); },
      [this, uid = pod.uid, name = status.container, id = status.id](Result<std::string> words) {
        if (words && !words->empty()) Take(uid, name, id, *std::move(words));
      });
}

void TerminationMessages::Take(const std::string& uid, const std::string& container, const std::string& id,
                               std::string words) {
  const auto pod = node_.statuses().all().find(uid);
  if (pod == node_.statuses().all().end()) return;
  const auto status = pod->second.find(container);
  if (status == pod->second.end() || status->second.id != id) return;
  runtime::ContainerStatus with = status->second;
  if (!with.message.empty()) with.message += ": ";
  with.message += OnLines(words);
  node_.statuses().Take(with);
  const auto managed = node_.pods().find(uid);
  if (managed != node_.pods().end() && managed->second.lifecycle)
    managed->second.lifecycle->Observe(with, node_.clock().Now());
  node_.agenda().WakeNow();
}

}  // namespace berth::pods
