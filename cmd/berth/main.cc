#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "berth/app.h"
#include "host/os/cgroup_namespace.h"

namespace {

berth::cli::Surroundings LookAround() {
  berth::cli::Surroundings around;
  around.terminal = ::isatty(STDOUT_FILENO) == 1;
  around.error_terminal = ::isatty(STDERR_FILENO) == 1;
  const char* terminal = std::getenv("TERM");
  around.screen = around.terminal && terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
  winsize size{};
  if (around.terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) around.width = size.ws_col;
  const char* no_color = std::getenv("NO_COLOR");
  around.no_color = no_color != nullptr && *no_color != '\0';
  if (const char* socket = std::getenv("BERTH_SOCKET"); socket != nullptr) around.socket = socket;
  const char* locale = std::setlocale(LC_CTYPE, "");
  // A plain "C" locale says nothing about the terminal, and today's terminals take UTF-8.
  const std::string_view name = locale == nullptr ? "C" : locale;
  around.unicode = name == "C" || name == "POSIX" || std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  std::setlocale(LC_CTYPE, "C");
  return around;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  static_cast<void>(berth::os::EnterCgroupNamespaceOfInit());  // in berthd's container: groups by the host's names
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int status = berth::cli::RunBerth(arguments, LookAround(), std::cout, std::cerr);
  std::cout.flush();
  if (std::cout.good()) return status;
  std::cerr << "berth: could not write all of the output\n";
  return berth::cli::kFailed;
}
