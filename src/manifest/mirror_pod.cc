#include "manifest/mirror_pod.h"

namespace berth::manifest {

std::string UidOnNode(const Pod& pod) {
  const auto mirror = pod.annotations.find("kubernetes.io/config.mirror");
  return mirror == pod.annotations.end() || mirror->second.empty() ? pod.uid : mirror->second;
}

}  // namespace berth::manifest
