// berth-conformance: recorded cases of a kubelet through Berth's engine, compared with what was recorded.
#include <CLI/CLI.hpp>
#include <iostream>

#include "conformance/replay_recordings.h"

int main(int argc, char** argv) {
  berth::conformance::ReplayOptions options;
  CLI::App app("Runs recorded cases through the engine: one JSON object a line (docs/formats/recorded-cases.md).",
               "berth-conformance");
  app.add_option("files", options.files, "JSON lines, plain or gzip; - for standard input")
      ->type_name("FILE")
      ->required();
  app.add_flag("--check", options.check, "Compare with what each case expects; status 1 if any differs");
  app.add_flag("--timings", options.timings, "Add ns: nanoseconds spent deciding");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    return app.exit(wrong) == 0 ? 0 : 2;
  }
  return berth::conformance::RunReplay(options, std::cout, std::cerr);
}
