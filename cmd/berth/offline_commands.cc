// The commands that need no daemon.
#include "berth/registry.h"

namespace berth::cli {
namespace {

Command CompletionCommand() {
  return {.name = "completion",
          .group = "Help",
          .summary = "Print the script that completes berth's words in your shell",
          .details = "Commands, options and their values are completed, and pod names as berthd knows them.",
          .examples = {{"completion bash > /etc/bash_completion.d/berth", "for everybody on this host"},
                       {"completion zsh > ~/.zfunc/_berth", "zsh, with ~/.zfunc in $fpath"},
                       {"completion fish > ~/.config/fish/completions/berth.fish", "fish"}},
          .statuses = "",
          .asks_daemon = false,
          .prints_data = false,
          .bind = [](CLI::App& app) -> Runner {
            auto shell = std::make_shared<std::string>();
            AddChoice(app, "shell", *shell, "bash|zsh|fish", "The shell to write for")->required();
            return [shell](const Session& session) {
              session.out() << CompletionScript(*shell);
              return kOk;
            };
          }};
}

Command VersionCommand() {
  return {.name = "version",
          .group = "Help",
          .summary = "Show the version of berth",
          .details = "",
          .examples = {{"version -o json", "for scripts"}},
          .statuses = "",
          .asks_daemon = false,
          .prints_data = true,
          .bind = [](CLI::App&) -> Runner {
            return [](const Session& session) -> int {
              if (!session.for_people()) return session.PrintData({{"version", BERTH_VERSION}});
              session.out() << "berth " BERTH_VERSION "\n";
              return kOk;
            };
          }};
}

}  // namespace

std::vector<Command> OfflineCommands() { return {CompletionCommand(), VersionCommand()}; }

}  // namespace berth::cli
