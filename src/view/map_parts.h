// The pieces RenderMap is put together from. Private to this component.
#ifndef BERTH_VIEW_MAP_PARTS_H_
#define BERTH_VIEW_MAP_PARTS_H_

#include <map>
#include <string>
#include <vector>

#include "view/cpu_use.h"

namespace berth::view {

/// How much one CPU gets: its number and mark; only the mark; one mark for a whole core.
enum class Detail { kNumbers, kThreads, kCores };

/// Marks and colours of everything a CPU can be.
class Marks {
 public:
  Marks(const Ledger& ledger, const std::vector<CpuState>& cpus, const MapOptions& options);

  struct Look {
    std::string mark;  ///< as wide as every other
    std::string code;  ///< ANSI colour, "" for none
  };
  /// What stands for one CPU.
  Look Of(CpuId cpu) const;
  /// What stands for a core: its threads' mark, or "+" when they differ.
  Look OfCore(const std::vector<CpuId>& threads) const;
  Look OfUse(CpuUse use) const;
  Look Mixed() const { return {Fit("+"), "1"}; }

  /// A pod with exclusive CPUs, or a named pool.
  struct Holder {
    std::string name;
    CpuSet cpus;
    const PodRecord* pod = nullptr;  ///< nullptr: a named pool
    Look look{};
  };
  /// With their marks: pods in order of admission, then named pools.
  const std::vector<Holder>& holders() const { return holders_; }
  /// True when a CPU is held twice, which must never be.
  bool conflict() const { return conflict_; }
  /// "text" in the colours of `look`.
  std::string Paint(const std::string& text, const Look& look) const;

 private:
  std::string Fit(std::string_view mark) const;

  bool color_;
  bool unicode_;
  int width_ = 1;
  bool conflict_ = false;
  std::vector<Holder> holders_;
  std::map<CpuId, Look> looks_;
};

/// Cores drawn side by side.
struct CoreGroup {
  std::string label;  ///< "L3 4"; may be empty
  std::vector<const Core*> cores;
};

/// One node's part of one socket.
struct NodePart {
  const NumaNode* node = nullptr;
  CpuSet cpus;                    ///< of this part
  std::vector<CoreGroup> groups;  ///< empty: memory only
  std::string l3{};               ///< around it and its neighbours with the same; "": `groups` say theirs
  bool first = true;              ///< the node's first part: where its memory is told
};

struct SocketPart {
  std::string title;  ///< "socket 0", "no CPUs"
  std::vector<NodePart> nodes;
};

/// The machine sorted for drawing: sockets, nodes and cores by id, groups by L3 and kind of core.
std::vector<SocketPart> Arrange(const Machine& machine);

/// The node's book of `type` ("memory"); nullptr: there is none.
const MemoryTable* TableOf(const Ledger& ledger, NumaId node, const std::string& type);
/// How many of `width` places a part of a whole is, rounded; anything at all is one at least.
int PlacesOf(Bytes part, Bytes whole, int width);
/// "64 GiB [####....] 16 GiB assigned"; "" when nothing is known. `bar` = 0 leaves the bar out.
std::string MemoryText(const NumaNode& node, const Ledger& ledger, int bar, bool unicode);
/// One text per huge page size of the node that has pages.
std::vector<std::string> HugePageTexts(const NumaNode& node, const Ledger& ledger);

/// The CPUs that are used so.
CpuSet WithUse(const std::vector<CpuState>& cpus, CpuUse use);
/// Who holds what, below the picture.
std::vector<std::string> LegendLines(const Machine& machine, const Ledger& ledger, const std::vector<CpuState>& cpus,
                                     const Marks& marks, const MapOptions& options);

}  // namespace berth::view

#endif  // BERTH_VIEW_MAP_PARTS_H_
