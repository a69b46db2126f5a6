// A list that is accepted reads back as the same set; nothing aborts.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/id_set.h"

namespace {

template <class Set>
void Check(std::string_view text) {
  const auto set = Set::Parse(text);
  if (!set) return;
  const auto again = Set::Parse(berth::FormatIds(*set));
  BERTH_CHECK(again && *again == *set);
  int count = 0;
  for (const auto id : *set) count += set->Contains(id) ? 1 : 0;
  BERTH_CHECK(count == set->Count());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Check<berth::CpuSet>(text);
  Check<berth::NodeSet>(text);
  return 0;
}
