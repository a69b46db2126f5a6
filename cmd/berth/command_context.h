// Command context of the `berth` CLI: output streams and format, terminal, and the daemon's socket.
#ifndef BERTH_CMD_BERTH_COMMAND_CONTEXT_H_
#define BERTH_CMD_BERTH_COMMAND_CONTEXT_H_

#include <chrono>
#include <ostream>
#include <string>
#include <string_view>

#include "api/codec/codec.h"
#include "api/local_api/node_client.h"
#include "base/result.h"
#include "view/table.h"

namespace berth::cli {

/// Exit statuses of `berth`; docs/reference/exit-status.md explains them.
enum ExitStatus : int { kOk = 0, kFailed = 1, kUsage = 2, kRejected = 3, kUnreachable = 4 };

enum class OutputFormat { kTable, kWide, kJson, kYaml, kJsonPath, kName, kSvg, kPng, kHtml };

/// Options every command has.
struct CommonOptions {
  /// table, wide, json, yaml, jsonpath=TEMPLATE, name (of commands that list pods), svg, png or html (of those that
  /// draw); checked by the command line
  std::string output = "table";
  std::string socket;
  std::string color = "auto";  ///< auto, always or never
};

/// What the process was started with.
struct Surroundings {
  bool terminal = false;        ///< standard output is a terminal
  bool error_terminal = false;  ///< standard error is one
  bool screen = false;          ///< standard output is one on which can be drawn
  int width = 0;                ///< its columns; 0: unknown or no terminal
  bool no_color = false;        ///< NO_COLOR is set and not empty
  bool unicode = true;          ///< the locale's characters are UTF-8
  std::string socket;           ///< BERTH_SOCKET; "": not set
};

class Session {
 public:
  Session(const CommonOptions& options, const Surroundings& around, std::ostream& out, std::ostream& err)
      : options_(options), around_(around), out_(out), err_(err) {}

  std::ostream& out() const { return out_; }
  std::ostream& err() const { return err_; }
  const Surroundings& around() const { return around_; }
  OutputFormat format() const;
  bool wide() const { return format() == OutputFormat::kWide; }
  /// True for svg and png.
  bool draws() const { return format() == OutputFormat::kSvg || format() == OutputFormat::kPng; }
  /// True for table and wide.
  bool for_people() const { return format() == OutputFormat::kTable || wide(); }
  bool color() const;
  view::TableOptions table() const { return {.width = wide() ? 0 : around_.width, .color = color()}; }
  const std::string& socket() const { return options_.socket; }

  /// Prints what a container wrote, to the output or the error stream: on a terminal without the characters it would
  /// obey, unless `raw`.
  void PrintForeign(std::string_view text, bool raw) const;
  void PrintForeignError(std::string_view text, bool raw) const;

  /// What answers the session's questions about the node.
  api::NodeClient berthd() const { return api::NodeClient(options_.socket); }

  /// Prints a value as JSON, YAML or what jsonpath finds in it. Requires: the format is one of these.
  int PrintData(const codec::Json& data) const;
  /// The same for one of many values: as JSON on one line, a document of YAML, or what jsonpath finds.
  int PrintItem(const codec::Json& data) const;
  /// Prints a drawing as it was asked for. Requires: the format is svg or png.
  int PrintDrawing(const std::string& svg) const;
  /// True when it is sure that no berthd listens on the socket; not when the socket may not be opened.
  bool NobodyListens() const;
  /// True when somebody answers on the socket.
  bool Reachable() const;
  /// Prints "berth: <message>" to the error stream; kUnreachable when no berthd answers on the socket, else kFailed.
  int Report(const Error& error) const;

 private:
  int PrintFound(const codec::Json& data) const;

  const CommonOptions& options_;
  const Surroundings& around_;
  std::ostream& out_;
  std::ostream& err_;
};

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_COMMAND_CONTEXT_H_
