#include "telemetry/metrics/exposition_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/result.h"
#include "base/utf8.h"

namespace berth::metrics {

std::string_view Name(Kind kind) {
  switch (kind) {
    case Kind::kCounter: return "counter";
    case Kind::kGauge: return "gauge";
    case Kind::kHistogram: return "histogram";
  }
  return "untyped";
}

std::string FormatValue(double value) {
  constexpr double kMostExact = 9007199254740992.0;  // above it not every whole number is one of these
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (std::floor(value) == value && std::fabs(value) < kMostExact) return std::to_string(std::llround(value));
  constexpr double kLeastPlain = 1e-6;  // below it zeros would hide the digits
  const bool plain = std::fabs(value) >= kLeastPlain && std::fabs(value) < kMostExact;
  const auto format = plain ? std::chars_format::fixed : std::chars_format::general;
  std::array<char, 40> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  return error == std::errc() ? std::string(buffer.data(), end) : "NaN";
}

std::string EscapeLabel(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0)
      out += "\xef\xbf\xbd";
    else if (character == "\n")
      out += "\\n";
    else if (character == "\\" || character == "\"")
      out.append("\\").append(character);
    else
      out += character;
    text.remove_prefix(character.size());
  }
  return out;
}

void Page::Begin(const Family& family) {
  family_ = &family;
  text_.append("# HELP ").append(family.name).append(" ").append(family.help).append("\n");
  text_.append("# TYPE ").append(family.name).append(" ").append(Name(family.kind)).append("\n");
}

void Page::Line(std::string_view suffix, Values labels, std::string_view bound, double value) {
  text_.append(family_->name).append(suffix);
  const auto& names = family_->labels;
  char separator = '{';
  const auto add = [&](std::string_view name, std::string_view text) {
    text_.append(1, separator).append(name).append("=\"").append(text).append("\"");
    separator = ',';
  };
  std::size_t i = 0;
  for (const std::string_view label : labels) {
    BERTH_CHECK(i < names.size() && !names[i].empty());
    add(names[i++], EscapeLabel(label));
  }
  BERTH_CHECK(i == names.size() || names[i].empty());
  if (!bound.empty()) add("le", bound);
  if (separator == ',') text_ += '}';
  text_.append(" ").append(FormatValue(value)).append("\n");
}

void Page::Add(double value, Values labels) { Line("", labels, "", value); }

void Page::Add(const Histogram& histogram, Values labels) {
  double below = 0;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    below += static_cast<double>(histogram.counts()[i]);
    Line("_bucket", labels, i < histogram.bounds().size() ? FormatValue(histogram.bounds()[i]) : "+Inf", below);
  }
  Line("_sum", labels, "", histogram.sum());
  Line("_count", labels, "", below);
}

}  // namespace berth::metrics
