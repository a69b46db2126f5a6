// Text for terminals: how wide it is, how to cut it, how to colour it. Pure.
#ifndef BERTH_VIEW_STYLE_H_
#define BERTH_VIEW_STYLE_H_

#include <string>
#include <string_view>

namespace berth::view {

/// What a piece of text means; colours follow from it.
enum class Style { kPlain, kBold, kDim, kGood, kWarn, kBad };

/// `text` in the colours of `style` (ANSI escapes); unchanged when `color` is false or the style is plain.
std::string Paint(std::string_view text, Style style, bool color);

/// Text that somebody else wrote, fit for a terminal: what would move its cursor, reprogram it or turn the direction of
/// reading becomes \xNN, and so do bytes that are not UTF-8. Newlines and tabs stay.
std::string WithoutControls(std::string_view text);

/// Columns UTF-8 text takes on a terminal: 0 for combining marks, 2 for wide East Asian characters and emoji, 1 for the
/// rest. Bytes that are not UTF-8 count 1 each. Requires: no control characters (base/text.h, Printable).
int DisplayWidth(std::string_view text);

/// `text` cut to at most `width` columns, with "…" as the last one when something was cut. Requires: width >= 1.
std::string CutToWidth(std::string_view text, int width);

/// `text` broken at blanks so that no line is wider than `width` (a longer word stands alone), every line after the
/// first behind `indent` blanks; the first is taken to begin at that column. Newlines in the text are kept. `width` <=
/// indent: nothing is broken.
std::string WrapText(std::string_view text, int indent, int width);

/// `text` followed by blanks up to `width` columns; never cut.
std::string PadRight(std::string_view text, int width);
std::string PadLeft(std::string_view text, int width);

}  // namespace berth::view

#endif  // BERTH_VIEW_STYLE_H_
