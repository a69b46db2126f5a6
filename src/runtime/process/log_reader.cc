#include "runtime/process/log_reader.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "base/time_text.h"

namespace berth::runtime {
namespace {

constexpr int kMaxGenerations = 1000;  // a bound for the search, far above any configuration

std::string_view TakeWord(std::string_view& text) {
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos) return {};
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end + 1);
  return word;
}

/// False when `offset` is not the beginning of a line of the file: it is another one by now, or was cut.
Result<bool> BetweenLines(const os::OpenedFile& file, std::uint64_t offset) {
  if (offset == 0) return true;
  BERTH_TRY(const std::string before, file.Read(offset - 1, 1));
  return before.starts_with('\n');
}

}  // namespace

std::optional<LogEntry> ParseLogLine(std::string_view line) {
  const std::string_view time = TakeWord(line);
  const std::string_view stream = TakeWord(line);
  if (!ParseTime(time) || (stream != "stdout" && stream != "stderr")) return std::nullopt;
  // Tags may be followed by others, "F:tag"; only the first one has a meaning.
  const std::string_view tags = TakeWord(line);
  if (tags.empty() || (tags[0] != 'F' && tags[0] != 'P') || (tags.size() > 1 && tags[1] != ':')) return std::nullopt;
  return LogEntry{
      .time = std::string(time), .stream = std::string(stream), .text = std::string(line), .partial = tags[0] == 'P'};
}

std::vector<LogEntry> ParseLog(std::string_view text) {
  std::vector<LogEntry> out;
  std::array<std::optional<LogEntry>, 2> open;  // unfinished lines of stdout and stderr
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    std::optional<LogEntry> line = ParseLogLine(text.substr(0, end));
    if (!line) continue;
    std::optional<LogEntry>& pieces = open[line->stream == "stdout" ? 0 : 1];
    if (pieces) line->text.insert(0, pieces->text);
    pieces.reset();
    if (line->partial) {
      pieces = std::move(line);
    } else {
      out.push_back(*std::move(line));
    }
  }
  if (open[0] && open[1] && open[1]->time < open[0]->time) std::swap(open[0], open[1]);
  for (std::optional<LogEntry>& pieces : open)
    if (pieces) out.push_back(*std::move(pieces));
  return out;
}

std::string FormatPlace(const LogPlace& place) {
  return std::to_string(place.inode) + ":" + std::to_string(place.offset);
}

std::optional<LogPlace> ParsePlace(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, ':');
  if (parts.size() != 2) return std::nullopt;
  const auto inode = ParseDecimal<std::uint64_t>(parts[0]);
  const auto offset = ParseDecimal<std::uint64_t>(parts[1]);
  if (!inode || !offset) return std::nullopt;
  return LogPlace{.inode = *inode, .offset = *offset};
}

Result<LogPart> TailLog(const std::string& path, const TailOptions& options) {
  LogPart out;
  std::string text;
  std::size_t found = 0;
  std::optional<os::FileTail> newer;
  for (int i = 0; i < kMaxGenerations && found <= options.entries && text.size() < options.bytes; ++i) {
    const std::string name = os::GenerationPath(path, i);
    BERTH_TRY(std::optional<os::FileTail> tail, os::ReadTail(name, options.bytes - text.size()));
    if (!tail && i == 0) continue;  // just rotated: the next one is the newest
    if (!tail && i == 1 && !newer) return Fail(Code::kNotFound, "there is no log " + path);
    if (!tail) break;
    // Rotated between two looks: this is the file read before.
    if (newer && newer->device == tail->device && newer->inode == tail->inode) continue;
    if (!newer) out.next = {.inode = tail->inode, .offset = tail->offset + tail->bytes.rfind('\n') + 1};
    const bool whole = tail->offset == 0;
    const std::size_t first = whole ? 0 : tail->bytes.find('\n') + 1;  // no newline: npos + 1 is 0
    const std::string_view part = std::string_view(tail->bytes).substr(first);
    found += ParseLog(part).size();
    text.insert(0, part);
    newer = std::move(tail);
    if (!whole) break;
  }
  out.entries = ParseLog(text);
  if (out.entries.size() > options.entries)
    out.entries.erase(out.entries.begin(), out.entries.end() - static_cast<std::ptrdiff_t>(options.entries));
  return out;
}

Result<LogPart> ReadLog(const os::OpenedFile& file, const LogPlace& from, std::size_t bytes) {
  LogPart out;
  std::uint64_t offset = from.inode == file.inode() ? from.offset : 0;
  BERTH_TRY(const bool between, BetweenLines(file, offset));
  out.gap = !between;
  if (!between) offset = 0;
  const std::uint64_t start = offset;
  BERTH_TRY(std::string text, file.Read(offset, bytes));
  while (text.size() == bytes && !text.contains('\n')) {  // a line that does not fit is none of ours
    offset += text.size();
    BERTH_TRY(text, file.Read(offset, bytes));
  }
  out.more = text.size() == bytes;
  text.resize(text.rfind('\n') + 1);  // no newline: npos + 1 is 0
  out.next = {.inode = file.inode(), .offset = text.empty() ? start : offset + text.size()};
  std::string_view rest = text;
  for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1))
    if (auto entry = ParseLogLine(rest.substr(0, end))) out.entries.push_back(*std::move(entry));
  return out;
}

Result<LogPart> ReadLog(const std::string& path, const LogPlace& from, std::size_t bytes) {
  std::optional<os::OpenedFile> at;    // the file of `from`, else the oldest
  std::optional<std::uint64_t> newer;  // inode of the one after it
  for (int i = 0; i < kMaxGenerations; ++i) {
    BERTH_TRY(std::optional<os::OpenedFile> file, os::OpenedFile::Open(os::GenerationPath(path, i)));
    if (!file && i == 0) continue;  // just rotated: the next one is the newest
    if (!file) break;
    if (at && at->inode() == file->inode()) continue;  // rotated between two looks
    if (at) newer = at->inode();
    at = std::move(file);
    if (at->inode() == from.inode) break;
  }
  if (!at) return Fail(Code::kNotFound, "there is no log " + path);
  BERTH_TRY(LogPart out, ReadLog(*at, from, bytes));
  out.gap = out.gap || (from.inode != 0 && at->inode() != from.inode);
  if (out.more || !newer) return out;
  out.next = {.inode = *newer, .offset = 0};  // nothing is added to an older file
  out.more = true;
  return out;
}

}  // namespace berth::runtime
