#include "model/own_rules.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"

namespace berth {
namespace {

constexpr std::size_t kShownText = 60;

/// Options of the kubelet's that are about one container's CPUs alone.
constexpr std::array<std::string_view, 5> kKubeletOptions{"full-pcpus-only", "distribute-cpus-across-numa",
                                                          "distribute-cpus-across-cores", "align-by-socket",
                                                          "prefer-align-cpus-by-uncorecache"};

template <class Value, std::size_t kCount>
using Names = std::array<std::pair<Value, std::string_view>, kCount>;
constexpr Names<Fill, 2> kFills{{{Fill::kPack, "pack"}, {Fill::kSpread, "spread"}}};
constexpr Names<CachePlace, 3> kCachePlaces{
    {{CachePlace::kPack, "pack"}, {CachePlace::kSpread, "spread"}, {CachePlace::kStrict, "strict"}}};
constexpr Names<CpuEnd, 2> kEnds{{{CpuEnd::kLow, "low"}, {CpuEnd::kHigh, "high"}}};
constexpr Names<CoreKind, 2> kKinds{{{CoreKind::kPerformance, "performance"}, {CoreKind::kEfficiency, "efficiency"}}};
constexpr Names<IsolatedCpus, 3> kIsolated{
    {{IsolatedCpus::kPrefer, "prefer"}, {IsolatedCpus::kRequire, "require"}, {IsolatedCpus::kAvoid, "avoid"}}};
constexpr Names<PoolThreads, 3> kPoolThreads{{{PoolThreads::kAny, "any"},
                                              {PoolThreads::kWholeCores, "whole-cores"},
                                              {PoolThreads::kOnePerCore, "one-per-core"}}};

/// Calls visit(name, field, names) for each option that has a value.
template <class Wishes, class Visit>
void ForEachOption(Wishes& wishes, const Visit& visit) {
  visit("numa", wishes.numa, kFills);
  visit("l3", wishes.l3, kCachePlaces);
  visit("cores", wishes.cores, kFills);
  visit("end", wishes.end, kEnds);
  visit("kind", wishes.kind, kKinds);
  visit("isolated", wishes.isolated, kIsolated);
}

template <class Value, std::size_t kCount>
std::string_view NameIn(const Names<Value, kCount>& names, Value value) {
  for (const auto& [known, name] : names)
    if (known == value) return name;
  return "";
}

Result<void> ReadWord(std::string_view word, CpuWishes& out) {
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string_view name = Trim(word.substr(0, equals));
  const std::string_view value = equals == word.size() ? "" : Trim(word.substr(equals + 1));
  if (std::ranges::find(kKubeletOptions, name) != kKubeletOptions.end()) {
    if (equals != word.size() && value != "true" && value != "false")
      return Fail(Code::kInvalid,
                  std::string(name) + " is true or false, not \"" + Printable(value, kShownText) + "\"");
    if (!out.kubelet.emplace(name, value != "false").second)
      return Fail(Code::kInvalid, std::string(name) + " is said twice");
    return {};
  }
  bool known = false;
  std::string problem;
  std::vector<std::string_view> there(kKubeletOptions.begin(), kKubeletOptions.end());
  ForEachOption(out, [&](std::string_view option, auto& field, const auto& names) {
    there.push_back(option);
    if (option != name) return;
    known = true;
    std::vector<std::string_view> values;
    const bool again = field.has_value();
    for (const auto& [meaning, text] : names) {
      values.push_back(text);
      if (text == value) field = meaning;
    }
    if (again) problem = std::string(name) + " is said twice";
    if (!field) problem = std::string(name) + ": " + NotAmong(value, values);
  });
  if (!known) return Fail(Code::kInvalid, NotAmong(name, there));
  return problem.empty() ? Result<void>() : Fail(Code::kInvalid, problem);
}

}  // namespace

std::string_view Name(PoolThreads threads) { return NameIn(kPoolThreads, threads); }

const PoolRule* FindPool(const std::vector<PoolRule>& pools, std::string_view name) {
  const auto found = std::ranges::find(pools, name, &PoolRule::name);
  return found == pools.end() ? nullptr : &*found;
}

Result<CpuWishes> ParseCpuWishes(std::string_view text) {
  CpuWishes out;
  if (Trim(text).empty()) return out;
  for (const std::string_view word : Split(text, ',')) BERTH_RETURN_IF_ERROR(ReadWord(Trim(word), out));
  return out;
}

std::vector<std::string> WordsOf(const CpuWishes& wishes) {
  std::vector<std::string> out;
  for (const auto& [name, on] : wishes.kubelet) out.push_back(on ? name : name + "=false");
  ForEachOption(wishes, [&](std::string_view option, const auto& field, const auto& names) {
    if (field) out.push_back(std::string(option) + "=" + std::string(NameIn(names, *field)));
  });
  return out;
}

}  // namespace berth
