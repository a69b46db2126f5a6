#include "man/man_page.h"

#include <algorithm>
#include <cctype>

namespace berth::man {
namespace {

/// "-o, --output table|json" or "POD...".
std::string HeadOf(const CLI::Option& option) {
  const bool many = option.get_items_expected_max() > 1;
  const std::string value = option.get_items_expected_max() > 0 ? option.get_type_name() + (many ? "..." : "") : "";
  if (option.get_positional()) return value;
  std::string out;
  for (const std::string& name : option.get_snames()) out += (out.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) out += (out.empty() ? "--" : ", --") + name;
  return value.empty() ? out : out + " " + value;
}

void Tagged(std::string& out, std::string_view term, std::string_view text) {
  out.append(".TP\n\\fB").append(Escape(term)).append("\\fR\n").append(Escape(text)).append("\n");
}

void Options(std::string& out, const CLI::App& app, bool positional) {
  std::string list;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() != positional || option->get_group().empty()) continue;
    std::string text = option->get_description();
    if (!positional && !option->get_default_str().empty()) text += " (default: " + option->get_default_str() + ")";
    Tagged(list, HeadOf(*option), text);
  }
  if (!list.empty()) out += std::string(".SH ") + (positional ? "ARGUMENTS" : "OPTIONS") + "\n" + list;
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// Each line as it stands.
std::string Kept(std::string_view text) {
  return ".nf\n" + Escape(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

}  // namespace

std::string Escape(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    line_begins = c == '\n';
  }
  return out;
}

std::string Format(const Page& page, std::string_view version) {
  std::string out = ".\\\" Made of the program's own words.\n.TH " + Upper(page.name) + " " +
                    std::to_string(page.section) + " \"\" \"berth " + std::string(version) +
                    "\" \"Berth\"\n.SH NAME\n" + Escape(page.name) + " \\- " + Escape(page.summary) + "\n";
  if (!page.synopsis.empty()) out += ".SH SYNOPSIS\n.B " + Escape(page.program) + "\n" + Escape(page.synopsis) + "\n";
  if (!page.details.empty()) out += ".SH DESCRIPTION\n" + Escape(page.details) + "\n";
  if (page.options != nullptr) {
    Options(out, *page.options, true);
    Options(out, *page.options, false);
  }
  for (const auto& [title, lines] : page.lists) {
    out += ".SH " + Escape(Upper(title)) + "\n";
    for (std::size_t start = 0; start < lines.size();) {
      const std::size_t end = std::min(lines.find('\n', start), lines.size());
      const std::string line = lines.substr(start, end - start);
      const std::size_t tab = line.find('\t');
      Tagged(out, line.substr(0, tab), tab == std::string::npos ? "" : line.substr(tab + 1));
      start = end + 1;
    }
  }
  for (const auto& [title, text] : page.sections) out += ".SH " + Escape(Upper(title)) + "\n" + Kept(text);
  if (!page.see_also.empty()) {
    out += ".SH SEE ALSO\n";
    for (std::size_t i = 0; i < page.see_also.size(); ++i) {
      const std::string& name = page.see_also[i];
      const std::size_t open = std::min(name.find('('), name.size());
      out += ".BR " + Escape(name.substr(0, open)) + " " + name.substr(open) +
             (i + 1 < page.see_also.size() ? ",\n" : "\n");
    }
  }
  return out;
}

std::string FormatDaemon(const CLI::App& app, std::string_view about, std::string_view more, std::string_view version) {
  const std::size_t end = std::min(about.find_first_of(".\n"), about.size());
  Page page{.name = app.get_name(), .section = 8, .summary = std::string(about.substr(0, end))};
  page.program = page.name;
  page.synopsis = "[options]";
  page.details = about;
  page.options = &app;
  page.sections = {{"More", std::string(more)}};
  page.see_also = {"berth(1)"};
  return Format(page, version);
}

}  // namespace berth::man
