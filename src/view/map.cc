#include "view/map.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/text.h"
#include "base/words.h"
#include "view/machine_table.h"
#include "view/map_parts.h"
#include "view/style.h"

namespace berth::view {
namespace {

constexpr int kIndent = 2;
constexpr int kWidestCpus = 32;  // lists longer than this do not push everybody's memory to the right

/// Draws one level of detail. Collects lines; none is wider than options.width.
class Painter {
 public:
  Painter(const Machine& machine, const Ledger& ledger, const Marks& marks, const MapOptions& options, Detail detail)
      : ledger_(ledger), marks_(marks), options_(options), detail_(detail) {
    const CpuSet all = machine.present | machine.online | UsableCpus(machine);
    digits_ = static_cast<int>(std::to_string(all.Last() ? Raw(*all.Last()) : 0).size());
  }

  std::vector<std::string> Draw(const std::vector<SocketPart>& sockets) {
    for (const SocketPart& socket : sockets)
      for (const NodePart& node : socket.nodes) MeasureLabels(node);
    for (const SocketPart& socket : sockets) {
      Add(berth::view::Paint(Cut(socket.title), Style::kBold, options_.color));
      std::string around;
      for (const NodePart& node : socket.nodes) {
        const bool inside = !node.l3.empty() && detail_ != Detail::kCores;
        if (inside && node.l3 != around) Add(Cut(Blanks(kIndent) + node.l3));
        around = node.l3;
        left_ = inside ? 2 * kIndent : kIndent;
        DrawNode(node);
      }
    }
    return std::move(lines_);
  }

 private:
  void Add(std::string line) {
    while (line.ends_with(' ')) line.pop_back();
    lines_.push_back(std::move(line));
  }
  std::string Cut(const std::string& text) const { return CutToWidth(text, options_.width); }

  void MeasureLabels(const NodePart& part) {
    name_width_ = std::max(name_width_, DisplayWidth(NodeName(part)));
    for (const CoreGroup& group : part.groups) label_width_ = std::max(label_width_, DisplayWidth(group.label));
    cpus_width_ = std::max(cpus_width_, DisplayWidth(CpusText(part)));
    strip_width_ = std::max(strip_width_, StripWidth(part));
  }

  static std::string Blanks(int count) { return std::string(static_cast<std::size_t>(count), ' '); }
  /// Where what belongs to the node begins.
  int Inner() const { return left_ + kIndent; }
  static std::string NodeName(const NodePart& part) { return "node " + std::to_string(Raw(part.node->id)); }
  static std::string CpusText(const NodePart& part) {
    return part.cpus.empty() ? "no CPUs" : "CPUs " + FormatIds(part.cpus);
  }
  int StripWidth(const NodePart& part) const {
    int width = part.groups.empty() ? 0 : static_cast<int>(part.groups.size()) - 1;
    for (const CoreGroup& group : part.groups) width += static_cast<int>(group.cores.size()) * MarkWidth();
    return width;
  }
  int MarkWidth() const { return DisplayWidth(marks_.Mixed().mark); }
  int BarWidth() const { return options_.width >= 100 ? 16 : 10; }

  void DrawNode(const NodePart& part) {
    const int cpus = std::min(cpus_width_, kWidestCpus);
    std::string head = Blanks(left_) + PadRight(NodeName(part), name_width_) + "  " + PadRight(CpusText(part), cpus);
    const std::string memory =
        part.first ? MemoryText(*part.node, ledger_, BarWidth(), options_.unicode) : std::string();
    if (detail_ == Detail::kCores && FitsOneLine(memory)) return DrawInOneLine(part, memory);
    if (!memory.empty()) {
      if (DisplayWidth(head) + 3 + DisplayWidth(memory) > options_.width) {
        Add(Cut(head));
        head = Blanks(Inner()) + memory;
      } else {
        head += "   " + memory;
      }
    }
    Add(Cut(head));
    if (part.first && detail_ != Detail::kCores)
      for (const std::string& text : HugePageTexts(*part.node, ledger_)) Add(Cut(Blanks(Inner()) + text));
    if (detail_ == Detail::kCores) return DrawStrip(part);
    for (const CoreGroup& group : part.groups) DrawGroup(group);
  }

  bool FitsOneLine(const std::string& memory) const {
    return 2 + name_width_ + 2 + cpus_width_ + 2 + strip_width_ + 3 + DisplayWidth(memory) <= options_.width;
  }

  void DrawInOneLine(const NodePart& part, const std::string& memory) {
    std::string line = "  " + PadRight(NodeName(part), name_width_) + "  " + PadRight(CpusText(part), cpus_width_);
    line += "  " + Strip(part) + std::string(static_cast<std::size_t>(strip_width_ - StripWidth(part)), ' ');
    Add(line + "   " + memory);
  }

  /// One mark per core, a blank between groups.
  std::string Strip(const NodePart& part) const {
    std::string out;
    for (const CoreGroup& group : part.groups) {
      if (&group != &part.groups.front()) out += ' ';
      for (const Core* core : group.cores) {
        const Marks::Look look = marks_.OfCore(core->threads);
        out += marks_.Paint(look.mark, look);
      }
    }
    return out;
  }

  /// The same over several lines, when one does not hold it.
  void DrawStrip(const NodePart& part) {
    const int room = options_.width - Inner();
    std::string line = Blanks(Inner());
    int used = 0;
    for (const CoreGroup& group : part.groups) {
      if (used > 0 && used < room) line += ' ', ++used;
      for (const Core* core : group.cores) {
        if (used + MarkWidth() > room) {
          Add(line);
          line = Blanks(Inner());
          used = 0;
        }
        const Marks::Look look = marks_.OfCore(core->threads);
        line += marks_.Paint(look.mark, look);
        used += MarkWidth();
      }
    }
    if (used > 0) Add(line);
  }

