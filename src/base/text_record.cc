#include "base/text_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <system_error>

namespace berth {
namespace {

// The checksum line of `text`: FNV-1a, 64 bits. Against torn and edited files, not against malice.
std::string SumLine(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::array<char, 32> line;
  std::snprintf(line.data(), line.size(), "sum %016llx\n", static_cast<unsigned long long>(sum));
  return line.data();
}

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 5> hex;
      std::snprintf(hex.data(), hex.size(), "\\x%02x", static_cast<unsigned>(byte));
      out += hex.data();
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<std::string> Unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '\\') {
      out += '\\';
      i += 1;
      continue;
    }
    unsigned byte = 0;
    if (i + 3 >= text.size() || text[i + 1] != 'x') return std::nullopt;
    const char* end = text.data() + i + 4;
    if (const auto [ptr, ec] = std::from_chars(text.data() + i + 2, end, byte, 16); ec != std::errc() || ptr != end)
      return std::nullopt;
    out += static_cast<char>(byte);
    i += 3;
  }
  return out;
}

}  // namespace

void RecordWriter::Text(std::string_view key, std::string_view value) {
  if (!value.empty()) Item(key, value);
}

void RecordWriter::Item(std::string_view key, std::string_view value) {
  text_.append(key).append(" ").append(Escape(value)).append("\n");
}

std::string RecordWriter::Finish() const { return text_ + SumLine(text_); }

RecordReader::RecordReader(std::string_view text, std::string_view kind) { Take(text, kind); }

void RecordReader::Take(std::string_view text, std::string_view kind) {
  const std::size_t at = text.rfind("sum ");
  if (at == std::string_view::npos) return Bad("no checksum line");
  if (text.substr(at) != SumLine(text.substr(0, at))) return Bad("the checksum does not fit");
  std::vector<std::string_view> lines = Split(text.substr(0, at), '\n');
  if (!lines.back().empty()) Bad("its last line is torn");
  lines.pop_back();
  if (lines.empty() || lines[0] != kind) return Bad("it does not start with '" + std::string(kind) + "'");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t blank = lines[i].find(' ');
    std::optional<std::string> value;
    if (blank != std::string_view::npos) value = Unescape(lines[i].substr(blank + 1));
    if (!value) return Bad("line " + std::to_string(i + 1) + " is no 'key value'");
    fields_.emplace_back(lines[i].substr(0, blank), *std::move(value));
  }
}

bool RecordReader::Has(std::string_view key) const {
  return std::ranges::find(fields_, key, &Field::first) != fields_.end();
}

void RecordReader::Text(std::string_view key, std::string& out) const {
  const auto it = std::ranges::find(fields_, key, &Field::first);
  if (it != fields_.end()) out = it->second;
}

void RecordReader::List(std::string_view key, std::vector<std::string>& out) const {
  for (const Field& field : fields_)
    if (field.first == key) out.push_back(field.second);
}

void RecordReader::Bad(std::string what) {
  if (error_.empty()) error_ = std::move(what);
}

}  // namespace berth
