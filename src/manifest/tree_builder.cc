#include "manifest/tree_builder.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace berth::manifest {
namespace {

/// Maps beyond this many keys get an index: a file of half a million keys must not take minutes.
constexpr std::size_t kSmallMap = 32;

}  // namespace

bool IsCleanText(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = text.front() == '\0' ? 0 : CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void TreeBuilder::Fail(std::string why) {
  if (error_.empty()) error_ = std::move(why);
}

bool TreeBuilder::WantsKey() const {
  return !stack_.empty() && stack_.back().node.kind == Node::Kind::kMap && !stack_.back().has_key;
}

void TreeBuilder::Spend(std::size_t cost) {
  spent_ += cost;
  if (spent_ > kMaxDocumentCost) Fail("the document " + std::string(kBudgetSpent));
  if (budget_ != nullptr && !budget_->Spend(cost)) Fail("the text " + std::string(kBudgetSpent));
}

void TreeBuilder::Scalar(Node::Kind kind, std::string text, Anchor anchor) {
  if (!error_.empty()) return;
  if (!IsCleanText(text)) return Fail("text must be UTF-8 without NUL bytes");
  const std::size_t cost = kNodeCost + text.size();
  Spend(cost);
  Add(Node{.kind = kind, .text = std::move(text), .keys = {}, .items = {}}, anchor, cost);
}

void TreeBuilder::Begin(Node::Kind kind, Anchor anchor) {
  if (!error_.empty()) return;
  if (stack_.size() >= kMaxDepth) return Fail("nested more than " + std::to_string(kMaxDepth) + " levels deep");
  const std::size_t cost = kNodeCost + (kind == Node::Kind::kMap && InList() ? kItemCost : 0);
  Spend(cost);
  Frame& frame = stack_.emplace_back();
  frame.node.kind = kind;
  frame.anchor = anchor;
  frame.cost = cost;
}

void TreeBuilder::Key(std::string key, bool merge) {
  if (!error_.empty()) return;
  if (!IsCleanText(key)) return Fail("text must be UTF-8 without NUL bytes");
  Spend(kNodeCost + key.size());
  Frame& frame = stack_.back();
  frame.cost += kNodeCost + key.size();
  frame.key = std::move(key);
  frame.has_key = true;
  frame.merge = merge;
}

void TreeBuilder::End() {
  if (!error_.empty()) return;
  Frame frame = std::move(stack_.back());
  stack_.pop_back();
  for (Node& source : frame.merges)
    for (std::size_t i = 0; i < source.keys.size(); ++i)
      Insert(frame, std::move(source.keys[i]), std::move(source.items[i]), /*replace=*/false);
  Add(std::move(frame.node), frame.anchor, frame.cost);
}

void TreeBuilder::Alias(Anchor anchor) {
  if (!error_.empty()) return;
  const auto it = anchors_.find(anchor);
  if (it == anchors_.end()) return Fail("an alias refers to a value it is part of");
  const std::size_t cost = it->second.cost + (it->second.node.kind == Node::Kind::kMap && InList() ? kItemCost : 0);
  Spend(cost);
  if (error_.empty()) Add(it->second.node, 0, cost);
}

void TreeBuilder::Add(Node node, Anchor anchor, std::size_t cost) {
  if (anchor != 0) {
    Spend(cost);
    anchors_.insert_or_assign(anchor, Anchored{.node = node, .cost = cost});
  }
  if (stack_.empty()) {
    document_.root = std::move(node);
    return;
  }
  Frame& frame = stack_.back();
  frame.cost += cost;
  if (frame.node.kind == Node::Kind::kList) {
    frame.node.items.push_back(std::move(node));
  } else {
    Put(frame, std::move(node));
  }
}

void TreeBuilder::Put(Frame& frame, Node value) {
  frame.has_key = false;
  if (std::exchange(frame.merge, false)) {
    std::vector<Node> sources;
    if (value.kind == Node::Kind::kList) {
      sources = std::move(value.items);
    } else {
      sources.push_back(std::move(value));
    }
    for (Node& source : sources) {
      if (source.kind != Node::Kind::kMap) return Fail("'<<' merges objects only");
      frame.merges.push_back(std::move(source));
    }
    return;
  }
  if (Insert(frame, frame.key, std::move(value), /*replace=*/true)) return;
  if (document_.duplicates.size() < kMaxErrors) document_.duplicates.push_back(PathTo(frame.key));
}

/// False if `key` was there already; its value is then replaced or kept.
bool TreeBuilder::Insert(Frame& frame, std::string key, Node value, bool replace) {
  Node& map = frame.node;
  std::size_t at = map.keys.size();
  if (map.keys.size() < kSmallMap) {
    at = static_cast<std::size_t>(std::ranges::find(map.keys, key) - map.keys.begin());
  } else {
    for (std::size_t i = frame.positions.size(); i < map.keys.size(); ++i) frame.positions.emplace(map.keys[i], i);
    if (const auto it = frame.positions.find(key); it != frame.positions.end()) at = it->second;
  }
  if (at < map.keys.size()) {
    if (replace) map.items[at] = std::move(value);
    return false;
  }
  map.keys.push_back(std::move(key));
  map.items.push_back(std::move(value));
  return true;
}

std::string TreeBuilder::PathTo(std::string_view key) const {
  std::string out;
  for (std::size_t i = 0; i + 1 < stack_.size(); ++i) {
    if (stack_[i].node.kind == Node::Kind::kList) {
      out += "[" + std::to_string(stack_[i].node.items.size()) + "]";
    } else {
      out += (out.empty() ? "" : ".") + Printable(stack_[i].key);
    }
  }
  return out + (out.empty() ? "" : ".") + Printable(key);
}

Document TreeBuilder::Take() {
  Document out = std::move(document_);
  *this = TreeBuilder(budget_);
  return out;
}

}  // namespace berth::manifest
