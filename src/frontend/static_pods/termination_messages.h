// Termination messages of containers: the file named by terminationMessagePath, or the last lines of the log.
#ifndef BERTH_FRONTEND_STATIC_PODS_TERMINATION_MESSAGES_H_
#define BERTH_FRONTEND_STATIC_PODS_TERMINATION_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "frontend/static_pods/static_pod_context.h"
#include "frontend/static_pods/volumes.h"
#include "host/event_loop/task_scope.h"
#include "model/pod.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::pods {

/// As the kubelet bounds them.
inline constexpr std::size_t kMostMessage = 4096;       ///< of the file, from its end
inline constexpr std::size_t kMostMessageOfLog = 2048;  ///< of the log, from its end
inline constexpr std::size_t kMostMessageLines = 80;    ///< likewise

/// Where an attempt that ended may have said something.
struct Spoken {
  std::string file;  ///< of the host, which need not be there
  std::string log_path;
  bool log_instead = false;  ///< FallbackToLogsOnError, and it failed
};
/// What the file has, else the log where it counts; "": nothing. May wait for a disk. Thread: any.
std::string MessageOf(const Spoken& spoken);

/// Whether a plain process writes its message into the host's /dev/termination-log, as into everything it can write
/// there: it may mount, and has no mount namespace of its own in which that would stay, because its manifest names no
/// path and its root is not read-only; or the host's /dev is a volume of it.
bool LeavesMessageToHost(const Container& container);

/// The mount that makes the container's file appear where its manifest says; the file is made, empty, for everybody to
/// write. nullopt: the container has a mount of its own there; or is a plain process that leaves its message to the
/// host, or has to because berthd may not mount or has no mount point there, or
/// because its manifest names no path and the file cannot be made: a full disk keeps no process from its start.
Result<std::optional<runtime::BoundMount>> MessageMount(const Pod& pod, const Container& container, int attempt,
                                                        const VolumeFolders& folders, bool plain);

/// Thread: the loop's only; a worker reads.
class TerminationMessages {
 public:
  /// `context` outlives this.
  explicit TerminationMessages(const StaticPodContext& context) : context_(context), node_(context.node()) {}

  /// The pod may have changed: what ended containers have said is read, once for each attempt, and told to records and
  /// lifecycle as their message. Not of what could not be started: exit code runtime::kStartErrorExitCode.
  void Look(const ManagedPod& managed);
  void Forget(const std::string& uid) { known_.erase(uid); }

 private:
  struct Known {
    std::uint64_t version = 0;   // of its lifecycle, when it was looked at
    std::set<std::string> read;  // ids of attempts
  };
  void Read(const Pod& pod, const runtime::ContainerStatus& status);
  void Take(const std::string& uid, const std::string& container, const std::string& id, std::string words);

  const StaticPodContext& context_;
  core::Node& node_;
  event_loop::TaskScope tasks_{node_.executor()};
  std::map<std::string, Known> known_;  // by uid
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_TERMINATION_MESSAGES_H_
