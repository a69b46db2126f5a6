#include "berth/logs.h"

#include "api/client.h"
#include "base/text.h"
#include "berth/follow.h"
#include "berth/pod_name.h"
#include "berth/suggest.h"

namespace berth::cli {
namespace {

using codec::Json;

/// The container that is meant: the one asked for, or the only one that is not an init container.
Result<std::string> PickContainer(const Json& pod, const std::string& asked) {
  std::vector<std::string> all;
  std::vector<std::string> apps;
  for (const Json& container : Member(pod, "containers")) {
    all.push_back(Text(container, "name"));
    if (Text(container, "kind") == "app") apps.push_back(all.back());
    if (all.back() == asked) return asked;
  }
  if (asked.empty() && apps.size() == 1) return apps.front();
  if (asked.empty())
    return Fail(Code::kInvalid,
                "pod " + FullName(pod) + " has several containers; name one with -c: " + Join(all, ", "));
  const std::string nearest = Nearest(asked, all);
  return Fail(Code::kNotFound,
              "pod " + FullName(pod) + " has no container '" + Printable(asked) + "'" +
                  (nearest.empty() ? "; it has " + Join(all, ", ") : ", did you mean " + nearest + "?"));
}

std::string LogsPath(const Json& pod, const std::string& container, int tail, bool previous) {
  std::string path = PodPath("logs", pod) + "/" + api::EncodeQuery(container);
  char separator = '?';
  if (tail >= 0) path += separator + ("tail=" + std::to_string(tail)), separator = '&';
  if (previous) path += separator + std::string("previous=1");
  return path;
}

void PrintEntry(const Json& entry, const LogsOptions& options, const Session& session) {
  if (!session.for_people()) {
    session.out() << codec::FormatJson(entry) << '\n';
    return;
  }
  if (options.timestamps) session.out() << Text(entry, "time") << ' ';
  session.out() << Text(entry, "text") << '\n';
}

/// Asks for the end of the log, for more of it when that does not reach back to what was printed last.
int Follow(const LogsOptions& options, const Json& pod, const std::string& container, const Session& session) {
  constexpr int kFirst = 1000;
  constexpr int kMost = 1 << 20;
  Follower follower;
  int tail = options.tail;
  for (;; os::SleepFor(kFollowPeriod)) {
    auto answer = session.Get(LogsPath(pod, container, tail, false));
    for (int more = kFirst * 2; answer && more <= kMost && follower.MayHaveGap(Member(*answer, "entries")); more *= 2)
      answer = session.Get(LogsPath(pod, container, more, false));
    if (!answer) return session.Report(answer.error());
    for (const Json* entry : follower.New(Member(*answer, "entries"))) PrintEntry(*entry, options, session);
    session.out().flush();
    if (!session.out().good()) return kFailed;
    tail = kFirst;
  }
}

}  // namespace

int RunLogs(const LogsOptions& options, const Session& session) {
  const auto pod = FindPod(session, options.pod);
  if (!pod) return session.Report(pod.error());
  const auto container = PickContainer(*pod, options.container);
  if (!container) return session.Report(container.error());
  if (options.follow && !options.previous) return Follow(options, *pod, *container, session);
  const auto answer = session.Get(LogsPath(*pod, *container, options.tail, options.previous));
  if (!answer) return session.Report(answer.error());
  if (!session.for_people()) return session.PrintData(*answer);
  for (const Json& entry : Member(*answer, "entries")) PrintEntry(entry, options, session);
  return kOk;
}

}  // namespace berth::cli
