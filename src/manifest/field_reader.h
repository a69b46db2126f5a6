// Reading typed fields out of a tree: every problem is collected with its path, none ends the reading.
#ifndef BERTH_MANIFEST_FIELD_READER_H_
#define BERTH_MANIFEST_FIELD_READER_H_

#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "manifest/document_tree.h"

namespace berth::manifest {

/// Fields of ObjectMeta (1.36) that may stand in any object and are not looked into; for Object::Finish.
inline constexpr std::string_view kObjectMetadataUnused[] = {"annotations",
                                                             "creationTimestamp",
                                                             "deletionGracePeriodSeconds",
                                                             "deletionTimestamp",
                                                             "finalizers",
                                                             "generateName",
                                                             "generation",
                                                             "labels",
                                                             "managedFields",
                                                             "ownerReferences",
                                                             "resourceVersion",
                                                             "selfLink",
                                                             "uid"};

/// Where a value is, as a chain of parents on the stack; text is made only when there is something to say.
struct Path {
  const Path* parent = nullptr;
  std::string_view key = {};  ///< of a field or a map entry
  int index = -1;             ///< of a list item, >= 0
  bool entry = false;         ///< an entry of a free map: "[key]" instead of ".key"

  /// "spec.containers[0].resources.limits[cpu]"; "" for the root.
  std::string ToString() const;
};

/// What was found wrong in one document; beyond kMostEntries of a kind only that there is more.
struct Report {
  static constexpr std::size_t kMostEntries = 200;

  struct Entry {
    std::string path;
    std::string text;
  };
  std::vector<Entry> problems;
  std::vector<Entry> warnings;

  void Problem(const Path& path, std::string text) { Add(problems, path, std::move(text)); }
  void Warn(const Path& path, std::string text) { Add(warnings, path, std::move(text)); }
  /// The same with a path that is text already.
  void ProblemAt(const std::string& path, std::string text) { AddAt(problems, path, std::move(text)); }
  void WarnAt(const std::string& path, std::string text) { AddAt(warnings, path, std::move(text)); }
  bool WarnsNoMore() const { return warnings.size() > kMostEntries; }

 private:
  static void Add(std::vector<Entry>& entries, const Path& path, std::string text) {
    if (entries.size() <= kMostEntries) AddAt(entries, path.ToString(), std::move(text));
  }
  static void AddAt(std::vector<Entry>& entries, const std::string& path, std::string text) {
    if (entries.size() < kMostEntries) {
      entries.push_back({path, std::move(text)});
    } else if (entries.size() == kMostEntries) {
      entries.push_back({path, "and more from here on"});
    }
  }
};

/// `node` as a string, with a problem if it is none. False: `out` is untouched.
bool ReadString(const Node& node, const Path& path, Report& report, std::string& out);
bool ReadQuantity(const Node& node, const Path& path, Report& report, Quantity& out);

/// The fields of one object. A null value counts as absent. Reading functions leave `out` alone if the field is absent
/// or wrong (a wrong one is a problem). Lifetime: node, path and report outlive it.
class Object {
 public:
  /// A node that is no object is a problem and reads as an empty one.
  Object(const Node& node, const Path& path, Report& report);

  /// The field's node, nullptr if absent; the field counts as known from now on.
  const Node* Take(std::string_view key);
  Path PathOf(std::string_view key) const { return Path{.parent = &path_, .key = key}; }

  void Read(std::string_view key, std::string& out);
  void Read(std::string_view key, bool& out);
  void Read(std::string_view key, double& out);
  void Read(std::string_view key, std::chrono::milliseconds& out);
  void Read(std::string_view key, std::vector<std::string>& out);
  void Read(std::string_view key, std::vector<std::int64_t>& out);
  void Read(std::string_view key, std::map<std::string, std::string>& out);
  void Read(std::string_view key, std::map<std::string, bool>& out);
  void Read(std::string_view key, ResourceList& out);
  void Read(std::string_view key, std::int64_t& out) { ReadInt(key, out); }
  /// Stays nullopt if the field is absent.
  template <class Value>
  void Read(std::string_view key, std::optional<Value>& out) {
    if (Take(key) != nullptr) Read(key, out.emplace());
  }
  void Read(std::string_view key, std::int32_t& out) {
    std::int64_t wide = out;
    ReadInt(key, wide, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
    out = static_cast<std::int32_t>(wide);
  }

  /// visit(node, path) for each item of a list.
  template <std::invocable<const Node&, const Path&> Visit>
  void Each(std::string_view key, Visit&& visit) {
    const Node* list = TakeKind(key, Node::Kind::kList);
    if (list == nullptr) return;
    const Path path = PathOf(key);
    for (std::size_t i = 0; i < list->items.size(); ++i)
      visit(list->items[i], Path{.parent = &path, .key = {}, .index = static_cast<int>(i)});
  }
  /// visit(key, node, path) for each entry of a free map.
  template <std::invocable<const std::string&, const Node&, const Path&> Visit>
  void EachEntry(std::string_view key, Visit&& visit) {
    const Node* map = TakeKind(key, Node::Kind::kMap);
    if (map == nullptr) return;
    const Path path = PathOf(key);
    for (std::size_t i = 0; i < map->items.size(); ++i)
      visit(map->keys[i], map->items[i], Path{.parent = &path, .key = map->keys[i], .index = -1, .entry = true});
  }
  /// visit(object) if the field is present. False: absent.
  template <std::invocable<Object&> Visit>
  bool Within(std::string_view key, Visit&& visit) {
    const Node* node = Take(key);
    if (node == nullptr) return false;
    const Path path = PathOf(key);
    Object inner(*node, path, report_);
    visit(inner);
    return true;
  }

  /// Warns of each of `fields` that is there, as of an unknown one: it is a field of `owner` ("spec.securityContext").
  void WarnOfFieldsOf(std::string_view owner, std::span<const std::string_view> fields);
  /// Warns of every field that was neither taken nor is among `unused` (known, without a meaning for Berth).
  void Finish(std::span<const std::string_view> unused = {});

  const Path& path() const { return path_; }
  Report& report() { return report_; }

 private:
  const Node* TakeKind(std::string_view key, Node::Kind kind);
  void ReadInt(std::string_view key, std::int64_t& out, std::int64_t min = std::numeric_limits<std::int64_t>::min(),
               std::int64_t max = std::numeric_limits<std::int64_t>::max());

  const Node& node_;
  const Path& path_;
  Report& report_;
  std::vector<std::string_view> asked_;
};

using Words = std::initializer_list<std::string_view>;

/// "Unsupported value: \"x\": supported values: \"a\", \"b\"".
std::string UnsupportedValue(std::string_view value, Words supported);
/// "" stands for the default: no problem.
void CheckWord(Object& object, std::string_view key, std::string_view value, Words words);
/// CheckWord of what is read.
void ReadWord(Object& object, std::string_view key, Words words, std::string& out);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_FIELD_READER_H_
