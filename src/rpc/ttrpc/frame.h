// Bytes of ttRPC below NRI's multiplexer: frames of several connections on one socket, messages in each. Pure.
//
// A frame is the number of its connection and its length, four bytes each, highest first, and that many bytes. A
// message of a connection has length and stream alike, a byte of kind, one of flags, and its data; it may lie in any
// number of frames.
#ifndef BERTH_RPC_TTRPC_FRAME_H_
#define BERTH_RPC_TTRPC_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::ttrpc {

inline constexpr std::size_t kFrameHead = 8;
inline constexpr std::size_t kMessageHead = 10;
/// Of a message's data, either way: ttRPC's own.
inline constexpr std::size_t kLongestData = std::size_t{4} << 20;
/// Longest frame that a message may begin with: what reads it on the other side has a buffer of this size, and fails
/// where a frame does not fit in.
inline constexpr std::size_t kLongestFirstFrame = 4096;

enum class Kind : std::uint8_t { kRequest = 1, kResponse = 2, kData = 3 };

struct Message {
  std::uint32_t stream = 0;
  std::uint8_t kind = 0;  ///< a Kind, or what a newer version has
  bool too_long = false;  ///< its data was passed over
  std::string data;
  friend bool operator==(const Message&, const Message&) = default;
};

/// Appends a message of `connection` in one frame, or two where it does not fit into the first.
/// Requires: `data` is at most kLongestData long.
void AppendMessage(std::string& out, std::uint32_t connection, std::uint32_t stream, Kind kind, std::string_view data);

/// Frames from the bytes of a socket, in whatever pieces they come. Holds at most a frame's head. Not thread-safe.
class FrameReader {
 public:
  using Sink = std::function<void(std::uint32_t connection, std::string_view bytes)>;
  /// Gives `sink` what came of each frame, in order. Errors: kUncertain: a frame longer than any message; nothing of it
  /// or after it can be read.
  Result<void> Add(std::string_view bytes, const Sink& sink);

 private:
  std::string head_;
  std::uint32_t connection_ = 0;
  std::size_t left_ = 0;  // of the frame
};

/// Messages from the bytes of a connection. Holds at most one that is incomplete, and never more of it than has come.
/// Not thread-safe.
class MessageReader {
 public:
  explicit MessageReader(std::size_t longest = kLongestData) : longest_(longest) {}
  /// The messages that `bytes` completes. Data longer than the longest is passed over; its message is told at once.
  std::vector<Message> Add(std::string_view bytes);
  /// What is held, in bytes.
  std::size_t held() const { return head_.size() + current_.data.size(); }

 private:
  std::size_t longest_;
  std::string head_;
  Message current_;
  std::size_t left_ = 0;  // of its data
  std::size_t skip_ = 0;  // of data that nobody wants
};

}  // namespace berth::ttrpc

#endif  // BERTH_RPC_TTRPC_FRAME_H_
