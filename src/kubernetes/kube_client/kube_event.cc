#include "kubernetes/kube_client/kube_event.h"

#include <fmt/core.h>

#include "api/codec/codec.h"
#include "base/text.h"

namespace berth::kube {
namespace {

constexpr std::size_t kLongestNote = 1000;  // of 1024, so that signs made of escapes fit
constexpr std::size_t kLongestName = 230;   // of 253, with room for the time
constexpr std::size_t kLongestWord = 128;

std::string Cut(const std::string& text, std::size_t most) { return text.substr(0, most); }

}  // namespace

Target TargetOf(const EventNote& event) {
  const std::string& space = event.regarding.key.namespace_;
  return {.resource = {.group = "events.k8s.io", .plural = "events"},
          .namespace_ = space.empty() ? "kube-system" : space,
          .name = {},
          .subresource = {}};
}

std::string FormatEvent(const EventNote& event, WallTime now) {
  const std::string space = TargetOf(event).namespace_;
  const ObjectReference& object = event.regarding;
  codec::Json regarding = {{"apiVersion", object.api_version}, {"kind", object.kind}, {"name", object.key.name}};
  if (!object.key.namespace_.empty()) regarding["namespace"] = object.key.namespace_;
  if (!object.uid.empty()) regarding["uid"] = object.uid;
  if (!object.field_path.empty()) regarding["fieldPath"] = object.field_path;
  const codec::Json out = {
      {"apiVersion", "events.k8s.io/v1"},
      {"kind", "Event"},
      {"metadata",
       {{"name", fmt::format("{}.{:x}", Cut(object.key.name, kLongestName), now.time_since_epoch().count())},
        {"namespace", space}}},
      {"eventTime", FormatTime(now)},
      {"reportingController", event.controller},
      {"reportingInstance", Cut(event.instance, kLongestWord)},
      {"action", Cut(event.action, kLongestWord)},
      {"reason", Cut(event.reason, kLongestWord)},
      {"note", Printable(event.note, kLongestNote)},
      {"type", event.warning ? "Warning" : "Normal"},
      {"regarding", std::move(regarding)},
  };
  return codec::FormatJson(out);
}

}  // namespace berth::kube
