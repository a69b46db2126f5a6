// The pods of one source, told apart.
#ifndef BERTH_SOURCE_GATHER_H_
#define BERTH_SOURCE_GATHER_H_

#include <string>
#include <vector>

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

}  // namespace berth::source

#endif  // BERTH_SOURCE_GATHER_H_
