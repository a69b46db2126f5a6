#include "view/svg_piece.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "view/style.h"

namespace berth::view {

std::string XmlText(std::string_view text) {
  std::string out;
  for (const char c : WithoutControls(text)) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

std::string Px(int value) { return std::to_string(value); }

std::string Rect(int x, int y, int width, int height, std::string_view look, int round) {
  return "<rect x=\"" + Px(x) + "\" y=\"" + Px(y) + "\" width=\"" + Px(width) + "\" height=\"" + Px(height) +
         "\" rx=\"" + Px(round) + "\" class=\"" + std::string(look) + "\"/>";
}
std::string Text(int x, int y, std::string_view look, std::string_view text, std::string_view anchor) {
  return "<text x=\"" + Px(x) + "\" y=\"" + Px(y) + "\" text-anchor=\"" + std::string(anchor) + "\" class=\"" +
         std::string(look) + "\">" + XmlText(text) + "</text>";
}
std::string Title(std::string_view text) { return "<title>" + XmlText(text) + "</title>"; }
int WidthOf(std::string_view text) { return DisplayWidth(text) * kLetterPx; }

void Piece::Put(int x, int y, const Piece& piece) {
  body += "<g transform=\"translate(" + Px(x) + " " + Px(y) + ")\">" + piece.body + "</g>\n";
  width = std::max(width, x + piece.width);
  height = std::max(height, y + piece.height);
}

void Piece::Line(int x, std::string_view look, std::string_view text) {
  body += Text(x, height + kLine - 5, look, text);
  constexpr int kBoldPx = 8;
  width = std::max(width, x + (look == "h" ? DisplayWidth(text) * kBoldPx : WidthOf(text)));
  height += kLine;
}

Piece Flow(const std::vector<Piece>& pieces, int most) {
  Piece out;
  int x = 0;
  int top = 0;
  for (const Piece& piece : pieces) {
    if (x > 0 && x + piece.width > most) {
      x = 0;
      top = out.height + kBetween;
    }
    out.Put(x, top, piece);
    x += piece.width + kBetween;
  }
  return out;
}

Piece Grid(const std::vector<Piece>& pieces) {
  constexpr double kPageShape = 4.0 / 3;
  constexpr std::size_t kMostTried = 128;  // columns
  std::vector<Piece> outlines;
  int widest = 0;
  for (const Piece& piece : pieces) {
    outlines.push_back({.width = piece.width, .height = piece.height, .body = {}});
    widest = std::max(widest, piece.width);
  }
  int best = widest;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t columns = 1; columns <= std::min(pieces.size(), kMostTried); ++columns) {
    const int most = static_cast<int>(columns) * (widest + kBetween);
    const Piece whole = Flow(outlines, most);
    const double off = std::abs(std::log(whole.width / (whole.height * kPageShape)));
    if (off >= least) continue;
    least = off;
    best = most;
  }
  return Flow(pieces, best);
}

Piece Columns(const std::vector<Piece>& lines, int most) {
  constexpr int kLeastRows = 8;
  int widest = 1;
  for (const Piece& line : lines) widest = std::max(widest, line.width);
  const int count = static_cast<int>(lines.size());
  const int columns = std::max(1, (most + kBetween) / (widest + kBetween));
  const int rows = std::max(kLeastRows, (count + columns - 1) / columns);
  Piece out;
  int y = 0;
  for (int i = 0; i < count; ++i) {
    const Piece& line = lines[static_cast<std::size_t>(i)];
    if (i % rows == 0) y = 0;
    out.Put(i / rows * (widest + kBetween), y, line);
    y += line.height;
  }
  return out;
}

Piece Boxed(const Piece& inner, std::string_view look) {
  Piece out{.width = inner.width + 2 * kPad, .height = inner.height + 2 * kPad, .body = {}};
  out.body = Rect(0, 0, out.width, out.height, look, 6);
  out.Put(kPad, kPad, inner);
  return out;
}

}  // namespace berth::view
