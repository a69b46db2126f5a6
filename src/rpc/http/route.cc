#include "rpc/http/route.h"

#include <charconv>

#include "base/text.h"

namespace berth::http {

std::optional<std::string> DecodePercent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    const char* const begin = text.data() + i + 1;
    if (text.size() - i < 3 || std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2 || value == 0)
      return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

std::optional<std::vector<std::string>> SplitPath(std::string_view path) {
  std::vector<std::string> out;
  for (const std::string_view segment : Split(path, '/')) {
    auto decoded = DecodePercent(segment);
    if (!decoded) return std::nullopt;
    out.push_back(*std::move(decoded));
  }
  return out;
}

std::optional<std::vector<std::string>> MatchPath(std::string_view pattern, const std::vector<std::string>& path) {
  const std::vector<std::string_view> segments = Split(pattern, '/');
  if (segments.size() != path.size()) return std::nullopt;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool open = segments[i] == "{?}" || (segments[i] == "{}" && !path[i].empty());
    if (!open && segments[i] != path[i]) return std::nullopt;
    if (open) parts.push_back(path[i]);
  }
  return parts;
}

}  // namespace berth::http
