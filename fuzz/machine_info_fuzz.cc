// cAdvisor MachineInfo JSON: whatever is accepted must be sound and come back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "host/machine/derive.h"
#include "host/machine/load_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto machine = berth::machine::ParseMachineInfo(text, "fuzz");
  if (!machine) {
    if (machine.error().message.empty()) std::abort();
    return 0;
  }
  if (!berth::machine::CheckNodes(machine->nodes)) std::abort();
  const auto again = berth::machine::ParseMachineInfo(berth::machine::FormatMachineInfo(*machine), "fuzz");
  if (!again || berth::machine::FormatMachineInfo(*again) != berth::machine::FormatMachineInfo(*machine)) std::abort();
  return 0;
}
