#include "berth/session.h"

#include "http/listener.h"

namespace berth::cli {

OutputFormat Session::format() const {
  if (options_.output == "json") return OutputFormat::kJson;
  if (options_.output == "yaml") return OutputFormat::kYaml;
  if (options_.output == "svg") return OutputFormat::kSvg;
  return options_.output == "wide" ? OutputFormat::kWide : OutputFormat::kTable;
}

bool Session::color() const {
  if (options_.color == "auto") return around_.terminal && !around_.no_color;
  return options_.color == "always";
}

int Session::PrintData(const codec::Json& data) const {
  if (format() == OutputFormat::kYaml)
    out_ << codec::ToYaml(data);
  else
    out_ << codec::FormatJson(data, 2) << '\n';
  return kOk;
}

bool Session::Reachable() const { return http::ProbeSocket(options_.socket).code == Code::kInUse; }

void Session::PrintForeign(std::string_view text, bool raw) const {
  out_ << (around_.terminal && !raw ? view::WithoutControls(text) : std::string(text));
}

void Session::PrintForeignError(std::string_view text, bool raw) const {
  err_ << (around_.error_terminal && !raw ? view::WithoutControls(text) : std::string(text));
}

int Session::Report(const Error& error) const {
  err_ << "berth: " << view::WithoutControls(error.message) << '\n';
  return Reachable() ? kFailed : kUnreachable;
}

}  // namespace berth::cli