  std::string CellText(CpuId cpu, const Marks::Look& look) const {
    if (detail_ != Detail::kNumbers) return look.mark;
    return PadLeft(std::to_string(Raw(cpu)), digits_) + " " + look.mark;
  }

  void DrawGroup(const CoreGroup& group) {
    const int gap = detail_ == Detail::kNumbers ? 2 : 0;
    const int cell = (detail_ == Detail::kNumbers ? digits_ + 1 : 0) + MarkWidth() + gap;
    const int left = Inner() + (label_width_ == 0 ? 0 : label_width_ + 3);
    const auto fit = static_cast<std::size_t>(std::max(1, (options_.width - left + gap) / cell));
    const std::size_t rows = (group.cores.size() + fit - 1) / fit;
    const std::size_t columns = (group.cores.size() + rows - 1) / rows;  // rows of even length
    for (std::size_t start = 0; start < group.cores.size(); start += columns) {
      const std::size_t end = std::min(start + columns, group.cores.size());
      if (start > 0 && detail_ == Detail::kNumbers) Add("");
      DrawRows(group, start, end, start == 0 ? group.label : "", left);
    }
  }

  /// The cores [start, end) side by side, a line per thread.
  void DrawRows(const CoreGroup& group, std::size_t start, std::size_t end, const std::string& label, int left) {
    std::size_t threads = 0;
    for (std::size_t i = start; i < end; ++i) threads = std::max(threads, group.cores[i]->threads.size());
    const std::string gap(detail_ == Detail::kNumbers ? 2 : 0, ' ');
    const int cell = (detail_ == Detail::kNumbers ? digits_ + 1 : 0) + MarkWidth();
    for (std::size_t t = 0; t < threads; ++t) {
      std::string line = PadRight(Blanks(Inner()) + (t == 0 ? label : ""), left);
      for (std::size_t i = start; i < end; ++i) {
        if (i > start) line += gap;
        const std::vector<CpuId>& cpus = group.cores[i]->threads;
        if (t >= cpus.size()) {
          line += std::string(static_cast<std::size_t>(cell), ' ');
          continue;
        }
        const Marks::Look look = marks_.Of(cpus[t]);
        line += marks_.Paint(CellText(cpus[t], look), look);
      }
      Add(line);
    }
  }

  const Ledger& ledger_;
  const Marks& marks_;
  const MapOptions& options_;
  Detail detail_;
  int left_ = kIndent;  // where the node begins that is drawn
  int digits_ = 1;
  int name_width_ = 0;
  int label_width_ = 0;
  int cpus_width_ = 0;
  int strip_width_ = 0;
  std::vector<std::string> lines_;
};

std::vector<std::string> HeadLines(const Machine& machine, const std::vector<CpuState>& cpus) {
  std::set<SocketId> sockets;
  std::size_t cores = 0;
  for (const NumaNode& node : machine.nodes) {
    cores += node.cores.size();
    for (const Core& core : node.cores) sockets.insert(core.socket);
  }
  const std::string shape = Counted(sockets.size(), "socket") + ", " + Counted(machine.nodes.size(), "NUMA node") +
                            ", " + Counted(cores, "core") + ", " + Counted(cpus.size(), "CPU");
  std::string use;
  for (const CpuUse kind :
       {CpuUse::kExclusive, CpuUse::kPool, CpuUse::kShared, CpuUse::kReserved, CpuUse::kIdle, CpuUse::kOffline}) {
    const auto n = std::ranges::count(cpus, kind, &CpuState::use);
    if (n > 0) use += (use.empty() ? "" : ", ") + std::to_string(n) + " " + std::string(Name(kind));
  }
  std::vector<std::string> out = {shape, use};
  if (auto memory = TwoMemorySizes(machine)) out.push_back("memory: " + *std::move(memory));
  if (!machine.source.empty()) out.insert(out.begin(), Printable(machine.source, machine.source.size()));
  return out;
}

std::string HowToRead(Detail detail) {
  switch (detail) {
    case Detail::kNumbers: return "A column is a core, its threads stand below each other.";
    case Detail::kThreads: return "A column is a core, its threads stand below each other; CPU numbers are left out.";
    case Detail::kCores: return "A mark is a core; + is a core whose threads differ.";
  }
  return {};
}

}  // namespace

std::string RenderMap(const Machine& machine, const Ledger& ledger, const CpuSet& reserved, const MapOptions& options) {
  MapOptions used = options;
  used.width = std::max(options.width, 40);
  const std::vector<CpuState> cpus = DescribeCpus(machine, ledger, reserved);
  const Marks marks(ledger, cpus, used);
  const std::vector<SocketPart> sockets = Arrange(machine);
  std::vector<std::string> lines;
  std::string how;
  for (const Detail detail : {Detail::kNumbers, Detail::kThreads, Detail::kCores}) {
    lines = Painter(machine, ledger, marks, used, detail).Draw(sockets);
    how = HowToRead(detail);
    if (static_cast<int>(lines.size()) <= used.lines) break;
  }
  std::string out;
  for (const std::string& line : HeadLines(machine, cpus)) out += CutToWidth(line, used.width) + "\n";
  out += "\n";
  for (const std::string& line : lines) out += line + "\n";
  out += "\n" + Paint(CutToWidth(how, used.width), Style::kDim, used.color) + "\n";
  for (const std::string& line : LegendLines(machine, ledger, cpus, marks, used)) out += line + "\n";
  return out;
}

}  // namespace berth::view
