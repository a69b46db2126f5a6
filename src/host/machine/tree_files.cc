#include "host/machine/tree_files.h"

#include <cerrno>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace berth::machine {
namespace {

bool IsAbsent(const Error& error) {
  return error.code == Code::kNotFound || error.sys == ENOTDIR || error.sys == ENXIO;
}

void TrimEnd(std::string& text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n' || text.back() == ' ')) text.pop_back();
}

}  // namespace

std::unexpected<Error> BadFile(const std::string& path, std::string_view why, std::string_view text) {
  return Fail(Code::kInvalid, path + ": " + std::string(why) + ", got '" + Printable(text, 60) + "'");
}

std::optional<CpuSet> ParseCpuMask(std::string_view text) {
  const std::vector<std::string_view> groups = Split(Trim(text), ',');
  CpuSet out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::string_view group = groups[i];
    if (group.starts_with("0x")) group.remove_prefix(2);
    std::uint32_t bits = 0;
    const auto [end, ec] = std::from_chars(group.data(), group.data() + group.size(), bits, 16);
    if (group.empty() || ec != std::errc() || end != group.data() + group.size()) return std::nullopt;
    const std::size_t base = (groups.size() - 1 - i) * 32;
    for (std::uint32_t bit = 0; bit < 32; ++bit) {
      if (((bits >> bit) & 1) == 0) continue;
      if (base + bit > kMaxId) return std::nullopt;
      out.Insert(CpuId{static_cast<std::uint32_t>(base + bit)});
    }
  }
  return out;
}

Result<std::optional<std::string>> TreeFiles::Text(const std::string& path) {
  Result<std::string> text = fs_->Read(path);
  if (text) {
    TrimEnd(*text);
    return std::optional(*std::move(text));
  }
  if (IsAbsent(text.error())) return std::nullopt;
  return std::unexpected(std::move(text).error());
}

Result<std::optional<std::int64_t>> TreeFiles::Number(const std::string& path) {
  BERTH_TRY(const std::optional<std::string> text, Text(path));
  if (!text) return std::nullopt;
  const std::optional<std::int64_t> number = ParseDecimal<std::int64_t>(*text);
  if (!number) return BadFile(path, "expected a number", *text);
  return number;
}

Result<std::optional<CpuSet>> TreeFiles::Cpus(const std::string& path) {
  BERTH_TRY(const std::optional<std::string> text, Text(path));
  if (!text) return std::nullopt;
  if (Trim(*text) == "(null)") return CpuSet();
  Result<CpuSet> cpus = CpuSet::Parse(*text);
  if (!cpus) return Wrap(std::move(cpus).error(), path);
  return std::optional(*std::move(cpus));
}

Result<std::optional<CpuSet>> TreeFiles::CpuMask(const std::string& path) {
  BERTH_TRY(const std::optional<std::string> text, Text(path));
  if (!text) return std::nullopt;
  std::optional<CpuSet> cpus = ParseCpuMask(*text);
  if (!cpus) return BadFile(path, "expected a CPU mask such as ff,00000001", *text);
  return cpus;
}

Result<std::vector<std::string>> TreeFiles::Names(const std::string& path) {
  Result<std::vector<std::string>> names = fs_->List(path);
  if (!names && IsAbsent(names.error())) return std::vector<std::string>();
  return names;
}

Result<std::vector<Numbered>> TreeFiles::NumberedNames(const std::string& path, std::string_view prefix) {
  BERTH_TRY(std::vector<std::string> names, Names(path));
  std::vector<Numbered> out;
  for (std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view digits = std::string_view(name).substr(prefix.size());
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) continue;
    if (digits.size() > 1 && digits.front() == '0') continue;
    const std::optional<std::uint32_t> id = ParseDecimal<std::uint32_t>(digits);
    if (!id || *id > kMaxId)
      return Fail(Code::kInvalid,
                  path + "/" + Printable(name, 40) + ": ids above " + std::to_string(kMaxId) + " are not supported");
    out.push_back({std::move(name), *id});
  }
  return out;
}

std::optional<std::string> TreeFiles::Link(const std::string& path) {
  Result<std::string> target = fs_->ReadLink(path);
  if (!target) return std::nullopt;
  return *std::move(target);
}

}  // namespace berth::machine
