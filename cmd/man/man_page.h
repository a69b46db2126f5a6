// Manual pages, made of the same words as --help.
#ifndef BERTH_CMD_MAN_MAN_PAGE_H_
#define BERTH_CMD_MAN_MAN_PAGE_H_

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::man {

struct Page {
  std::string name;  ///< "berth-pods"
  int section = 1;
  std::string summary;   ///< one line
  std::string synopsis;  ///< what stands behind the program's name, "pods [POD...] [options]"; "": no command
  std::string program = "berth";
  std::string details;                                     ///< paragraphs; may be empty
  const CLI::App* options = nullptr;                       ///< arguments and options; nullptr: none
  std::vector<std::pair<std::string, std::string>> lists;  ///< title and lines "term\ttext", each ending in a newline
  std::vector<std::pair<std::string, std::string>> sections;  ///< title and text as it stands, its lines kept
  std::vector<std::string> see_also;                          ///< "berth(1)"
};

/// The page in roff for man(1), mandoc(1) and groff. `version`: of the program.
std::string Format(const Page& page, std::string_view version);

/// Of a daemon: `about` begins with the sentence that is its summary, `more` has examples and the like, as in its
/// --help.
std::string FormatDaemon(const CLI::App& app, std::string_view about, std::string_view more, std::string_view version);

/// Any text, so that roff takes none of it for a request or an escape.
std::string Escape(std::string_view text);

}  // namespace berth::man

#endif  // BERTH_CMD_MAN_MAN_PAGE_H_
