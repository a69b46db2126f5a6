#include "man/wrong_arguments.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/suggest.h"

namespace berth::man {
namespace {

/// Of a word that stands for nothing; an option before other words, which may be its value.
std::string WordText(const CLI::App& app, const std::vector<std::string>& words) {
  const auto dashed = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
  if (dashed == words.end()) return "unexpected argument '" + words.front() + "'";
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::string option = dashed->substr(0, dashed->find('='));
  const std::string_view near = Nearest(option, std::vector<std::string_view>(names.begin(), names.end()));
  return "unknown option " + option + (near.empty() ? "" : ", did you mean " + std::string(near) + "?");
}

}  // namespace

std::string FormatRefusal(const CLI::App& app, const CLI::ParseError& problem) {
  const std::vector<std::string> words = app.remaining();
  return app.get_name() + ": " + (words.empty() ? std::string(problem.what()) : WordText(app, words)) + "\nSee '" +
         app.get_name() + " --help'.\n";
}

}  // namespace berth::man
