#include "state/alloc_response.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/protobuf.h"
#include "base/utf8.h"

namespace berth::state {
namespace {

// ---- fields ----

/// A text that is empty is left out, as protobuf does.
void PutText(std::string& out, std::uint32_t field, std::string_view text) {
  if (!text.empty()) PutBytesField(out, field, text);
}

void PutTexts(std::string& out, std::uint32_t field, const std::map<std::string, std::string>& map) {
  for (const auto& [key, value] : map) {
    std::string entry;
    PutBytesField(entry, 1, key);
    PutBytesField(entry, 2, value);
    PutBytesField(out, field, entry);
  }
}

constexpr std::uint64_t kMostNumber = (std::uint64_t{1} << 29U) - 1;

std::unexpected<Error> DamagedAnswer(std::string_view what) {
  return Fail(Code::kCorrupt, "not the answer of a device plugin: " + std::string(what));
}

/// As the interface wants of texts.
bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// Calls `take` with every field of `bytes`; what it returns ends it.
template <class TakeField>
Result<void> ForEachField(std::string_view bytes, TakeField take) {
  WireFields fields(bytes);
  while (const auto field = fields.Next()) {
    if (field->number > kMostNumber) return DamagedAnswer("a field without a number");
    BERTH_RETURN_IF_ERROR(take(*field));
  }
  if (!fields.problem().empty()) return DamagedAnswer(fields.problem());
  return {};
}

Result<std::string_view> BytesOf(const WireField& field) {
  if (field.type != WireType::kBytes) return DamagedAnswer("field " + std::to_string(field.number) + " is no text");
  return field.bytes;
}

Result<void> TakeText(const WireField& field, std::string& out) {
  BERTH_TRY(const std::string_view bytes, BytesOf(field));
  if (!IsUtf8(bytes)) return DamagedAnswer("field " + std::to_string(field.number) + " is not UTF-8");
  out = bytes;
  return {};
}

Result<void> TakeBool(const WireField& field, bool& out) {
  if (field.type != WireType::kVarint) return DamagedAnswer("field " + std::to_string(field.number) + " is no number");
  out = field.value != 0;
  return {};
}

// ---- the messages ----

Result<void> TakeEntry(const WireField& field, std::map<std::string, std::string>& out) {
  BERTH_TRY(const std::string_view bytes, BytesOf(field));
  std::string key;
  std::string value;
  BERTH_RETURN_IF_ERROR(ForEachField(bytes, [&](const WireField& part) -> Result<void> {
    if (part.number == 1) return TakeText(part, key);
    return part.number == 2 ? TakeText(part, value) : Result<void>();
  }));
  out.insert_or_assign(std::move(key), std::move(value));
  return {};
}

Result<DeviceMount> ParseMount(const WireField& field) {
  BERTH_TRY(const std::string_view bytes, BytesOf(field));
  DeviceMount out;
  BERTH_RETURN_IF_ERROR(ForEachField(bytes, [&](const WireField& part) -> Result<void> {
    switch (part.number) {
      case 1: return TakeText(part, out.container_path);
      case 2: return TakeText(part, out.host_path);
      case 3: return TakeBool(part, out.read_only);
      default: return {};
    }
  }));
  return out;
}

Result<DeviceNode> ParseNode(const WireField& field) {
  BERTH_TRY(const std::string_view bytes, BytesOf(field));
  DeviceNode out;
  BERTH_RETURN_IF_ERROR(ForEachField(bytes, [&](const WireField& part) -> Result<void> {
    switch (part.number) {
      case 1: return TakeText(part, out.container_path);
      case 2: return TakeText(part, out.host_path);
      case 3: return TakeText(part, out.permissions);
      default: return {};
    }
  }));
  return out;
}

Result<std::string> ParseCdiName(const WireField& field) {
  BERTH_TRY(const std::string_view bytes, BytesOf(field));
  std::string out;
  BERTH_RETURN_IF_ERROR(ForEachField(bytes, [&](const WireField& part) -> Result<void> {
    return part.number == 1 ? TakeText(part, out) : Result<void>();
  }));
  return out;
}

Result<void> TakeAnswerField(const WireField& field, DeviceAnswer& out) {
  switch (field.number) {
    case 1: return TakeEntry(field, out.env);
    case 2: {
      BERTH_TRY(DeviceMount mount, ParseMount(field));
      out.mounts.push_back(std::move(mount));
      return {};
    }
    case 3: {
      BERTH_TRY(DeviceNode node, ParseNode(field));
      out.device_nodes.push_back(std::move(node));
      return {};
    }
    case 4: return TakeEntry(field, out.annotations);
    case 5: {
      BERTH_TRY(std::string name, ParseCdiName(field));
      out.cdi_devices.push_back(std::move(name));
      return {};
    }
    default: return {};
  }
}

}  // namespace

std::string FormatAllocResponse(const DeviceAnswer& answer) {
  std::string out;
  PutTexts(out, 1, answer.env);
  for (const DeviceMount& mount : answer.mounts) {
    std::string message;
    PutText(message, 1, mount.container_path);
    PutText(message, 2, mount.host_path);
    if (mount.read_only) PutVarintField(message, 3, 1);
    PutBytesField(out, 2, message);
  }
  for (const DeviceNode& node : answer.device_nodes) {
    std::string message;
    PutText(message, 1, node.container_path);
    PutText(message, 2, node.host_path);
    PutText(message, 3, node.permissions);
    PutBytesField(out, 3, message);
  }
  PutTexts(out, 4, answer.annotations);
  for (const std::string& name : answer.cdi_devices) {
    std::string message;
    PutText(message, 1, name);
    PutBytesField(out, 5, message);
  }
  return out;
}

Result<DeviceAnswer> ParseAllocResponse(std::string_view bytes) {
  DeviceAnswer out;
  BERTH_RETURN_IF_ERROR(ForEachField(bytes, [&](const WireField& field) { return TakeAnswerField(field, out); }));
  return out;
}

}  // namespace berth::state
