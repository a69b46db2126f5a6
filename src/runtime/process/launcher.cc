#include "runtime/process/launcher.h"

#include <signal.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "host/os/append_file.h"
#include "host/os/pidfd.h"
#include "host/os/pipe.h"
#include "host/os/supervisor_message.h"
#include "host/os/volatile_file.h"
#include "runtime/process/shim.h"

namespace berth::runtime {

Result<os::UniqueFd> FindProcess(int pid, std::uint64_t start, const std::vector<std::string>& cgroups) {
  Result<os::UniqueFd> fd = os::OpenPidfd(pid, start);
  if (!fd && fd.error().code == Code::kNotFound) return os::UniqueFd();
  if (!fd || cgroups.empty()) return fd;
  const Result<std::vector<std::string>> lines = os::CgroupLinesOf(pid);
  if (!lines && lines.error().code != Code::kNotFound) return std::unexpected(lines.error());
  const bool its_own = lines && (IsInCgroups(*lines, cgroups) || ::getsid(pid) == pid);
  if (!its_own || os::HasEnded(fd->get())) return os::UniqueFd();
  return fd;
}

// ---- records ----

Result<ShimRequest> Launcher::ReadRequest(std::string_view id) {
  BERTH_TRY(const std::string text, fs_->Read(DirOf(id) + "/" + std::string(kRequestFile)));
  return ParseRequest(text);
}

Result<ShimState> Launcher::ReadState(std::string_view id) {
  BERTH_TRY(const std::string text, fs_->Read(DirOf(id) + "/" + std::string(kStateFile)));
  return ParseState(text);
}

Result<void> Launcher::WriteState(std::string_view id, const ShimState& state) {
  return os::ReplaceVolatile(PathOf(id, kStateFile), FormatState(state));
}

Result<void> Launcher::MakeRecord(const ShimRequest& request) {
  BERTH_RETURN_IF_ERROR(os::MakeFolderOf(request.log_path));
  BERTH_RETURN_IF_ERROR(fs_->MakeDir(DirOf(request.id)));
  return os::ReplaceVolatile(PathOf(request.id, kRequestFile), FormatRequest(request));
}

Result<void> Launcher::RemoveRecord(std::string_view id) {
  // Without its state a record counts as never started: a crash between these steps is finished at the next opening.
  const std::string dir = DirOf(id);
  BERTH_RETURN_IF_ERROR(fs_->RemoveFile(dir + "/" + std::string(kStateFile)));
  BERTH_RETURN_IF_ERROR(fs_->RemoveFile(dir + "/" + std::string(kRequestFile)));
  BERTH_TRY(const bool exists, fs_->Exists(dir));
  if (!exists) return {};
  BERTH_TRY(const std::vector<std::string> rest, fs_->List(dir));
  for (const std::string& name : rest) BERTH_RETURN_IF_ERROR(fs_->RemoveFile(dir + "/" + name));  // temporaries
  return fs_->RemoveDir(dir);
}

Result<void> Launcher::RemoveRecordOf(std::string_view id, const os::UniqueFd& shim) {
  if (shim.valid()) {
    if (!os::WaitEnd(shim.get(), kSettleLimit))  // stopped, perhaps: it has nothing left to do
      static_cast<void>(os::SendSignal(shim.get(), SIGKILL).has_value());
    if (!os::WaitEnd(shim.get(), kSettleLimit))
      return Fail(Code::kBusy, "the supervisor of " + std::string(id) + " lives: its record stays");
    os::Reap(shim.get());
  }
  return RemoveRecord(id);
}

// ---- start ----

Result<os::Process> Launcher::StartShim(const std::string& id, int socket) {
  os::ProcessSpec spec;
  spec.argv = {options_.shim_path, options_.run_dir + "/" + DirOf(id)};
  spec.working_dir = "/";
  spec.cgroup_dirs = options_.shim_cgroup.dirs;
  spec.cgroup_v2 = options_.shim_cgroup.v2;
  spec.extra_fd = socket;
  BERTH_TRY(os::Process shim, os::Spawn(spec));
  if (shim.refused) return Wrap(*std::move(shim.refused), "start the supervisor");
  return shim;
}

// Ends a start that went wrong: nothing of it runs afterwards.
void Launcher::StopShim(const std::string& id, os::Process& shim) {
  // Errors below mean "gone already"; a handle cannot hit anything else.
  static_cast<void>(os::SendSignal(shim.pidfd.get(), SIGKILL).has_value());
  os::WaitEnd(shim.pidfd.get(), kSettleLimit);
  os::Reap(shim.pidfd.get());
  const Result<ShimState> state = ReadState(id);
  if (!state || state->phase != ShimPhase::kRunning) return;
  const Result<os::UniqueFd> main = FindProcess(state->pid, state->start, state->cgroups);
  if (main && main->valid()) static_cast<void>(os::SendSignal(main->get(), SIGKILL).has_value());
}

Result<Launched> Launcher::TalkToShim(const ShimRequest& request, os::Process& shim, int socket,
                                      os::MonoTime deadline) {
  BERTH_TRY(std::optional<os::Message> answer, os::ReceiveMessage(socket, deadline));
  if (answer && answer->text == kMessageReady) {
    BERTH_RETURN_IF_ERROR(os::SendMessage(socket, kMessageGo));
    BERTH_TRY(answer, os::ReceiveMessage(socket, deadline));
  }
  if (!answer) return Fail(Code::kInternal, "the supervisor ended without an answer");
  if (answer->text != kMessageRunning && answer->text != kMessageRefused)
    return std::unexpected(ParseFailure(answer->text));
  BERTH_TRY(ShimState state, ReadState(request.id));
  return Launched{.state = std::move(state), .shim = std::move(shim.pidfd), .main = std::move(answer->fd)};
}

Result<Launched> Launcher::StartAndTalk(const ShimRequest& request, os::MonoTime deadline) {
  BERTH_TRY(os::SocketPair sockets, os::MakeSocketPair());
  BERTH_TRY(os::Process shim, StartShim(request.id, sockets.theirs.get()));
  sockets.theirs.reset();
  Result<Launched> launched = TalkToShim(request, shim, sockets.ours.get(), deadline);
  if (!launched) StopShim(request.id, shim);
  return launched;
}

Result<void> Launcher::Prepare(ShimRequest& request) {
  BERTH_RETURN_IF_ERROR(CompileSeccomp(request, options_.seccomp));
  return MakeRecord(request);
}

Result<Launched> Launcher::Launch(ShimRequest request) {
  const os::MonoTime deadline = os::SystemClock().Now() + options_.start_deadline;
  const Result<void> made = Prepare(request);
  Result<Launched> out = made ? StartAndTalk(request, deadline) : std::unexpected(made.error());
  if (out) return out;
  if (Result<void> removed = RemoveRecord(request.id); !removed) out.error().message += "; " + removed.error().message;
  return Wrap(std::move(out).error(),
              "start container " + request.container + " of pod " + request.pod_namespace + "/" + request.pod_name);
}

}  // namespace berth::runtime
