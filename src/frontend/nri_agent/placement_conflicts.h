// Placement conflicts: a kubelet that places containers too, by its state files (cpu_manager_state,
// memory_manager_state), and others who want containers elsewhere.
#ifndef BERTH_FRONTEND_NRI_AGENT_PLACEMENT_CONFLICTS_H_
#define BERTH_FRONTEND_NRI_AGENT_PLACEMENT_CONFLICTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/os/clock.h"
#include "model/kubelet_version.h"

namespace berth::nri_agent {

/// What the state files of a kubelet say.
struct KubeletPlaces {
  std::vector<std::string> files;              ///< those by which it gives CPUs or memory nodes; empty: it gives none
  std::vector<std::string> unread;             ///< those that are there and do not say whether it does
  std::string problem;                         ///< why one of these does not; "": none
  std::optional<KubeletVersion> version = {};  ///< the oldest that writes such files; nullopt: none was read
  friend bool operator==(const KubeletPlaces&, const KubeletPlaces&) = default;
};

/// Reads cpu_manager_state and memory_manager_state of a kubelet's folder; "" or no such file: it places nothing.
/// Thread: any; may wait for a disk.
KubeletPlaces ReadKubeletPlaces(const std::string& folder);

/// What comes of two programs that place one container.
enum class PlacementConflict {
  kWanted,   ///< somebody wanted it on other CPUs through the runtime
  kNotMade,  ///< the runtime dropped it though it had been told its place
};

/// Thread: one.
class PlacementConflicts {
 public:
  /// `step_aside`: while a kubelet places containers Berth leaves them alone.
  explicit PlacementConflicts(bool step_aside) : step_aside_(step_aside) {}

  /// A file that is not read now says what it said when it was. True: the files say something else than before.
  bool Take(KubeletPlaces now);
  bool kubelet_places() const { return !kubelet_.files.empty(); }
  bool aside() const { return step_aside_ && kubelet_places(); }
  /// What is wrong about the kubelet and the cure; "": nothing.
  std::string Problem() const;

  /// `what` says which container, and where it was wanted.
  void Note(PlacementConflict how, std::string what, os::MonoTime now);
  /// So often have cpusets been put right that somebody had changed in the kernel.
  void NoteRepaired(std::uint64_t count, os::MonoTime now);
  /// For an operator, a sentence each: the kubelet, and who wanted, dropped or wrote something in the last ten minutes.
  std::vector<std::string> Warnings(os::MonoTime now) const;

 private:
  struct Noted {
    std::uint64_t count = 0;
    std::string last;
    os::MonoTime at{};
  };
  /// nullptr: nothing of it that an operator should still hear of.
  const Noted* Lately(PlacementConflict how, os::MonoTime now) const;

  const bool step_aside_;
  KubeletPlaces kubelet_;
  std::array<Noted, 2> noted_;  // by PlacementConflict
  std::uint64_t repaired_ = 0;  // how often
  os::MonoTime repaired_at_{};
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_PLACEMENT_CONFLICTS_H_
