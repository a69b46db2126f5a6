// Any text is JSON or an error with a place; what is JSON survives being written as JSON and as YAML.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/codec/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace c = berth::codec;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = c::ParseJson(text, "fuzz");
  if (!json) {
    BERTH_CHECK(!json.error().message.empty());
    return 0;
  }
  const auto again = c::ParseJson(c::FormatJson(*json), "again");
  BERTH_CHECK(again && *again == *json);
  static_cast<void>(c::ToYaml(*json));
  static_cast<void>(c::MachineFromJson(*json));
  static_cast<void>(c::LedgerFromJson(*json));
  return 0;
}
