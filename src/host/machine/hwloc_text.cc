#include "host/machine/hwloc_text.h"

#include <algorithm>
#include <string>

#include "base/id_set.h"
#include "base/text.h"

namespace berth::machine {

std::uint64_t CountThreadsOf(std::string_view synthetic) {
  constexpr std::uint64_t kTooMany = std::uint64_t{kMaxId} + 2;
  std::uint64_t product = 1;
  int depth = 0;
  for (std::size_t i = 0; i < synthetic.size(); ++i) {
    if (synthetic[i] == '(') ++depth;
    if (synthetic[i] == ')') --depth;
    if (depth > 0 || synthetic[i] != ':') continue;
    const std::size_t end = std::min(synthetic.find_first_not_of("0123456789", i + 1), synthetic.size());
    const std::string_view digits = synthetic.substr(i + 1, end - i - 1);
    if (digits.empty()) continue;
    product *= std::min(ParseDecimal<std::uint64_t>(digits).value_or(kTooMany), kTooMany);
    if (product >= kTooMany) return kTooMany;
  }
  return product;
}

bool HasAbsurdIndex(std::string_view xml) {
  constexpr std::string_view kKey = "os_index=\"";
  constexpr std::uint64_t kLargest = 1 << 24;
  for (std::size_t at = 0; (at = xml.find(kKey, at)) != std::string_view::npos;) {
    at += kKey.size();
    const std::string_view digits = xml.substr(at, std::min(xml.find_first_not_of("0123456789", at), xml.size()) - at);
    if (!digits.empty() && ParseDecimal<std::uint64_t>(digits).value_or(kLargest + 1) > kLargest) return true;
  }
  return false;
}

int MajorVersion(std::string_view xml) {
  constexpr std::string_view kKey = "version=\"";
  const std::string_view from = xml.substr(xml.find("<topology"));
  const std::string_view element = from.substr(0, from.find('>'));
  const std::size_t key = element.find(kKey);
  if (key == std::string_view::npos) return 0;
  const std::string_view value = element.substr(key + kKey.size());
  return ParseDecimal<int>(value.substr(0, value.find_first_not_of("0123456789"))).value_or(0);
}

}  // namespace berth::machine
