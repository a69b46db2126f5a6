#include "berth/app.h"

#include <algorithm>
#include <functional>

#include "api/local_api/api_client.h"
#include "base/text.h"
#include "berth/give_back_all.h"
#include "berth/hold.h"
#include "berth/json_path.h"
#include "berth/nearest_word.h"
#include "berth/registry.h"
#include "berth/stay.h"
#include "berth/topics.h"
#include "berth/usage_problem.h"
#include "model/kubelet_version.h"

namespace berth::cli {
namespace {

std::string OutputChoices(const Command& command) {
  std::string out = "table|wide|json|yaml|jsonpath=TEMPLATE";
  if (command.names) out += "|name";
  if (command.draws) out += "|svg|png";
  if (command.draws_pages) out += "|html";
  return out;
}

void AddCommonOptions(const Command& command, CLI::App& app, CommonOptions& common) {
  if (command.prints_data)
    AddChoice(app, "-o,--output", common.output, OutputChoices(command), "How to print the answer")
        ->default_str("table");
  if (command.asks_daemon)
    app.add_option("--socket", common.socket, "berthd's socket (environment: BERTH_SOCKET)")
        ->type_name("FILE")
        ->default_str(std::string(api::kDefaultSocket));
  AddChoice(app, "--color", common.color, "auto|always|never", "Colours; auto: on a terminal unless NO_COLOR is set")
      ->default_str("auto");
}

const Command* FindCommand(const Parser& parser, const CLI::App& app) {
  for (std::size_t i = 0; i < parser.apps.size(); ++i)
    if (parser.apps[i] == &app) return &parser.commands[i];
  return nullptr;
}

int ReportUsage(const Parser& parser, const std::vector<std::string>& arguments, const CLI::ParseError& problem,
                std::ostream& err) {
  const UsageProblem found = FindUsageProblem(parser, arguments, problem);
  err << found.where << ": " << found.text << "\nSee '" << found.where << " --help'.\n";
  return kUsage;
}

int PrintHelp(const Parser& parser, std::ostream& out) {
  const auto used = parser.root->get_subcommands();
  const Command* command = used.empty() ? nullptr : FindCommand(parser, *used.front());
  out << (command == nullptr ? FormatOverview(parser) : FormatHelp(*command, *used.front()));
  return kOk;
}

Command HelpCommand() {
  Command help{.name = "help",
               .group = "Help",
               .summary = "Show this overview, or what one command does or a topic is about",
               .details = "",
               .examples = {{"help pods", "the same as `berth pods --help`"},
                            {"help units", "what is said of amounts, CPU sets and times"}},
               .statuses = "",
               .asks_daemon = false,
               .prints_data = false,
               .bind = {}};
  return help;
}

/// `help` needs the finished parser, so it is bound after all others.
void BindHelp(Parser& parser) {
  auto topic = std::make_shared<std::string>();
  parser.apps.back()->add_option("topic", *topic, "The command or topic to explain")->type_name("TOPIC");
  parser.runners.back() = [&parser, topic](const Session& session) -> int {
    if (topic->empty()) return session.out() << FormatOverview(parser), kOk;
    for (std::size_t i = 0; i < parser.commands.size(); ++i)
      if (parser.commands[i].name == *topic)
        return session.out() << FormatHelp(parser.commands[i], *parser.apps[i]), kOk;
    std::vector<std::string> known = CommandNames(parser);
    for (const Topic& one : AllTopics()) {
      if (one.name == *topic) return session.out() << one.summary << ".\n\n" << one.text, kOk;
      known.push_back(one.name);
    }
    const std::string nearest = Nearest(*topic, known);
    session.err() << "berth help: no command or topic '" << *topic << "'"
                  << (nearest.empty() ? "" : ", did you mean " + nearest + "?") << '\n';
    return kUsage;
  };
}

}  // namespace

std::vector<std::string> Choices(const std::string& type_name) {
  std::vector<std::string> out;
  if (type_name.find('|') == std::string::npos) return out;
  std::size_t start = 0;
  for (std::size_t end = 0; end != std::string::npos; start = end + 1) {
    end = type_name.find('|', start);
    const std::string word = type_name.substr(start, end - start);
    const std::size_t equals = word.find('=');
    out.push_back(equals == std::string::npos ? word : word.substr(0, equals + 1));
  }
  return out;
}

namespace {

/// What of `choices` a given word is not; "": it is one.
std::function<std::string(const std::string&)> ChoiceCheck(const std::string& choices) {
  return [words = Choices(choices), choices](const std::string& given) {
    if (choices.contains(kJsonPathIs) && given.starts_with(kJsonPathIs)) {
      const auto path = JsonPath::Parse(std::string_view(given).substr(kJsonPathIs.size()));
      return path ? std::string() : path.error().message;
    }
    const bool known = std::ranges::any_of(
        words, [&](const std::string& word) { return word.ends_with('=') ? given.starts_with(word) : given == word; });
    if (known) return std::string();
    const std::string nearest = Nearest(given, words);
    return "'" + given + "' is none of " + choices + (nearest.empty() ? "" : ", did you mean " + nearest + "?");
  };
}

constexpr const char* kKubeletVersionOption = "--kubelet-version";

std::string KubeletVersionChoices() {
  std::vector<std::string> names;
  for (const KubeletVersion version : kKubeletVersions) names.emplace_back(Name(version));
  return Join(names, "|");
}

}  // namespace

CLI::Option* AddChoice(CLI::App& app, const std::string& name, std::string& value, const std::string& choices,
                       const std::string& text) {
  return app.add_option(name, value, text)->type_name(choices)->check(ChoiceCheck(choices), "", "choice");
}

CLI::Option* AddKubeletVersion(CLI::App& app, std::string& value, const std::string& text) {
  return AddChoice(app, kKubeletVersionOption, value, KubeletVersionChoices(), text);
}

CLI::Option* AddKubeletVersions(CLI::App& app, std::vector<std::string>& values, const std::string& text) {
  const std::string choices = KubeletVersionChoices();
  return app.add_option(kKubeletVersionOption, values, text)
      ->type_name(choices)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(ChoiceCheck(choices), "", "choice");
}

std::vector<std::string> CommandNames(const Parser& parser) {
  std::vector<std::string> out;
  for (const Command& command : parser.commands) out.push_back(command.name);
  return out;
}

std::vector<Command> AllCommands() {
  std::vector<Command> out = PodCommands();
  for (auto& more : {NodeCommands(), OfflineCommands()}) out.insert(out.end(), more.begin(), more.end());
  out.push_back(HelpCommand());
  return out;
}

std::unique_ptr<Parser> MakeParser(const std::string& socket) {
  auto parser = std::make_unique<Parser>();
  parser->commands = AllCommands();
  parser->common.socket = socket.empty() ? std::string(api::kDefaultSocket) : socket;
  parser->root = std::make_unique<CLI::App>("", "berth");
  parser->root->set_help_flag("-h,--help", "Show help");
  parser->root->add_flag("-V,--version", parser->version, "Show the version");
  parser->root->require_subcommand(0, 1);
  for (const Command& command : parser->commands) {
    CLI::App* app = parser->root->add_subcommand(command.name, command.summary);
    parser->apps.push_back(app);
    parser->runners.push_back(command.bind ? command.bind(*app) : Runner());
    AddCommonOptions(command, *app, parser->common);
  }
  BindHelp(*parser);
  return parser;
}

int RunBerth(const std::vector<std::string>& arguments, const Surroundings& around, std::ostream& out,
             std::ostream& err) {
  const std::unique_ptr<Parser> parser = MakeParser(around.socket);
  if (!arguments.empty() && arguments.front() == "__complete") {
    out << Complete(*parser, {arguments.begin() + 1, arguments.end()});
    return kOk;
  }
  if (arguments.size() == 2 && arguments.front() == "__man")
    return WriteManPages(*parser, arguments[1]) ? kOk : kFailed;
  if (!arguments.empty() && arguments.front() == kHoldVerb)
    return RunHold({arguments.begin() + 1, arguments.end()}, err);
  if (!arguments.empty() && arguments.front() == kGiveBackAllVerb)
    return RunGiveBackAll({arguments.begin() + 1, arguments.end()}, out, err);
  if (arguments.size() == 1 && arguments.front() == kStayVerb) return RunStay();
  try {
    parser->root->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return PrintHelp(*parser, out);
  } catch (const CLI::ParseError& problem) {
    return ReportUsage(*parser, arguments, problem, err);
  }
  if (parser->version) {
    out << "berth " BERTH_VERSION "\n";
    return kOk;
  }
  const auto used = parser->root->get_subcommands();
  if (used.empty()) return PrintHelp(*parser, out);
  const auto at = std::ranges::find(parser->apps, used.front()) - parser->apps.begin();
  return parser->runners[static_cast<std::size_t>(at)](Session(parser->common, around, out, err));
}

}  // namespace berth::cli
