// Shell completion: the shells' scripts ask `berth __complete`, which answers from the table of commands.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "api/local_api/node_client.h"
#include "berth/registry.h"
#include "berth/topics.h"

namespace berth::cli {
namespace {

/// What stands before the word to complete.
struct TypedLine {
  std::size_t command = 0;               ///< index; == number of commands: none yet
  const CLI::Option* pending = nullptr;  ///< an option whose value is the word to complete
  std::vector<std::string> positionals;
  std::string socket;
};

const CLI::Option* FindOption(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options())
    if (!option->get_positional() && option->check_name(name)) return option;
  return nullptr;
}

TypedLine ReadLine(const Parser& parser, const std::vector<std::string>& words) {
  TypedLine line{
      .command = parser.commands.size(), .pending = nullptr, .positionals = {}, .socket = parser.common.socket};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (line.command == parser.commands.size()) {
      for (std::size_t c = 0; c < parser.commands.size(); ++c)
        if (parser.commands[c].name == word) line.command = c;
      continue;
    }
    if (line.pending != nullptr) {
      if (line.pending->check_name("--socket")) line.socket = word;
      line.pending = nullptr;
    } else if (word.starts_with('-')) {
      const CLI::Option* option = FindOption(*parser.apps[line.command], word);
      if (option != nullptr && option->get_items_expected_max() > 0) line.pending = option;
    } else {
      line.positionals.push_back(word);
    }
  }
  return line;
}

PodList AskPods(const TypedLine& line) {
  return api::NodeClient(line.socket, std::chrono::seconds(2)).Pods().value_or(PodList());
}

std::string PodCandidates(const TypedLine& line, const std::string& prefix) {
  std::string out;
  const PodList pods = AskPods(line);
  for (const auto& pod : pods.pods)
    for (const std::string& name : {pod->name, FullName(*pod)})
      if (name.starts_with(prefix)) {
        out.append(name).append("\t").append(Name(pod->qos)).append(", ").append(Name(pod->phase)).append("\n");
        break;
      }
  return out;
}

std::string ContainerCandidates(const TypedLine& line, const std::string& prefix) {
  std::string out;
  if (line.positionals.empty()) return out;
  const std::string& wanted = line.positionals.front();
  const PodList pods = AskPods(line);
  for (const auto& pod : pods.pods) {
    if (!pod->name.starts_with(wanted) && !FullName(*pod).starts_with(wanted)) continue;
    for (const ContainerView& container : pod->containers)
      if (container.name.starts_with(prefix))
        out.append(container.name).append("\t").append(Name(container.kind)).append("\n");
  }
  return out;
}

std::string CommandCandidates(const Parser& parser, const std::string& prefix) {
  std::string out;
  for (const Command& command : parser.commands)
    if (command.name.starts_with(prefix)) out += command.name + "\t" + command.summary + "\n";
  return out;
}

std::string TopicCandidates(const std::string& prefix) {
  std::string out;
  for (const Topic& topic : AllTopics())
    if (topic.name.starts_with(prefix)) out += topic.name + "\t" + topic.summary + "\n";
  return out;
}

std::string ValueCandidates(const Parser& parser, const TypedLine& line, const std::string& type,
                            const std::string& prefix) {
  if (type == "POD") return PodCandidates(line, prefix);
  if (type == "CONTAINER") return ContainerCandidates(line, prefix);
  if (type == "TOPIC") return CommandCandidates(parser, prefix) + TopicCandidates(prefix);
  if (type == "FILE") return ":files\n";
  std::string out;
  for (const std::string& choice : Choices(type))
    if (choice.starts_with(prefix)) out += choice + "\n";
  return out;
}

std::string OptionCandidates(const CLI::App& app, const std::string& prefix) {
  std::string out;
  const auto add = [&](const std::string& name, const std::string& text) {
    if (name.starts_with(prefix)) out += name + "\t" + text + "\n";
  };
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) add("--" + name, option->get_description());
    if (prefix == "-" && option->get_lnames().empty())
      for (const std::string& name : option->get_snames()) add("-" + name, option->get_description());
  }
  return out;
}

/// The type of the positional argument that comes next; "" when there is none.
std::string NextPositional(const CLI::App& app, std::size_t given) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    if (given == 0 || option->get_items_expected_max() > 1) return option->get_type_name();
    --given;
  }
  return {};
}

/// bash hands over "--output=json" as three words; the "=" carries nothing that the words around it do not say.
void JoinEquals(std::vector<std::string>& words) {
  if (!words.empty() && words.back() == "=") words.back().clear();
  std::erase(words, "=");
}

std::string Prefixed(const std::string& lines, const std::string& prefix) {
  std::string out;
  std::size_t start = 0;
  for (std::size_t end; (end = lines.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string line = lines.substr(start, end - start + 1);
    out += line.starts_with(':') ? line : prefix + line;
  }
  return out;
}

}  // namespace

std::string Complete(const Parser& parser, std::vector<std::string> words) {
  JoinEquals(words);
  if (words.empty()) words.emplace_back();
  const std::string current = words.back();
  const TypedLine line = ReadLine(parser, words);
  if (line.command == parser.commands.size())
    return current.starts_with('-') ? OptionCandidates(*parser.root, current) : CommandCandidates(parser, current);
  const CLI::App& app = *parser.apps[line.command];
  if (line.pending != nullptr) return ValueCandidates(parser, line, line.pending->get_type_name(), current);
  if (!current.starts_with('-'))
    return ValueCandidates(parser, line, NextPositional(app, line.positionals.size()), current);
  const std::size_t equals = current.find('=');
  if (equals == std::string::npos) return OptionCandidates(app, current);
  const CLI::Option* option = FindOption(app, current.substr(0, equals));
  if (option == nullptr) return {};
  return Prefixed(ValueCandidates(parser, line, option->get_type_name(), current.substr(equals + 1)),
                  current.substr(0, equals + 1));
}

}  // namespace berth::cli
