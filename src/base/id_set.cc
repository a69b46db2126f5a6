#include "base/id_set.h"

#include <charconv>

#include "base/text.h"

namespace berth {
namespace {

std::unexpected<Error> BadField(std::string_view what, std::string_view field, std::string_view why) {
  return Fail(Code::kInvalid,
              "bad " + std::string(what) + " list field '" + Printable(field, 40) + "': " + std::string(why));
}

template <class Set>
std::string FormatRuns(const Set& set) {
  std::string out;
  auto it = set.begin();
  while (it != set.end()) {
    const std::uint32_t first = Raw(*it);
    std::uint32_t last = first;
    while (++it != set.end() && Raw(*it) == last + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(first);
    if (last != first) out.append("-").append(std::to_string(last));
  }
  return out;
}

}  // namespace

Result<std::vector<std::uint64_t>> ParseIdList(std::string_view text, std::string_view what) {
  std::vector<std::uint64_t> words;
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return words;
  for (std::string_view field : Split(text, ',')) {
    const std::size_t dash = field.find('-');
    const auto first = ParseDecimal<std::uint32_t>(field.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseDecimal<std::uint32_t>(field.substr(dash + 1));
    if (!first || !last) return BadField(what, field, "expected a number or a range such as 0-3");
    if (*first > *last) return BadField(what, field, "the range runs backwards");
    if (*last > kMaxId) return BadField(what, field, "ids above " + std::to_string(kMaxId) + " are not supported");
    if (words.size() <= *last / 64) words.resize(*last / 64 + 1);
    for (std::uint32_t i = *first; i <= *last; ++i) words[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  return words;
}

std::string FormatIds(const CpuSet& set) { return FormatRuns(set); }
std::string FormatIds(const NodeSet& set) { return FormatRuns(set); }

}  // namespace berth
