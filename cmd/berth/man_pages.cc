// The manual pages of `berth`: one for the program, one for each command, one for each topic of help.
#include <filesystem>
#include <fstream>
#include <utility>

#include "berth/registry.h"
#include "berth/topics.h"
#include "man/man_page.h"

namespace berth::cli {
namespace {

man::Page OverviewPage(const Parser& parser) {
  man::Page out{.name = "berth", .section = 1, .summary = "give every container its CPUs, memory nodes and devices"};
  out.synopsis = "COMMAND [options]";
  out.details = std::string(kAbout);
  std::string group;
  for (const Command& command : parser.commands) {
    if (command.group != group) out.lists.emplace_back(command.group, "");
    group = command.group;
    out.lists.back().second += command.name + "\t" + command.summary + "\n";
    if (command.group != "Help") out.see_also.push_back("berth-" + command.name + "(1)");
  }
  out.lists.emplace_back("Topics", "");
  for (const Topic& topic : AllTopics()) {
    out.lists.back().second += topic.name + "\t" + topic.summary + "\n";
    if (topic.name == "exit-status" || topic.name == "environment") out.sections.emplace_back(topic.name, topic.text);
    out.see_also.push_back("berth-" + topic.name + "(7)");
  }
  out.see_also.emplace_back("berthd(8)");
  return out;
}

man::Page CommandPage(const Command& command, const CLI::App& app) {
  man::Page out{.name = "berth-" + command.name, .section = 1, .summary = command.summary};
  out.synopsis = UsageOf(command, app);
  out.details = command.details;
  out.options = &app;
  std::string examples;
  for (const Example& example : command.examples) examples += "berth " + example.line + "\t" + example.what + "\n";
  if (!examples.empty()) out.lists.emplace_back("Examples", std::move(examples));
  out.lists.emplace_back("Exit status", StatusText(command) + "\t\n");
  out.see_also = {"berth(1)", "berth-exit-status(7)"};
  return out;
}

bool Write(const std::string& folder, const man::Page& page) {
  const std::string where = folder + "/man" + std::to_string(page.section);
  std::error_code failed;
  std::filesystem::create_directories(where, failed);
  std::ofstream file(where + "/" + page.name + "." + std::to_string(page.section));
  file << man::Format(page, BERTH_VERSION);
  return file.flush().good();
}

}  // namespace

bool WriteManPages(const Parser& parser, const std::string& folder) {
  bool out = Write(folder, OverviewPage(parser));
  for (std::size_t i = 0; i < parser.commands.size(); ++i)
    if (parser.commands[i].group != "Help")
      out = Write(folder, CommandPage(parser.commands[i], *parser.apps[i])) && out;
  for (const Topic& topic : AllTopics()) {
    man::Page page{.name = "berth-" + topic.name, .section = 7, .summary = topic.summary};
    page.sections = {{"Description", topic.text}};
    page.see_also = {"berth(1)"};
    out = Write(folder, page) && out;
  }
  return out;
}

}  // namespace berth::cli
