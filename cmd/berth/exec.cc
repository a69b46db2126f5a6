#include "berth/exec.h"

#include <chrono>

#include "api/client.h"
#include "base/base64.h"
#include "base/text.h"
#include "berth/pod_name.h"
#include "manifest/duration.h"

namespace berth::cli {
namespace {

using codec::Json;
using std::chrono::seconds;

/// "30s", "2m"; a plain number are seconds. Whole seconds, rounded up.
Result<seconds> ParseTimeout(const std::string& text) {
  constexpr seconds kLongest{86'400};
  const auto number = ParseDecimal<std::int64_t>(text);
  const auto duration = manifest::ParseDuration(number ? text + "s" : text);
  if (duration)
    if (const auto limit = std::chrono::ceil<seconds>(*duration); limit > seconds(0) && limit <= kLongest) return limit;
  return Fail(Code::kInvalid, "--timeout " + Printable(text) + ": must be a time like 30s or 5m, at most 24h");
}

Result<std::string> RequestBody(const ExecOptions& options, seconds limit) {
  Json body = {{"command", options.command}, {"timeoutSeconds", limit.count()}};
  std::string text = codec::FormatJson(body);
  if (const auto back = codec::ParseJson(text, "command"); back && *back == body) return text;
  return Fail(Code::kInvalid, "the command has bytes that are not UTF-8, which a container runtime does not take");
}

Result<Json> Ask(const ExecOptions& options, const Session& session) {
  constexpr seconds kBeyond{30};
  BERTH_TRY(const seconds limit, ParseTimeout(options.timeout));
  BERTH_TRY(const std::string body, RequestBody(options, limit));
  BERTH_TRY(const Json pod, FindPod(session, options.pod));
  BERTH_TRY(const std::string container, PickContainer(pod, options.container));
  return session.Call("POST", PodPath("exec", pod) + "/" + api::EncodeQuery(container), body, limit + kBeyond);
}

}  // namespace

int RunExec(const ExecOptions& options, const Session& session) {
  const auto answer = Ask(options, session);
  if (!answer) return session.Report(answer.error());
  session.out() << FromBase64(Text(*answer, "stdout")).value_or("") << std::flush;
  session.err() << FromBase64(Text(*answer, "stderr")).value_or("") << std::flush;
  if (const std::string message = Text(*answer, "message"); !message.empty())
    session.err() << "berth: " << message << '\n';
  return static_cast<int>(Number(*answer, "exitCode"));
}

}  // namespace berth::cli
