#include "rpc/grpc/status.h"

#include <cstddef>

namespace berth::grpc {
namespace {

constexpr std::size_t kLongestText = std::size_t{8} << 10;

StatusCode StatusFor(Code code) {
  switch (code) {
    case Code::kNotFound: return StatusCode::kNotFound;
    case Code::kInvalid: return StatusCode::kInvalidArgument;
    case Code::kExhausted: return StatusCode::kResourceExhausted;
    case Code::kCorrupt: return StatusCode::kDataLoss;
    case Code::kInUse: return StatusCode::kFailedPrecondition;
    case Code::kConflict: return StatusCode::kFailedPrecondition;
    case Code::kBusy: return StatusCode::kUnavailable;
    case Code::kOverloaded: return StatusCode::kUnavailable;
    case Code::kUnreachable: return StatusCode::kUnavailable;
    case Code::kTimeout: return StatusCode::kDeadlineExceeded;
    case Code::kCancelled: return StatusCode::kCancelled;
    case Code::kUncertain: return StatusCode::kUnknown;
    case Code::kUnsupported: return StatusCode::kUnimplemented;
    case Code::kPermission: return StatusCode::kPermissionDenied;
    case Code::kIo: return StatusCode::kInternal;
    case Code::kInternal: return StatusCode::kInternal;
  }
  return StatusCode::kInternal;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// `text` cut to the longest that is sent.
std::string_view Cut(std::string_view text) {
  if (text.size() <= kLongestText) return text;
  std::size_t end = kLongestText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

}  // namespace

Status::Status(const Error& error) : code(StatusFor(error.code)), message(error.message) {}

StatusCode StatusCodeOf(int number) {
  if (number < 0 || number > static_cast<int>(StatusCode::kUnauthenticated)) return StatusCode::kUnknown;
  return static_cast<StatusCode>(number);
}

Code CodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kCancelled: return Code::kCancelled;
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange: return Code::kInvalid;
    case StatusCode::kDeadlineExceeded: return Code::kTimeout;
    case StatusCode::kNotFound: return Code::kNotFound;
    case StatusCode::kAlreadyExists:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kAborted: return Code::kConflict;
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated: return Code::kPermission;
    case StatusCode::kResourceExhausted: return Code::kExhausted;
    case StatusCode::kUnimplemented: return Code::kUnsupported;
    case StatusCode::kUnavailable: return Code::kUncertain;
    case StatusCode::kDataLoss: return Code::kCorrupt;
    case StatusCode::kOk:
    case StatusCode::kUnknown:
    case StatusCode::kInternal: return Code::kInternal;
  }
  return Code::kInternal;
}

Known KnownOf(Code code) {
  if (MayBeDone(code)) return Known::kNobodyKnows;
  return code == Code::kUnreachable || code == Code::kOverloaded ? Known::kNotDone : Known::kAnswered;
}

std::string EncodePercent(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : Cut(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7E && c != '%') {
      out += c;
      continue;
    }
    out += '%';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xFU];
  }
  return out;
}

std::string DecodePercent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace berth::grpc
