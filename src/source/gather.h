// What sources have in common: reading manifests, and telling pods apart. Internal to the room.
#ifndef BERTH_SOURCE_GATHER_H_
#define BERTH_SOURCE_GATHER_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "manifest/pod_options.h"
#include "model/pod.h"
#include "os/work_notes.h"
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
/// Where a manifest text stands, and who reads it.
struct StaticText {
  std::string place;   ///< a file's path, a URL
  std::string scheme;  ///< "file", "url": with the place the pods' origin
  std::string source;  ///< Source::name()
  std::string node_name;
  os::WorkNotes* notes = nullptr;  ///< may be null
  manifest::PodOptions pods = {};  ///< how strictly pods are read
};
/// Reads `text` and makes its pods static ones. Errors: as manifest::ParsePods; kInvalid for a text that from.notes set
/// aside.
Result<ReadPods> ReadStaticPods(std::string_view text, const StaticText& from);

/// Puts `text` into `slot`; whether that changed it.
bool Note(std::string& slot, const std::string& text);

}  // namespace berth::source

#endif  // BERTH_SOURCE_GATHER_H_
