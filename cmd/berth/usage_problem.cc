#include "berth/usage_problem.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/text.h"
#include "berth/nearest_word.h"

namespace berth::cli {
namespace {

/// A command of another tool, and what does the same here.
struct ForeignCommand {
  std::string_view word;
  std::string_view say;
};
constexpr std::array kForeignCommands = {
    ForeignCommand{"attach", "exec POD -- COMMAND"},
    ForeignCommand{"capture", "machine --capture FILE"},
    ForeignCommand{"config", "node"},
    ForeignCommand{"create", "apply -f FILE"},
    ForeignCommand{"edit", "apply -f FILE"},
    ForeignCommand{"fit", "simulate --replicas max -f FILE"},
    ForeignCommand{"health", "status"},
    ForeignCommand{"htop", "top"},
    ForeignCommand{"info", "status"},
    ForeignCommand{"inspect", "describe POD"},
    ForeignCommand{"kill", "delete POD"},
    ForeignCommand{"list", "pods"},
    ForeignCommand{"ls", "pods"},
    ForeignCommand{"lstopo", "map"},
    ForeignCommand{"numactl", "run --numa 0 -- COMMAND"},
    ForeignCommand{"numastat", "top"},
    ForeignCommand{"patch", "apply -f FILE"},
    ForeignCommand{"plan", "simulate -f FILE"},
    ForeignCommand{"po", "pods"},
    ForeignCommand{"ps", "pods"},
    ForeignCommand{"remove", "delete POD"},
    ForeignCommand{"replace", "apply -f FILE"},
    ForeignCommand{"rm", "delete POD"},
    ForeignCommand{"rollout", "restart POD"},
    ForeignCommand{"scale", "apply -f FILE"},
    ForeignCommand{"show", "describe POD"},
    ForeignCommand{"start", "apply -f FILE"},
    ForeignCommand{"stats", "top"},
    ForeignCommand{"stop", "delete POD"},
    ForeignCommand{"taskset", "run --cpus 2 -- COMMAND"},
    ForeignCommand{"topology", "map"},
    ForeignCommand{"watch", "pods -w"},
    ForeignCommand{"why", "explain -f FILE"},
};

/// An option of another tool, and the one that does the same here, or a sentence that says what to do instead.
struct ForeignOption {
  std::string_view command;  ///< where it is typed; "": anywhere
  std::string_view word;
  std::string_view cure;
};
constexpr std::string_view kNoTerminal = "exec has no terminal and no standard input: leave it out";
constexpr std::string_view kHasTerminal = "a command in the foreground has your terminal anyway: leave it out";
constexpr std::string_view kWhichCpus = "Berth chooses which CPUs: say how many with --cpus";
constexpr std::string_view kGrace = "a pod has the grace period of its manifest: leave it out";
constexpr std::string_view kOwnNode =
    "berth asks the berthd of its own node: leave it out, or name a socket with --socket";
constexpr std::array kForeignOptions = {
    ForeignOption{"", "--context", kOwnNode},
    ForeignOption{"", "--format", "-o"},
    ForeignOption{"", "--from", "-m"},
    ForeignOption{"", "--input", "-m"},
    ForeignOption{"", "--json", "-o json"},
    ForeignOption{"", "--kubeconfig", kOwnNode},
    ForeignOption{"", "--label", "-l"},
    ForeignOption{"", "--labels", "-l"},
    ForeignOption{"", "--of", "-o"},
    ForeignOption{"", "--show-labels", "-o wide"},
    ForeignOption{"", "--wide", "-o wide"},
    ForeignOption{"", "--yaml", "-o yaml"},
    ForeignOption{"apply", "-w", "--wait"},
    ForeignOption{"delete", "-w", "--wait"},
    ForeignOption{"delete", "--force", kGrace},
    ForeignOption{"delete", "--grace-period", kGrace},
    ForeignOption{"delete", "--now", kGrace},
    ForeignOption{"exec", "-i", kNoTerminal},
    ForeignOption{"exec", "-it", kNoTerminal},
    ForeignOption{"exec", "-t", kNoTerminal},
    ForeignOption{"exec", "-ti", kNoTerminal},
    ForeignOption{"exec", "--stdin", kNoTerminal},
    ForeignOption{"exec", "--tty", kNoTerminal},
    ForeignOption{"logs", "--all-containers", "logs are of one container: name it with -c"},
    ForeignOption{"logs", "--lines", "--tail"},
    ForeignOption{"map", "-i", "-m"},
    ForeignOption{"run", "-c", kWhichCpus},
    ForeignOption{"run", "-C", kWhichCpus},
    ForeignOption{"run", "--cpu-list", kWhichCpus},
    ForeignOption{"run", "--cpuset-cpus", kWhichCpus},
    ForeignOption{"run", "--physcpubind", kWhichCpus},
    ForeignOption{"run", "-N", "--numa"},
    ForeignOption{"run", "--cpunodebind", "--numa"},
    ForeignOption{"run", "--membind", "--numa"},
    ForeignOption{"run", "-i", kHasTerminal},
    ForeignOption{"run", "-it", kHasTerminal},
    ForeignOption{"run", "-t", kHasTerminal},
    ForeignOption{"run", "-ti", kHasTerminal},
    ForeignOption{"run", "--image", "run takes a program of this host: for an image say 'berth apply -f FILE'"},
    ForeignOption{"run", "-m", "--memory"},
    ForeignOption{"run", "-p", "--pid"},
    ForeignOption{"run", "--rm", "its pod is gone at the end anyway: leave it out"},
    ForeignOption{"simulate", "--count", "--replicas"},
    ForeignOption{"top", "-b", "--once"},
    ForeignOption{"top", "--containers", "containers are shown anyway: leave it out"},
};

bool IsKindOfPods(std::string_view word) { return word == "pod" || word == "pods" || word == "po"; }
bool IsKindOfNodes(std::string_view word) { return word == "node" || word == "nodes" || word == "no"; }

std::vector<std::string> LongNames(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

std::string DidYouMean(const std::string& what) { return what.empty() ? "" : ", did you mean " + what + "?"; }
std::string Say(const std::string& line) { return ": say 'berth " + line + "'"; }

/// kubectl's "get KIND": a command for each kind.
std::string CommandForKind(const Parser& parser, const std::string& kind) {
  if (IsKindOfNodes(kind)) return "node";
  if (kind == "ev") return "events";
  const std::string nearest = Nearest(kind, CommandNames(parser));
  return nearest.empty() ? "pods" : nearest;
}

/// The kind among the words behind kubectl's "get", which may have options between them.
std::string KindIn(const std::vector<std::string>& words) {
  const auto is_kind = [](const std::string& word) {
    return IsKindOfPods(word) || IsKindOfNodes(word) || word == "ev";
  };
  const auto is_word = [](const std::string& word) { return !word.starts_with('-'); };
  auto found = std::find_if(words.begin() + 1, words.end(), is_kind);
  if (found == words.end()) found = std::find_if(words.begin() + 1, words.end(), is_word);
  return found == words.end() ? "" : *found;
}

/// Of words that stand where the command should; `used`: the command behind them, may be null.
std::string WrongCommand(const Parser& parser, const std::vector<std::string>& words, const CLI::App* used) {
  const std::string& word = words.front();
  const std::string text = "unknown command '" + word + "'";
  if (word == "get") {
    const std::string kind = used != nullptr ? used->get_name() : KindIn(words);
    return text + Say(CommandForKind(parser, kind));
  }
  const auto foreign = std::ranges::find(kForeignCommands, word, &ForeignCommand::word);
  if (foreign != kForeignCommands.end()) return text + Say(std::string(foreign->say));
  return text + DidYouMean(Nearest(word, CommandNames(parser)));
}

/// The other case of a letter, a slip, or a name that begins so or is the beginning.
std::string NearestOption(const CLI::App& app, const std::string& word) {
  const auto low = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  if (word.size() == 2)
    for (const CLI::Option* option : app.get_options())
      for (const std::string& letter : option->get_snames())
        if (low(letter.front()) == low(word[1])) return "-" + letter;
  const std::vector<std::string> names = LongNames(app);
  if (std::string near = Nearest(word, names); !near.empty()) return near;
  constexpr std::size_t kShortest = 5;
  const auto begins = [&](const std::string& name) { return name.starts_with(word) || word.starts_with(name); };
  const auto found = std::ranges::find_if(names, begins);
  return word.size() < kShortest || found == names.end() ? "" : *found;
}

bool HasOption(const CLI::App& app, std::string_view name) {
  return std::ranges::any_of(app.get_options(),
                             [&](const CLI::Option* option) { return option->check_name(std::string(name)); });
}

/// "" where no other tool's option is known to be meant.
std::string ForeignCure(const CLI::App& app, const std::string& option) {
  for (const ForeignOption& of : kForeignOptions) {
    if (of.word != option || (!of.command.empty() && of.command != app.get_name())) continue;
    if (!of.cure.starts_with('-')) return ": " + std::string(of.cure);
    if (HasOption(app, of.cure.substr(0, of.cure.find(' ')))) return DidYouMean(std::string(of.cure));
  }
  return "";
}

/// The word stands behind the beginning of a command that is to be run, which `app` takes.
bool IsOfCommand(const CLI::App& app, const std::vector<std::string>& arguments, const std::string& word) {
  const CLI::Option* const command = app.get_option_no_throw("command");
  if (command == nullptr || command->count() == 0) return false;
  const auto at = std::ranges::find(arguments, word);
  if (at == arguments.end() || std::find(at, arguments.end(), "--") != arguments.end()) return false;
  return std::ranges::find(arguments, command->results().front()) < at;
}

std::string WrongOption(const CLI::App& app, const std::vector<std::string>& arguments, const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  if (option == "-") {  // what is left of a flag and a value
    const std::string value = word.substr(1);
    const auto whole = std::ranges::find_if(arguments, [&](const std::string& one) { return one.ends_with(value); });
    return (whole == arguments.end() ? "a flag" : whole->substr(0, whole->size() - value.size())) +
           " takes no value: leave '" + value + "' out";
  }
  const std::string text = "unknown option " + option;
  const bool kubectl_run = option == "--image";  // run NAME --image=IMAGE
  if (IsOfCommand(app, arguments, word) && !kubectl_run) return text + ": what belongs to the command stands behind --";
  const std::string cure = ForeignCure(app, option);
  return text + (cure.empty() ? DidYouMean(NearestOption(app, option)) : cure);
}

/// The pod that was named, of commands that take one.
std::string NamedPod(const CLI::App& app) {
  const CLI::Option* const pod = app.get_option_no_throw("pod");
  return pod == nullptr || pod->count() == 0 ? "" : pod->results().front();
}

std::string WrongArgument(const Command& command, const CLI::App& app, const std::vector<std::string>& arguments,
                          const std::string& word) {
  const std::string text = "unexpected argument '" + word + "'";
  if (const std::string pod = NamedPod(app); !pod.empty()) {
    if (IsKindOfPods(pod)) return WhyNoKind(command.name, {std::ranges::find(arguments, pod), arguments.end()});
    if (command.name == "describe" && IsKindOfNodes(pod)) return text + Say("describe node");
  }
  if (command.name == "top" && (IsKindOfPods(word) || IsKindOfNodes(word))) return text + Say("top");
  return text + (command.stray.empty() ? "" : DidYouMean(command.stray + " " + word));
}

/// "-f FILE is required"; `words`: what was left over. "": what is missing is no option of `app`.
std::string MissingText(const CLI::App& app, const std::vector<std::string>& words) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    const std::string type = option->get_type_name();
    if (option->get_positional()) return (Choices(type).empty() ? type : "one of " + type) + " is required";
    const std::string name =
        option->get_snames().empty() ? "--" + option->get_lnames().front() : "-" + option->get_snames().front();
    const auto word = std::ranges::find_if(words, [](const std::string& one) { return !one.starts_with('-'); });
    return name + " " + type + " is required" + (word == words.end() ? "" : DidYouMean(name + " " + *word));
  }
  return "";
}

/// Values that are missing, too many or not what they should be, of which the parser speaks in its own way.
std::string WrongValue(const CLI::App& app, const CLI::ParseError& problem) {
  constexpr std::string_view kNotConverted = "Could not convert: ";
  const std::string text = problem.what();
  if (text.starts_with(kNotConverted)) {
    const std::size_t equals = text.find(" = ");
    const std::string name = text.substr(kNotConverted.size(), equals - kNotConverted.size());
    const std::string value = equals == std::string::npos ? "" : Printable(text.substr(equals + 3));
    const CLI::Option* const option = app.get_option_no_throw(name);
    const bool flag = option != nullptr && option->get_items_expected_max() == 0;
    return flag ? name + " takes no value: leave '=" + value + "' out" : name + ": '" + value + "' is no number";
  }
  const std::string name = text.substr(0, text.find(':'));
  const CLI::Option* const option = app.get_option_no_throw(name);
  if (option == nullptr || dynamic_cast<const CLI::ArgumentMismatch*>(&problem) == nullptr) return text;
  return text.contains("At Most") ? name + " is given more than once"
                                  : name + " takes a value: " + option->get_type_name();
}

}  // namespace

