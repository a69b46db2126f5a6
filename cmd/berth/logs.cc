#include "berth/logs.h"

#include "api/client.h"
#include "berth/follow.h"
#include "berth/pod_name.h"

namespace berth::cli {
namespace {

using codec::Json;

std::string FirstPath(const LogsOptions& options, const std::string& log) {
  std::string path = log;
  char separator = '?';
  const auto add = [&](const char* key, const std::string& value) {
    path += separator + (key + ("=" + api::EncodeQuery(value)));
    separator = '&';
  };
  if (options.tail >= 0) add("tail", std::to_string(options.tail));
  if (!options.since.empty()) add("since", options.since);
  if (options.previous) add("previous", "1");
  if (options.follow) add("follow", "1");
  return path;
}

/// Prints entries one below the other, pieces of a line beside each other.
class Printer {
 public:
  Printer(const LogsOptions& options, const Session& session) : options_(options), session_(session) {}

  void Print(const Json& entry) {
    if (!session_.for_people()) {
      session_.out() << codec::FormatJson(entry) << '\n';
      return;
    }
    if (options_.timestamps && !open_) session_.out() << Text(entry, "time") << ' ';
    session_.out() << Text(entry, "text");
    open_ = options_.follow && Flag(entry, "partial");
    if (!open_) session_.out() << '\n';
  }
  void Finish() {
    if (open_) session_.out() << '\n';
    session_.out().flush();
  }

 private:
  const LogsOptions& options_;
  const Session& session_;
  bool open_ = false;  // what was printed last goes on
};

/// Goes on from `answer` until the container has ended and all it wrote is printed.
int Follow(const std::string& log, Json answer, Printer& printer, const Session& session) {
  for (;;) {
    if (Flag(answer, "gap")) session.err() << "berth: lines are missing here: the log was rotated away or cut\n";
    for (const Json& entry : Member(answer, "entries")) printer.Print(entry);
    session.out().flush();
    if (!session.out().good()) return kFailed;
    const bool more = Flag(answer, "more");
    if (!more && !Flag(answer, "running")) break;
    if (!more) os::SleepFor(kFollowPeriod);
    auto next = session.Get(log + "?log=" + api::EncodeQuery(Text(answer, "path")) +
                            "&after=" + api::EncodeQuery(Text(answer, "next")));
    if (!next && next.error().code == Code::kNotFound) break;  // the pod is gone
    if (!next) return session.Report(next.error());
    answer = *std::move(next);
  }
  printer.Finish();
  return kOk;
}

}  // namespace

int RunLogs(const LogsOptions& options, const Session& session) {
  const auto pod = FindPod(session, options.pod);
  if (!pod) return session.Report(pod.error());
  const auto container = PickContainer(*pod, options.container);
  if (!container) return session.Report(container.error());
  const std::string log = PodPath("logs", *pod) + "/" + api::EncodeQuery(*container);
  auto answer = session.Get(FirstPath(options, log));
  if (!answer) return session.Report(answer.error());
  Printer printer(options, session);
  if (options.follow) return Follow(log, *std::move(answer), printer, session);
  if (!session.for_people()) return session.PrintData(*answer);
  for (const Json& entry : Member(*answer, "entries")) printer.Print(entry);
  return kOk;
}

}  // namespace berth::cli
