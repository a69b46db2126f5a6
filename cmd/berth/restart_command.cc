#include "berth/restart_command.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/codec/views.h"
#include "base/text.h"
#include "berth/pod_name.h"
#include "berth/pod_problem.h"
#include "berth/pods_command.h"
#include "host/os/clock.h"

namespace berth::cli {
namespace {

constexpr os::Millis kLookForRestart{100};

/// Restarts of each container of a pod before it was asked.
using Counts = std::map<std::string, int>;

Counts CountsOf(const PodView& pod) {
  Counts out;
  for (const ContainerView& container : pod.containers) out[container.name] = container.restarts;
  return out;
}

/// All that were ended run, and were started since.
bool RunsAgain(const PodView& pod, const RestartedPod& asked, const Counts& before) {
  return std::ranges::all_of(asked.containers, [&](const std::string& name) {
    const auto it = std::ranges::find(pod.containers, name, &ContainerView::name);
    const auto count = before.find(name);
    return it != pod.containers.end() && it->phase == ContainerPhase::kRunning &&
           (count == before.end() || it->restarts > count->second);
  });
}

int Await(const RestartedPod& asked, const Counts& before, const WaitOptions& options, const Session& session) {
  const os::MonoTime end = os::SystemClock().Now() + std::chrono::seconds(options.timeout_s);
  for (;; os::SleepFor(kLookForRestart)) {
    const auto pod = session.berthd().GetPod(asked.namespace_, asked.name);
    if (!pod) return session.Report(pod.error());
    if (RunsAgain(*pod->view, asked, before)) return kOk;
    if (os::SystemClock().Now() < end) continue;
    const std::string why = WhyNotRunning(*pod->view);
    session.err() << "berth: " << FullName(*pod->view) << " did not run again within " << options.timeout_s << " s"
                  << (why.empty() ? "" : ": " + why) << "; see 'berth describe " << asked.name << "'\n";
    return kFailed;
  }
}

Result<PodList> PodsToRestart(const RestartOptions& options, const Session& session) {
  if (options.pods.empty())
    return ChoosePods(session, {.namespace_ = options.namespace_, .selector = options.selector});
  PodList out;
  for (const std::string& given : options.pods) {
    BERTH_TRY(auto pod, FindPodToChange(session, given, options.namespace_));
    if (std::ranges::find(out.pods, FullName(*pod), [](const auto& other) { return FullName(*other); }) ==
        out.pods.end())
      out.pods.push_back(std::move(pod));
  }
  return out;
}

}  // namespace

int RunRestart(const RestartOptions& options, const Session& session) {
  const auto pods = PodsToRestart(options, session);
  if (!pods) return session.Report(pods.error());
  if (pods->pods.empty()) session.err() << "No pods with these labels.\n";
  int status = kOk;
  codec::Json list = codec::Json::array();
  std::vector<std::pair<RestartedPod, Counts>> asked;
  for (const auto& pod : pods->pods) {
    const auto answer = session.berthd().RestartPod(pod->namespace_, pod->name);
    if (!answer) {
      status = std::max(status, session.Report(answer.error()));
      if (status == kUnreachable) return status;
      continue;
    }
    if (session.for_people())
      session.out() << FullName(*pod) << " restarted: " << Join(answer->containers, ", ") << '\n' << std::flush;
    list.push_back(codec::ToJson(*answer));
    asked.emplace_back(*answer, CountsOf(*pod));
  }
  for (const auto& [pod, before] : asked)
    if (options.wait.wait && status != kUnreachable)
      status = std::max(status, Await(pod, before, options.wait, session));
  if (!session.for_people()) session.PrintData({{"restarted", std::move(list)}});
  return status;
}

}  // namespace berth::cli
