#include "ttrpc/envelope.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/protobuf.h"

namespace berth::ttrpc {
namespace {

/// Fields with no value are not written, as ever in proto3.
void AppendBytes(std::string& out, std::uint32_t field, std::string_view value) {
  if (!value.empty()) PutBytesField(out, field, value);
}

void AppendInt(std::string& out, std::uint32_t field, std::int64_t value) {
  if (value != 0) PutVarintField(out, field, static_cast<std::uint64_t>(value));
}

Result<wire::Status> DecodeStatus(std::string_view bytes) {
  wire::Status out;
  WireFields fields(bytes);
  while (const auto field = fields.Next()) {
    // A number that is no code must not be taken for success by what is cut off of it.
    if (field->number == 1 && field->type == WireType::kVarint)
      out.code = wire::StatusCodeOf(static_cast<int>(std::min<std::uint64_t>(field->value, 1000)));
    if (field->number == 2 && field->type == WireType::kBytes) out.message = field->bytes;
  }
  if (!fields.problem().empty()) return Fail(Code::kInvalid, "the status cannot be read");
  return out;
}

}  // namespace

std::string Encode(const Request& request) {
  std::string out;
  AppendBytes(out, 1, request.service);
  AppendBytes(out, 2, request.method);
  AppendBytes(out, 3, request.payload);
  if (request.timeout) AppendInt(out, 4, std::max<std::int64_t>(request.timeout->count(), 1));
  return out;
}

std::string Encode(const Reply& reply) {
  std::string out;
  if (reply) {
    AppendBytes(out, 2, *reply);
    return out;
  }
  std::string status;
  AppendInt(status, 1, static_cast<int>(reply.error().code));
  AppendBytes(status, 2, reply.error().message);
  AppendBytes(out, 1, status);
  return out;
}

Result<Request> DecodeRequest(std::string_view bytes) {
  Request out;
  WireFields fields(bytes);
  while (const auto field = fields.Next()) {
    if (field->type == WireType::kBytes && field->number == 1) out.service = field->bytes;
    if (field->type == WireType::kBytes && field->number == 2) out.method = field->bytes;
    if (field->type == WireType::kBytes && field->number == 3) out.payload = field->bytes;
    if (field->type == WireType::kVarint && field->number == 4) {
      const auto nanos = static_cast<std::int64_t>(field->value);
      out.timeout = nanos > 0 ? std::optional(std::chrono::nanoseconds(nanos)) : std::nullopt;
    }
  }
  if (!fields.problem().empty()) return Fail(Code::kInvalid, "the request cannot be read");
  return out;
}

Result<Reply> DecodeReply(std::string_view bytes) {
  Reply out;
  wire::Status status;
  WireFields fields(bytes);
  while (const auto field = fields.Next()) {
    if (field->type != WireType::kBytes) continue;
    if (field->number == 1) {
      BERTH_TRY(status, DecodeStatus(field->bytes));
    }
    if (field->number == 2) out = std::string(field->bytes);
  }
  if (!fields.problem().empty()) return Fail(Code::kInvalid, "the answer cannot be read");
  if (status.code != wire::StatusCode::kOk) return Reply(std::unexpected(std::move(status)));
  return out;
}

}  // namespace berth::ttrpc
