// Tables for people: columns line up whatever the language, numbers to the right, cut to the terminal when asked.
#ifndef BERTH_VIEW_TABLE_H_
#define BERTH_VIEW_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "view/style.h"

namespace berth::view {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  bool may_cut = false;  ///< may lose its end when the table is wider than the terminal
};

struct Cell {
  std::string text;  ///< control characters are shown as \xNN; empty is shown as "-"
  Style style = Style::kPlain;

  Cell(const char* t) : text(t) {}             // NOLINT(google-explicit-constructor)
  Cell(std::string t) : text(std::move(t)) {}  // NOLINT(google-explicit-constructor)
  Cell(std::string_view t) : text(t) {}        // NOLINT(google-explicit-constructor)
  Cell(std::string t, Style s) : text(std::move(t)), style(s) {}
};

struct TableOptions {
  int width = 0;  ///< columns of the terminal; 0: never cut
  bool color = false;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Requires: as many cells as columns.
  void AddRow(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  /// Titles and rows, each line ending in a newline, no blanks at line ends. Columns are two blanks apart. When wider
  /// than `options.width`, the widest columns that may be cut are shortened first, none below 8.
  std::string Format(const TableOptions& options = {}) const;

 private:
  std::vector<int> Widths(int limit) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace berth::view

#endif  // BERTH_VIEW_TABLE_H_
