// State files of a kubelet, as anybody might have written them: read or refused with a reason, and what was read is
// written so that it reads the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/codec/codec.h"
#include "model/promises.h"
#include "node/checkpoint/alloc_response.h"
#include "node/checkpoint/kubelet_devices.h"
#include "node/checkpoint/kubelet_files.h"
#include "node/checkpoint/ledger_import.h"

namespace {

using namespace berth;

template <class Parse>
auto ReadTwice(std::string_view text, Parse parse) -> std::optional<typename decltype(parse(text))::value_type> {
  const auto state = parse(text);
  if (!state) {
    BERTH_CHECK(!state.error().message.empty());
    return std::nullopt;
  }
  const auto again = parse(checkpoint::FormatKubeletState(*state));
  BERTH_CHECK(again && *again == *state);
  return *state;
}

/// A file with this `data`, whose checksum fits: changed bytes seldom keep one.
std::string FileWithData(std::string_view data) {
  const std::string text(data);
  return R"({"data":)" + codec::FormatJson(codec::Json(text)) + R"(,"dataChecksum":)" +
         std::to_string(checkpoint::Fnv1a("(string)" + text)) + "}";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  checkpoint::KubeletFiles files;
  files.cpu = ReadTwice(text, checkpoint::ParseKubeletCpuState);
  files.memory = ReadTwice(text, checkpoint::ParseKubeletMemoryState);
  files.devices = ReadTwice(text, checkpoint::ParseKubeletDeviceState);
  const std::string with_data = FileWithData(text);
  static_cast<void>(ReadTwice(with_data, checkpoint::ParseKubeletCpuState));
  static_cast<void>(ReadTwice(with_data, checkpoint::ParseKubeletMemoryState));
  const Ledger imported = checkpoint::ImportKubelet(files, {}).ledger;
  static_cast<void>(Contradictions(imported));
  // What was taken over of devices, their plugins' answers included, is written so that it is taken over the same.
  const checkpoint::KubeletDeviceState exported = checkpoint::ExportDeviceState(imported);
  const Ledger again = checkpoint::ImportKubelet({.cpu = {}, .memory = {}, .devices = exported}, {}).ledger;
  BERTH_CHECK(checkpoint::ExportDeviceState(again) == exported);
  if (const auto answer = checkpoint::ParseAllocResponse(text)) {
    const auto read = checkpoint::ParseAllocResponse(checkpoint::FormatAllocResponse(*answer));
    BERTH_CHECK(read && *read == *answer);
  }
  return 0;
}
