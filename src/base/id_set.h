// Sets of small ids: CpuSet and NodeSet.
//
// A bitmap that keeps the first few words inline (no heap for ids below 64 * InlineWords) and grows on demand up to
// kMaxId. Two sets are equal when they hold the same ids, whatever their capacity. Ids are OS indexes, as the kernel
// prints them, never logical positions.
#ifndef BERTH_BASE_ID_SET_H_
#define BERTH_BASE_ID_SET_H_

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth {

enum class CpuId : std::uint32_t {};     ///< OS index of a logical CPU
enum class NumaId : std::uint32_t {};    ///< OS index of a NUMA node
enum class CoreId : std::uint32_t {};    ///< smallest CPU of the core (rules/topology#cpu-units), not sysfs core_id
enum class SocketId : std::uint32_t {};  ///< physical_package_id
enum class DieId : std::uint32_t {};
enum class CacheId : std::uint32_t {};  ///< L3 (uncore) cache id

template <class Id>
constexpr std::uint32_t Raw(Id id) {
  return static_cast<std::uint32_t>(id);
}

/// Largest id a set can hold.
inline constexpr std::uint32_t kMaxId = 8191;

/// Parses the kernel's list format ("0-3,8") into words; used by IdSet::Parse.
/// Errors: kInvalid, naming the bad field.
Result<std::vector<std::uint64_t>> ParseIdList(std::string_view text, std::string_view what);

/// A set of ids. Value semantics; any thread may read a const set.
template <class IdT, std::size_t InlineWords>
class IdSet {
 public:
  using Id = IdT;

  constexpr IdSet() = default;
  IdSet(const IdSet& o) : inline_(o.inline_), size_(o.size_) {
    if (!o.heap_.empty()) heap_ = o.heap_;
  }
  IdSet& operator=(const IdSet& o) {
    if (this != &o) *this = IdSet(o);
    return *this;
  }
  /// The set moved from is empty.
  IdSet(IdSet&& o) noexcept
      : inline_(std::exchange(o.inline_, {})), heap_(std::exchange(o.heap_, {})), size_(std::exchange(o.size_, 0)) {}
  IdSet& operator=(IdSet&& o) noexcept {
    if (this != &o) {
      inline_ = std::exchange(o.inline_, {});
      heap_ = std::exchange(o.heap_, {});
      size_ = std::exchange(o.size_, 0);
    }
    return *this;
  }
  ~IdSet() = default;
  IdSet(std::initializer_list<Id> ids) {
    for (Id id : ids) Insert(id);
  }
  /// {first .. last}, both included. Requires: last <= kMaxId; empty when first > last.
  static IdSet Range(std::uint32_t first, std::uint32_t last) {
    IdSet out;
    for (std::uint32_t i = first; i <= last; ++i) out.Insert(Id{i});
    return out;
  }
  /// Kernel list format: "" and "\n" are the empty set. White space only as one trailing newline.
  /// Errors: kInvalid naming the bad field (junk, reversed range, id above kMaxId).
  static Result<IdSet> Parse(std::string_view text) {
    auto words = ParseIdList(text, kWhat);
    if (!words) return std::unexpected(std::move(words).error());
    IdSet out;
    for (std::size_t i = 0; i < words->size(); ++i)
      if ((*words)[i] != 0) out.Grow(i + 1), out.data()[i] = (*words)[i];
    return out;
  }

  /// Requires: id <= kMaxId.
  void Insert(Id id) {
    const std::uint32_t raw = Raw(id);
    BERTH_CHECK(raw <= kMaxId);
    Grow(raw / 64 + 1);
    data()[raw / 64] |= std::uint64_t{1} << (raw % 64);
  }
  void Erase(Id id) {
    const std::uint32_t raw = Raw(id);
    if (raw / 64 < size_) data()[raw / 64] &= ~(std::uint64_t{1} << (raw % 64));
  }
  void Clear() { *this = IdSet(); }

  bool Contains(Id id) const {
    const std::uint32_t raw = Raw(id);
    return raw / 64 < size_ && ((data()[raw / 64] >> (raw % 64)) & 1) != 0;
  }
  bool empty() const {
    for (std::size_t i = 0; i < size_; ++i)
      if (data()[i] != 0) return false;
    return true;
  }
  /// Number of ids.
  int Count() const {
    int n = 0;
    for (std::size_t i = 0; i < size_; ++i) n += std::popcount(data()[i]);
    return n;
  }
  bool IsSubsetOf(const IdSet& other) const {
    for (std::size_t i = 0; i < size_; ++i)
      if ((data()[i] & ~other.WordAt(i)) != 0) return false;
    return true;
  }
  bool Intersects(const IdSet& other) const {
    for (std::size_t i = 0, n = std::min<std::size_t>(size_, other.size_); i < n; ++i)
      if ((data()[i] & other.data()[i]) != 0) return true;
    return false;
  }
  /// |this ∩ other| without building it.
  int CountCommon(const IdSet& other) const {
    int n = 0;
    for (std::size_t i = 0, m = std::min<std::size_t>(size_, other.size_); i < m; ++i)
      n += std::popcount(data()[i] & other.data()[i]);
    return n;
  }
  std::optional<Id> First() const {
    for (std::size_t i = 0; i < size_; ++i)
      if (data()[i] != 0) return Id{static_cast<std::uint32_t>(i * 64 + std::countr_zero(data()[i]))};
    return std::nullopt;
  }
  std::optional<Id> Last() const {
    for (std::size_t i = size_; i-- > 0;)
      if (data()[i] != 0) return Id{static_cast<std::uint32_t>(i * 64 + 63 - std::countl_zero(data()[i]))};
    return std::nullopt;
  }

  IdSet& operator|=(const IdSet& o) {
    Grow(o.size_);
    for (std::size_t i = 0; i < o.size_; ++i) data()[i] |= o.data()[i];
    return *this;
  }
  IdSet& operator&=(const IdSet& o) {
    for (std::size_t i = 0; i < size_; ++i) data()[i] &= o.WordAt(i);
    return *this;
  }
  IdSet& operator-=(const IdSet& o) {
    for (std::size_t i = 0, n = std::min<std::size_t>(size_, o.size_); i < n; ++i) data()[i] &= ~o.data()[i];
    return *this;
  }
  friend IdSet operator|(IdSet a, const IdSet& b) { return a |= b; }
  friend IdSet operator&(IdSet a, const IdSet& b) { return a &= b; }
  friend IdSet operator-(IdSet a, const IdSet& b) { return a -= b; }
  friend bool operator==(const IdSet& a, const IdSet& b) {
    for (std::size_t i = 0, n = std::max<std::size_t>(a.size_, b.size_); i < n; ++i)
      if (a.WordAt(i) != b.WordAt(i)) return false;
    return true;
  }
  /// Compares as numbers whose bit i is id i (the kubelet's bit mask order, rules/topology#sets-of-nodes).
  friend std::strong_ordering operator<=>(const IdSet& a, const IdSet& b) {
    for (std::size_t i = std::max<std::size_t>(a.size_, b.size_); i-- > 0;)
      if (auto c = a.WordAt(i) <=> b.WordAt(i); c != 0) return c;
    return std::strong_ordering::equal;
  }

  /// Ids in ascending order.
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Id;
    using difference_type = std::ptrdiff_t;
    using pointer = const Id*;
    using reference = Id;
    Iterator() = default;
    Iterator(const IdSet* set, std::size_t word) : set_(set), word_(word) { Settle(); }
    Id operator*() const { return Id{static_cast<std::uint32_t>(word_ * 64 + std::countr_zero(bits_))}; }
    Iterator& operator++() {
      bits_ &= bits_ - 1;
      if (bits_ == 0) ++word_, Settle();
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.word_ == b.word_ && a.bits_ == b.bits_; }

   private:
    void Settle() {
      bits_ = 0;
      for (; word_ < set_->size_; ++word_)
        if ((bits_ = set_->data()[word_]) != 0) return;
    }
    const IdSet* set_ = nullptr;
    std::size_t word_ = 0;
    std::uint64_t bits_ = 0;
  };
  using const_iterator = Iterator;
  using value_type = Id;
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, size_); }

  /// The bitmap, 64 ids a word, lowest first; words beyond the end are 0. For inner loops.
  std::uint64_t WordAt(std::size_t i) const { return i < size_ ? data()[i] : 0; }
  std::size_t WordCount() const { return size_; }

 private:
  static constexpr std::string_view kWhat = std::is_same_v<IdT, CpuId> ? "CPU" : "NUMA node";

  std::uint64_t* data() { return heap_.empty() ? inline_.data() : heap_.data(); }
  const std::uint64_t* data() const { return heap_.empty() ? inline_.data() : heap_.data(); }
  void Grow(std::size_t words) {
    if (words <= size_) return;
    if (words > InlineWords) {
      if (heap_.empty()) heap_.assign(inline_.begin(), inline_.end());
      if (heap_.size() < words) heap_.resize(words);
    }
    size_ = static_cast<std::uint32_t>(words);
  }

  std::array<std::uint64_t, InlineWords> inline_{};
  std::vector<std::uint64_t> heap_;  // empty while everything fits inline; else holds all words
  std::uint32_t size_ = 0;           // words in use
};

using CpuSet = IdSet<CpuId, 4>;
using NodeSet = IdSet<NumaId, 1>;

/// Kernel list format with maximal runs: "0-3,8", a run of two is "4-5", the empty set is "".
std::string FormatIds(const CpuSet& set);
std::string FormatIds(const NodeSet& set);

}  // namespace berth

#endif  // BERTH_BASE_ID_SET_H_
