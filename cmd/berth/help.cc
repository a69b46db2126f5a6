// Help texts, made from the table of commands and the options bound to it.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "berth/registry.h"
#include "berth/topics.h"
#include "view/style.h"

namespace berth::cli {
namespace {

constexpr int kTextWidth = 100;

std::string Wrap(const std::string& text, int indent) { return view::WrapText(text, indent, kTextWidth); }

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// "FILE", or "FILE..." when there may be several.
std::string Value(const CLI::Option& option) {
  return option.get_type_name() + (option.get_items_expected_max() > 1 ? "..." : "");
}

/// "-o, --output table|json" or "POD".
std::string OptionHead(const CLI::Option& option) {
  if (option.get_positional()) return Value(option);
  std::string out;
  for (const std::string& name : option.get_snames()) out += "-" + name + ", ";
  for (const std::string& name : option.get_lnames()) out += "--" + name + ", ";
  out.resize(out.size() - 2);
  if (option.get_snames().empty()) out.insert(0, "    ");
  if (TakesValue(option)) out += " " + Value(option);
  return out;
}

std::string OptionLine(const CLI::Option& option) {
  constexpr int kIndent = 38;
  const std::string head = "  " + OptionHead(option);
  std::string text = option.get_description();
  if (!option.get_positional() && !option.get_default_str().empty())
    text += " (default: " + option.get_default_str() + ")";
  std::string out = view::PadRight(head, kIndent);
  if (view::DisplayWidth(head) >= kIndent - 1) out = head + "\n" + std::string(kIndent, ' ');
  return out + Wrap(text, kIndent) + "\n";
}

std::string Section(const std::string& title, const CLI::App& app, bool positional) {
  std::string lines;
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional() == positional && !option->get_group().empty()) lines += OptionLine(*option);
  return lines.empty() ? lines : "\n" + title + ":\n" + lines;
}

}  // namespace

std::string UsageOf(const Command& command, const CLI::App& app) {
  std::string out = command.name;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional() && !option->get_required()) continue;
    std::string word =
        option->get_positional() ? OptionHead(*option) : "-" + option->get_snames().front() + " " + Value(*option);
    out += option->get_required() ? " " + word : " [" + word + "]";
  }
  return out + " [options]";
}

std::string StatusText(const Command& command) {
  std::string out = "0 done, 1 failed, 2 wrong usage";
  if (!command.statuses.empty()) out += ", " + command.statuses;
  if (command.asks_daemon) out += ", 4 berthd is not reachable";
  return out;
}

std::string FormatHelp(const Command& command, const CLI::App& app) {
  std::string out = command.summary + ".\n\nUsage: berth " + UsageOf(command, app) + "\n";
  if (!command.details.empty()) out += "\n" + Wrap(command.details, 0) + "\n";
  out += Section("Arguments", app, true) + Section("Options", app, false);
  if (!command.examples.empty()) out += "\nExamples:\n";
  std::size_t longest = 0;
  for (const Example& e : command.examples) longest = std::max(longest, e.line.size());
  for (const Example& e : command.examples) {
    const int indent = static_cast<int>(longest) + 12;
    out += view::PadRight("  berth " + e.line, indent - 2) + "  " + Wrap(e.what, indent) + "\n";
  }
  return out + "\nExit status:\n  " + Wrap(StatusText(command), 2) + "\n";
}

std::string FormatOverview(const Parser& parser) {
  std::string out = std::string(kAbout) + "\n\nUsage: berth COMMAND [options]\n";
  std::string group;
  for (const Command& command : parser.commands) {
    if (command.group != group) out += "\n" + command.group + ":\n";
    group = command.group;
    out += "  " + view::PadRight(command.name, 12) + command.summary + "\n";
  }
  out +=
      "\nStart with:\n"
      "  berth machine             what this host is made of; needs no daemon\n"
      "  berth apply -f pod.yaml   hand a pod to berthd\n"
      "  berth map                 see where it runs\n"
      "\n'berth COMMAND --help' explains a command with examples, 'berth help TOPIC' what belongs to several:\n  ";
  std::vector<std::string> topics;
  for (const Topic& topic : AllTopics()) topics.push_back(topic.name);
  out += Join(topics, ", ") + "\n";
  return out;
}

}  // namespace berth::cli
