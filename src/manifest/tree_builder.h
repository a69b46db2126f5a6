// Builder of a Document out of the events of a parser, within the bounds of document_tree.h.
#ifndef BERTH_MANIFEST_TREE_BUILDER_H_
#define BERTH_MANIFEST_TREE_BUILDER_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "manifest/document_tree.h"

namespace berth::manifest {

/// After the first problem (see error()) every further event is ignored.
class TreeBuilder {
 public:
  /// `budget` may be null, and outlives this.
  explicit TreeBuilder(Budget* budget = nullptr) : budget_(budget) {}

  using Anchor = std::size_t;  ///< 0: none

  void Scalar(Node::Kind kind, std::string text, Anchor anchor = 0);
  void BeginList(Anchor anchor = 0) { Begin(Node::Kind::kList, anchor); }
  void BeginMap(Anchor anchor = 0) { Begin(Node::Kind::kMap, anchor); }
  void End();
  /// The next value belongs to `key` of the innermost map. `merge`: it is YAML's "<<".
  void Key(std::string key, bool merge = false);
  /// Inserts a copy of what was given `anchor`.
  void Alias(Anchor anchor);
  void Fail(std::string why);

  /// The innermost container is a map that waits for a key.
  bool WantsKey() const;
  /// What went wrong; "" if nothing.
  const std::string& error() const { return error_; }
  Document Take();

 private:
  struct Frame {
    Node node;
    Anchor anchor = 0;
    std::size_t cost = 0;
    std::string key;  // of the value to come
    bool has_key = false;
    bool merge = false;
    std::vector<Node> merges;
    std::unordered_map<std::string, std::size_t> positions;  // of keys, once there are many
  };
  struct Anchored {
    Node node;
    std::size_t cost = 0;
  };

  void Begin(Node::Kind kind, Anchor anchor);
  void Add(Node node, Anchor anchor, std::size_t cost);
  void Put(Frame& frame, Node value);
  static bool Insert(Frame& frame, std::string key, Node value, bool replace);
  void Spend(std::size_t cost);
  std::string PathTo(std::string_view key) const;
  bool InList() const { return !stack_.empty() && stack_.back().node.kind == Node::Kind::kList; }

  Budget* budget_;
  std::vector<Frame> stack_;
  std::map<Anchor, Anchored> anchors_;
  Document document_;
  std::size_t spent_ = 0;
  std::string error_;
};

/// Valid UTF-8 and no NUL byte.
bool IsCleanText(std::string_view text);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_TREE_BUILDER_H_
