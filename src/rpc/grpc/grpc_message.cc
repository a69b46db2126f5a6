#include "rpc/grpc/grpc_message.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace berth::grpc {

std::string Framed(std::string_view message) {
  std::string out;
  out.reserve(kMessagePrefix + message.size());
  out += '\0';
  const auto size = static_cast<std::uint32_t>(message.size());
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>((size >> shift) & 0xFFU);
  return out.append(message);
}

/// Length of the message at the front. Requires: its prefix is there.
std::size_t MessageBuffer::Announced() const {
  std::size_t size = 0;
  for (std::size_t i = 1; i < kMessagePrefix; ++i) size = size << 8U | static_cast<std::uint8_t>(bytes_[i]);
  return size;
}

MessageBuffer::Front MessageBuffer::front() const {
  if (bytes_.size() < kMessagePrefix) return Front::kNothing;
  if (bytes_[0] != 0) return Front::kCompressed;
  const std::size_t size = Announced();
  if (size > longest_) return Front::kTooLong;
  return bytes_.size() < kMessagePrefix + size ? Front::kNothing : Front::kMessage;
}

std::size_t MessageBuffer::Acknowledge() { return front() == Front::kNothing ? std::exchange(unacknowledged_, 0) : 0; }

std::size_t MessageBuffer::Add(std::string_view bytes) {
  bytes_.append(bytes);
  unacknowledged_ += bytes.size();
  return Acknowledge();
}

std::string MessageBuffer::Take(std::size_t& acknowledge) {
  const std::size_t end = kMessagePrefix + Announced();
  std::string out;
  if (bytes_.size() == end) {
    bytes_.erase(0, kMessagePrefix);
    out = std::exchange(bytes_, {});
  } else {
    out = bytes_.substr(kMessagePrefix, end - kMessagePrefix);
    bytes_.erase(0, end);
  }
  acknowledge += Acknowledge();
  return out;
}

std::string FormatTimeout(os::Millis time) {
  constexpr std::int64_t kMost = 99'999'999;
  const std::int64_t millis = std::max<std::int64_t>(time.count(), 1);
  if (millis <= kMost) return std::to_string(millis) + "m";
  return std::to_string(std::min(millis / 1000, kMost)) + "S";
}

std::optional<std::chrono::nanoseconds> ParseTimeout(std::string_view text) {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);
  constexpr std::pair<char, std::int64_t> kUnits[] = {
      {'n', 1}, {'u', 1'000}, {'m', 1'000'000}, {'S', 1'000'000'000}, {'M', 60'000'000'000}, {'H', 3'600'000'000'000}};
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  const auto number = ParseDecimal<std::uint32_t>(text.substr(0, text.size() - 1));
  const auto* const unit = std::ranges::find(kUnits, text.back(), &std::pair<char, std::int64_t>::first);
  if (!number || unit == std::end(kUnits)) return std::nullopt;
  if (*number > kLongest.count() / unit->second) return kLongest;
  return std::chrono::nanoseconds(*number * unit->second);
}

}  // namespace berth::grpc
