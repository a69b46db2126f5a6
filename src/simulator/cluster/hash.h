// A number made of what two values are compared by, to find equal ones.
#ifndef BERTH_SIMULATOR_CLUSTER_HASH_H_
#define BERTH_SIMULATOR_CLUSTER_HASH_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace berth::cluster {

class Hash {
 public:
  void Add(std::integral auto number) {
    value_ = (value_ ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
    value_ ^= value_ >> 29;
  }
  void Add(std::string_view text) { Add(std::hash<std::string_view>()(text)); }
  /// A set of ids: equal sets give equal numbers, however many words they take.
  template <class Set>
    requires requires(const Set& set) { set.WordAt(0); }
  void Add(const Set& set) {
    for (std::size_t i = 0; i < set.WordCount(); ++i)
      if (set.WordAt(i) != 0) Add(i), Add(set.WordAt(i));
    Add(0x5E7);
  }
  std::size_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x243F6A8885A308D3U;
};

}  // namespace berth::cluster

#endif  // BERTH_SIMULATOR_CLUSTER_HASH_H_
