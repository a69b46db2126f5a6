// A warning about a text that was read: the place in it, and what is unexpected there.
#ifndef BERTH_MANIFEST_WARNING_H_
#define BERTH_MANIFEST_WARNING_H_

#include <string>

namespace berth::manifest {

struct Warning {
  std::string where;    ///< "pod.yaml: document 2: spec.containers[0].resourcs"
  std::string message;  ///< "unknown field"
  friend bool operator==(const Warning&, const Warning&) = default;
};

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_WARNING_H_
