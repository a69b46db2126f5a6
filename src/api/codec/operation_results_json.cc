#include "api/codec/json_parts.h"
#include "base/base64.h"

namespace berth::codec {
namespace {

Event ReadEvent(const Reader& reader) {
  Event out;
  out.time = ReadTime(reader.Field("time")).value_or(WallTime());
  out.type = reader.Field("type").OneOf({EventType::kNormal, EventType::kWarning});
  out.reason = reader.Field("reason").String();
  out.object = reader.Field("object").String();
  out.message = reader.Field("message").String();
  out.count = reader.Field("count").Integer<std::uint64_t>();
  return out;
}

StoredPod ReadStored(const Reader& reader) {
  return {.namespace_ = reader.Field("namespace").String(),
          .name = reader.Field("name").String(),
          .file = reader.Field("file").String(),
          .action =
              reader.Field("action").OneOf({StoreAction::kCreated, StoreAction::kConfigured, StoreAction::kUnchanged}),
          .kind = reader.Field("kind").String()};
}

LogEntry ReadLogEntry(const Reader& reader) {
  return {.time = reader.Field("time").String(),
          .stream = reader.Field("stream").String(),
          .text = reader.Field("text").String(),
          .partial = reader.Has("partial") && reader.Field("partial").Bool()};
}

std::string ReadBytes(const Reader& reader) {
  auto bytes = FromBase64(reader.String());
  if (!bytes) reader.Note("expected base64");
  return std::move(bytes).value_or("");
}

Json ImageJson(const ImageView& image) {
  return {{"id", image.id}, {"tags", image.tags}, {"digests", image.digests}, {"size", image.size}};
}

ImageView ReadImage(const Reader& reader) {
  return {.id = reader.Field("id").String(),
          .tags = reader.Field("tags").Strings(),
          .digests = reader.Field("digests").Strings(),
          .size = reader.Field("size").Integer<std::uint64_t>()};
}

}  // namespace

std::vector<Event> ReadEvents(const Reader& reader) {
  std::vector<Event> out;
  for (const Reader& item : reader.Items()) out.push_back(ReadEvent(item));
  return out;
}

Json ToJson(const Event& event) {
  return {{"time", FormatTime(event.time)}, {"type", std::string(Name(event.type))},
          {"reason", event.reason},         {"object", event.object},
          {"message", event.message},       {"count", event.count}};
}

Json ToJson(const EventList& events) {
  return {{"events", ListJson(events.events)}, {"leftOut", events.left_out}, {"problem", events.problem}};
}

Result<EventList> EventListFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    return EventList{.events = ReadEvents(reader.Field("events")),
                     .left_out = reader.Field("leftOut").Bool(),
                     .problem = reader.Field("problem").String()};
  });
}

Json ToJson(const StoredPod& pod) {
  return {{"kind", pod.kind},
          {"namespace", pod.namespace_},
          {"name", pod.name},
          {"file", pod.file},
          {"action", std::string(Name(pod.action))}};
}

Json ToJson(const StoredPods& pods) {
  return {{"results", ListJson(pods.results)}, {"warnings", pods.warnings}, {"problems", pods.problems}};
}

Result<StoredPods> StoredPodsFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    StoredPods out;
    for (const Reader& item : reader.Field("results").Items()) out.results.push_back(ReadStored(item));
    out.warnings = reader.Field("warnings").Strings();
    if (reader.Has("problems")) out.problems = reader.Field("problems").Strings();  // older daemons have none
    return out;
  });
}

Json ToJson(const DeletedPod& pod) {
  return {{"kind", pod.kind}, {"namespace", pod.namespace_}, {"name", pod.name}, {"file", pod.file}};
}

Json ToJson(const RestartedPod& pod) {
  return {{"namespace", pod.namespace_}, {"name", pod.name}, {"containers", pod.containers}};
}
Result<RestartedPod> RestartedPodFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    return RestartedPod{.namespace_ = reader.Field("namespace").String(),
                        .name = reader.Field("name").String(),
                        .containers = reader.Field("containers").Strings()};
  });
}

Result<DeletedPod> DeletedPodFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    return DeletedPod{.namespace_ = reader.Field("namespace").String(),
                      .name = reader.Field("name").String(),
                      .file = reader.Field("file").String(),
                      .kind = reader.Field("kind").String()};
  });
}

Json ToJson(const LogEntry& entry) {
  Json out = {{"time", entry.time}, {"stream", entry.stream}, {"text", entry.text}};
  if (entry.partial) out["partial"] = true;
  return out;
}

Json ToJson(const LogPage& page) {
  return {{"path", page.path}, {"running", page.running}, {"entries", ListJson(page.entries)},
          {"next", page.next}, {"more", page.more},       {"gap", page.gap}};
}

Result<LogPage> LogPageFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    LogPage out;
    out.path = reader.Field("path").String();
    out.running = reader.Field("running").Bool();
    for (const Reader& item : reader.Field("entries").Items()) out.entries.push_back(ReadLogEntry(item));
    out.next = reader.Field("next").String();
    out.more = reader.Field("more").Bool();
    out.gap = reader.Field("gap").Bool();
    return out;
  });
}

Json ToJson(const CommandEnd& end) {
  return {{"exitCode", end.exit_code},
          {"stdout", ToBase64(end.out)},
          {"stderr", ToBase64(end.err)},
          {"message", end.message}};
}

Result<CommandEnd> CommandEndFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    return CommandEnd{.out = ReadBytes(reader.Field("stdout")),
                      .err = ReadBytes(reader.Field("stderr")),
                      .exit_code = reader.Field("exitCode").Integer<int>(),
                      .message = reader.Field("message").String()};
  });
}

Json ToJson(const ImageList& images) {
  return {{"runtime", images.runtime}, {"endpoint", images.endpoint}, {"images", ListJson(images.images, ImageJson)}};
}

Json ToJson(const ImportedImages& images) { return {{"imported", images.names}}; }

Result<ImageList> ImageListFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    ImageList out{
        .runtime = reader.Field("runtime").String(), .endpoint = reader.Field("endpoint").String(), .images = {}};
    for (const Reader& item : reader.Field("images").Items()) out.images.push_back(ReadImage(item));
    return out;
  });
}

}  // namespace berth::codec
