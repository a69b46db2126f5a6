#include "runtime/log_reader.h"

#include <array>
#include <utility>

#include "os/append_file.h"
#include "runtime/time_text.h"

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

}  // namespace

std::optional<LogLine> ParseLogLine(std::string_view line) {
  const std::string_view time = TakeWord(line);
  const std::string_view stream = TakeWord(line);
  if (!ParseTime(time) || (stream != "stdout" && stream != "stderr")) return std::nullopt;
  // Tags may be followed by others, "F:tag"; only the first one has a meaning.
  const std::string_view tags = TakeWord(line);
  if (tags.empty() || (tags[0] != 'F' && tags[0] != 'P') || (tags.size() > 1 && tags[1] != ':')) return std::nullopt;
  return LogLine{{std::string(time), std::string(stream), std::string(line)}, tags[0] == 'P'};
}

std::vector<LogEntry> ParseLog(std::string_view text) {
  std::vector<LogEntry> out;
  std::array<std::optional<LogEntry>, 2> open;  // unfinished lines of stdout and stderr
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    std::optional<LogLine> line = ParseLogLine(text.substr(0, end));
    if (!line) continue;
    std::optional<LogEntry>& pieces = open[line->entry.stream == "stdout" ? 0 : 1];
    if (pieces) line->entry.text.insert(0, pieces->text);
    pieces.reset();
    if (line->partial) {
      pieces = std::move(line->entry);
    } else {
      out.push_back(std::move(line->entry));
    }
  }
  if (open[0] && open[1] && open[1]->time < open[0]->time) std::swap(open[0], open[1]);
  for (std::optional<LogEntry>& pieces : open)
    if (pieces) out.push_back(*std::move(pieces));
  return out;
}

Result<std::vector<LogEntry>> TailLog(const std::string& path, const TailOptions& options) {
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
    const std::size_t first = tail->whole ? 0 : tail->bytes.find('\n') + 1;  // no newline: npos + 1 is 0
    const std::string_view part = std::string_view(tail->bytes).substr(first);
    found += ParseLog(part).size();
    text.insert(0, part);
    const bool whole = tail->whole;
    newer = std::move(tail);
    if (!whole) break;
  }
  std::vector<LogEntry> entries = ParseLog(text);
  if (entries.size() > options.entries)
    entries.erase(entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(options.entries));
  return entries;
}

}  // namespace berth::runtime
