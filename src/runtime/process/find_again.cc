#include "runtime/process/find_again.h"

#include <signal.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "host/os/clock.h"
#include "host/os/fs.h"
#include "host/os/pidfd.h"
#include "runtime/process/record.h"

namespace berth::runtime {
namespace {

constexpr os::Millis kSettleStep{10};

// Whether a record that cannot be used is lost for good: trying again would not help.
bool IsGone(const Error& error) {
  return error.code == Code::kNotFound || error.code == Code::kCorrupt || error.sys == ENOTDIR;
}

// Waits until a supervisor found in the middle of its start has got further or ended. False: nothing was started.
bool Settle(Launcher& launcher, Held& held) {
  const os::MonoTime end = os::SystemClock().Now() + Launcher::kSettleLimit;
  while (held.state.phase == ShimPhase::kReady || held.state.phase == ShimPhase::kStarting) {
    const bool ended = !held.shim.valid() || os::WaitEnd(held.shim.get(), kSettleStep);
    if (Result<ShimState> state = launcher.ReadState(held.request.id); state) held.state = *std::move(state);
    if (ended) break;
    if (os::SystemClock().Now() < end) continue;
    static_cast<void>(os::SendSignal(held.shim.get(), SIGKILL).has_value());
    os::WaitEnd(held.shim.get(), Launcher::kSettleLimit);
    held.state.phase = ShimPhase::kStarting;  // how far it got is not known
    break;
  }
  if (held.state.phase == ShimPhase::kReady || held.state.phase == ShimPhase::kFailed) return false;
  if (held.state.phase == ShimPhase::kStarting) Lose(held, "its supervisor ended while it was started");
  return true;
}

// The group of supervisors may be another one than when this one started. One that ends meanwhile is not missed.
void Rehome(int shim, const CgroupDirs& group) {
  auto root = os::OpenFs("/");
  if (!root) return;
  for (const std::string& dir : group.dirs)
    static_cast<void>((*root)->Write(dir + "/cgroup.procs", std::to_string(shim)).has_value());
}

// Finds the process of a container that ran when its record was written last.
Result<void> FindRunning(Launcher& launcher, Held& held, bool this_boot) {
  if (this_boot) {
    BERTH_TRY(held.main, FindProcess(held.state.pid, held.state.start, held.state.cgroups));
  }
  if (!held.shim.valid()) {  // it may have recorded the end and gone between the two looks
    Result<ShimState> last = launcher.ReadState(held.request.id);
    if (!last && !IsGone(last.error())) return std::unexpected(std::move(last).error());
    if (last) held.state = *std::move(last);
  }
  if (held.state.phase == ShimPhase::kRunning && !held.shim.valid() && !held.main.valid())
    Lose(held,
         this_boot ? "it ended without a supervisor: exit code unknown" : "the host was restarted: exit code unknown");
  return {};
}

// nullopt: nothing was started, and its record is removed. Errors: as FindAgain.
Result<std::optional<Held>> FindOne(Launcher& launcher, const CgroupDirs& shim_cgroup, const std::string& id) {
  Held held;
  Result<ShimRequest> request = launcher.ReadRequest(id);
  if (!request && !IsGone(request.error())) return std::unexpected(request.error());
  BERTH_TRY(const bool has_state, launcher.fs().Exists(Launcher::DirOf(id) + "/" + std::string(kStateFile)));
  // Without a readable request nothing was started, and without a state its supervisor never got the word to go: its
  // socket ended with the daemon that made it.
  if (!request || request->id != id || !has_state) {
    static_cast<void>(launcher.RemoveRecord(id).has_value());  // tried again at the next opening
    return std::nullopt;
  }
  held.request = *std::move(request);
  DropWords(held.request);
  Result<ShimState> state = launcher.ReadState(id);
  if (!state && !IsGone(state.error())) return std::unexpected(std::move(state).error());
  if (!state) {
    Lose(held, state.error().message);
  } else {
    held.state = *std::move(state);
    const bool this_boot = held.state.boot_id == os::BootId();
    if (this_boot) {
      BERTH_TRY(held.shim, FindProcess(held.state.shim_pid, held.state.shim_start, {}));
      if (held.shim.valid()) Rehome(held.state.shim_pid, shim_cgroup);
    }
    if (!Settle(launcher, held)) {
      static_cast<void>(launcher.RemoveRecord(id).has_value());
      return std::nullopt;
    }
    if (held.state.phase == ShimPhase::kRunning) BERTH_RETURN_IF_ERROR(FindRunning(launcher, held, this_boot));
  }
  held.status = StatusOf(held);
  return held;
}

}  // namespace

Result<std::vector<Held>> FindAgain(Launcher& launcher, const CgroupDirs& shim_cgroup) {
  BERTH_TRY(const std::vector<std::string> ids, launcher.fs().List(Launcher::kContainers));
  std::vector<Held> out;
  for (const std::string& id : ids) {
    auto found = FindOne(launcher, shim_cgroup, id);
    if (!found) return Wrap(std::move(found).error(), "find container " + id + " again");
    if (*found) out.push_back(**std::move(found));
  }
  return out;
}

}  // namespace berth::runtime
