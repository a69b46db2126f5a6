#include "manifest/document_tree.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace berth::manifest {
namespace {

struct Piece {
  std::string_view text;
  int first_line = 1;
};

/// "---" starts a document, "..." ends one: at the start of a line, then nothing or white space. No scalar can hold
/// such a line.
bool IsMarker(std::string_view line, std::string_view marker) {
  return line.starts_with(marker) && (line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
}

/// Blank, a comment or a directive (which belongs to the document after the separator).
bool IsPreambleLine(std::string_view line) {
  const std::string_view rest = Trim(line);
  return rest.empty() || rest.starts_with('#') || line.starts_with('%');
}

/// Cuts a text into documents, one after another. Separators stay at the head of their piece: they may carry the
/// document's first value.
class DocumentSplitter {
 public:
  explicit DocumentSplitter(std::string_view text) : text_(text) {}

  /// nullopt: there is none after the last.
  std::optional<Piece> Next() {
    if (done_) return std::nullopt;
    const std::size_t start = start_;
    const int first_line = first_line_;
    while (at_ < text_.size()) {
      const std::size_t line_start = at_;
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const std::string_view line = text_.substr(line_start, end - line_start);
      const int line_number = line_number_;
      const bool ends = IsMarker(line, "...");
      const bool begins = IsMarker(line, "---") && !preamble_;
      preamble_ = ends || (preamble_ && !begins && IsPreambleLine(line));
      at_ = end + 1;
      ++line_number_;
      if (!ends && !begins) continue;
      start_ = ends ? std::min(end + 1, text_.size()) : line_start;
      first_line_ = line_number + (ends ? 1 : 0);
      return Piece{text_.substr(start, line_start - start), first_line};
    }
    done_ = true;
    return Piece{text_.substr(start), first_line};
  }

 private:
  std::string_view text_;
  std::size_t start_ = 0;  // of the piece to come
  int first_line_ = 1;     // of it
  std::size_t at_ = 0;     // a line's start
  int line_number_ = 1;    // of it
  bool preamble_ = true;   // the piece so far is nothing else
  bool done_ = false;
};

int LinesIn(std::string_view text) { return static_cast<int>(std::ranges::count(text, '\n')); }

/// The piece without its separator and the white space before its first value.
Piece Content(Piece piece) {
  std::string_view rest = piece.text;
  if (rest.starts_with("---")) rest.remove_prefix(3);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
  piece.first_line += LinesIn(piece.text.substr(0, piece.text.size() - rest.size()));
  piece.text = rest;
  return piece;
}

/// Bytes of the JSON value at the start of `text`, all of it if its brackets do not close.
std::size_t JsonLength(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return text.size();
}

/// Nothing but comments, of which the first is at the start.
bool IsComment(std::string_view text) {
  if (!text.starts_with('#')) return false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (!IsPreambleLine(text.substr(at, end - at))) return false;
    at = end + 1;
  }
  return true;
}

/// JSON objects have quoted keys; what else starts with a bracket may be YAML's own bracket notation.
bool LooksLikeJson(std::string_view text) {
  if (!text.starts_with('{')) return text.starts_with('[');
  const std::string_view inside = Trim(text.substr(1, 1000));
  return inside.starts_with('"') || inside.starts_with('}');
}

/// Reads the documents of one text and gives each away as soon as it is there.
class TextReader {
 public:
  TextReader(Budget& budget, const std::function<bool(Document&)>& visit) : budget_(budget), visit_(visit) {}

  std::vector<std::string> Read(std::string_view text) && {
    DocumentSplitter pieces(text);
    while (!ended_) {
      const std::optional<Piece> piece = pieces.Next();
      if (!piece) break;
      if (budget_.Spend(kNodeCost))
        ReadPiece(*piece);
      else
        AddError(number_ + 1, "the text " + std::string(kBudgetSpent));
    }
    return std::move(errors_);
  }

