#include "api/web/feed_frames.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "api/codec/views.h"

namespace berth::web {
namespace {

using codec::Json;

constexpr std::size_t kPodsInOne = 100;
constexpr std::size_t kMostEvents = 256;  // that are told of one look

struct PodNews {
  Json pods = Json::array();
  Json gone = Json::array();
};

std::string PodsFrame(PodNews& news, const CpuSet& shared) {
  PodNews told = std::exchange(news, {});
  return FormatServerEvent(
      "pods", codec::FormatJson(
                  {{"pods", std::move(told.pods)}, {"gone", std::move(told.gone)}, {"shared", FormatIds(shared)}}));
}

/// Both lists are sorted by namespace and name; a view that is the same object is the same.
void AddPods(const NodeSnapshot& before, const NodeSnapshot& now, std::vector<std::string>& frames) {
  const auto key = [](const PodSnapshot& pod) { return std::tie(pod.view->namespace_, pod.view->name); };
  PodNews news;
  auto old = before.pods.begin();
  for (const PodSnapshot& pod : now.pods) {
    for (; old != before.pods.end() && key(*old) < key(pod); ++old) news.gone.push_back(FullName(*old->view));
    const bool known = old != before.pods.end() && key(*old) == key(pod);
    if (!known || old->view != pod.view) news.pods.push_back(codec::ToJson(*pod.view, now.shared));
    if (known) ++old;
    if (news.pods.size() + news.gone.size() >= kPodsInOne) frames.push_back(PodsFrame(news, now.shared));
  }
  for (; old != before.pods.end(); ++old) news.gone.push_back(FullName(*old->view));
  if (!news.pods.empty() || !news.gone.empty() || before.shared != now.shared)
    frames.push_back(PodsFrame(news, now.shared));
}

void AddEvents(const NodeSnapshot& before, const NodeSnapshot& now, std::vector<std::string>& frames) {
  if (before.events == now.events) return;
  const auto last = [](const NodeSnapshot& of) {
    return of.events->end() - static_cast<std::ptrdiff_t>(std::min(of.events->size(), kMostEvents));
  };
  const std::set<std::shared_ptr<const Event>> known(last(before), before.events->end());
  Json events = Json::array();
  for (auto it = last(now); it != now.events->end(); ++it)
    if (!known.contains(*it)) events.push_back(codec::ToJson(**it));
  if (!events.empty())
    frames.push_back(FormatServerEvent("events", codec::FormatJson({{"events", std::move(events)}})));
}

/// A number cut to whole steps: what is smaller cannot be seen on a page.
void Coarse(const Json& from, Json& to, const char* name, std::int64_t step) {
  if (const auto it = from.find(name); it != from.end()) to[name] = it->get<std::int64_t>() / step * step;
}
void Same(const Json& from, Json& to, const char* name) {
  if (const auto it = from.find(name); it != from.end()) to[name] = *it;
}

/// `usage` has cpu and memory of /stats/summary.
Json Shown(const Json& usage, const char* name) {
  constexpr std::int64_t kMilliCpu = 1'000'000;
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  Json out = Json::object();
  Same(usage, out, name);
  const Json& cpu = usage.at("cpu");
  Json& own_cpu = out["cpu"] = Json::object();
  Coarse(cpu, own_cpu, "usageNanoCores", kMilliCpu);
  Same(cpu, own_cpu, "throttling");
  Same(cpu, own_cpu, "perCpu");
  const Json& memory = usage.at("memory");
  Json& own_memory = out["memory"] = Json::object();
  for (const char* const field : {"workingSetBytes", "availableBytes", "usageBytes"})
    Coarse(memory, own_memory, field, kMiB);
  if (const auto it = memory.find("numaBytes"); it != memory.end())
    for (const auto& [node, bytes] : it->items()) Coarse(*it, own_memory["numaBytes"], node.c_str(), kMiB);
  return out;
}

}  // namespace

std::string FormatServerEvent(std::string_view name, std::string_view data) {
  std::string out;
  out.append("event: ").append(name).append("\ndata: ").append(data).append("\n\n");
  return out;
}

std::string SharedData(const NodeSnapshot& snapshot) {
  return codec::FormatJson({{"shared", FormatIds(snapshot.shared)}});
}

std::vector<std::string> FramesBetween(const NodeSnapshot& before, const NodeSnapshot& now) {
  std::vector<std::string> out;
  AddPods(before, now, out);
  AddEvents(before, now, out);
  return out;
}

std::string StatsFrame(const StatsSummary& stats, std::map<std::string, std::string>& told) {
  std::map<std::string, std::string> telling;
  Json pods = Json::array();
  for (const PodStats& pod : stats.pods) {
    const Json all = codec::ToJson(StatsSummary{.at = stats.at, .node = {}, .groups = {}, .pods = {pod}});
    const Json& whole = all.at("pods").at(0);
    Json shown = Shown(whole, "podRef");
    shown["containers"] = Json::array();
    for (const Json& container : whole.at("containers")) shown["containers"].push_back(Shown(container, "name"));
    std::string text = codec::FormatJson(shown);
    const std::string name = pod.namespace_ + "/" + pod.name;
    const auto before = told.find(name);
    if (before == told.end() || before->second != text) pods.push_back(std::move(shown));
    telling.emplace(name, std::move(text));
  }
  StatsSummary rest = stats;
  rest.pods.clear();
  const Json all = codec::ToJson(rest);
  Json node = Shown(all.at("node"), "nodeName");
  Same(all.at("node"), node, "numa");
  node["systemContainers"] = Json::array();
  for (const Json& group : all.at("node").at("systemContainers"))
    node["systemContainers"].push_back(Shown(group, "name"));
  told = std::move(telling);
  return FormatServerEvent("stats", codec::FormatJson({{"node", std::move(node)}, {"pods", std::move(pods)}}));
}

}  // namespace berth::web
