// Any bytes are a ledger or an error. The second half of the work gets behind the checksum: the input is taken for the
// JSON of a ledger, and what was read survives a round trip and any look at its contradictions.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/codec/codec.h"
#include "model/kubelet_version.h"
#include "model/promises.h"
#include "node/checkpoint/kubelet_devices.h"
#include "node/checkpoint/kubelet_files.h"
#include "node/checkpoint/store.h"
#include "node/checkpoint/verify.h"

namespace {

using namespace berth;

void Use(const Ledger& ledger) {
  static_cast<void>(Contradictions(ledger));
  static_cast<void>(checkpoint::VerifyRunning(ledger, {}, {}, std::set<std::string>{}));
  for (const KubeletVersion version : kKubeletVersions) {
    static_cast<void>(checkpoint::FormatKubeletState(checkpoint::ExportCpuState(ledger, version)));
    static_cast<void>(checkpoint::FormatKubeletState(checkpoint::ExportMemoryState(ledger, version)));
  }
  static_cast<void>(checkpoint::FormatKubeletState(checkpoint::ExportDeviceState(ledger)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto saved = checkpoint::DecodeSaved(text)) Use(saved->ledger);
  const auto json = codec::ParseJson(text, "fuzz");
  if (!json) return 0;
  const auto ledger = codec::LedgerFromJson(*json);
  if (!ledger) {
    BERTH_CHECK(!ledger.error().message.empty());
    return 0;
  }
  Use(*ledger);
  const checkpoint::Saved saved{*ledger, "boot", "machine"};
  const auto again = checkpoint::DecodeSaved(checkpoint::EncodeSaved(saved));
  BERTH_CHECK(again && *again == saved);
  return 0;
}
