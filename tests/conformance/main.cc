// berth-conformance: recorded cases of a kubelet through Berth's engine, compared with what was recorded.
#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "conformance/replay_recordings.h"
#include "model/kubelet_version.h"

int main(int argc, char** argv) {
  berth::conformance::ReplayOptions options;
  CLI::App app("Runs recorded cases through the engine: one JSON object a line (docs/formats/recorded-cases.md).",
               "berth-conformance");
  app.add_option("files", options.files, "JSON lines, plain or gzip; - for standard input")
      ->type_name("FILE")
      ->required();
  app.add_flag("--check", options.check, "Compare with what each case expects; status 1 if any differs");
  app.add_flag("--timings", options.timings, "Add ns: nanoseconds spent deciding");
  std::string version(berth::Name(options.kubelet_version));
  app.add_option("--kubelet-version", version, "Decide as this kubelet, where a case does not say which")
      ->type_name("VERSION")
      ->check([](const std::string& given) {
        const auto known = berth::ParseKubeletVersion(given);
        return known ? std::string() : known.error().message;
      })
      ->default_str(version);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    return app.exit(wrong) == 0 ? 0 : 2;
  }
  options.kubelet_version = berth::ParseKubeletVersion(version).value_or(options.kubelet_version);
  return berth::conformance::RunReplay(options, std::cout, std::cerr);
}
