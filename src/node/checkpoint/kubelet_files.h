// The kubelet's own state files, cpu_manager_state and memory_manager_state: text <-> value, checksums included. Pure.
//
// Bytes and versions are described in docs/formats/kubelet-state.md. What is written here
// is what a kubelet of that version writes, byte for byte; what is read is what it accepts, and CPU files of V1, which
// kubelets from 1.37 on refuse.
#ifndef BERTH_NODE_CHECKPOINT_KUBELET_FILES_H_
#define BERTH_NODE_CHECKPOINT_KUBELET_FILES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/result.h"
#include "model/kubelet_version.h"
#include "model/ledger.h"
#include "model/placement.h"

namespace berth::checkpoint {

/// 32-bit FNV-1a, the hash behind all checksums.
std::uint32_t Fnv1a(std::string_view bytes);

/// Formats of cpu_manager_state. The file does not name its version; it follows from its fields and its checksum.
enum class KubeletCpuVersion {
  kV1,  ///< container id -> CPUs: read only, written by very old kubelets
  kV2,  ///< pod uid -> container name -> CPUs: up to kubelet 1.36
  kV3,  ///< V2 and CPUs per pod: 1.36 with the feature gate PodLevelResourceManagers
  kV4,  ///< V2, and all of V3 once more as a text with a checksum of its own, which alone counts: from 1.37 on
};

struct KubeletCpuState {
  KubeletCpuVersion version = KubeletCpuVersion::kV2;
  std::string policy;                                              ///< "none" or "static"
  CpuSet default_cpus{};                                           ///< the shared pool
  std::map<std::string, CpuSet> by_container_id{};                 ///< V1 only
  std::map<std::string, std::map<std::string, CpuSet>> entries{};  ///< pod uid -> container -> exclusive CPUs; not V1
  std::map<std::string, CpuSet> pods{};                            ///< pod uid -> CPUs of the pod as a whole; V3, V4
  friend bool operator==(const KubeletCpuState&, const KubeletCpuState&) = default;
};

/// Formats of memory_manager_state.
enum class KubeletMemoryVersion {
  kV1,  ///< up to kubelet 1.36
  kV2,  ///< with blocks per pod: 1.36 with the feature gate PodLevelResourceManagers
  kV3,  ///< V1, and all of V2 once more as a text with a checksum of its own, which alone counts: from 1.37 on
};

struct KubeletMemoryState {
  using Blocks = std::vector<MemoryBlock>;  ///< the order counts: it is part of the checksum

  KubeletMemoryVersion version = KubeletMemoryVersion::kV1;
  std::string policy;                                              ///< "None" or "Static"
  std::map<NumaId, MemoryNodeState> nodes{};                       ///< empty under policy None
  std::map<std::string, std::map<std::string, Blocks>> entries{};  ///< pod uid -> container -> blocks
  std::map<std::string, Blocks> pods{};                            ///< V2, V3
  friend bool operator==(const KubeletMemoryState&, const KubeletMemoryState&) = default;
};

/// The file's bytes, checksums included, without a newline at the end. Sizes are written as the kubelet holds them:
/// unsigned 64 bit, a negative amount wraps around.
std::string FormatKubeletState(const KubeletCpuState& state);
std::string FormatKubeletState(const KubeletMemoryState& state);

/// The oldest kubelet known here that writes the format.
constexpr KubeletVersion WriterOf(KubeletCpuVersion version) {
  return version < KubeletCpuVersion::kV4 ? KubeletVersion::k1_36 : KubeletVersion::k1_37;
}
constexpr KubeletVersion WriterOf(KubeletMemoryVersion version) {
  return version < KubeletMemoryVersion::kV3 ? KubeletVersion::k1_36 : KubeletVersion::k1_37;
}

/// Reads a file of any version, checksums verified in the order and with the tolerance of the kubelet: the newest
/// version first; a file with `data` or a dataChecksum is read as nothing older. A checksum of 0, or none, is accepted
/// for CPU V1 and V2 and memory V1; pod entries of such a file are kept, as 1.36 does. Errors: kCorrupt: damaged (no
/// JSON, a field of the wrong type, a checksum that does not fit); kUnsupported: whole, but not of a version known here
/// (fields nobody knows and a checksum that covers them). The message names the field and the cure, not the file.
Result<KubeletCpuState> ParseKubeletCpuState(std::string_view text);
Result<KubeletMemoryState> ParseKubeletMemoryState(std::string_view text);

/// The files a kubelet of `version` would have for the same assignments (default feature gates). Containers without
/// exclusive CPUs or pinned memory do not appear; blocks are sorted by type.
KubeletCpuState ExportCpuState(const Ledger& ledger, KubeletVersion version);
KubeletMemoryState ExportMemoryState(const Ledger& ledger, KubeletVersion version);

}  // namespace berth::checkpoint

#endif  // BERTH_NODE_CHECKPOINT_KUBELET_FILES_H_