std::string WhyNoKind(const std::string& command, const std::vector<std::string>& pods) {
  if (pods.size() < 2 || !IsKindOfPods(pods.front())) return "";
  return "pods are named without '" + pods.front() + "'" +
         Say(command + " " + Join(std::vector(pods.begin() + 1, pods.end()), " "));
}

UsageProblem FindUsageProblem(const Parser& parser, const std::vector<std::string>& arguments,
                              const CLI::ParseError& problem) {
  const auto all_used = parser.root->get_subcommands();
  const CLI::App* const used = all_used.empty() ? nullptr : all_used.front();
  const auto command = used == nullptr ? arguments.end() : std::ranges::find(arguments, used->get_name());
  std::vector<std::string> before;
  std::vector<std::string> behind;  // a wrong option or argument, and --
  for (const std::string& word : parser.root->remaining())
    if (word != "--") (std::find(arguments.begin(), command, word) != command ? before : behind).push_back(word);
  if (!before.empty()) {
    const std::string& word = before.front();
    if (!word.starts_with('-')) return {.where = "berth", .text = WrongCommand(parser, before, used)};
    if (used == nullptr) return {.where = "berth", .text = WrongOption(*parser.root, arguments, word)};
    std::vector<std::string> right(command, arguments.end());
    right.insert(right.begin() + 1, arguments.begin(), command);
    return {.where = "berth", .text = "options stand behind the command" + Say(Join(right, " "))};
  }
  if (used == nullptr) return {.where = "berth", .text = problem.what()};
  UsageProblem out{.where = "berth " + used->get_name(), .text = WrongValue(*used, problem)};
  std::vector<std::string> words = used->remaining();
  std::erase(words, "--");
  words.insert(words.end(), behind.begin(), behind.end());
  if (dynamic_cast<const CLI::RequiredError*>(&problem) != nullptr)
    if (std::string missing = MissingText(*used, words); !missing.empty()) out.text = std::move(missing);
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) == nullptr || words.empty()) return out;
  const auto dashed = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
  out.text = dashed != words.end()
                 ? WrongOption(*used, arguments, *dashed)
                 : WrongArgument(*std::ranges::find(parser.commands, used->get_name(), &Command::name), *used,
                                 arguments, words.front());
  return out;
}

}  // namespace berth::cli
