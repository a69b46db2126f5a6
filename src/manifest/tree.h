// A document as a tree of plain values, from YAML or JSON.
//
// Scalars keep their text, so that quantities and large numbers lose nothing. Text is valid UTF-8 without NUL bytes.
// Bounds (size, depth, amount after aliases are expanded) hold for every input: see the constants.
#ifndef BERTH_MANIFEST_TREE_H_
#define BERTH_MANIFEST_TREE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::manifest {

inline constexpr std::size_t kMaxTextBytes = std::size_t{10} << 20;
inline constexpr std::size_t kMaxDepth = 100;
/// Bound for one document with its aliases expanded: text bytes plus kNodeCost for each value.
inline constexpr std::size_t kMaxDocumentCost = std::size_t{16} << 20;
inline constexpr std::size_t kNodeCost = 64;

struct Node {
  enum class Kind { kNull, kBool, kNumber, kString, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;               ///< bool ("true", "false"), number (as written) or string
  std::vector<std::string> keys;  ///< of a map: unique, in the order of the document
  std::vector<Node> items;        ///< of a list; of a map: values, one for each key
};

/// Value of `key`; nullptr if `map` is no map or has no such key.
const Node* Find(const Node& map, std::string_view key);

/// "a string", "a number", "an object", ...: for messages.
std::string_view Describe(Node::Kind kind);

struct Document {
  int number = 0;                       ///< 1 for the first that is not empty
  Node root;                            ///< of ReadDocuments: never null
  std::vector<std::string> duplicates;  ///< paths of keys given more than once; the last one counts
};

struct Documents {
  std::vector<Document> documents;
  std::vector<std::string> errors;  ///< "document 2: line 3, column 4: ..." for each document that cannot be read
};

/// Splits at lines that start with "---" or "..." and reads each piece as JSON values, one after another (if it starts
/// with '{' or '['), or as YAML. Empty documents are skipped. A broken document does not keep the others from being
/// read.
Documents ReadDocuments(std::string_view text);

/// One JSON value, nothing after it. `first_line` as below. Errors: kInvalid with line and column.
Result<Document> ReadJson(std::string_view text, int first_line = 1);

/// One YAML document, nothing after it; its root is null if the text is empty. `first_line` is the line of the file
/// `text` starts at, 1 for the first. Errors: kInvalid with line and column.
Result<Document> ReadYaml(std::string_view text, int first_line = 1);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_TREE_H_
