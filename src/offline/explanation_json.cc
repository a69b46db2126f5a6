#include <string_view>

#include "offline/explanation.h"

namespace berth::offline {
namespace {

using codec::Json;

std::string_view Name(engine::Shortage::Scope scope) {
  switch (scope) {
    case engine::Shortage::Scope::kNodes: return "nodes";
    case engine::Shortage::Scope::kMachine: return "machine";
    case engine::Shortage::Scope::kNodeFit: return "nodeFit";
  }
  return "";
}

Json HintsJson(const Hints& hints) {
  if (!hints) return nullptr;
  Json out = Json::array();
  for (const TopologyHint& hint : *hints) out.push_back(codec::ToJson(hint));
  return out;
}

Json ShortageJson(const engine::Shortage& s) {
  return {{"container", s.container}, {"resource", s.resource}, {"scope", Name(s.scope)}, {"nodes", FormatIds(s.nodes)},
          {"requested", s.requested}, {"free", s.free},         {"capacity", s.capacity}, {"missing", s.missing}};
}

Json HolderJson(const engine::Holder& h) {
  return {{"uid", h.uid},           {"pod", h.pod},       {"container", h.container},
          {"resource", h.resource}, {"amount", h.amount}, {"nodes", FormatIds(h.nodes)}};
}

Json NearestJson(const engine::NearestRequest& nearest) {
  Json changes = Json::array();
  for (const engine::RequestChange& c : nearest.changes)
    changes.push_back(
        {{"container", c.container}, {"resource", c.resource}, {"from", c.from.ToString()}, {"to", c.to.ToString()}});
  return {{"changes", std::move(changes)}, {"manifest", codec::ToJson(nearest.pod)}};
}

Json RemovalJson(const engine::Removal& removal) {
  Json pods = Json::array();
  for (const engine::PodRef& pod : removal.pods) pods.push_back({{"uid", pod.uid}, {"pod", pod.pod}});
  return {{"pods", std::move(pods)}, {"smallest", removal.smallest}};
}

template <class Item, class Convert>
Json ListJson(const std::vector<Item>& items, Convert convert) {
  Json out = Json::array();
  for (const Item& item : items) out.push_back(convert(item));
  return out;
}

}  // namespace

codec::Json ToJson(const engine::Explanation& e) {
  Json out = {{"decision", codec::ToJson(e.decision)}};
  out["hints"] = ListJson(e.hints, [](const engine::ResourceHints& h) {
    return Json{
        {"container", h.container}, {"resource", h.resource}, {"hints", HintsJson(h.hints)}, {"complete", h.complete}};
  });
  out["merges"] = ListJson(e.merges, [](const engine::MergeStep& m) {
    return Json{{"container", m.container}, {"hint", codec::ToJson(m.merged)}, {"admit", m.admit}, {"rule", m.rule}};
  });
  if (std::holds_alternative<Reject>(e.decision)) {
    out["shortages"] = ListJson(e.shortages, ShortageJson);
    out["holders"] = ListJson(e.holders, HolderJson);
    out["nearest"] = e.nearest ? NearestJson(*e.nearest) : Json();
    out["nearestExhaustive"] = e.nearest_exhaustive;
    out["removal"] = e.removal ? RemovalJson(*e.removal) : Json();
  }
  Trace trace;
  for (const TraceStep& step : e.steps) trace.Add(step.stage, step.container, step.resource, step.text);
  out["trace"] = codec::ToJson(trace);
  return out;
}

}  // namespace berth::offline
