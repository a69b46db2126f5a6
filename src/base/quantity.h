// Kubernetes resource quantities: the full grammar, exact arithmetic.
//
// A quantity is a multiple of 10^-9 (finer text is rounded up, away from zero, as Kubernetes does), held exactly in
// 128 bits. Amounts beyond +/-(2^63-1) whole units are capped there, as Kubernetes does.
#ifndef BERTH_BASE_QUANTITY_H_
#define BERTH_BASE_QUANTITY_H_

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace berth {

class Quantity {
 public:
  /// How it is written back: 1500m / 2Gi / 1e3. Arithmetic keeps the left side's (the right side's if left is zero).
  enum class Format { kDecimalSi, kBinarySi, kDecimalExponent };

  constexpr Quantity() = default;
  static Quantity FromUnits(std::int64_t units, Format format = Format::kDecimalSi);
  static Quantity FromMilli(std::int64_t milli, Format format = Format::kDecimalSi);
  static Quantity FromBytes(Bytes bytes) { return FromUnits(bytes.v, Format::kBinarySi); }

  /// Grammar: sign? digits [. digits] (n u m "" k M G T P E | Ki Mi Gi Ti Pi Ei | e/E exponent).
  /// Errors: kInvalid, naming the text and what is wrong with it.
  static Result<Quantity> Parse(std::string_view text);

  /// Whole units rounded up (away from zero), as Kubernetes' Value().
  std::int64_t Value() const;
  /// Thousandths rounded up (away from zero), capped at int64, as Kubernetes' MilliValue().
  std::int64_t MilliValue() const;
  bool IsInteger() const;  ///< no fraction of a unit
  bool IsZero() const { return nano_ == 0; }
  int Sign() const { return nano_ < 0 ? -1 : nano_ > 0 ? 1 : 0; }

  /// Canonical text: "1500m", "1536Mi", "2", "0".
  std::string ToString() const;

  Quantity& operator+=(const Quantity& o);
  Quantity& operator-=(const Quantity& o);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }
  /// Amounts only; the format does not count.
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nano_ == b.nano_; }
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) { return a.nano_ <=> b.nano_; }

 private:
  __extension__ using Int128 = __int128;
  Int128 nano_ = 0;
  Format format_ = Format::kDecimalSi;
};

/// v1.ResourceList: "cpu", "memory", "hugepages-2Mi", "vendor.com/gpu" -> amount.
using ResourceList = std::map<std::string, Quantity, std::less<>>;

}  // namespace berth

#endif  // BERTH_BASE_QUANTITY_H_
