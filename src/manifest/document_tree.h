// A document as a tree of plain values, from YAML or JSON.
//
// Scalars keep their text, so that quantities and large numbers lose nothing. Text is valid UTF-8 without NUL bytes.
// Bounds (size, depth, amount after aliases are expanded) hold for every input: see the constants.
#ifndef BERTH_MANIFEST_DOCUMENT_TREE_H_
#define BERTH_MANIFEST_DOCUMENT_TREE_H_

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::manifest {

inline constexpr std::size_t kMaxTextBytes = std::size_t{10} << 20;
inline constexpr std::size_t kMaxDepth = 100;
/// Bound for one document with its aliases expanded: text bytes, kNodeCost for each value and each key, and kItemCost
/// for each object in a list beside, which becomes a value of the model. It is about the memory that all of it takes.
inline constexpr std::size_t kMaxDocumentCost = std::size_t{16} << 20;
inline constexpr std::size_t kNodeCost = 128;
inline constexpr std::size_t kItemCost = 352;
/// Errors of one text that are told; then reading ends.
inline constexpr std::size_t kMaxErrors = 200;

struct Node {
  enum class Kind { kNull, kBool, kNumber, kString, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;               ///< bool ("true", "false"), number (as written) or string
  std::vector<std::string> keys;  ///< of a map: unique, in the order of the document
  std::vector<Node> items;        ///< of a list; of a map: values, one for each key
};

/// Value of `key`; nullptr if `map` is no map or has no such key.
const Node* Find(const Node& map, std::string_view key);

/// Puts `value` at `key` of `map`, in the place of what is there. Requires: map is a map.
void SetEntry(Node& map, std::string_view key, Node value);
Node StringNode(std::string text);

/// "a string", "a number", "an object", ...: for messages.
std::string_view Describe(Node::Kind kind);

/// What may still be decoded of one text, all of its documents together: costs as of kMaxDocumentCost.
class Budget {
 public:
  static constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kLeast = std::size_t{1} << 20;
  /// Of a text that may say of a template how many pods to make: some hundred of a usual size.
  static constexpr std::size_t kLeastForTemplates = std::size_t{8} << 20;
  /// Of a text that comes from outside: `least`, and more in proportion to its size, so that a small one cannot grow
  /// large; bounded.
  static Budget For(std::string_view text, std::size_t least = kLeast);
  explicit Budget(std::size_t most = kUnbounded) : left_(most) {}

  /// False: there is not that much left; then there is nothing left.
  bool Spend(std::size_t cost);
  bool is_spent() const { return left_ == 0; }
  std::size_t left() const { return left_; }

 private:
  std::size_t left_;
};
/// What is said of a text whose budget is spent.
inline constexpr std::string_view kBudgetSpent =
    "holds too many values (aliases, and pods of a template, count each time); split it into several files";

/// Of a tree that is made of another one, as of kMaxDocumentCost.
std::size_t CostOf(const Node& node);

struct Document {
  int number = 0;                       ///< 1 for the first that is not empty
  Node root;                            ///< of ReadDocuments: never null
  std::vector<std::string> duplicates;  ///< paths of keys given more than once, kMaxErrors at most; the last one counts
};

struct Documents {
  std::vector<Document> documents;
  std::vector<std::string> errors;  ///< "document 2: line 3, column 4: ..." for each document that cannot be read
};

/// Splits at lines that start with "---" or "..." and reads each piece as JSON values, one after another (if it starts
/// with '{' or '['), or as YAML. Empty documents are skipped. A broken document does not keep the others from being
/// read.
Documents ReadDocuments(std::string_view text);

/// The same, one document at a time, which `visit` may take: none is kept, and none is read after `visit` gave false,
/// `budget` was spent or kMaxErrors errors were found. Returns the errors.
std::vector<std::string> VisitDocuments(std::string_view text, Budget& budget,
                                        const std::function<bool(Document&)>& visit);

/// As JSON, on one line.
std::string JsonOf(const Node& node);

/// One JSON value, nothing after it. `first_line` as below. Errors: kInvalid with line and column; `budget`, where
/// there is one, is spent.
Result<Document> ReadJson(std::string_view text, int first_line = 1, Budget* budget = nullptr);

/// One YAML document, nothing after it; its root is null if the text is empty. `first_line` is the line of the file
/// `text` starts at, 1 for the first. Errors: as ReadJson.
Result<Document> ReadYaml(std::string_view text, int first_line = 1, Budget* budget = nullptr);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_DOCUMENT_TREE_H_
