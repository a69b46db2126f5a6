// The kubelet's device checkpoint, kubelet_internal_checkpoint: text <-> value, checksum included. Pure.
//
// Described in docs/formats/kubelet-state.md.
#ifndef BERTH_NODE_CHECKPOINT_KUBELET_DEVICES_H_
#define BERTH_NODE_CHECKPOINT_KUBELET_DEVICES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ledger.h"

namespace berth::checkpoint {

struct KubeletDeviceState {
  using Ids = std::optional<std::vector<std::string>>;  ///< nullopt: null in the file
  struct Entry {
    std::string pod;
    std::string container;
    std::string resource;
    std::optional<std::map<std::string, Ids>> devices;  ///< NUMA node as text, "-1": none -> ids
    std::optional<std::string> response;                ///< base64, as it stands in the file
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::optional<std::vector<Entry>> entries;  ///< nullopt: null in the file, as the kubelet writes none
  std::map<std::string, Ids> registered{};    ///< resource -> healthy devices
  friend bool operator==(const KubeletDeviceState&, const KubeletDeviceState&) = default;
};

/// The file's bytes, checksum included, without a newline at the end. Entries and ids stay in their order.
std::string FormatKubeletState(const KubeletDeviceState& state);

/// Errors: kCorrupt: damaged (no JSON, a wrong type, a checksum that does not fit); kUnsupported: whole, but of another
/// version of the kubelet (device ids as a list, as before 1.20, or fields nobody knows and a checksum over them).
Result<KubeletDeviceState> ParseKubeletDeviceState(std::string_view text);

/// The file a kubelet would have for the ledger's assignments. `inventory`: what is registered, also without devices;
/// a resource that is not in it is registered with the devices somebody holds. An assignment without an answer has
/// none in the file, and its devices are on no node.
KubeletDeviceState ExportDeviceState(const Ledger& ledger, const DeviceInventory& inventory = {});

}  // namespace berth::checkpoint

#endif  // BERTH_NODE_CHECKPOINT_KUBELET_DEVICES_H_
