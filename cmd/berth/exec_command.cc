#include "berth/exec_command.h"

#include <chrono>

#include "base/duration.h"
#include "base/text.h"
#include "berth/pod_name.h"

namespace berth::cli {
namespace {

using std::chrono::seconds;

/// "30s", "2m"; a plain number are seconds. Whole seconds, rounded up.
Result<seconds> ParseTimeout(const std::string& text) {
  constexpr seconds kLongest{86'400};
  const auto number = ParseDecimal<std::int64_t>(text);
  const auto duration = ParseDuration(number ? text + "s" : text);
  if (duration)
    if (const auto limit = std::chrono::ceil<seconds>(*duration); limit > seconds(0) && limit <= kLongest) return limit;
  return Fail(Code::kInvalid, "--timeout " + Printable(text) + ": must be a time like 30s or 5m, at most 24h");
}

Result<CommandEnd> Ask(const ExecOptions& options, const Session& session) {
  BERTH_TRY(const seconds limit, ParseTimeout(options.timeout));
  BERTH_TRY(const auto pod, FindPodToChange(session, options.pod, options.namespace_));
  BERTH_TRY(const std::string container, PickContainer(*pod, options.container));
  api::ExecQuery query;
  query.namespace_ = pod->namespace_;
  query.pod = pod->name;
  query.container = container;
  query.command = options.command;
  query.limit = limit;
  return session.berthd().Exec(query);
}

}  // namespace

int RunExec(const ExecOptions& options, const Session& session) {
  const auto end = Ask(options, session);
  if (!end) return session.Report(end.error());
  session.PrintForeign(end->out, options.raw);
  session.out() << std::flush;
  session.PrintForeignError(end->err, options.raw);
  session.err() << std::flush;
  if (!end->message.empty()) session.err() << "berth: " << end->message << '\n';
  return end->exit_code;
}

}  // namespace berth::cli
