// Combinations of k out of n items in lexicographic order of positions, with the kubelet's way of remembering one.
//
// Oddity, kept in this one place: the kubelet remembers a combination by reference into a buffer that later
// combinations go on writing to, so that some positions of a remembered combination change afterwards
// (rules/cpu#remembered-combinations). Which CPUs are handed out on machines with more than four nodes depends on it.
#ifndef BERTH_ALLOCATOR_CPU_SELECTION_COMBINATIONS_H_
#define BERTH_ALLOCATOR_CPU_SELECTION_COMBINATIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace berth::allocator {

/// A list that shares its buffer with the list it was appended to while the capacity lasts (1, 2, 4, 8, ...).
class SharedList {
 public:
  SharedList() = default;

  /// This list with `item` behind it. Writes into the shared buffer unless it is full.
  SharedList Append(std::uint32_t item) const {
    SharedList out;
    out.length_ = length_ + 1;
    if (buffer_ != nullptr && length_ < buffer_->size()) {
      out.buffer_ = buffer_;
    } else {
      out.buffer_ = std::make_shared<std::vector<std::uint32_t>>(length_ == 0 ? 1 : length_ * 2);
      for (std::size_t i = 0; i < length_; ++i) (*out.buffer_)[i] = (*buffer_)[i];
    }
    (*out.buffer_)[length_] = item;
    return out;
  }

  /// The same items in a buffer of its own.
  SharedList Copied() const {
    SharedList out;
    for (std::size_t i = 0; i < length_; ++i) out = out.Append((*buffer_)[i]);
    return out;
  }

  std::size_t size() const { return length_; }
  std::uint32_t operator[](std::size_t i) const { return (*buffer_)[i]; }

 private:
  std::shared_ptr<std::vector<std::uint32_t>> buffer_;
  std::size_t length_ = 0;
};

/// Calls visit(SharedList) for every combination of k of `items`; visit returns false to stop. Returns false if
/// stopped.
template <class Visit>
bool ForEachCombination(const std::vector<std::uint32_t>& items, std::size_t k, const Visit& visit,
                        std::size_t start = 0, const SharedList& chosen = {}) {
  if (chosen.size() == k) return visit(chosen);
  const std::size_t missing = k - chosen.size();
  for (std::size_t i = start; i + missing <= items.size(); ++i)
    if (!ForEachCombination(items, k, visit, i + 1, chosen.Append(items[i]))) return false;
  return true;
}

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_SELECTION_COMBINATIONS_H_
