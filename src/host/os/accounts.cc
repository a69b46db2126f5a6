#include "host/os/accounts.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/text.h"
#include "host/os/fs.h"

namespace berth::os {
namespace {

Result<std::string> AccountFile(Fs& fs, const std::string& file) {
  BERTH_TRY(const bool exists, fs.Exists(file));
  if (!exists) return std::string();
  return fs.Read(file);
}

}  // namespace

Result<std::optional<Account>> FindAccount(std::uint32_t user, const std::string& folder) {
  BERTH_TRY(const std::unique_ptr<Fs> fs, OpenFs(folder));
  BERTH_TRY(const std::string passwd, AccountFile(*fs, "passwd"));
  BERTH_TRY(const std::string group, AccountFile(*fs, "group"));
  Account out;
  std::string_view name;
  for (const std::string_view line : Split(passwd, '\n')) {
    const std::vector<std::string_view> fields = Split(line, ':');  // name:password:user:group:...
    if (fields.size() < 4 || ParseDecimal<std::uint32_t>(fields[2]) != user) continue;
    const std::optional<std::uint32_t> own = ParseDecimal<std::uint32_t>(fields[3]);
    if (!own || fields[0].empty()) continue;
    name = fields[0];
    out.group = *own;
    break;
  }
  if (name.empty()) return std::nullopt;
  for (const std::string_view line : Split(group, '\n')) {
    const std::vector<std::string_view> fields = Split(line, ':');  // name:password:group:member,member
    if (fields.size() < 4) continue;
    const std::optional<std::uint32_t> number = ParseDecimal<std::uint32_t>(fields[2]);
    const std::vector<std::string_view> members = Split(fields[3], ',');
    if (number && *number != out.group && std::ranges::find(members, name) != members.end())
      out.groups.push_back(*number);
  }
  return out;
}

}  // namespace berth::os
