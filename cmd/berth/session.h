// What every command of `berth` is run with: where to write, how, and which daemon to ask.
#ifndef BERTH_CMD_BERTH_SESSION_H_
#define BERTH_CMD_BERTH_SESSION_H_

#include <chrono>
#include <ostream>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/codec.h"
#include "view/table.h"

namespace berth::cli {

/// Exit statuses of `berth`; docs/reference/exit-status.md explains them.
enum ExitStatus : int { kOk = 0, kFailed = 1, kUsage = 2, kRejected = 3, kUnreachable = 4 };

enum class OutputFormat { kTable, kWide, kJson, kYaml };

/// Options every command has.
struct CommonOptions {
  std::string output = "table";  ///< table, wide, json or yaml; checked by the command line
  std::string socket;
  std::string color = "auto";  ///< auto, always or never
};

/// What the process was started with.
struct Surroundings {
  bool terminal = false;  ///< standard output is a terminal
  int width = 0;          ///< its columns; 0: unknown or no terminal
  bool no_color = false;  ///< NO_COLOR is set and not empty
  bool unicode = true;    ///< the locale's characters are UTF-8
  std::string socket;     ///< BERTH_SOCKET; "": not set
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
  /// True for table and wide.
  bool for_people() const { return format() == OutputFormat::kTable || wide(); }
  bool color() const;
  view::TableOptions table() const { return {.width = around_.width, .color = color()}; }
  const std::string& socket() const { return options_.socket; }

  /// Asks berthd. Errors: as api::Call.
  Result<codec::Json> Get(const std::string& path) const { return Call("GET", path, {}); }
  Result<codec::Json> Call(std::string_view method, const std::string& path, const std::string& body,
                           std::chrono::seconds timeout = std::chrono::seconds(30)) const;

  /// Prints a value as JSON or YAML. Requires: !for_people().
  int PrintData(const codec::Json& data) const;
  /// True when somebody answers on the socket.
  bool Reachable() const;
  /// Prints "berth: <message>" to the error stream; kUnreachable when no berthd answers on the socket, else kFailed.
  int Report(const Error& error) const;

 private:
  const CommonOptions& options_;
  const Surroundings& around_;
  std::ostream& out_;
  std::ostream& err_;
};

/// A text field of an answer; "" when absent or of another type.
std::string Text(const codec::Json& object, const char* key);
/// A member of an answer; null when absent.
const codec::Json& Member(const codec::Json& object, const char* key);
/// A number field of an answer; 0 when absent or of another type.
std::int64_t Number(const codec::Json& object, const char* key);
/// True only for a boolean field that is true.
bool Flag(const codec::Json& object, const char* key);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_SESSION_H_
