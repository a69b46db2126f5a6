// Canonical text reads back as the same amount and the same text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using berth::Quantity;
  const auto quantity = Quantity::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!quantity) return 0;
  const std::string text = quantity->ToString();
  const auto again = Quantity::Parse(text);
  BERTH_CHECK(again && *again == *quantity && again->ToString() == text);
  BERTH_CHECK(quantity->IsInteger() == (Quantity::FromUnits(quantity->Value()) == *quantity));
  BERTH_CHECK((*quantity - *quantity).IsZero());
  return 0;
}
