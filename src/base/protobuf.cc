#include "base/protobuf.h"

#include <cstddef>

namespace berth {
namespace {

constexpr unsigned kTypeBits = 3;
constexpr unsigned kVarintBits = 7;
constexpr std::uint64_t kLongestFixed = 8;

void PutVarint(std::string& out, std::uint64_t value) {
  for (; value > 0x7f; value >>= kVarintBits) out += static_cast<char>((value & 0x7fU) | 0x80U);
  out += static_cast<char>(value);
}

void PutKey(std::string& out, std::uint32_t field, WireType type) {
  PutVarint(out, field << kTypeBits | static_cast<std::uint32_t>(type));
}

}  // namespace

void PutBytesField(std::string& out, std::uint32_t field, std::string_view bytes) {
  PutKey(out, field, WireType::kBytes);
  PutVarint(out, bytes.size());
  out += bytes;
}

void PutVarintField(std::string& out, std::uint32_t field, std::uint64_t value) {
  PutKey(out, field, WireType::kVarint);
  PutVarint(out, value);
}

std::nullopt_t WireFields::Stop(std::string_view problem) {
  problem_ = problem;
  return std::nullopt;
}

std::optional<std::uint64_t> WireFields::Varint() {
  std::uint64_t out = 0;
  constexpr unsigned kLastShift = 63;
  for (unsigned shift = 0; shift <= kLastShift; shift += kVarintBits) {
    if (left_.empty()) return Stop("it ends too early");
    const auto byte = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    out |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return out;
  }
  return Stop("a number that is too long");
}

std::optional<WireField> WireFields::Next() {
  if (left_.empty() || !problem_.empty()) return std::nullopt;
  const auto key = Varint();
  if (!key) return std::nullopt;
  WireField out{.number = *key >> kTypeBits, .type = static_cast<WireType>(*key & 7U), .bytes = {}};
  if (out.number == 0) return Stop("a field without a number");
  std::optional<std::uint64_t> size;
  switch (out.type) {
    case WireType::kVarint: {
      const auto value = Varint();
      if (!value) return std::nullopt;
      out.value = *value;
      return out;
    }
    case WireType::kFixed64: size = kLongestFixed; break;
    case WireType::kFixed32: size = kLongestFixed / 2; break;
    case WireType::kBytes: size = Varint(); break;
    default: return Stop("a field of no known type");
  }
  if (!size) return std::nullopt;
  if (*size > left_.size()) return Stop("it ends too early");
  out.bytes = left_.substr(0, static_cast<std::size_t>(*size));
  left_.remove_prefix(out.bytes.size());
  return out;
}

}  // namespace berth
