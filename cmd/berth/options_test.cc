// Options mean the same in every command.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>

#include "berth/registry.h"

namespace berth::cli {
namespace {

using Meanings = std::map<std::string, std::set<std::string>>;

/// The letters of each long name, "" for none, and the long names of each letter.
struct Names {
  Meanings letters;
  Meanings names;
};

Names NamesOfAll() {
  Names out;
  const auto parser = MakeParser("");
  for (const CLI::App* app : parser->apps) {
    for (const CLI::Option* option : app->get_options()) {
      const std::vector<std::string>& letters = option->get_snames();
      const std::vector<std::string>& names = option->get_lnames();
      for (std::size_t i = 0; i < names.size(); ++i) {  // "-w,--watch,-f,--follow": in this order
        out.letters[names[i]].insert(i < letters.size() ? letters[i] : "");
        if (i < letters.size()) out.names[letters[i]].insert(names[i]);
      }
    }
  }
  return out;
}

TEST(OptionsTest, AnOptionsLetterIsTheSameInEveryCommand) {
  for (const auto& [name, letters] : NamesOfAll().letters)
    EXPECT_EQ(letters.size(), 1U) << "--" << name << " is " << testing::PrintToString(letters);
}

TEST(OptionsTest, ALetterStandsForOneThing) {
  // As kubectl has them: the container of a pod, and "logs -f". What has a pod on a node takes no configuration.
  const Meanings two{{"c", {"config", "container"}}, {"f", {"filename", "follow"}}};
  for (const auto& [letter, names] : NamesOfAll().names) {
    const auto known = two.find(letter);
    if (known == two.end()) {
      EXPECT_EQ(names.size(), 1U) << "-" << letter << " is " << testing::PrintToString(names);
    } else {
      EXPECT_EQ(names, known->second);
    }
  }
}

}  // namespace
}  // namespace berth::cli
