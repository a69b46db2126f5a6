#include "view/style.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/result.h"

namespace berth::view {
namespace {

struct Range {
  std::uint32_t first, last;
};

/// Blocks whose characters take no column of their own.
constexpr std::array<Range, 8> kCombining = {{{0x0300, 0x036f},
                                              {0x0483, 0x0489},
                                              {0x0591, 0x05bd},
                                              {0x064b, 0x065f},
                                              {0x200b, 0x200f},
                                              {0x20d0, 0x20ff},
                                              {0xfe00, 0xfe0f},
                                              {0xfe20, 0xfe2f}}};
/// Blocks whose characters take two columns.
constexpr std::array<Range, 9> kWide = {{{0x1100, 0x115f},
                                         {0x2e80, 0x303e},
                                         {0x3041, 0xa4cf},
                                         {0xac00, 0xd7a3},
                                         {0xf900, 0xfaff},
                                         {0xfe30, 0xfe6f},
                                         {0xff00, 0xff60},
                                         {0x1f300, 0x1faff},
                                         {0x20000, 0x3fffd}}};

template <std::size_t N>
bool In(const std::array<Range, N>& ranges, std::uint32_t c) {
  return std::ranges::any_of(ranges, [c](Range r) { return r.first <= c && c <= r.last; });
}

/// What terminals obey: control characters (those of one byte are told apart before), marks of reading direction.
constexpr std::array<Range, 4> kControls = {{{0x80, 0x9f}, {0x200e, 0x200f}, {0x202a, 0x202e}, {0x2066, 0x2069}}};

struct Character {
  std::size_t bytes;
  std::uint32_t code;  // kNoCode: not UTF-8
};
constexpr std::uint32_t kNoCode = 0xffff'ffff;

/// The character `text` begins with. Requires: text is not empty.
Character First(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 1;
  if (bytes == 1 || bytes > text.size()) return {1, lead < 0x80 ? lead : kNoCode};
  std::uint32_t code = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if (next >> 6 != 2) return {1, kNoCode};
    code = code << 6 | (next & 0x3fU);
  }
  return {bytes, code};
}

int ColumnsOf(const Character& c) { return In(kCombining, c.code) ? 0 : In(kWide, c.code) ? 2 : 1; }

bool IsControl(const Character& c) {
  if (c.code < 0x80) return (c.code < 0x20 && c.code != '\n' && c.code != '\t') || c.code == 0x7f;
  return c.code == kNoCode || In(kControls, c.code);
}

std::string Blanks(int n) { return std::string(static_cast<std::size_t>(std::max(n, 0)), ' '); }

}  // namespace

std::string Paint(std::string_view text, Style style, bool color) {
  static constexpr std::array<std::string_view, 6> kCodes = {"", "1", "2", "32", "33", "31"};
  const std::string_view code = kCodes[static_cast<std::size_t>(style)];
  std::string out(text);
  if (!color || code.empty() || text.empty()) return out;
  return "\x1b[" + std::string(code) + "m" + out + "\x1b[0m";
}

std::string WithoutControls(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character c = First(text);
    const std::string_view bytes = text.substr(0, c.bytes);
    if (IsControl(c))
      for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    else
      out += bytes;
    text.remove_prefix(c.bytes);
  }
  return out;
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Character c = First(text);
    width += ColumnsOf(c);
    text.remove_prefix(c.bytes);
  }
  return width;
}

std::string CutToWidth(std::string_view text, int width) {
  BERTH_CHECK(width >= 1);
  if (DisplayWidth(text) <= width) return std::string(text);
  std::string out;
  int used = 0;
  while (!text.empty()) {
    const Character c = First(text);
    if (used + ColumnsOf(c) > width - 1) break;
    used += ColumnsOf(c);
    out += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return out + "…";
}

std::string WrapText(std::string_view text, int indent, int width) {
  std::string out;
  int column = indent;
  const auto new_line = [&] {
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n" + Blanks(indent);
    column = indent;
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const int columns = DisplayWidth(word);
    if (width > indent && column + columns > width && column > indent) new_line();
    out += word;
    column += columns;
    if (end < text.size() && text[end] == '\n')
      new_line();
    else if (end < text.size())
      out += ' ', ++column;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string PadRight(std::string_view text, int width) {
  return std::string(text) + Blanks(width - DisplayWidth(text));
}

std::string PadLeft(std::string_view text, int width) { return Blanks(width - DisplayWidth(text)) + std::string(text); }

}  // namespace berth::view
