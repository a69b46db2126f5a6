#include "view/table.h"

#include <algorithm>

#include "base/result.h"
#include "base/text.h"

namespace berth::view {
namespace {

constexpr int kGap = 2;
constexpr int kShortest = 8;  // a column cut below this says nothing any more

}  // namespace

void Table::AddRow(std::vector<Cell> cells) {
  BERTH_CHECK(cells.size() == columns_.size());
  for (Cell& cell : cells) cell.text = cell.text.empty() ? "-" : Printable(cell.text, cell.text.size());
  rows_.push_back(std::move(cells));
}

std::vector<int> Table::Widths(int limit) const {
  std::vector<int> widths;
  int total = -kGap;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    int width = DisplayWidth(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[i].text));
    widths.push_back(width);
    total += width + kGap;
  }
  for (; limit > 0 && total > limit; --total) {
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].may_cut && widths[i] > kShortest && (widest == columns_.size() || widths[i] > widths[widest]))
        widest = i;
    if (widest == columns_.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string Table::Format(const TableOptions& options) const {
  const std::vector<int> widths = Widths(options.width);
  std::string out;
  const auto add_line = [&](const auto& cell_at) {
    std::string blanks;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Cell cell = cell_at(i);
      const std::string text = CutToWidth(cell.text, widths[i]);
      const int rest = widths[i] - DisplayWidth(text);
      const bool right = columns_[i].align == Align::kRight;
      if (right) blanks.append(static_cast<std::size_t>(rest), ' ');
      out += blanks + Paint(text, cell.style, options.color);
      blanks.assign(static_cast<std::size_t>(kGap + (right ? 0 : rest)), ' ');
    }
    out += '\n';
  };
  add_line([&](std::size_t i) { return Cell(columns_[i].title, Style::kBold); });
  for (const auto& row : rows_) add_line([&](std::size_t i) { return row[i]; });
  return out;
}

}  // namespace berth::view
