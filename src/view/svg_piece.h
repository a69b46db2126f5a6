// Building blocks of SVG drawings. Private to this component.
#ifndef BERTH_VIEW_SVG_PIECE_H_
#define BERTH_VIEW_SVG_PIECE_H_

#include <string>
#include <string_view>
#include <vector>

namespace berth::view {

inline constexpr int kPad = 10;      // inside of boxes
inline constexpr int kBetween = 12;  // between boxes
inline constexpr int kLine = 18;     // a line of text
inline constexpr int kLetterPx = 7;  // a character of it, about

/// Text of others as text of XML and HTML: nothing in it is a tag, and nothing that XML cannot hold is left.
std::string XmlText(std::string_view text);

std::string Px(int value);
/// `look`: classes.
std::string Rect(int x, int y, int width, int height, std::string_view look, int round = 3);
std::string Text(int x, int y, std::string_view look, std::string_view text, std::string_view anchor = "start");
/// What is shown when pointed at.
std::string Title(std::string_view text);
/// Of a line of text, about.
int WidthOf(std::string_view text);

/// A part of a drawing with its upper left corner at 0, 0.
struct Piece {
  int width = 0;
  int height = 0;
  std::string body;

  void Put(int x, int y, const Piece& piece);
  /// Text below what is there.
  void Line(int x, std::string_view look, std::string_view text);
};

/// Pieces beside each other, and in further rows where `most` is not enough.
Piece Flow(const std::vector<Piece>& pieces, int most);
/// Pieces beside each other in rows of such a width that the whole comes nearest to 4:3.
Piece Grid(const std::vector<Piece>& pieces);
/// Lines below each other, in several columns where they are many and `most` is wide enough for them.
Piece Columns(const std::vector<Piece>& lines, int most);
Piece Boxed(const Piece& inner, std::string_view look);

}  // namespace berth::view

#endif  // BERTH_VIEW_SVG_PIECE_H_
