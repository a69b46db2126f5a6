#include "host/cgroup/mounts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace berth::cgroup {
namespace {

/// Undoes mountinfo's octal escapes (blank, tab, newline, backslash).
std::string Unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool HasOption(std::string_view options, std::string_view wanted) {
  const auto all = Split(options, ',');
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

/// Fields: id parent major:minor root point options optional... "-" type source super-options. nullopt: no cgroup
/// mount.
Result<std::optional<Mount>> ParseMountLine(std::string_view line) {
  const auto words = SplitWords(line);
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 6 || dash - words.begin() < 6 || words.end() - dash < 3)
    return Fail(Code::kInvalid, "not a line of mountinfo: '" + Printable(line) + "'");
  const std::string_view type = dash[1];
  if (type != "cgroup" && type != "cgroup2") return std::optional<Mount>();
  const std::string_view super = words.end() - dash > 3 ? dash[3] : std::string_view();
  Mount mount{.point = Unescape(words[4]),
              .root = Unescape(words[3]),
              .v2 = type == "cgroup2",
              .read_only = HasOption(words[5], "ro") || HasOption(super, "ro"),
              .controllers = {}};
  if (!mount.v2)
    for (const std::string_view word : Split(super, ',')) mount.controllers.emplace_back(word);
  return std::optional(std::move(mount));
}

}  // namespace

Result<std::vector<Mount>> FindMounts(std::string_view mountinfo) {
  std::vector<Mount> out;
  for (const std::string_view line : Split(mountinfo, '\n')) {
    if (Trim(line).empty()) continue;
    BERTH_TRY(auto mount, ParseMountLine(line));
    if (!mount) continue;
    std::erase_if(out, [&](const Mount& old) { return old.point == mount->point; });
    out.push_back(*std::move(mount));
  }
  return out;
}

}  // namespace berth::cgroup
