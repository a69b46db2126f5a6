#include "kubernetes/kube_client/kube_object.h"

#include <algorithm>

#include "api/codec/codec.h"
#include "api/codec/shallow_json.h"
#include "base/text.h"

namespace berth::kube {
namespace {

constexpr std::size_t kLongestMessage = 1000;

Result<void> ReadMeta(std::string_view metadata, Object& out) {
  return codec::EachMember(metadata, [&](std::string_view key, std::string_view value) -> Result<void> {
    std::string* const field = key == "name"              ? &out.key.name
                               : key == "namespace"       ? &out.key.namespace_
                               : key == "uid"             ? &out.uid
                               : key == "resourceVersion" ? &out.resource_version
                                                          : nullptr;
    if (field == nullptr || value == "null") return {};
    BERTH_TRY(*field, codec::StringIn(value));
    return {};
  });
}

/// Member of an object; null when there is none or `json` is no object.
codec::Json At(const codec::Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found == json.end() ? codec::Json() : *found;
}
std::string TextAt(const codec::Json& json, const char* key) {
  const codec::Json value = At(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}
std::optional<std::int64_t> NumberAt(const codec::Json& json, const char* key) {
  const codec::Json value = At(json, key);
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

}  // namespace

Result<Object> ReadObject(std::string_view json) {
  Object out;
  bool has_metadata = false;
  BERTH_RETURN_IF_ERROR(codec::EachMember(json, [&](std::string_view key, std::string_view value) -> Result<void> {
    if (key != "metadata") return {};
    has_metadata = true;
    return ReadMeta(value, out);
  }));
  if (!has_metadata) return Fail(Code::kInvalid, "an object without metadata");
  out.json = json;
  return out;
}

Result<ListText> ReadList(std::string_view json) {
  ListText out;
  BERTH_RETURN_IF_ERROR(codec::EachMember(json, [&](std::string_view key, std::string_view value) -> Result<void> {
    if (key == "items" && value != "null") out.items = value;
    if (key != "metadata") return {};
    return codec::EachMember(value, [&](std::string_view name, std::string_view text) -> Result<void> {
      std::string* const field = name == "resourceVersion" ? &out.resource_version
                                 : name == "continue"      ? &out.continue_token
                                                           : nullptr;
      if (field == nullptr || text == "null") return {};
      BERTH_TRY(*field, codec::StringIn(text));
      return {};
    });
  }));
  return out;
}

Result<WatchLine> ReadWatchLine(std::string_view json) {
  WatchLine out;
  BERTH_RETURN_IF_ERROR(codec::EachMember(json, [&](std::string_view key, std::string_view value) -> Result<void> {
    if (key == "object") out.object = value;
    if (key != "type") return {};
    BERTH_TRY(out.type, codec::StringIn(value));
    return {};
  }));
  if (out.type.empty() || out.object.empty()) return Fail(Code::kInvalid, "a line of a watch without type or object");
  return out;
}

bool EndsInitialEvents(std::string_view bookmark) {
  const auto json = codec::ParseJson(bookmark, "bookmark");
  return json && TextAt(At(At(*json, "metadata"), "annotations"), "k8s.io/initial-events-end") == "true";
}

Status ReadStatus(int http_status, std::string_view body) {
  Status out{.code = http_status, .reason = {}, .message = {}, .cause = {}, .continue_token = {}};
  const auto json = codec::ParseJson(body, "status");
  if (!json || TextAt(*json, "kind") != "Status") return out;
  if (const auto code = NumberAt(*json, "code"); code && *code >= 400 && *code <= 599)
    out.code = static_cast<int>(*code);
  out.reason = Printable(TextAt(*json, "reason"));
  out.message = Printable(TextAt(*json, "message"), kLongestMessage);
  out.continue_token = TextAt(At(*json, "metadata"), "continue");
  const codec::Json details = At(*json, "details");
  const codec::Json causes = At(details, "causes");
  if (causes.is_array() && !causes.empty()) out.cause = Printable(TextAt(causes.front(), "reason"));
  if (const auto wait = NumberAt(details, "retryAfterSeconds"); wait && *wait > 0)
    out.retry_after = std::chrono::seconds(std::min<std::int64_t>(*wait, 3600));
  return out;
}

}  // namespace berth::kube
