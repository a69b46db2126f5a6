// Any bytes are a ledger or an error. The second half of the work gets behind the checksum: the input is taken for the
// JSON of a ledger, and what was read survives a round trip and any look at its contradictions.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "codec/codec.h"
#include "model/promises.h"
#include "state/kubelet_devices.h"
#include "state/kubelet_files.h"
#include "state/store.h"
#include "state/verify.h"

namespace {

using namespace berth;

void Use(const Ledger& ledger) {
  static_cast<void>(Contradictions(ledger));
  static_cast<void>(state::VerifyRunning(ledger, {}, {}, std::set<std::string>{}));
  static_cast<void>(state::FormatKubeletState(state::ExportCpuState(ledger)));
  static_cast<void>(state::FormatKubeletState(state::ExportMemoryState(ledger)));
  static_cast<void>(state::FormatKubeletState(state::ExportDeviceState(ledger)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto saved = state::DecodeSaved(text)) Use(saved->ledger);
  const auto json = codec::ParseJson(text, "fuzz");
  if (!json) return 0;
  const auto ledger = codec::LedgerFromJson(*json);
  if (!ledger) {
    BERTH_CHECK(!ledger.error().message.empty());
    return 0;
  }
  Use(*ledger);
  const state::Saved saved{*ledger, "boot", "machine"};
  const auto again = state::DecodeSaved(state::EncodeSaved(saved));
  BERTH_CHECK(again && *again == saved);
  return 0;
}
