#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "view/map_parts.h"
#include "view/size.h"

namespace berth::view {
namespace {

/// What labels need to know of the whole machine, found once.
class Labels {
 public:
  explicit Labels(const Machine& machine) {
    for (const L3Group& group : machine.l3)
      for (const CpuId cpu : group.cpus) l3_.emplace(cpu, group.id);
    std::set<std::pair<SocketId, DieId>> dies;
    for (const NumaNode& node : machine.nodes)
      for (const Core& core : node.cores) {
        dies.emplace(core.socket, core.die);
        sockets_.insert(core.socket);
      }
    many_dies_ = dies.size() > sockets_.size();
  }

  const std::set<SocketId>& sockets() const { return sockets_; }

  /// What a core's group is called. Requires: the core has a thread.
  std::string Of(const Core& core) const {
    std::string label;
    if (many_dies_) label = "die " + std::to_string(Raw(core.die));
    if (const auto l3 = l3_.find(core.threads.front()); l3 != l3_.end())
      label += (label.empty() ? "L3 " : " L3 ") + std::to_string(Raw(l3->second));
    if (core.kind != CoreKind::kUniform)
      label += std::string(label.empty() ? "" : " ") + (core.kind == CoreKind::kPerformance ? "P" : "E");
    return label;
  }

 private:
  std::map<CpuId, CacheId> l3_;
  std::set<SocketId> sockets_;
  bool many_dies_ = false;
};

NodePart MakePart(const NumaNode& node, SocketId socket, const Labels& labels) {
  NodePart part;
  part.node = &node;
  std::vector<const Core*> cores;
  for (const Core& core : node.cores)
    if (core.socket == socket && !core.threads.empty()) cores.push_back(&core);
  std::ranges::sort(cores, {}, [](const Core* core) { return IdOf(*core); });
  for (const Core* core : cores) {
    for (const CpuId cpu : core->threads) part.cpus.Insert(cpu);
    const std::string label = labels.Of(*core);
    auto at = std::ranges::find(part.groups, label, &CoreGroup::label);
    if (at == part.groups.end()) at = part.groups.insert(at, CoreGroup{label, {}});
    at->cores.push_back(core);
  }
  return part;
}

/// The L3 of all its cores; "": not known, or there are several.
std::string OnlyL3(const NodePart& part) {
  const bool one = part.groups.size() == 1 && part.groups.front().label.contains("L3");
  return one ? part.groups.front().label : "";
}

/// An L3 that neighbours have together is drawn around them, and not once in each.
void ShareL3(std::vector<NodePart>& nodes) {
  for (auto node = nodes.begin(); node != nodes.end();) {
    const std::string l3 = OnlyL3(*node);
    const auto end = std::find_if(node, nodes.end(), [&](const NodePart& of) { return OnlyL3(of) != l3; });
    const bool shared = !l3.empty() && end - node > 1;
    for (; node != end; ++node)
      if (shared) node->l3 = std::exchange(node->groups.front().label, "");
  }
}

std::string Bar(const MemoryTable& table, int width, bool unicode) {
  const int assigned = PlacesOf(table.reserved, table.total, width);
  const int system = std::min(PlacesOf(table.system_reserved, table.total, width), width - assigned);
  std::string out = unicode ? "" : "[";
  const auto draw = [&](int n, const char* drawn, const char* plain) {
    while (n-- > 0) out += unicode ? drawn : plain;
  };
  draw(assigned, "█", "#");
  draw(system, "▒", "=");
  draw(width - assigned - system, "░", ".");
  return unicode ? out : out + "]";
}

}  // namespace

const MemoryTable* TableOf(const Ledger& ledger, NumaId node, const std::string& type) {
  const auto state = ledger.memory.find(node);
  if (state == ledger.memory.end()) return nullptr;
  const auto table = state->second.types.find(type);
  return table == state->second.types.end() ? nullptr : &table->second;
}

int PlacesOf(Bytes part, Bytes whole, int width) {
  if (part.v <= 0 || whole.v <= 0) return 0;
  const double exact = static_cast<double>(part.v) / static_cast<double>(whole.v) * width;
  return std::clamp(static_cast<int>(exact + 0.5), 1, width);
}

std::vector<SocketPart> Arrange(const Machine& machine) {
  std::vector<const NumaNode*> nodes;
  for (const NumaNode& node : machine.nodes) nodes.push_back(&node);
  const Labels labels(machine);
  std::ranges::sort(nodes, {}, &NumaNode::id);
  std::vector<SocketPart> out;
  std::set<NumaId> drawn;
  for (const SocketId socket : labels.sockets()) {
    SocketPart part{"socket " + std::to_string(Raw(socket)), {}};
    for (const NumaNode* node : nodes) {
      NodePart one = MakePart(*node, socket, labels);
      if (one.groups.empty()) continue;
      one.first = drawn.insert(node->id).second;
      part.nodes.push_back(std::move(one));
    }
    ShareL3(part.nodes);
    out.push_back(std::move(part));
  }
  SocketPart rest{"no CPUs", {}};
  for (const NumaNode* node : nodes)
    if (!drawn.contains(node->id)) rest.nodes.push_back(MakePart(*node, SocketId{}, labels));
  if (!rest.nodes.empty()) out.push_back(std::move(rest));
  return out;
}

std::string MemoryText(const NumaNode& node, const Ledger& ledger, int bar, bool unicode) {
  if (node.memory.v <= 0) return {};
  std::string out = FormatSize(node.memory);
  const MemoryTable* table = TableOf(ledger, node.id, "memory");
  if (table == nullptr) return out;
  out += bar > 0 ? " " + Bar(*table, bar, unicode) : ",";
  out += " " + FormatSize(table->reserved) + " assigned";
  if (table->system_reserved.v > 0) out += ", " + FormatSize(table->system_reserved) + " system";
  return out;
}

std::vector<std::string> HugePageTexts(const NumaNode& node, const Ledger& ledger) {
  std::vector<std::string> out;
  for (const HugePages& pages : node.hugepages) {
    if (pages.count <= 0) continue;
    std::string text =
        "hugepages " + FormatSize(pages.page_size) + ": " + FormatSize({pages.page_size.v * pages.count});
    for (const std::string unit : {"Ki", "Mi", "Gi"}) {
      const int shift = unit == "Ki" ? 10 : unit == "Mi" ? 20 : 30;
      const std::string type = "hugepages-" + std::to_string(pages.page_size.v >> shift) + unit;
      if ((pages.page_size.v >> shift) << shift != pages.page_size.v) continue;
      if (const MemoryTable* table = TableOf(ledger, node.id, type))
        text += ", " + FormatSize(table->reserved) + " assigned";
    }
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace berth::view
