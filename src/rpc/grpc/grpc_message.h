// Messages of gRPC in a stream of bytes: one byte of compression, four of length, the message. Pure.
#ifndef BERTH_RPC_GRPC_GRPC_MESSAGE_H_
#define BERTH_RPC_GRPC_GRPC_MESSAGE_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "host/os/clock.h"

namespace berth::grpc {

inline constexpr std::size_t kMessagePrefix = 5;

/// Requires: at most 4 GiB - 1.
std::string Framed(std::string_view message);

/// What has come of messages and was not taken yet.
///
/// What is kept is bounded by acknowledging only what has a place: while the message at the front is incomplete all of
/// it is acknowledged, else nothing until it is taken. So at most one message and one window are ever held. Not
/// thread-safe.
class MessageBuffer {
 public:
  enum class Front {
    kNothing,     ///< not all of the next message is there
    kMessage,     ///< Take gives it
    kCompressed,  ///< no later one can be read; likewise
    kTooLong,
  };

  explicit MessageBuffer(std::size_t longest) : longest_(longest) {}

  /// Returns how many bytes may be acknowledged to the sender now.
  std::size_t Add(std::string_view bytes);
  Front front() const;
  /// Requires: front() is kMessage. Adds to `acknowledge` what may be acknowledged now.
  std::string Take(std::size_t& acknowledge);
  /// No byte is left.
  bool empty() const { return bytes_.empty(); }

 private:
  std::size_t Acknowledge();
  std::size_t Announced() const;

  std::size_t longest_;
  std::string bytes_;
  std::size_t unacknowledged_ = 0;
};

/// "5000m": at most eight digits of the finest unit from milliseconds up that holds `time`; at least 1 ms.
std::string FormatTimeout(os::Millis time);
/// nullopt: no time as gRPC writes it. Longer than a year is a year.
std::optional<std::chrono::nanoseconds> ParseTimeout(std::string_view text);

}  // namespace berth::grpc

#endif  // BERTH_RPC_GRPC_GRPC_MESSAGE_H_
