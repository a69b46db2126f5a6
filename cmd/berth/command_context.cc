#include "berth/command_context.h"

#include "berth/json_path.h"
#include "berth/png.h"
#include "rpc/http/listener.h"

namespace berth::cli {

OutputFormat Session::format() const {
  if (options_.output == "json") return OutputFormat::kJson;
  if (options_.output == "yaml") return OutputFormat::kYaml;
  if (options_.output == "name") return OutputFormat::kName;
  if (options_.output == "svg") return OutputFormat::kSvg;
  if (options_.output == "png") return OutputFormat::kPng;
  if (options_.output == "html") return OutputFormat::kHtml;
  if (options_.output.starts_with(kJsonPathIs)) return OutputFormat::kJsonPath;
  return options_.output == "wide" ? OutputFormat::kWide : OutputFormat::kTable;
}

bool Session::color() const {
  if (options_.color == "auto") return around_.terminal && !around_.no_color;
  return options_.color == "always";
}

int Session::PrintFound(const codec::Json& data) const {
  const auto path = JsonPath::Parse(std::string_view(options_.output).substr(kJsonPathIs.size()));
  auto found = path ? path->Apply(data) : Result<std::string>(std::unexpected(path.error()));
  if (!found) {
    err_ << "berth: " << found.error().message << '\n';
    return kFailed;
  }
  PrintForeign(*found, false);
  return kOk;
}

int Session::PrintItem(const codec::Json& data) const {
  if (format() == OutputFormat::kJsonPath) return PrintFound(data);
  if (format() == OutputFormat::kYaml)
    out_ << "---\n" << codec::ToYaml(data);
  else
    out_ << codec::FormatJson(data) << '\n';
  return kOk;
}

int Session::PrintData(const codec::Json& data) const {
  if (format() == OutputFormat::kJsonPath) return PrintFound(data);
  if (format() == OutputFormat::kYaml)
    out_ << codec::ToYaml(data);
  else
    out_ << codec::FormatJson(data, 2) << '\n';
  return kOk;
}

int Session::PrintDrawing(const std::string& svg) const {
  if (format() == OutputFormat::kSvg) return out_ << svg, kOk;
  if (around_.terminal) {
    err_ << "berth: -o png: a picture is no text for a terminal; write it to a file: -o png >FILE\n";
    return kUsage;
  }
  const auto png = PngOfSvg(svg);
  if (!png) {
    err_ << "berth: " << png.error().message << '\n';
    return kFailed;
  }
  return out_ << *png, kOk;
}

bool Session::NobodyListens() const {
  const Code code = http::ProbeSocket(options_.socket).code;
  return code == Code::kNotFound || code == Code::kUnreachable;
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
