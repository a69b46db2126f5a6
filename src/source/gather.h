// What sources have in common: reading manifests, and telling pods apart. Internal to the room.
#ifndef BERTH_SOURCE_GATHER_H_
#define BERTH_SOURCE_GATHER_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/pod.h"
#include "source/source.h"

namespace berth::source {

/// A pod and where it stands: a file's path, a URL.
struct FoundPod {
  Pod pod;
  std::string place;
};

/// Puts `found`, in the order of the source, into out.pods and out.files. Of pods with one full name the last one wins
/// (as in the kubelet), of pods with one uid the one in the first place; what is left out is told in out.problems.
void Gather(const std::vector<FoundPod>& found, Snapshot& out);

/// What one manifest text holds.
struct ReadPods {
  std::vector<Pod> pods;
  std::vector<SourceProblem> warnings;
};
/// Reads the text that stands at `place` and makes its pods static ones of `source` (Source::name()); `scheme` and
/// place are their origin. Errors: as manifest::ParsePods; kInvalid for a text that `notes` (may be null) set aside.
Result<ReadPods> ReadStaticPods(std::string_view text, const std::string& place, std::string_view scheme,
                                const std::string& source, std::string_view node_name, os::WorkNotes* notes);

/// Puts `text` into `slot`; whether that changed it.
bool Note(std::string& slot, const std::string& text);

}  // namespace berth::source

#endif  // BERTH_SOURCE_GATHER_H_
