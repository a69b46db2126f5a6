// The real berthd with directories and a root cgroup of its own, for tests on this host's real cgroups.
//
// Everything is ended and removed by the destructor, also when the test failed: berthd, containers, supervisors,
// groups, files.
#ifndef BERTH_TESTS_INTEGRATION_DAEMON_FIXTURE_H_
#define BERTH_TESTS_INTEGRATION_DAEMON_FIXTURE_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/codec/codec.h"
#include "base/id_set.h"
#include "host/cgroup/cgroup_names.h"
#include "testing/fixtures.h"

namespace berth::testkit {

/// CPUs of this host that are online.
CpuSet OnlineCpus();

/// A process as /proc shows it.
struct SeenProcess {
  int pid = 0;
  std::string name;
  std::string cgroup;  ///< below Berth's root, as cgroupfs calls it: "kubepods/pod…/app", "berth"
  CpuSet allowed;
  bool on_cpu = false;  ///< runs or wants to at this moment
  CpuId processor{};    ///< where it ran last
};

/// Whether a process is there and no zombie.
bool Lives(int pid);

class DaemonFixture {
 public:
  /// Why berthd cannot be tested here; nullopt: it can.
  static std::optional<std::string> WhyNot();

  explicit DaemonFixture(std::string_view reserved_cpus = "0");
  ~DaemonFixture();
  DaemonFixture(const DaemonFixture&) = delete;
  DaemonFixture& operator=(const DaemonFixture&) = delete;

  /// Adds lines to the KubeletConfiguration; before Start.
  void Configure(std::string_view yaml);
  /// Starts berthd and waits until it answers. `before_exec` runs in the child. Where BERTH_UNIT names a service's file
  /// systemd starts berthd, with all that stands there but the command, and nothing can run before it.
  void Start(const std::vector<std::string>& more_arguments = {}, const std::function<void()>& before_exec = nullptr);
  /// Runs another berthd, always as a child, with the same arguments to its end: exit status and what it said.
  struct Outcome {
    int status = -1;
    std::string output;
  };
  Outcome RunToEnd(const std::vector<std::string>& more_arguments = {},
                   const std::function<void()>& before_exec = nullptr);
  void Kill();  ///< SIGKILL
  int Stop();   ///< SIGTERM; exit status
  int pid() const { return pid_; }
  bool killed() const { return killed_; }  ///< at least once
  std::string output() const;              ///< all that berthd wrote so far

  void AddPod(const std::string& file, std::string_view text);
  void RemovePod(const std::string& file);
  /// Null where berthd refuses, and where it does not answer.
  codec::Json Get(const std::string& path);
  /// Waits until `done`, looking again whenever something may have changed; a test failure naming `what` after a while.
  /// What `done` says while berthd leaves one of its questions unanswered does not count: nobody knows what is gone.
  bool Until(const std::string& what, const std::function<bool()>& done);
  /// The pod's status; null when there is none.
  codec::Json PodNamed(const std::string& name);
  bool Runs(const std::string& name);
  /// "pid" of each running container by "pod/container".
  std::map<std::string, int> Pids();
  /// Since this berthd was started.
  int CountEvents(const std::string& reason, const std::string& text = "");
  /// What this berthd has put right in the kernel because somebody else had changed it, a line each.
  std::string Repairs();

  /// All processes in Berth's groups, supervisors and berthd among them.
  std::vector<SeenProcess> Processes() const;
  /// Groups below Berth's root, over all hierarchies, as absolute directories.
  std::vector<std::string> Groups() const;
  /// All that pods have left, a line each: pods, ledger entries, groups, directories, mounts. For when all are gone.
  std::vector<std::string> Leftovers();
  /// `group`: as berthd reports it, or "berth" for its own.
  std::string GroupFile(std::string_view controller, std::string_view group, std::string_view file) const;

  std::string Dir(std::string_view name) const { return temp_ / name; }
  const std::string& socket() const { return socket_; }
  const std::string& root() const { return root_; }  ///< as configured
  /// Below each hierarchy.
  const std::string& cgroup_root() const { return names_.root(); }
  std::string GroupOfPod(QosClass qos, const std::string& uid) const { return names_.FromTop(names_.Pod(qos, uid)); }
  /// Path of a group of the host below the root, as settings name it.
  std::string HostGroup(const std::string& name) const;
  /// A path below the root as the cgroupfs driver would write it: what SeenProcess::cgroup says.
  std::string Plainly(std::string_view group) const;
  cgroup::Driver driver() const { return names_.driver(); }  ///< that this host needs
  std::string state_dir;                                     ///< may be changed before Start

 private:
  codec::Json OwnEvents();
  std::vector<std::string> Arguments(const std::vector<std::string>& more) const;
  int Spawn(const std::vector<std::string>& more, const std::function<void()>& before_exec, const std::string& log);
  int StartUnit(const std::string& file, const std::vector<std::string>& more);
  /// The status of the berthd that Start started, which is forgotten then; nullopt: it runs.
  std::optional<int> Ended();
  void ForgetUnit();
  void KillGroups();
  void RemoveGroups();

  TempDir temp_;
  std::string root_;     // as configured
  cgroup::Names names_;  // with the driver that this host needs
  std::string socket_;
  std::string unit_;  // that berthd is; "": a child
  int pid_ = -1;
  bool killed_ = false;
  std::atomic<bool> unanswered_ = false;  // a question, since Until looked last
};

/// A manifest of one container that spins: `cpu` "" for BestEffort, else a limit (Guaranteed).
std::string SpinnerManifest(const std::string& name, const std::string& cpu, int grace_s = 1);

}  // namespace berth::testkit

#endif  // BERTH_TESTS_INTEGRATION_DAEMON_FIXTURE_H_
