// Stages of a pod of this node, from its manifest to its removal, and the events that lead from one to another. Pure.
#ifndef BERTH_NODE_PODS_POD_STAGE_H_
#define BERTH_NODE_PODS_POD_STAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace berth::pods {

/// Why a pod is where it is, for people.
struct Why {
  std::string reason;  ///< one word: "LedgerNotSaved", "TopologyAffinityError", "Evicted", ...
  std::string message;
  std::vector<std::string> details;  ///< in an operator's words
  friend bool operator==(const Why&, const Why&) = default;
};

// ---- why a pod waits; each is the reason that people see, but for the first, which has none ----

/// Nobody has looked at it, or it is about to be decided again.
struct NotDecided {
  friend bool operator==(const NotDecided&, const NotDecided&) = default;
};
/// Nothing is started and nothing given back meanwhile.
struct LedgerNotSaved {
  std::string problem;
  friend bool operator==(const LedgerNotSaved&, const LedgerNotSaved&) = default;
};
struct NodeUnderPressure {
  std::string conditions;
  friend bool operator==(const NodeUnderPressure&, const NodeUnderPressure&) = default;
};
/// Others give back what it needs.
struct WaitingForRelease {
  std::string message;
  std::vector<std::string> details;  ///< of the decision that had no room for it
  friend bool operator==(const WaitingForRelease&, const WaitingForRelease&) = default;
};
/// A device plug-in that is away.
struct WaitingForPlugin {
  std::string resource;
  friend bool operator==(const WaitingForPlugin&, const WaitingForPlugin&) = default;
};
/// Which devices it prefers.
struct AskingPlugin {
  std::uint64_t question = 0;  ///< its number; 0: it was answered, and the pod is to be decided again
  friend bool operator==(const AskingPlugin&, const AskingPlugin&) = default;
};
/// It has its place, and what its devices bring is asked.
struct AllocatingDevices {
  std::uint64_t question = 0;  ///< likewise
  friend bool operator==(const AllocatingDevices&, const AllocatingDevices&) = default;
};

// ---- stages ----

/// Not decided yet, or its decision is being saved, or could not be. It may run all the same: then it was found running
/// though the ledger does not know it.
using Waiting = std::variant<NotDecided, LedgerNotSaved, NodeUnderPressure, WaitingForRelease, WaitingForPlugin,
                             AskingPlugin, AllocatingDevices>;
/// The engine said no: decided again when something was given back (SyncLoop). Or it was evicted, or set aside: stays
/// so until the manifest changes.
struct Rejected {
  Why why;
  std::string admitted_at;               ///< of one that was evicted
  std::optional<std::uint64_t> freed{};  ///< NodeAllocations::freed() of the decision; nullopt: not decided again
  /// A plug-in refused it: DeviceBook::registrations() then; it is decided again when another has registered.
  std::optional<std::uint64_t> registrations{};
  /// Its place in the queue of those that wait for room (frontend/static_pods/pod_queue.h), from 1; 0: it does not
  /// wait.
  int place = 0;
  friend bool operator==(const Rejected&, const Rejected&) = default;
};
/// Holds its place in the ledger.
struct Admitted {
  std::string at;  ///< RFC 3339; "" for one that was found at the start and whose manifest is not known yet
  friend bool operator==(const Admitted&, const Admitted&) = default;
};
/// Has to go: no manifest wants it any more. Its containers end, then its groups go, then its place, then its folders.
struct Ending {
  enum class Folders { kThere, kBeingRemoved, kGone };
  Why why;                  ///< of what it was before
  std::string admitted_at;  ///< likewise
  bool rejected = false;    ///< likewise
  bool place_free = false;  ///< nothing runs, and what it held was given back
  Folders folders = Folders::kThere;
  friend bool operator==(const Ending&, const Ending&) = default;
};
/// All containers ended for good, place given back.
struct Done {
  std::string admitted_at;
  friend bool operator==(const Done&, const Done&) = default;
};
/// Its containers are started by another program: only watched, with the place it has in the ledger.
struct Foreign {
  Why why;
  friend bool operator==(const Foreign&, const Foreign&) = default;
};
using Stage = std::variant<Waiting, Rejected, Admitted, Ending, Done, Foreign>;

// ---- events ----

namespace pod_event {

/// It cannot be decided now, or its decision is not in force yet.
struct Wait {
  Waiting reason;
};
/// A device plug-in has answered, or has gone.
struct Answer {
  std::uint64_t question = 0;
};
struct Reject {
  Rejected decision;
};
struct Admit {
  std::string at;
};
struct Evict {
  Why why;
};
/// No manifest wants it any more.
struct End {};
/// Nothing of it runs any more, and it holds nothing.
struct GiveBack {};
struct RemoveFolders {};
struct FoldersGone {};
/// Another program starts its containers; `why` is what there is to say of it now.
struct Watch {
  Why why;
};

}  // namespace pod_event

using PodEvent = std::variant<pod_event::Wait, pod_event::Answer, pod_event::Reject, pod_event::Admit, pod_event::Evict,
                              pod_event::End, pod_event::GiveBack, pod_event::RemoveFolders, pod_event::FoldersGone,
                              pod_event::Watch>;

/// The stage that follows. An event that means nothing in a stage changes nothing. The test has a table of both.
Stage Follow(Stage stage, PodEvent event);

/// None of a pod that is admitted or done, and of one that is not decided.
Why WhyOf(const Stage& stage);
/// The number of the question about it that device plug-ins have; 0: none.
std::uint64_t QuestionOf(const Stage& stage);
/// "": never.
const std::string& AdmittedAt(const Stage& stage);

/// Why a pod, or a container of one, waits for a device plug-in: reason and message of its event.
inline constexpr std::string_view kWaitingForPlugin = "WaitingForPlugin";
std::string WaitsForPlugin(std::string_view resource);

}  // namespace berth::pods

#endif  // BERTH_NODE_PODS_POD_STAGE_H_
