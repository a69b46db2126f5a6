// Values of the interface as bytes of its protobuf messages, and back. Pure. Internal to the component.
//
// Errors of all that reads: kInvalid, it is no such message.
#ifndef BERTH_RPC_NRI_NRI_MESSAGES_H_
#define BERTH_RPC_NRI_NRI_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri {

/// What a request or an event is about.
struct Subject {
  Event event = Event::kUnknown;  ///< of a StateChange
  Pod pod;
  std::optional<Container> container;
  Resources wanted;
  Resources overhead;  ///< of UpdatePodSandbox
};

struct InventoryPart {
  Inventory inventory;
  bool more = false;  ///< another part follows
};

std::string EncodeRegister(const std::string& name, const std::string& index, const std::string& nri_version);
Result<Runtime> DecodeConfigure(std::string_view bytes);
std::string EncodeConfigured(std::uint32_t events);
Result<InventoryPart> DecodeSynchronize(std::string_view bytes);
std::string EncodeSynchronized(const std::vector<Update>& updates, bool more);
/// Of every request about a pod or a container but the next one.
Result<Subject> DecodeSubject(std::string_view bytes);
Result<Subject> DecodeUpdatePod(std::string_view bytes);
Result<Subject> DecodeStateChange(std::string_view bytes);
std::string EncodeCreated(const Creation& creation);
/// Of UpdateContainer and StopContainer.
std::string EncodeUpdated(const std::vector<Update>& updates);

}  // namespace berth::nri

#endif  // BERTH_RPC_NRI_NRI_MESSAGES_H_
