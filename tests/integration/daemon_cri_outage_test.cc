// A runtime that is away for a moment, and sandboxes that somebody else ends: pods go on as soon as they can.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iostream>

#include "cri_node.h"
#include "runtime/cri/cri_client.h"

namespace berth::testkit {
namespace {

constexpr os::Millis kOutage{1'500};
/// Longer than the first call of a start takes that waits for nothing; shorter than any back-off (10 s for a container,
/// and some 8 s for a pod whose runtime did not answer, were it not tried again when it does).
constexpr os::Millis kAtOnce{5'000};
/// More looks at the runtime than a start at once has before it, fewer than fall into a back-off at one a second: tells
/// them apart on a machine that itself stood still for longer than kAtOnce.
constexpr std::size_t kLooksOfABackOff = 6;

class DaemonCriOutageTest : public CriNodeTest {
 protected:
  std::vector<cri::Sandbox> SandboxesOf(const std::string& pod) const {
    const auto found = cri::Client(containerd->socket()).Sandboxes({{"io.kubernetes.pod.name", pod + "-n1"}});
    return found ? *found : std::vector<cri::Sandbox>();
  }
  os::Millis UntilItRuns(const std::string& pod) {
    const os::MonoTime begin = os::SystemClock().Now();
    EXPECT_TRUE(berthd->Until(pod + " runs", [&] { return berthd->Runs(pod); }));
    return std::chrono::duration_cast<os::Millis>(os::SystemClock().Now() - begin);
  }
  /// The first call of a start came at once after the first of the calls that the relay has seen beyond `calls_before`.
  void ExpectNoBackOff(std::size_t calls_before) const {
    const std::vector<RelayedCall> calls = relay->Calls();
    ASSERT_LT(calls_before, calls.size()) << berthd->output();
    const auto since = calls.begin() + static_cast<std::ptrdiff_t>(calls_before);
    const auto started = std::find_if(since, calls.end(), [](const RelayedCall& call) {
      return call.method == "RunPodSandbox" || call.method == "CreateContainer" || call.method == "StartContainer";
    });
    const auto took =
        std::chrono::duration_cast<os::Millis>((started == calls.end() ? calls.back() : *started).at - since->at);
    const auto looks = static_cast<std::size_t>(
        std::count_if(since, started, [](const RelayedCall& call) { return call.method == "ListContainers"; }));
    EXPECT_TRUE(took < kAtOnce || looks < kLooksOfABackOff) << took.count() << " ms, " << looks << " looks\n"
                                                            << berthd->output();
  }
  static int RestartsOf(const codec::Json& pod) {
    return pod.is_object() ? pod["containers"][0]["restarts"].get<int>() : -1;
  }
  /// Ends the sandbox, waits until the pod runs again in another one, and says how long that took.
  os::Millis UntilMadeAnew(const std::string& pod, const std::function<void(const cri::Sandbox&)>& end) {
    const int told = berthd->CountEvents("SandboxChanged", "");
    const std::vector<cri::Sandbox> before = SandboxesOf(pod);
    EXPECT_EQ(1U, before.size());
    if (before.empty()) return {};
    const std::size_t calls = relay->Calls().size();
    const os::MonoTime begin = os::SystemClock().Now();
    end(before.front());
    EXPECT_TRUE(berthd->Until("it runs in another one", [&] {
      const std::vector<cri::Sandbox> now = SandboxesOf(pod);
      return now.size() == 1 && now.front().ready && now.front().id != before.front().id && berthd->Runs(pod);
    }));
    const auto took = std::chrono::duration_cast<os::Millis>(os::SystemClock().Now() - begin);
    EXPECT_EQ(told + 1, berthd->CountEvents("SandboxChanged", ""));
    ExpectNoBackOff(calls);
    return took;
  }
};

TEST_F(DaemonCriOutageTest, APodWhoseStartWasCutOffStartsWhenTheRuntimeAnswersAgain) {
  PutRelayBetween();
  Start();
  using Moment = CriRelay::Moment;
  int pods = 0;
  for (const char* const method : {"RunPodSandbox", "CreateContainer", "StartContainer"})
    for (const Moment moment : {Moment::kAsked, Moment::kAnswered}) {
      SCOPED_TRACE(method);
      std::atomic<bool> killed = false;
      relay->SetJudge([&, pid = containerd->pid()](const RelayedCall& call, Moment now) {
        CriRelay::Fate fate;
        if (call.method != method || now != moment || killed.exchange(true)) return fate;
        ::kill(pid, SIGKILL);
        fate.lost = true;
        return fate;
      });
      const std::string pod = "pod" + std::to_string(++pods);
      Add({.name = pod});
      ASSERT_TRUE(containerd->Until("the call comes", [&] { return killed.load(); })) << berthd->output();
      containerd->Kill();
      os::SleepFor(kOutage);
      containerd->Start();
      const std::size_t calls = relay->Calls().size();
      const os::Millis waited = UntilItRuns(pod);
      std::cout << method << (moment == Moment::kAsked ? " not done" : " done") << ": runs " << waited.count()
                << " ms after the runtime answers\n";
      ExpectNoBackOff(calls);
      EXPECT_EQ(0, RestartsOf(berthd->PodNamed(pod)));
      relay->SetJudge(nullptr);
    }
  for (; pods > 0; --pods) Remove("pod" + std::to_string(pods));
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriOutageTest, ASandboxThatSomebodyElseEndsIsMadeAnewAtOnce) {
  PutRelayBetween();
  Start();
  Add({.name = "web"});
  UntilItRuns("web");
  const cri::Client client(containerd->socket());
  const auto stop = [&](const cri::Sandbox& sandbox) { EXPECT_TRUE(client.StopSandbox(sandbox.id)); };
  const auto remove = [&](const cri::Sandbox& sandbox) {
    stop(sandbox);
    // berthd removes what has ended too, and containerd refuses whoever comes second to a container while it goes.
    EXPECT_TRUE(berthd->Until("the sandbox is removed", [&] { return client.RemoveSandbox(sandbox.id).has_value(); }));
  };
  const auto kill = [&](const cri::Sandbox& sandbox) {
    for (const SeenProcess& process : berthd->Processes())
      if (process.cgroup.ends_with(sandbox.id)) ::kill(process.pid, SIGKILL);
  };
  const os::Millis stopped = UntilMadeAnew("web", stop);
  berthd->Kill();  // what it found when it started is looked after as well
  Start();
  const os::Millis after_restart = UntilMadeAnew("web", kill);
  const os::Millis removed = UntilMadeAnew("web", remove);  // no back-off, though it is the third time
  std::cout << "made anew: stopped " << stopped.count() << " ms, its process killed " << after_restart.count()
            << " ms, removed " << removed.count() << " ms\n";
  Remove("web");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriOutageTest, APodThatIsToEndWhileTheRuntimeIsAwayEndsAsItsGracePeriodSays) {
  Start();
  Add({.name = "web",
       .script = "trap 'echo asked; exit 0' TERM; sleep 1000 & wait",
       .spec = "  terminationGracePeriodSeconds: 60\n"});
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("web"); }));
  containerd->Kill();
  Remove("web");
  ASSERT_TRUE(berthd->Until("it is told", [&] { return berthd->CountEvents("Killing", "") > 0; }));
  Add({.name = "next"});
  os::SleepFor(kOutage);
  containerd->Start();
  std::cout << "a pod of the outage: runs " << UntilItRuns("next").count() << " ms after the runtime answers\n";
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone("web"); }));
  EXPECT_EQ(1, berthd->CountEvents("Completed", "exit code 0")) << "not killed when its time was over";
  Remove("next");
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace berth::testkit
