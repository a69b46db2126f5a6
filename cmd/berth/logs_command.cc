#include "berth/logs_command.h"

#include "api/codec/views.h"
#include "berth/follow.h"
#include "berth/pod_name.h"

namespace berth::cli {
namespace {

api::LogQuery FirstQuery(const LogsOptions& options, const PodView& pod, const std::string& container) {
  api::LogQuery query;
  query.namespace_ = pod.namespace_;
  query.pod = pod.name;
  query.container = container;
  if (options.tail >= 0) query.tail = static_cast<std::size_t>(options.tail);
  query.previous = options.previous;
  query.since = options.since;
  query.follow = options.follow;
  return query;
}

/// Prints entries one below the other, pieces of a line beside each other.
class Printer {
 public:
  Printer(const LogsOptions& options, const Session& session) : options_(options), session_(session) {}

  void Print(const LogEntry& entry) {
    if (!session_.for_people()) {
      session_.PrintItem(codec::ToJson(entry));
      return;
    }
    if (options_.timestamps && !open_) session_.out() << entry.time << ' ';
    session_.PrintForeign(entry.text, options_.raw);
    open_ = options_.follow && entry.partial;
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

/// Goes on from `page` until the container has ended and all it wrote is printed.
int Follow(api::LogQuery query, LogPage page, Printer& printer, const Session& session) {
  for (;;) {
    if (page.gap) session.err() << "berth: lines are missing here: the log was rotated away or cut\n";
    for (const LogEntry& entry : page.entries) printer.Print(entry);
    session.out().flush();
    if (!session.out().good()) return kFailed;
    if (!page.more && !page.running) break;
    if (!page.more) os::SleepFor(kFollowPeriod);
    query = {.namespace_ = query.namespace_,
             .pod = query.pod,
             .container = query.container,
             .log = page.path,
             .after = page.next};
    auto next = session.berthd().Logs(query);
    if (!next && next.error().code == Code::kNotFound && session.Reachable()) break;  // the pod is gone
    if (!next) return session.Report(next.error());
    page = *std::move(next);
  }
  printer.Finish();
  return kOk;
}

}  // namespace

int RunLogs(const LogsOptions& options, const Session& session) {
  const auto pod = FindPod(session, options.pod, options.namespace_);
  if (!pod) return session.Report(pod.error());
  const auto container = PickContainer(**pod, options.container);
  if (!container) return session.Report(container.error());
  const api::LogQuery query = FirstQuery(options, **pod, *container);
  auto page = session.berthd().Logs(query);
  if (!page) return session.Report(page.error());
  Printer printer(options, session);
  if (options.follow) return Follow(query, *std::move(page), printer, session);
  if (!session.for_people()) return session.PrintData(codec::ToJson(*page));
  for (const LogEntry& entry : page->entries) printer.Print(entry);
  return kOk;
}

}  // namespace berth::cli
