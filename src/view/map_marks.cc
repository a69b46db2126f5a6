#include <array>
#include <utility>

#include "view/map_parts.h"
#include "view/style.h"

namespace berth::view {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::array<const char*, 10> kColors = {"1;36", "1;32", "1;35", "1;34", "1;33", "36", "32", "35", "34", "33"};

std::string Letter(std::size_t n, bool two) {
  if (!two) return std::string(1, kLetters[n % kLetters.size()]);
  const std::size_t high = n / kLetters.size();
  if (high >= kLetters.size()) return "**";
  return {kLetters[high], kLetters[n % kLetters.size()]};
}

std::vector<Marks::Holder> HoldersInOrder(const Ledger& ledger) {
  std::vector<Marks::Holder> out;
  for (const PodEntry* entry : InOrderOfAdmission(ledger))
    if (CpuSet cpus = ExclusiveCpus(entry->second); !cpus.empty())
      out.push_back({.name = FullName(entry->second), .cpus = std::move(cpus), .pod = &entry->second});
  for (const auto& [name, pool] : ledger.pools) out.push_back({.name = PoolText(name), .cpus = HeldCpus(pool)});
  return out;
}

}  // namespace

Marks::Marks(const Ledger& ledger, const std::vector<CpuState>& cpus, const MapOptions& options)
    : color_(options.color), unicode_(options.unicode), holders_(HoldersInOrder(ledger)) {
  const bool two = holders_.size() > kLetters.size();
  width_ = two ? 2 : 1;
  for (const CpuState& state : cpus) looks_[state.cpu] = OfUse(state.use);
  CpuSet seen;
  for (std::size_t i = 0; i < holders_.size(); ++i) {
    const Look& look = holders_[i].look = {Letter(i, two), kColors[i % kColors.size()]};
    for (const CpuId cpu : holders_[i].cpus) {
      const bool twice = seen.Contains(cpu);
      conflict_ = conflict_ || twice;
      looks_[cpu] = twice ? Look{Fit("!"), "1;31"} : look;
      seen.Insert(cpu);
    }
  }
}

Marks::Look Marks::OfUse(CpuUse use) const {
  switch (use) {
    case CpuUse::kOffline: return {Fit("x"), "2"};
    case CpuUse::kReserved: return {Fit("#"), "33"};
    case CpuUse::kShared: return {Fit(unicode_ ? "·" : "."), ""};
    case CpuUse::kPool:
    case CpuUse::kExclusive: return {Fit("?"), "1;31"};
    case CpuUse::kIdle: return {Fit("-"), "2"};
  }
  return {Fit("?"), ""};
}

Marks::Look Marks::Of(CpuId cpu) const {
  const auto it = looks_.find(cpu);
  return it == looks_.end() ? OfUse(CpuUse::kOffline) : it->second;
}

Marks::Look Marks::OfCore(const std::vector<CpuId>& threads) const {
  const Look first = Of(threads.front());
  for (const CpuId cpu : threads)
    if (Of(cpu).mark != first.mark) return Mixed();
  return first;
}

std::string Marks::Fit(std::string_view mark) const { return PadRight(mark, width_); }

std::string Marks::Paint(const std::string& text, const Look& look) const {
  if (!color_ || look.code.empty()) return text;
  return "\x1b[" + look.code + "m" + text + "\x1b[0m";
}

}  // namespace berth::view
