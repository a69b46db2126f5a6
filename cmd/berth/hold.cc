#include "berth/hold.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>

#include "api/local_api/node_client.h"
#include "base/text.h"
#include "host/cgroup/movable_processes.h"
#include "host/os/clock.h"
#include "host/os/foreground.h"
#include "host/os/fs.h"
#include "host/os/pidfd.h"

namespace berth::cli {
namespace {

using cgroup::ProcessId;
using cgroup::Visitors;

constexpr std::string_view kGiveBack = "--give-back";
constexpr std::string_view kEvenPlaced = "--even-placed";
constexpr os::Millis kLookAtVisitors{200};
constexpr os::Millis kAskFor{60'000};  // berthd may just be restarting

std::optional<ProcessId> ParseProcess(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto pid = ParseDecimal<int>(word.substr(0, colon));
  const auto ticks = ParseDecimal<std::uint64_t>(word.substr(colon + 1));
  if (!pid || !ticks || *pid <= 0) return std::nullopt;
  return ProcessId{.pid = *pid, .start_ticks = *ticks};
}

std::optional<HoldOptions> ParseHold(const std::vector<std::string>& words) {
  HoldOptions out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == 0) {
      out.socket = words[i];
    } else if (words[i] == kGiveBack) {
      out.give_back = true;
    } else if (words[i] == kEvenPlaced) {
      out.even_placed = true;
    } else if (const auto process = ParseProcess(words[i])) {
      out.processes.push_back(*process);
    } else {
      return std::nullopt;
    }
  }
  if (out.processes.empty()) return std::nullopt;
  return out;
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Removes the pod we are the container of, so that it does not stay in the list with nothing to hold.
void RemoveOwnPod(const std::string& socket) {
  const os::MonoTime start = os::SystemClock().Now();
  do {
    const auto gone = api::NodeClient(socket).DeletePod(Variable("POD_NAMESPACE"), Variable("POD_NAME"));
    if (gone || gone.error().code == Code::kNotFound) return;
    os::SleepFor(kLookAtVisitors);
  } while (os::SystemClock().Now() - start < kAskFor);
}

/// The processes that live, and a handle of each.
class Watched {
 public:
  explicit Watched(const std::vector<ProcessId>& processes) {
    for (const ProcessId& process : processes)
      if (auto handle = os::OpenPidfd(process.pid, process.start_ticks)) handles_.push_back(*std::move(handle));
  }
  bool AllEnded() const {
    for (const os::UniqueFd& handle : handles_)
      if (!os::HasEnded(handle.get())) return false;
    return true;
  }
  void Signal(int signal) const {
    for (const os::UniqueFd& handle : handles_)
      if (const auto sent = os::SendSignal(handle.get(), signal); !sent) continue;  // it ended: what was asked for
  }

 private:
  std::vector<os::UniqueFd> handles_;
};

/// Whoever wrote our command line: what may not be moved stays. A command of `berth run` is its own child, wherever
/// that was started.
Result<void> CheckMovable(const HoldOptions& options) {
  BERTH_TRY(const auto root, os::OpenFs("/"));
  const auto placed = options.even_placed ? cgroup::TakesFrom::kContainers : cgroup::TakesFrom::kNowhere;
  for (const ProcessId& process : options.processes) {
    const auto family =
        cgroup::FindMovable(*root, {.pid = process.pid,
                                    .self = ::getpid(),
                                    .takes_from = options.give_back ? placed : cgroup::TakesFrom::kAnywhere});
    if (!family && family.error().code != Code::kNotFound) return std::unexpected(family.error());
  }
  return {};
}

/// Until all have ended or were given back.
Result<void> Hold(const HoldOptions& options, const os::HeldSignals& signals, Visitors& visitors) {
  BERTH_RETURN_IF_ERROR(CheckMovable(options));
  for (const ProcessId& process : options.processes)
    if (auto in = visitors.TakeIn(process); !in && in.error().code != Code::kNotFound) return in;
  const Watched watched(options.processes);
  while (!watched.AllEnded()) {
    const auto asked = signals.Asked(kLookAtVisitors);
    if (!asked) continue;
    if (options.give_back) return visitors.GiveBack();
    watched.Signal(*asked);
  }
  return options.give_back ? visitors.GiveBack() : Result<void>();  // children that outlive it were somebody's too
}

}  // namespace

std::vector<std::string> HoldCommand(const std::string& program, const HoldOptions& options) {
  std::vector<std::string> out = {program, std::string(kHoldVerb), options.socket};
  if (options.give_back) out.emplace_back(kGiveBack);
  if (options.even_placed) out.emplace_back(kEvenPlaced);
  for (const ProcessId& process : options.processes)
    out.push_back(std::to_string(process.pid) + ":" + std::to_string(process.start_ticks));
  return out;
}

int RunHold(const std::vector<std::string>& words, std::ostream& err) {
  const auto options = ParseHold(words);
  if (!options) {
    err << "berth: " << kHoldVerb << " is for the pods of 'berth run' only\n";
    return 2;
  }
  const os::HeldSignals signals;
  auto visitors = Visitors::Make(Variable("POD_UID"));
  const auto held = visitors ? Hold(*options, signals, *visitors) : Result<void>(std::unexpected(visitors.error()));
  if (!held) {
    err << "berth: " << held.error().message << '\n' << std::flush;
    if (visitors && options->give_back)
      if (const auto back = visitors->GiveBack(); !back) err << "berth: " << back.error().message << '\n' << std::flush;
    return 1;
  }
  RemoveOwnPod(options->socket);
  return 0;
}

}  // namespace berth::cli
