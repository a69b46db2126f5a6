#include "kubernetes/node_publisher/pod_fingerprint.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace berth::node_publisher {

std::string PodFingerprint(std::span<const PodName> pods) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(pods.size());
  for (const PodName& pod : pods) {
    const std::uint64_t seed = XXH64(pod.namespace_.data(), pod.namespace_.size(), 0);
    hashes.push_back(XXH64(pod.name.data(), pod.name.size(), seed));
  }
  std::ranges::sort(hashes);
  std::string bytes;
  bytes.reserve(8 * hashes.size());
  for (const std::uint64_t hash : hashes)
    for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>((hash >> shift) & 0xff);
  return fmt::format("pfp0v001{:016x}", static_cast<std::uint64_t>(XXH64(bytes.data(), bytes.size(), 0)));
}

}  // namespace berth::node_publisher
