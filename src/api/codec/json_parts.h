// Parts that several values have in common. For this component only.
#ifndef BERTH_API_CODEC_JSON_PARTS_H_
#define BERTH_API_CODEC_JSON_PARTS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/reader.h"
#include "api/codec/views.h"
#include "base/time_text.h"
#include "model/kubelet_version.h"

namespace berth::codec {

// Readers note what is wrong where they find it (api/codec/reader.h).
QosClass ReadQos(const Reader& reader);
ContainerKind ReadContainerKind(const Reader& reader);
TopologyHint ReadHint(const Reader& reader);
Trace ReadTrace(const Reader& reader);
Placement ReadPlacement(const Reader& reader);
Decision ReadDecision(const Reader& reader);
std::vector<Event> ReadEvents(const Reader& reader);
/// OwnRules as the field "own" of what has them; none where they are the defaults.
void PutOwnRules(Json& out, const OwnRules& rules);
Pod ReadPod(const Reader& reader);  ///< v1.Pod as ToJson(Pod) writes it
Json ResourcesJson(const Resources& resources);
Resources ReadResources(const Reader& reader);

/// Ports, probes, hooks and restart rules of a container's manifest.
void PutChecks(Json& out, const Container& c);
void ReadChecks(const Reader& reader, bool init, Container& out);  ///< `init`: one of initContainers

/// Variables of a container's manifest, and what a pod's volumes are made of.
void PutEnvironment(Json& out, const Container& c);
void ReadEnvironment(const Reader& reader, Container& out);
Json VolumeJson(const Volume& volume);  ///< a kind that Berth cannot provide keeps its name and nothing else
Volume ReadVolume(const Reader& reader);

/// Devices of a placement: with what they bring, where that is known.
Json DevicesJson(const std::vector<DeviceAssignment>& devices);
std::vector<DeviceAssignment> ReadDevices(const Reader& reader);

template <class Items, class Write>
Json ListJson(const Items& items, Write&& write) {
  Json out = Json::array();
  for (const auto& item : items) out.push_back(write(item));
  return out;
}

template <class Item>
Json ListJson(const std::vector<Item>& items) {
  return ListJson(items, [](const Item& item) { return ToJson(item); });
}

/// "" for no time.
inline std::string TimeJson(const std::optional<WallTime>& time) { return time ? FormatTime(*time) : ""; }
inline std::optional<WallTime> ReadTime(const Reader& reader) {
  const std::string text = reader.String();
  if (text.empty()) return std::nullopt;
  const auto time = ParseTime(text);
  if (!time) reader.Note("expected a time like 2026-01-02T03:04:05Z");
  return time;
}

/// `kubeletVersion`; those who leave it out decide as 1.36.
inline KubeletVersion ReadKubeletVersion(const Reader& reader) {
  if (!reader.Has("kubeletVersion")) return KubeletVersion::k1_36;
  const Reader field = reader.Field("kubeletVersion");
  const auto version = ParseKubeletVersion(field.String());
  if (!version) field.Note(version.error().message);
  return version.value_or(KubeletVersion::k1_36);
}

/// What `read` makes of `json`, or the first problem it met.
template <class Read>
auto ReadWhole(const Json& json, Read&& read) -> Result<decltype(read(std::declval<const Reader&>()))> {
  Reader::Problem problem;
  auto out = read(Reader(json, "", problem));
  if (problem.error) return std::unexpected(*std::move(problem.error));
  return out;
}

}  // namespace berth::codec

#endif  // BERTH_API_CODEC_JSON_PARTS_H_
