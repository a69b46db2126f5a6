// Amounts with their unit in the type.
#ifndef BERTH_BASE_UNITS_H_
#define BERTH_BASE_UNITS_H_

#include <compare>
#include <cstdint>

namespace berth {

struct Bytes {
  std::int64_t v = 0;
  friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.v + b.v}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.v - b.v}; }
  constexpr Bytes& operator+=(Bytes b) { return v += b.v, *this; }
  constexpr Bytes& operator-=(Bytes b) { return v -= b.v, *this; }
};
constexpr Bytes KiB(std::int64_t n) { return {n << 10}; }
constexpr Bytes MiB(std::int64_t n) { return {n << 20}; }
constexpr Bytes GiB(std::int64_t n) { return {n << 30}; }

/// Thousandths of a CPU.
struct MilliCpu {
  std::int64_t v = 0;
  friend constexpr auto operator<=>(const MilliCpu&, const MilliCpu&) = default;
  friend constexpr MilliCpu operator+(MilliCpu a, MilliCpu b) { return {a.v + b.v}; }
  friend constexpr MilliCpu operator-(MilliCpu a, MilliCpu b) { return {a.v - b.v}; }
};

}  // namespace berth

#endif  // BERTH_BASE_UNITS_H_
