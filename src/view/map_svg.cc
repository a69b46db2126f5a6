#include "view/map_svg.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "view/changes.h"
#include "view/cpu_use.h"
#include "view/device_table.h"
#include "view/map_parts.h"
#include "view/pci_place.h"
#include "view/size.h"
#include "view/style.h"
#include "view/svg_piece.h"

namespace berth::view {
namespace {

constexpr int kPage = 1160;       // as wide as it gets, but for a node that is wider
constexpr int kMostGroups = 560;  // how wide a node's groups get before they go on below
constexpr int kMostColumns = 16;  // cores side by side
constexpr int kBar = 160;
constexpr std::size_t kPodColors = 8;
constexpr std::size_t kMostDistances = 16;

/// Colours stand where they are used, not in variables: not every program that shows drawings knows those.
constexpr std::string_view kStyle = R"(<style>
svg { font: 12px system-ui, sans-serif; color-scheme: light dark; }
text { fill: #1b1f24; white-space: pre; } .h { font-weight: 600; } .d { fill: #57606a; }
.s, .n, .k, .c { stroke: #c8ced6; } .c { stroke-width: .5; } .page, .s, .k, .idle, .offline { fill: #ffffff; }
.n { fill: #f5f7f9; } .free { fill: none; } .num { font-size: 10px; } .m { font-size: 10px; font-weight: 700; } .m2 { font-size: 6px; }
.shared { fill: #dfe4ea; } .reserved { fill: #c9c1b0; } .offline { stroke-dasharray: 2 2; } .bad { fill: #c0002a; }
.x { stroke: #1b1f24; } .was { fill: none; stroke: #1b1f24; stroke-width: 2; stroke-dasharray: 3 1.5; }
@media (prefers-color-scheme: dark) {
text { fill: #e6e9ed; } .d { fill: #9aa4af; } .s, .n, .k, .c { stroke: #3a434d; }
.page, .s, .k, .idle, .offline { fill: #0f1318; } .n { fill: #171c22; }
.shared { fill: #333c46; } .reserved { fill: #5b5445; } .bad { fill: #d4224a; } .x { stroke: #e6e9ed; }
.was { stroke: #e6e9ed; } }
.p0 { fill: #e69f00; } .p1 { fill: #56b4e9; } .p2 { fill: #009e73; } .p3 { fill: #f0e442; }
.p4 { fill: #0072b2; } .p5 { fill: #d55e00; } .p6 { fill: #cc79a7; } .p7 { fill: #8f8f8f; }
.on { fill: #000000; } .w { fill: #ffffff; }
</style>
)";

class Drawing {
 public:
  Drawing(const Machine& machine, const Ledger& ledger, const CpuSet& reserved, const DeviceInventory& devices,
          const Ledger* before)
      : machine_(machine),
        ledger_(ledger),
        before_(before),
        states_(DescribeCpus(machine, ledger, reserved)),
        marks_(ledger, states_, {}),
        devices_(DescribeDevices(machine, ledger, devices)) {
    for (const PciDevice& function : machine.pci)
      if (!PciKind(function).empty() && !IsOfResource(function)) functions_.push_back(&function);
    constexpr std::size_t kMostNumbers = 256;
    constexpr std::size_t kMostThreads = 1024;
    detail_ = states_.size() <= kMostNumbers ? Detail::kNumbers : Detail::kThreads;
    if (states_.size() > kMostThreads) detail_ = Detail::kCores;
    for (const CpuState& state : states_) by_id_.emplace(state.cpu, &state);
    if (before != nullptr) NoteChanges(DescribeCpus(machine, *before, reserved));
    int digits = 1;
    if (!states_.empty()) digits = static_cast<int>(std::to_string(Raw(states_.back().cpu)).size());
    int letters = 1;
    for (const Marks::Holder& holder : marks_.holders()) letters = std::max(letters, DisplayWidth(holder.look.mark));
    cell_width_ = detail_ == Detail::kNumbers ? (digits + 1 + letters) * kLetterPx + 4 : kSmall;
    cell_height_ = detail_ == Detail::kNumbers ? kLine : kSmall;
    for (std::size_t i = 0; i < marks_.holders().size(); ++i)
      colors_.emplace(marks_.holders()[i].look.mark, i % kPodColors);
  }

  std::string Draw() {
    std::vector<Piece> sockets;
    for (const SocketPart& socket : Arrange(machine_)) sockets.push_back(DrawSocket(socket));
    const Piece machine = Grid(sockets);
    Piece page = DrawTitle(machine.width);
    page.height += kBetween / 2;
    if (machine.height > 0) Below(page, machine);
    if (const Piece loose = LooseDevices(); loose.height > 0) Below(page, loose);
    Below(page, DrawLegend(page.width));
    if (before_ != nullptr) Below(page, DrawChanges(page.width));
    if (const Piece distances = DrawDistances(); distances.height > 0) Below(page, distances);
    Piece all;
    all.Put(kBetween, kBetween, page);
    const std::string width = Px(all.width + kBetween);
    const std::string height = Px(all.height + kBetween);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"" + width + "\" height=\"" + height +
           "\" viewBox=\"0 0 " + width + " " + height + "\">\n" + Title("CPUs, memory and devices of " + Name()) +
           "\n" + std::string(kStyle) + Rect(0, 0, all.width + kBetween, all.height + kBetween, "page", 0) + "\n" +
           all.body + "</svg>\n";
  }

 private:
  static constexpr int kSmall = 13;

  static void Below(Piece& page, const Piece& piece) {
    page.Put(0, page.height, piece);
    page.height += kBetween;
  }
  Piece DrawTitle(int width) const {
    constexpr int kLeastLetters = 50;
    const int letters = std::max(kLeastLetters, width / (kLetterPx + 1));
    const std::string text = WrapText(machine_.source.empty() ? "machine" : machine_.source, 0, letters);
    Piece out;
    for (const std::string_view line : Split(text, '\n')) out.Line(0, "h", line);
    return out;
  }
  std::string Name() const { return machine_.source.empty() ? "a machine" : machine_.source; }

  /// What each CPU was that is something else now.
  void NoteChanges(const std::vector<CpuState>& before) {
    for (const CpuState& was : before)
      if (const auto now = by_id_.find(was.cpu); now == by_id_.end() || *now->second != was)
        was_[was.cpu] = UseText(was);
  }
  static std::string UseText(const CpuState& state) {
    return state.holders.empty() ? std::string(view::Name(state.use)) : Join(state.holders, ", ");
  }
  bool IsOther(const Core& core) const {
    return std::ranges::any_of(core.threads, [&](CpuId cpu) { return was_.contains(cpu); });
  }
  /// A line around what is something else than before.
  static std::string Around(int width, int height) { return Rect(1, 1, width - 3, height - 3, "was", 2); }

  struct Fill {
    std::string look;
    std::string on;  // the look of what is written on it
  };
  Fill FillOf(const Marks::Look& look, CpuUse use) const {
    if (const auto color = colors_.find(look.mark); color != colors_.end()) {
      constexpr std::array<bool, kPodColors> kDark = {false, false, true, false, true, true, false, false};
      return {.look = "p" + std::to_string(color->second), .on = kDark[color->second] ? " on w" : " on"};
    }
    if (use == CpuUse::kExclusive || use == CpuUse::kPool) return {.look = "bad", .on = " on w"};  // held twice
    return {.look = std::string(view::Name(use)), .on = ""};
  }
  CpuUse UseOf(CpuId cpu) const {
    const auto state = by_id_.find(cpu);
    return state == by_id_.end() ? CpuUse::kOffline : state->second->use;
  }
  std::string Describe(CpuId cpu, const Core& core) const {
    std::string out = "CPU " + std::to_string(Raw(cpu)) + ", core " + std::to_string(Raw(IdOf(core))) + ": ";
    const auto found = by_id_.find(cpu);
    if (found == by_id_.end()) return out + "offline";
    const CpuState& state = *found->second;
    out += UseText(state);
    if (state.isolated) out += ", isolated by the kernel";
    const auto was = was_.find(cpu);
    return was == was_.end() ? out : out + "; before: " + was->second;
  }

  Piece DrawCell(CpuId cpu, const Core& core) const {
    const Marks::Look look = marks_.Of(cpu);
    const Fill fill = FillOf(look, UseOf(cpu));
    Piece out{.width = cell_width_, .height = cell_height_, .body = {}};
    out.body = "<g>" + Title(Describe(cpu, core)) + Rect(0, 0, cell_width_ - 1, cell_height_ - 1, "c " + fill.look, 2);
    const std::string mark(Trim(look.mark));
    if (detail_ == Detail::kNumbers) {
      out.body += Text(3, cell_height_ - 6, "num" + fill.on, std::to_string(Raw(cpu)));
      out.body += Text(cell_width_ - 4, cell_height_ - 6, "m" + fill.on, mark, "end");
    } else if (fill.look.starts_with('p')) {
      const bool two = mark.size() > 1;
      out.body += Text(cell_width_ / 2, cell_height_ - (two ? 4 : 3), (two ? "m m2" : "m") + fill.on, mark, "middle");
    }
    if (was_.contains(cpu)) out.body += Around(cell_width_, cell_height_);
    out.body += "</g>";
    return out;
  }

  /// Its threads, one below the other, or all of them as one cell.
  Piece DrawCore(const Core& core) const {
    Piece out;
    if (detail_ != Detail::kCores) {
      for (const CpuId cpu : core.threads) out.Put(0, out.height, DrawCell(cpu, core));
      return out;
    }
    const Marks::Look look = marks_.OfCore(core.threads);
    const bool mixed = look.mark == marks_.Mixed().mark;
    const std::string fill = mixed ? "idle" : FillOf(look, UseOf(core.threads.front())).look;
    std::vector<std::string> texts;
    for (const CpuId cpu : core.threads) texts.push_back(Describe(cpu, core));
    out.width = out.height = kSmall;
    // A core with several holders has a line through it.
    out.body = "<g>" + Title(Join(texts, "; ")) + Rect(0, 0, kSmall - 1, kSmall - 1, "c " + fill, 2) +
               (mixed ? "<path d=\"M0 12L12 0\" class=\"x\"/>" : "") + (IsOther(core) ? Around(kSmall, kSmall) : "") +
               "</g>";
    return out;
  }

  Piece DrawGroup(const CoreGroup& group) const {
    Piece cores;
    const std::size_t rows = (group.cores.size() + kMostColumns - 1) / kMostColumns;
    const std::size_t columns = (group.cores.size() + rows - 1) / rows;
    int top = 0;
    for (std::size_t i = 0; i < group.cores.size(); ++i) {
      if (i > 0 && i % columns == 0) top = cores.height + 4;
      cores.Put(static_cast<int>(i % columns) * (cell_width_ + 3), top, DrawCore(*group.cores[i]));
    }
    if (group.label.empty()) return cores;
    Piece out;
    out.Line(0, "d", group.label);
    out.Put(0, out.height, cores);
    return Boxed(out, "k");
  }

  void AddMemory(const NumaNode& node, Piece& out) const {
    const std::string text = MemoryText(node, ledger_, 0, true);
    if (text.empty()) return;
    const MemoryTable* const table = TableOf(ledger_, node.id, "memory");
    int x = 0;
    if (table != nullptr && table->total.v > 0) {
      const int assigned = PlacesOf(table->reserved, table->total, kBar);
      const int system = std::min(PlacesOf(table->system_reserved, table->total, kBar), kBar - assigned);
      const int y = out.height + 4;
      out.body += Rect(0, y, kBar, 10, "c shared", 2) + Rect(0, y, assigned, 10, "c p4", 2) +
                  Rect(assigned, y, system, 10, "c reserved", 2);
      x = kBar + 8;
    }
    out.Line(x, "", text);
  }

  std::string DeviceText(const DeviceState& state) const {
    std::string out = state.resource + " " + state.device.id + ": ";
    out += state.holder.empty() ? "free" : state.holder;
    return state.device.healthy ? out : out + ", not healthy";
  }
  void AddDevice(const DeviceState& state, Piece& out) const {
    const int y = out.height + 4;
    out.body += Rect(0, y, 10, 10,
                     std::string("c ") + (state.holder.empty()   ? "free"
                                          : state.device.healthy ? "p2"
                                                                 : "bad"),
                     2);
    out.Line(16, "", CutToWidth(DeviceText(state), kLongest));
  }

  bool IsOfResource(const PciDevice& function) const {
    return std::ranges::any_of(devices_, [&](const DeviceState& state) { return state.function == &function; });
  }
  /// What sits on the node and is no resource's device: only where it is.
  void AddFunctions(const std::optional<NumaId>& node, Piece& out) const {
    constexpr std::size_t kMost = 12;
    std::size_t count = 0;
    for (const PciDevice* function : functions_) {
      if (function->node != node || ++count > kMost) continue;
      const std::string name = function->name.empty() ? "" : "  " + function->name;
      const std::string text = std::string(PciKind(*function)) + " " + function->address + name;
      out.body += Rect(2, out.height + 6, 6, 6, "c free", 1);
      out.Line(16, "d", CutToWidth(text, kLongest));
    }
    if (count > kMost) out.Line(16, "d", "and " + std::to_string(count - kMost) + " more PCI devices");
  }

  Piece DrawNode(const NodePart& part) const {
    Piece out;
    const std::string cpus = part.cpus.empty() ? "no CPUs" : "CPUs " + FormatIds(part.cpus);
    const std::string name = "node " + std::to_string(Raw(part.node->id));
    out.body += Text(0, kLine - 5, "h", name);
    const int x = WidthOf(name) + 10;
    out.Line(x, "d", CutToWidth(cpus, kLongest - 10));
    if (part.first) {
      AddMemory(*part.node, out);
      for (const std::string& text : HugePageTexts(*part.node, ledger_)) out.Line(0, "d", text);
    }
    std::vector<Piece> groups;
    for (const CoreGroup& group : part.groups) groups.push_back(DrawGroup(group));
    if (!groups.empty()) out.Put(0, out.height + 4, Flow(groups, kMostGroups));
    out.height += 4;
    if (part.first)
      for (const DeviceState& state : devices_)
        if (state.device.nodes.Contains(part.node->id)) AddDevice(state, out);
    if (part.first) AddFunctions(part.node->id, out);
    return Boxed(out, "n");
  }

  Piece DrawSocket(const SocketPart& socket) const {
    std::vector<Piece> nodes;
    for (auto node = socket.nodes.begin(); node != socket.nodes.end();) {
      const std::string& l3 = node->l3;
      if (l3.empty()) {
        nodes.push_back(DrawNode(*node++));
        continue;
      }
      std::vector<Piece> inside;
      for (; node != socket.nodes.end() && node->l3 == l3; ++node) inside.push_back(DrawNode(*node));
      Piece cache;
      cache.Line(0, "d", l3);
      cache.Put(0, cache.height + 4, Flow(inside, kPage));
      nodes.push_back(Boxed(cache, "k"));
    }
    Piece out;
    out.Line(0, "h", socket.title);
    const Piece rows = Flow(nodes, kPage);
    out.Put(0, out.height + 4, rows.height > rows.width ? Grid(nodes) : rows);
    return Boxed(out, "s");
  }

  /// Those that are on no node.
  Piece LooseDevices() const {
    Piece out;
    for (const DeviceState& state : devices_) {
      if (!state.device.nodes.empty()) continue;
      if (out.height == 0) out.Line(0, "h", "devices on no NUMA node");
      AddDevice(state, out);
    }
    Piece functions;
    AddFunctions(std::nullopt, functions);
    if (functions.height == 0) return out;
    if (out.height == 0) out.Line(0, "h", "devices on no NUMA node");
    out.Put(0, out.height, functions);
    return out;
  }

  Piece DrawLegend(int width) const {
    const auto line_of = [](const Fill& fill, const std::string& mark, const std::string& name, const CpuSet& cpus) {
      const std::string text = CutToWidth(name, kLongest);
      Piece line;
      line.body = Rect(0, 2, 20, 14, "c " + fill.look, 2) + Text(10, 13, "m" + fill.on, mark, "middle") +
                  Text(28, 13, "", text);
      line.Line(28 + WidthOf(text) + 6, "d", CutToWidth(FormatIds(cpus), kLongest));
      return line;
    };
    std::vector<Piece> holders;
    for (const Marks::Holder& holder : marks_.holders())
      holders.push_back(line_of(FillOf(holder.look, CpuUse::kExclusive), std::string(Trim(holder.look.mark)),
                                holder.name, holder.cpus));
    Piece out = Columns(holders, width);
    const auto add = [&](const Fill& fill, const std::string& mark, const std::string& text, const CpuSet& cpus) {
      out.Put(0, out.height, line_of(fill, mark, text, cpus));
    };
    const auto use = [&](CpuUse wanted, const std::string& text) {
      if (const CpuSet cpus = WithUse(states_, wanted); !cpus.empty())
        add({.look = std::string(view::Name(wanted)), .on = " on"}, "", text, cpus);
    };
    use(CpuUse::kShared, "shared pool");
    use(CpuUse::kReserved, "reserved for the system");
    use(CpuUse::kIdle, "outside the pool");
    use(CpuUse::kOffline, "offline");
    if (marks_.conflict()) add({.look = "bad", .on = " on w"}, "!", "held by two pods: this must not be", {});
    return out;
  }

  Piece DrawChanges(int width) const {
    Piece out;
    out.Line(0, "h", was_.empty() ? "no CPU changes" : "what changes, with a dashed line around its CPUs");
    std::vector<Piece> changes;
    for (const Change& change : ChangesOf(*before_, ledger_)) {
      const std::string text = change.who + ": " + change.what + " " + (change.before.empty() ? "-" : change.before) +
                               " → " + (change.after.empty() ? "-" : change.after);
      changes.emplace_back().Line(28, "", CutToWidth(text, kLongest));
    }
    out.Put(0, out.height, Columns(changes, width));
    return out;
  }

  Piece DrawDistances() const {
    std::vector<const NumaNode*> nodes;
    for (const NumaNode& node : machine_.nodes) nodes.push_back(&node);
    std::ranges::sort(nodes, {}, &NumaNode::id);
    const bool known =
        std::ranges::all_of(nodes, [&](const NumaNode* node) { return node->distances.size() == nodes.size(); });
    Piece out;
    if (nodes.size() < 2 || nodes.size() > kMostDistances || !known) return out;
    constexpr int kColumn = 40;
    out.Line(0, "h", "distances");
    const int head = out.height + kLine - 5;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      out.body += Text(kColumn * static_cast<int>(i + 2), head, "d", std::to_string(Raw(nodes[i]->id)), "end");
    out.height += kLine;
    for (const NumaNode* node : nodes) {
      const int y = out.height + kLine - 5;
      out.body += Text(kColumn, y, "d", std::to_string(Raw(node->id)), "end");
      for (std::size_t i = 0; i < nodes.size(); ++i)
        out.body += Text(kColumn * static_cast<int>(i + 2), y, "", std::to_string(node->distances[i]), "end");
      out.height += kLine;
    }
    out.width = std::max(out.width, kColumn * static_cast<int>(nodes.size() + 1));
    return out;
  }

  static constexpr int kLongest = 100;  // characters of a line of text

  const Machine& machine_;
  const Ledger& ledger_;
  const Ledger* before_;
  std::map<CpuId, std::string> was_;
  std::vector<CpuState> states_;
  Marks marks_;
  std::vector<DeviceState> devices_;
  std::vector<const PciDevice*> functions_;  // that workloads use, but for those of devices_
  Detail detail_ = Detail::kNumbers;
  int cell_width_ = 0;
  int cell_height_ = 0;
  std::map<CpuId, const CpuState*> by_id_;
  std::map<std::string, std::size_t> colors_;  // of pods, by mark
};

}  // namespace

std::string RenderMapSvg(const Machine& machine, const Ledger& ledger, const CpuSet& reserved,
                         const DeviceInventory& devices, const Ledger* before) {
  return Drawing(machine, ledger, reserved, devices, before).Draw();
}

}  // namespace berth::view
