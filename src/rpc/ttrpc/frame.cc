#include "rpc/ttrpc/frame.h"

#include <algorithm>
#include <utility>

namespace berth::ttrpc {
namespace {

constexpr std::size_t kLongestFrame = kLongestData + kMessageHead;

void AppendNumber(std::string& out, std::size_t number) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>((number >> shift) & 0xFFU);
}

std::uint32_t NumberAt(std::string_view bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = at; i < at + 4; ++i) out = out << 8U | static_cast<std::uint8_t>(bytes[i]);
  return out;
}

/// Moves bytes from the front of `bytes` to `head` until it has `size`. False: there were not enough.
bool FillHead(std::string& head, std::size_t size, std::string_view& bytes) {
  const std::size_t n = std::min(size - head.size(), bytes.size());
  head.append(bytes.substr(0, n));
  bytes.remove_prefix(n);
  return head.size() == size;
}

void AppendFrameHead(std::string& out, std::uint32_t connection, std::size_t size) {
  AppendNumber(out, connection);
  AppendNumber(out, size);
}

}  // namespace

void AppendMessage(std::string& out, std::uint32_t connection, std::uint32_t stream, Kind kind, std::string_view data) {
  BERTH_CHECK(data.size() <= kLongestData);
  const std::size_t whole = kMessageHead + data.size();
  const std::size_t first = std::min(whole, kLongestFirstFrame);
  out.reserve(out.size() + whole + 2 * kFrameHead);
  AppendFrameHead(out, connection, first);
  AppendNumber(out, data.size());
  AppendNumber(out, stream);
  out += static_cast<char>(kind);
  out += '\0';
  out.append(data.substr(0, first - kMessageHead));
  if (first == whole) return;
  AppendFrameHead(out, connection, whole - first);
  out.append(data.substr(first - kMessageHead));
}

Result<void> FrameReader::Add(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    if (left_ == 0) {
      if (!FillHead(head_, kFrameHead, bytes)) return {};
      const std::size_t size = NumberAt(head_, 4);
      if (size > kLongestFrame)
        return Fail(Code::kUncertain,
                    "a frame of " + std::to_string(size) + " bytes: the other side does not speak NRI");
      connection_ = NumberAt(head_, 0);
      left_ = size;
      head_.clear();
    }
    const std::string_view piece = bytes.substr(0, left_);
    left_ -= piece.size();
    bytes.remove_prefix(piece.size());
    if (!piece.empty()) sink(connection_, piece);
  }
  return {};
}

std::vector<Message> MessageReader::Add(std::string_view bytes) {
  std::vector<Message> out;
  while (!bytes.empty()) {
    if (skip_ > 0) {
      const std::size_t n = std::min(skip_, bytes.size());
      skip_ -= n;
      bytes.remove_prefix(n);
      continue;
    }
    if (head_.size() < kMessageHead) {
      if (!FillHead(head_, kMessageHead, bytes)) return out;
      current_ = {.stream = NumberAt(head_, 4), .kind = static_cast<std::uint8_t>(head_[8])};
      left_ = NumberAt(head_, 0);
      current_.too_long = left_ > longest_;
      if (current_.too_long) skip_ = std::exchange(left_, 0);
    }
    const std::string_view piece = bytes.substr(0, left_);
    current_.data.append(piece);
    left_ -= piece.size();
    bytes.remove_prefix(piece.size());
    if (left_ > 0) continue;
    out.push_back(std::exchange(current_, {}));
    head_.clear();
  }
  return out;
}

}  // namespace berth::ttrpc
