// berth-scheduler: reads the command line and hands over to the extender. docs/reference/berth-scheduler.md.
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/berth_config.h"
#include "host/os/fs.h"
#include "host/os/input.h"
#include "host/os/path.h"
#include "kubernetes/kube_client/access.h"
#include "kubernetes/scheduler_server/scheduler.h"
#include "man/man_page.h"
#include "man/wrong_arguments.h"
#include "telemetry/events/log.h"

namespace berth::scheduler_server {
namespace {

constexpr int kFailed = 1;  // the cluster's address or credentials, the certificate or the address to listen on
constexpr int kUsage = 2;   // the command line is wrong

constexpr const char* kAbout =
    "Tells kube-scheduler which nodes would take a pod, with the engine that the nodes decide with.\n"
    "\n"
    "An HTTP extender: it follows the pods and the NodeStates of a cluster, and answers filter and prioritize.";

constexpr const char* kMore =
    "Examples:\n"
    "  berth-scheduler --listen 0.0.0.0:9951            in a pod, with its service account\n"
    "  berth-scheduler --kubeconfig ~/.kube/config      beside a scheduler on this host\n"
    "\n"
    "Signals: TERM and INT end it.\n"
    "Exit status: 0 ended on request, 1 failed, 2 wrong command line.\n";

struct Arguments {
  std::string kubeconfig;
  std::string listen = "127.0.0.1:9951";
  std::string certificate;
  std::string key;
  std::string log_level = "info";
  bool man = false;  ///< print the manual page, for the build
};

std::string CheckAddress(const std::string& text) {
  return config::ParseTcpAddress(text) ? "" : "must be an IP address with a port, or a port";
}

void AddOptions(CLI::App& app, Arguments& args) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--kubeconfig", args.kubeconfig, "how to reach the API server; default the pod's service account")
      ->type_name("FILE");
  app.add_option("--listen", args.listen, "where the scheduler calls; default 127.0.0.1:9951")
      ->type_name("ADDR:PORT")
      ->check(CheckAddress);
  CLI::Option* const certificate =
      app.add_option("--tls-cert-file", args.certificate, "answer over TLS with this certificate (PEM)")
          ->type_name("FILE");
  CLI::Option* const key = app.add_option("--tls-key-file", args.key, "its private key (PEM)")->type_name("FILE");
  certificate->needs(key);
  key->needs(certificate);
  app.add_flag("--man", args.man)->group("");
  app.add_option("--log-level", args.log_level, "debug, info, warning or error; default info")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
}

/// Each of the files as the working directory sees it.
Result<std::string> Kubeconfigs(const std::string& given) {
  BERTH_TRY(const std::string cwd, os::WorkingFolder());
  std::vector<std::string> files;
  for (const std::string_view file : Split(given, ':')) files.push_back(os::SeenFrom(cwd, std::string(file)));
  return Join(files, ":");
}

Result<SchedulerOptions> OptionsOf(const Arguments& args) {
  SchedulerOptions out;
  BERTH_TRY(const auto root, os::OpenFs("/"));
  BERTH_TRY(const std::string kubeconfigs, Kubeconfigs(args.kubeconfig));
  BERTH_TRY(out.access, kube::LoadOwnAccess(*root, kubeconfigs));
  const auto listen = config::ParseTcpAddress(args.listen);
  if (!listen) return Fail(Code::kInvalid, "--listen: no address");
  out.address = listen->address;
  out.port = listen->port;
  if (!args.certificate.empty()) out.tls = {.certificate = args.certificate, .key = args.key};
  out.threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 4);
  return out;
}

Result<void> Serve(const Arguments& args, events::Log& log) {
  BERTH_TRY(SchedulerOptions options, OptionsOf(args));
  const std::string server = options.access.server;
  BERTH_TRY(const auto scheduler, Scheduler::Start(std::move(options), log));
  log.Info("answers on " + args.listen + ", and follows " + server);
  return scheduler->Run();
}

int Main(int argc, char** argv) {
  ::mallopt(M_ARENA_MAX, 2);  // calls of megabytes: what several arenas keep would be memory for nothing
  PrepareSignals();
  Arguments args;
  CLI::App app(kAbout, "berth-scheduler");
  app.set_version_flag("--version", std::string("berth-scheduler ") + BERTH_VERSION);
  app.footer(kMore);
  app.get_formatter()->column_width(26);
  try {
    AddOptions(app, args);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fputs(man::FormatRefusal(app, error).c_str(), stderr);
    return kUsage;
  }
  if (args.man) {
    std::fputs(man::FormatDaemon(app, kAbout, kMore, BERTH_VERSION).c_str(), stdout);
    return 0;
  }
  events::Log log(events::ParseLogLevel(args.log_level).value_or(events::LogLevel::kInfo));
  if (const auto done = Serve(args, log); !done) {
    log.Error(done.error().message);
    return kFailed;
  }
  return 0;
}

}  // namespace
}  // namespace berth::scheduler_server

int main(int argc, char** argv) {
  try {
    return berth::scheduler_server::Main(argc, argv);
  } catch (const std::exception& error) {  // out of memory and the like: nothing else throws up to here
    std::fprintf(stderr, "berth-scheduler: %s\n", error.what());
    return 1;
  }
}
