// State files of a kubelet, as anybody might have written them: read or refused with a reason, and what was read is
// written so that it reads the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/promises.h"
#include "state/alloc_response.h"
#include "state/kubelet_devices.h"
#include "state/kubelet_files.h"
#include "state/ledger_import.h"

namespace {

using namespace berth;

template <class Parse>
auto ReadTwice(std::string_view text, Parse parse) -> std::optional<typename decltype(parse(text))::value_type> {
  const auto state = parse(text);
  if (!state) {
    BERTH_CHECK(!state.error().message.empty());
    return std::nullopt;
  }
  const auto again = parse(state::FormatKubeletState(*state));
  BERTH_CHECK(again && *again == *state);
  return *state;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  state::KubeletFiles files;
  files.cpu = ReadTwice(text, state::ParseKubeletCpuState);
  files.memory = ReadTwice(text, state::ParseKubeletMemoryState);
  files.devices = ReadTwice(text, state::ParseKubeletDeviceState);
  const Ledger imported = state::ImportKubelet(files, {}).ledger;
  static_cast<void>(Contradictions(imported));
  // What was taken over of devices, their plugins' answers included, is written so that it is taken over the same.
  const state::KubeletDeviceState exported = state::ExportDeviceState(imported);
  const Ledger again = state::ImportKubelet({.cpu = {}, .memory = {}, .devices = exported}, {}).ledger;
  BERTH_CHECK(state::ExportDeviceState(again) == exported);
  if (const auto answer = state::ParseAllocResponse(text)) {
    const auto read = state::ParseAllocResponse(state::FormatAllocResponse(*answer));
    BERTH_CHECK(read && *read == *answer);
  }
  return 0;
}
