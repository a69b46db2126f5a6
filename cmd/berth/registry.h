// The table of commands: one record each. Parsing, help and completion all come from it.
#ifndef BERTH_CMD_BERTH_REGISTRY_H_
#define BERTH_CMD_BERTH_REGISTRY_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/command_context.h"

namespace berth::cli {

struct Example {
  std::string line;  ///< without "berth "
  std::string what;
};

/// Runs a command whose options have been read; gives its exit status.
using Runner = std::function<int(const Session&)>;

struct Command {
  std::string name;
  std::string group;    ///< heading in the overview
  std::string summary;  ///< one line
  std::string details;  ///< what a person should know; may be empty
  std::vector<Example> examples;
  std::string statuses;      ///< when it gives statuses other than 0, 1 and 2; may be empty
  bool asks_daemon = true;   ///< has --socket
  bool prints_data = true;   ///< has -o
  bool draws = false;        ///< -o takes svg and png too
  bool draws_pages = false;  ///< and html
  bool names = false;        ///< -o takes name: what it lists has names for other commands
  std::string stray = {};    ///< the option most likely meant by a word too many; "": none
  /// Adds the options to `app`; the runner holds what they were set to. An option's type name says what completes it:
  /// POD, CONTAINER, TOPIC, FILE, or words separated by "|".
  std::function<Runner(CLI::App& app)> bind;
};

/// Every command, in the order of the overview.
std::vector<Command> AllCommands();

std::vector<Command> PodCommands();      ///< pods, describe, apply, delete, logs, exec
std::vector<Command> NodeCommands();     ///< map, top, tree, events, node, status, images, state
std::vector<Command> OfflineCommands();  ///< machine, simulate, explain, defrag, check

/// The parser with all commands bound; `runners[i]` belongs to `commands[i]`.
struct Parser {
  std::vector<Command> commands;
  CommonOptions common;
  bool version = false;
  std::unique_ptr<CLI::App> root;
  std::vector<CLI::App*> apps;
  std::vector<Runner> runners;
};
/// `socket`: where berthd is asked unless --socket says otherwise; "" for the usual place.
std::unique_ptr<Parser> MakeParser(const std::string& socket);

std::vector<std::string> CommandNames(const Parser& parser);

/// Words of a type name "a|b|c", of "a=VALUE" what stands before the value; empty when it is not a list.
std::vector<std::string> Choices(const std::string& type_name);
/// Adds an option that takes one of `choices` ("a|b|c"); "a=VALUE" is one that goes on with a value.
CLI::Option* AddChoice(CLI::App& app, const std::string& name, std::string& value, const std::string& choices,
                       const std::string& text);

/// --kubelet-version. `value` may start empty, which is none.
CLI::Option* AddKubeletVersion(CLI::App& app, std::string& value, const std::string& text);
/// The same for several, with commas between them.
CLI::Option* AddKubeletVersions(CLI::App& app, std::vector<std::string>& values, const std::string& text);

/// -n of commands about pods.
CLI::Option* AddNamespace(CLI::App& app, std::string& namespace_, const std::string& text);
/// -n and -A of commands that list pods, or what is told of them.
void AddNamespaces(CLI::App& app, std::string& namespace_);
/// -l; a wrong selector is wrong usage.
CLI::Option* AddSelector(CLI::App& app, std::string& selector);

/// What berth is for, in a sentence.
inline constexpr std::string_view kAbout =
    "berth gives every container on this node its CPUs, memory nodes and devices, and shows who holds what.";
/// "pods [POD...] [options]".
std::string UsageOf(const Command& command, const CLI::App& app);
/// "0 done, 1 failed, ..."
std::string StatusText(const Command& command);
std::string FormatOverview(const Parser& parser);
std::string FormatHelp(const Command& command, const CLI::App& app);

/// Writes a manual page for the program, for each command and for each topic of help below `folder`, as man1/berth.1.
/// False: not all of them could be written.
bool WriteManPages(const Parser& parser, const std::string& folder);

/// Candidates for the last of `words` (what stands on the command line after "berth"), one a line, a tab before its
/// description; the line ":files" asks the shell to complete file names. Asks berthd for pods when it answers.
std::string Complete(const Parser& parser, std::vector<std::string> words);
/// The script that makes a shell call `berth __complete`. Requires: shell is bash, zsh or fish.
std::string_view CompletionScript(std::string_view shell);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_REGISTRY_H_