 private:
  /// JSON first, then YAML, which takes more; the JSON error is the one to show.
  void ReadPiece(const Piece& piece) {
    const Piece content = Content(piece);
    if (LooksLikeJson(content.text)) return ReadJsonValues(piece, content);
    Result<Document> document = ReadYaml(piece.text, piece.first_line, &budget_);
    if (!document) return AddError(number_ + 1, document.error().message);
    if (document->root.kind != Node::Kind::kNull) Give(*std::move(document));
  }

  void ReadJsonValues(const Piece& piece, Piece rest) {
    const int first = number_ + 1;
    while (!rest.text.empty() && !IsComment(rest.text) && !ended_) {
      const std::size_t length = JsonLength(rest.text);
      Result<Document> document = ReadJson(rest.text.substr(0, length), rest.first_line, &budget_);
      if (!document && number_ + 1 == first && !budget_.is_spent())
        if (Result<Document> yaml = ReadYaml(piece.text, piece.first_line, &budget_)) return Give(*std::move(yaml));
      if (!document) return AddError(first, document.error().message);
      Give(*std::move(document));
      rest.first_line += LinesIn(rest.text.substr(0, length));
      rest.text.remove_prefix(length);
      rest = Content(rest);
    }
  }

  void Give(Document document) {
    document.number = ++number_;
    ended_ = !visit_(document);
  }

  void AddError(int number, const std::string& why) {
    number_ = std::max(number_, number);
    errors_.push_back("document " + std::to_string(number) + ": " + why);
    if (errors_.size() == kMaxErrors) errors_.emplace_back("and more from here on");
    ended_ = errors_.size() > kMaxErrors || budget_.is_spent();
  }

  Budget& budget_;
  const std::function<bool(Document&)>& visit_;
  std::vector<std::string> errors_;
  int number_ = 0;  // of the last document
  bool ended_ = false;
};

}  // namespace

const Node* Find(const Node& map, std::string_view key) {
  const auto it = std::ranges::find(map.keys, key);
  return it == map.keys.end() ? nullptr : &map.items[static_cast<std::size_t>(it - map.keys.begin())];
}

void SetEntry(Node& map, std::string_view key, Node value) {
  const auto at = std::ranges::find(map.keys, key);
  if (at == map.keys.end()) {
    map.keys.emplace_back(key);
    map.items.push_back(std::move(value));
  } else {
    map.items[static_cast<std::size_t>(at - map.keys.begin())] = std::move(value);
  }
}

Node StringNode(std::string text) {
  return {.kind = Node::Kind::kString, .text = std::move(text), .keys = {}, .items = {}};
}

std::string_view Describe(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kBool: return "true or false";
    case Node::Kind::kNumber: return "a number";
    case Node::Kind::kString: return "a string";
    case Node::Kind::kList: return "a list";
    case Node::Kind::kMap: return "an object";
  }
  return "nothing";
}

Budget Budget::For(std::string_view text, std::size_t least) {
  constexpr std::size_t kForEachByte = 128;
  constexpr std::size_t kMost = std::size_t{32} << 20;
  return Budget(std::min(kMost, least + kForEachByte * text.size()));
}

bool Budget::Spend(std::size_t cost) {
  const bool enough = cost <= left_;
  left_ = enough ? left_ - cost : 0;
  return enough;
}

std::size_t CostOf(const Node& node) {
  std::size_t out = kNodeCost + node.text.size();
  for (const std::string& key : node.keys) out += kNodeCost + key.size();
  for (const Node& item : node.items)
    out += CostOf(item) + (node.kind == Node::Kind::kList && item.kind == Node::Kind::kMap ? kItemCost : 0);
  return out;
}

std::vector<std::string> VisitDocuments(std::string_view text, Budget& budget,
                                        const std::function<bool(Document&)>& visit) {
  if (text.size() > kMaxTextBytes) return {"larger than 10 MiB; split it into several files"};
  return TextReader(budget, visit).Read(text);
}

Documents ReadDocuments(std::string_view text) {
  Documents out;
  Budget budget;
  out.errors = VisitDocuments(text, budget, [&](Document& document) {
    out.documents.push_back(std::move(document));
    return true;
  });
  return out;
}

}  // namespace berth::manifest
