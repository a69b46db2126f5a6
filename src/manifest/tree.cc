#include "manifest/tree.h"

#include <algorithm>

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

/// Only blank lines, comments and directives (which belong to the document after the separator).
bool IsPreamble(std::string_view piece) {
  for (const std::string_view line : Split(piece, '\n')) {
    const std::string_view rest = Trim(line);
    if (!rest.empty() && !rest.starts_with('#') && !line.starts_with('%')) return false;
  }
  return true;
}

/// Separators stay at the head of their piece: they may carry the document's first value.
std::vector<Piece> SplitDocuments(std::string_view text) {
  std::vector<Piece> out;
  int first_line = 1;
  std::size_t start = 0;
  int line_number = 1;
  for (std::size_t at = 0; at < text.size(); ++line_number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::string_view before = text.substr(start, at - start);
    const bool ends = IsMarker(line, "...");
    if (ends || (IsMarker(line, "---") && !IsPreamble(before))) {
      out.push_back({before, first_line});
      start = ends ? std::min(end + 1, text.size()) : at;
      first_line = line_number + (ends ? 1 : 0);
    }
    at = end + 1;
  }
  out.push_back({text.substr(start), first_line});
  return out;
}

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

Result<std::vector<Document>> ReadJsonValues(Piece piece) {
  std::vector<Document> out;
  while (!piece.text.empty()) {
    const std::size_t length = JsonLength(piece.text);
    BERTH_TRY(Document document, ReadJson(piece.text.substr(0, length), piece.first_line));
    out.push_back(std::move(document));
    piece.first_line += LinesIn(piece.text.substr(0, length));
    piece.text.remove_prefix(length);
    piece = Content(piece);
  }
  return out;
}

Result<std::vector<Document>> ReadYamlPiece(const Piece& piece) {
  BERTH_TRY(Document document, ReadYaml(piece.text, piece.first_line));
  std::vector<Document> out;
  if (document.root.kind != Node::Kind::kNull) out.push_back(std::move(document));
  return out;
}

/// JSON objects have quoted keys; what else starts with a bracket may be YAML's own bracket notation.
bool LooksLikeJson(std::string_view text) {
  if (!text.starts_with('{')) return text.starts_with('[');
  const std::string_view inside = Trim(text.substr(1, 1000));
  return inside.starts_with('"') || inside.starts_with('}');
}

/// JSON first, then YAML, which takes more; the JSON error is the one to show.
Result<std::vector<Document>> ReadPiece(const Piece& piece) {
  const Piece content = Content(piece);
  if (!LooksLikeJson(content.text)) return ReadYamlPiece(piece);
  Result<std::vector<Document>> documents = ReadJsonValues(content);
  if (documents) return documents;
  Result<std::vector<Document>> yaml = ReadYamlPiece(piece);
  return yaml ? std::move(yaml) : std::move(documents);
}

}  // namespace

const Node* Find(const Node& map, std::string_view key) {
  const auto it = std::ranges::find(map.keys, key);
  return it == map.keys.end() ? nullptr : &map.items[static_cast<std::size_t>(it - map.keys.begin())];
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

Documents ReadDocuments(std::string_view text) {
  Documents out;
  if (text.size() > kMaxTextBytes) {
    out.errors.emplace_back("larger than 10 MiB; split it into several files");
    return out;
  }
  int number = 0;
  for (const Piece& piece : SplitDocuments(text)) {
    Result<std::vector<Document>> documents = ReadPiece(piece);
    if (!documents) {
      out.errors.push_back("document " + std::to_string(++number) + ": " + documents.error().message);
      continue;
    }
    for (Document& document : *documents) {
      document.number = ++number;
      out.documents.push_back(std::move(document));
    }
  }
  return out;
}

}  // namespace berth::manifest
