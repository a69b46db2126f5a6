#include <string_view>

#include "api/codec/json_parts.h"

namespace berth::codec {
namespace {

constexpr Shortage::Scope kScopes[] = {Shortage::Scope::kNodes, Shortage::Scope::kMachine, Shortage::Scope::kNodeFit};

Json HintsJson(const Hints& hints) {
  if (!hints) return nullptr;
  Json out = Json::array();
  for (const TopologyHint& hint : *hints) out.push_back(ToJson(hint));
  return out;
}

Json ShortageJson(const Shortage& s) {
  return {{"container", s.container}, {"resource", s.resource}, {"scope", Name(s.scope)}, {"nodes", FormatIds(s.nodes)},
          {"requested", s.requested}, {"free", s.free},         {"capacity", s.capacity}, {"missing", s.missing}};
}

Json HolderJson(const Holder& h) {
  return {{"uid", h.uid},           {"pod", h.pod},       {"container", h.container},
          {"resource", h.resource}, {"amount", h.amount}, {"nodes", FormatIds(h.nodes)}};
}

Json NearestJson(const NearestRequest& nearest) {
  Json changes = Json::array();
  for (const RequestChange& c : nearest.changes)
    changes.push_back(
        {{"container", c.container}, {"resource", c.resource}, {"from", c.from.ToString()}, {"to", c.to.ToString()}});
  return {{"changes", std::move(changes)}, {"manifest", ToJson(nearest.pod)}};
}

Json RemovalJson(const Removal& removal) {
  Json pods = Json::array();
  for (const PodRef& pod : removal.pods) pods.push_back({{"uid", pod.uid}, {"pod", pod.pod}});
  return {{"pods", std::move(pods)}, {"smallest", removal.smallest}};
}

Json HintsJson(const ResourceHints& h) {
  return {
      {"container", h.container}, {"resource", h.resource}, {"hints", HintsJson(h.hints)}, {"complete", h.complete}};
}

Json MergeJson(const MergeStep& m) {
  return {{"container", m.container}, {"hint", ToJson(m.merged)}, {"admit", m.admit}, {"rule", m.rule}};
}

ResourceHints ReadHints(const Reader& reader) {
  ResourceHints out;
  out.container = reader.Field("container").String();
  out.resource = reader.Field("resource").String();
  if (const Reader hints = reader.Field("hints"); !hints.IsNull()) {
    out.hints.emplace();
    for (const Reader& item : hints.Items()) out.hints->push_back(ReadHint(item));
  }
  out.complete = reader.Field("complete").Bool();
  return out;
}

MergeStep ReadMerge(const Reader& reader) {
  return {.container = reader.Field("container").String(),
          .merged = ReadHint(reader.Field("hint")),
          .admit = reader.Field("admit").Bool(),
          .rule = reader.Field("rule").String()};
}

Shortage ReadShortage(const Reader& reader) {
  return {.container = reader.Field("container").String(),
          .resource = reader.Field("resource").String(),
          .scope = reader.Field("scope").OneOf(kScopes),
          .nodes = reader.Field("nodes").Ids<NodeSet>(),
          .requested = reader.Field("requested").Integer<std::int64_t>(),
          .free = reader.Field("free").Integer<std::int64_t>(),
          .capacity = reader.Field("capacity").Integer<std::int64_t>(),
          .missing = reader.Field("missing").Integer<std::int64_t>()};
}

Holder ReadHolder(const Reader& reader) {
  return {.uid = reader.Field("uid").String(),
          .pod = reader.Field("pod").String(),
          .container = reader.Field("container").String(),
          .resource = reader.Field("resource").String(),
          .amount = reader.Field("amount").Integer<std::int64_t>(),
          .nodes = reader.Field("nodes").Ids<NodeSet>()};
}

NearestRequest ReadNearest(const Reader& reader) {
  NearestRequest out;
  for (const Reader& item : reader.Field("changes").Items())
    out.changes.push_back({.container = item.Field("container").String(),
                           .resource = item.Field("resource").String(),
                           .from = item.Field("from").Amount(),
                           .to = item.Field("to").Amount()});
  out.pod = ReadPod(reader.Field("manifest"));
  return out;
}

Removal ReadRemoval(const Reader& reader) {
  Removal out;
  for (const Reader& item : reader.Field("pods").Items())
    out.pods.push_back({.uid = item.Field("uid").String(), .pod = item.Field("pod").String()});
  out.smallest = reader.Field("smallest").Bool();
  return out;
}

/// What a rejection has beside the decision.
void ReadRejection(const Reader& reader, Explanation& out) {
  for (const Reader& item : reader.Field("shortages").Items()) out.shortages.push_back(ReadShortage(item));
  for (const Reader& item : reader.Field("holders").Items()) out.holders.push_back(ReadHolder(item));
  if (const Reader nearest = reader.Field("nearest"); !nearest.IsNull()) out.nearest = ReadNearest(nearest);
  out.nearest_exhaustive = reader.Field("nearestExhaustive").Bool();
  if (reader.Has("settings"))  // older daemons say nothing of them
    for (const Reader& item : reader.Field("settings").Items()) out.settings.push_back(item.String());
  if (const Reader removal = reader.Field("removal"); !removal.IsNull()) out.removal = ReadRemoval(removal);
}

void AddExplanation(const Explanation& e, Json& out) {
  out["decision"] = ToJson(e.decision);
  out["hints"] = ListJson(e.hints, [](const ResourceHints& h) { return HintsJson(h); });
  out["merges"] = ListJson(e.merges, MergeJson);
  if (std::holds_alternative<Reject>(e.decision)) {
    out["shortages"] = ListJson(e.shortages, ShortageJson);
    out["holders"] = ListJson(e.holders, HolderJson);
    out["nearest"] = e.nearest ? NearestJson(*e.nearest) : Json();
    out["nearestExhaustive"] = e.nearest_exhaustive;
    out["settings"] = e.settings;
    out["removal"] = e.removal ? RemovalJson(*e.removal) : Json();
  }
  Trace trace;
  for (const TraceStep& step : e.steps) trace.Add(step.stage, step.container, step.resource, step.text);
  out["trace"] = ToJson(trace);
}

Explanation ReadExplanation(const Reader& reader) {
  Explanation out;
  out.decision = ReadDecision(reader.Field("decision"));
  for (const Reader& item : reader.Field("hints").Items()) out.hints.push_back(ReadHints(item));
  for (const Reader& item : reader.Field("merges").Items()) out.merges.push_back(ReadMerge(item));
  if (std::holds_alternative<Reject>(out.decision)) ReadRejection(reader, out);
  out.steps = ReadTrace(reader.Field("trace")).steps();
  return out;
}

}  // namespace

Json ToJson(const Outlook& outlook) {
  Json out = {{"pod", outlook.pod},
              {"qosClass", std::string(Name(outlook.qos))},
              {"machine", outlook.machine},
              {"wasThere", outlook.was_there}};
  if (outlook.wait) out["wait"] = {{"reason", outlook.wait->reason}, {"message", outlook.wait->message}};
  if (!outlook.notes.empty()) out["notes"] = outlook.notes;
  for (const VersionDifference& d : outlook.versions)
    out["versions"].push_back(
        {{"kubeletVersion", Name(d.version)}, {"container", d.container}, {"here", d.here}, {"there", d.there}});
  AddExplanation(outlook.explanation, out);
  return out;
}

Result<Outlook> OutlookFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    Outlook out;
    out.pod = reader.Field("pod").String();
    out.qos = ReadQos(reader.Field("qosClass"));
    out.machine = reader.Field("machine").String();
    out.was_there = reader.Field("wasThere").Bool();
    if (reader.Has("wait"))
      out.wait = Wait{.reason = reader.Field("wait").Field("reason").String(),
                      .message = reader.Field("wait").Field("message").String()};
    if (reader.Has("notes"))
      for (const Reader& item : reader.Field("notes").Items()) out.notes.push_back(item.String());
    if (reader.Has("versions"))
      for (const Reader& item : reader.Field("versions").Items())
        out.versions.push_back({ReadKubeletVersion(item), item.Field("container").String(), item.Field("here").String(),
                                item.Field("there").String()});
    out.explanation = ReadExplanation(reader);
    return out;
  });
}

}  // namespace berth::codec
