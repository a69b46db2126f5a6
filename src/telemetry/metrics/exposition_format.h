// The text that Prometheus reads: exposition format 0.0.4. Pure.
#ifndef BERTH_TELEMETRY_METRICS_EXPOSITION_FORMAT_H_
#define BERTH_TELEMETRY_METRICS_EXPOSITION_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/histogram.h"

namespace berth::metrics {

/// What the answer is sent as.
inline constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

enum class Kind { kCounter, kGauge, kHistogram };
std::string_view Name(Kind kind);  ///< "counter", "gauge", "histogram"

/// One metric with all its labels.
struct Family {
  std::string_view name;
  Kind kind = Kind::kGauge;
  std::string_view help;
  std::array<std::string_view, 3> labels = {};  ///< their names; "": no more
};

/// A sample's value: whole numbers as such, others as short as they can be read back; "+Inf", "-Inf", "NaN".
std::string FormatValue(double value);
/// With backslash, quote and newline as the format wants them; bytes that are not UTF-8 as U+FFFD.
std::string EscapeLabel(std::string_view text);

/// Puts a page together: Begin a family, then all its samples.
class Page {
 public:
  using Values = std::initializer_list<std::string_view>;

  /// Its HELP and TYPE lines; samples that follow are this family's.
  void Begin(const Family& family);
  /// `labels`: the values of the family's, in its order. Requires: as many.
  void Add(double value, Values labels = {});
  void Add(const Histogram& histogram, Values labels = {});

  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

 private:
  void Line(std::string_view suffix, Values labels, std::string_view bound, double value);

  const Family* family_ = nullptr;
  std::string text_;
};

}  // namespace berth::metrics

#endif  // BERTH_TELEMETRY_METRICS_EXPOSITION_FORMAT_H_
