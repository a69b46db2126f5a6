// Fields of protobuf messages, for the few that are read and written by hand. Pure.
//
// The encoding: https://protobuf.dev/programming-guides/encoding
#ifndef BERTH_BASE_PROTOBUF_H_
#define BERTH_BASE_PROTOBUF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// Also what is empty or zero; proto3 leaves that out, and callers do where they want it so.
void PutBytesField(std::string& out, std::uint32_t field, std::string_view bytes);
void PutVarintField(std::string& out, std::uint32_t field, std::uint64_t value);

struct WireField {
  std::uint64_t number = 0;  ///< may be more than protobuf allows
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;  ///< of kVarint
  std::string_view bytes;   ///< of all others; of the reader's bytes
};

/// Goes through the fields of a message.
class WireFields {
 public:
  /// Requires: what `bytes` is of outlives the fields.
  explicit WireFields(std::string_view bytes) : left_(bytes) {}

  /// nullopt: that was the last, or what follows is no field: problem() says which.
  std::optional<WireField> Next();
  /// "": none.
  std::string_view problem() const { return problem_; }

 private:
  std::nullopt_t Stop(std::string_view problem);
  std::optional<std::uint64_t> Varint();

  std::string_view left_;
  std::string_view problem_;
};

}  // namespace berth

#endif  // BERTH_BASE_PROTOBUF_H_
