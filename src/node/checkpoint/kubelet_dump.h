// The textual dump that the checksums of the kubelet's state files are computed over (docs/formats/kubelet-state.md).
// Works on the file's JSON, so that a reader hashes what the file says, in the file's order. Private to this component.
#ifndef BERTH_NODE_CHECKPOINT_KUBELET_DUMP_H_
#define BERTH_NODE_CHECKPOINT_KUBELET_DUMP_H_

#include <string>
#include <string_view>

#include "api/codec/codec.h"

namespace berth::checkpoint {

/// What the dump depends on beside the fields. Of a file with `data` it is what stands beside that, without pod
/// entries.
struct CpuDump {
  std::string_view type = "CPUManagerCheckpoint";
  bool entries_by_id = false;  ///< V1: container id -> CPUs
  bool pod_entries = false;    ///< V3
};
struct MemoryDump {
  std::string_view type = "MemoryManagerCheckpoint";
  bool pod_entries = false;  ///< V2
};

/// Ends a message about a damaged file.
inline constexpr std::string_view kDamagedFileCure =
    "; restore the file from a copy, or drain the node and remove the file";

/// Member of an object by the reader's rule: any case, the last one wins. nullptr: absent.
const codec::Json* Member(const codec::Json& object, std::string_view name);

/// JSON text with the characters escaped that the kubelet's writer escapes beyond what JSON asks for. They only occur
/// inside strings.
std::string EscapeLikeTheKubelet(std::string_view json);

/// The text to hash. Requires: `file` has the types of the version that is asked for (CheckShape in kubelet_files.cc).
std::string Dump(const codec::Json& file, const CpuDump& how);
std::string Dump(const codec::Json& file, const MemoryDump& how);

}  // namespace berth::checkpoint

#endif  // BERTH_NODE_CHECKPOINT_KUBELET_DUMP_H_
