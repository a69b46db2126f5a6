// The form of Berth's small records: text, a first line with kind and version, lines "key value", a last line "sum"
// with the 64-bit FNV-1a of all before it. Repeated keys are lists; backslash and control characters are escaped.
#ifndef BERTH_BASE_TEXT_RECORD_H_
#define BERTH_BASE_TEXT_RECORD_H_

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace berth {

class RecordWriter {
 public:
  explicit RecordWriter(std::string_view kind) : text_(std::string(kind) + "\n") {}
  /// Nothing for an empty value.
  void Text(std::string_view key, std::string_view value);
  /// One of a list, which may be empty.
  void Item(std::string_view key, std::string_view value);
  template <std::integral Int>
  void Number(std::string_view key, Int value) {
    Item(key, std::to_string(value));
  }
  std::string Finish() const;

 private:
  std::string text_;
};

/// Takes the lines of a record apart; the first error sticks. The text must outlive it.
class RecordReader {
 public:
  using Field = std::pair<std::string_view, std::string>;

  RecordReader(std::string_view text, std::string_view kind);

  bool Has(std::string_view key) const;
  /// Leaves `out` as it is when there is no such line.
  void Text(std::string_view key, std::string& out) const;
  void List(std::string_view key, std::vector<std::string>& out) const;
  template <std::integral Int>
  void Number(std::string_view key, Int& out) {
    std::string text;
    Text(key, text);
    ReadNumber(key, text, out);
  }
  /// The same for the value of a field.
  template <std::integral Int>
  void ReadNumber(std::string_view key, std::string_view text, Int& out) {
    const std::optional<Int> value = ParseDecimal<Int>(text);
    if (!value) return Bad(std::string(key) + " is no number: '" + Printable(text) + "'");
    out = *value;
  }
  /// All lines in their order, for records with parts.
  const std::vector<Field>& fields() const { return fields_; }
  void Bad(std::string what);
  const std::string& error() const { return error_; }  ///< "": none

 private:
  void Take(std::string_view text, std::string_view kind);

  std::vector<Field> fields_;
  std::string error_;
};

}  // namespace berth

#endif  // BERTH_BASE_TEXT_RECORD_H_
