// A real containerd for one test: own root, state, socket and cgroup, with the images of tools/make_image. Debian's, or
// the one in the folder that BERTH_CONTAINERD names (tools/get_containerd). BERTH_IMAGES: the archive, made before.
//
// Everything is ended and removed by the destructor, also when the test failed: containers, shims, mounts, groups,
// files.
#ifndef BERTH_TESTS_INTEGRATION_CONTAINERD_FIXTURE_H_
#define BERTH_TESTS_INTEGRATION_CONTAINERD_FIXTURE_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/os/lock_file.h"
#include "testing/fixtures.h"

namespace berth::testkit {

/// Image that tools/make_image makes for containers.
inline constexpr const char* kTestImage = "localhost/berth/busybox:1";

/// Exit status of a program run to its end, its words appended to `log`.
int RunProgram(const std::vector<std::string>& words, const std::string& log);

class ContainerdFixture {
 public:
  /// Why containerd cannot be run here; nullopt: it can.
  static std::optional<std::string> WhyNot();

  ContainerdFixture();
  ~ContainerdFixture();
  ContainerdFixture(const ContainerdFixture&) = delete;
  ContainerdFixture& operator=(const ContainerdFixture&) = delete;

  enum class With { kCri, kNothing, kCriAndNri };
  /// Starts it (again); a test failure when it does not answer. With NRI (1.7 and later) at nri_socket().
  void Start(With with = With::kCri);
  void Kill();           ///< SIGKILL; containers go on
  void Freeze(bool on);  ///< SIGSTOP, SIGCONT: a runtime that does not answer
  /// Starts it again with networks for pods that do not have the host's, 198.18.77.0/24; to this test alone until the
  /// fixture ends, as addresses and ports of the host are there only once. `more`: further plug-ins of the list, as
  /// JSON, each after a comma. False: Debian's plug-ins are missing.
  bool MakeNetwork(With with = With::kCri, const std::string& more = "");
  /// Images of an archive, for pods; a test failure when they are not there afterwards.
  void Import(const std::string& archive, const std::vector<std::string>& images);
  int pid() const { return pid_; }
  std::string Dir(std::string_view name) const { return temp_ / name; }
  std::string socket() const { return temp_ / "containerd.sock"; }
  std::string nri_socket() const { return temp_ / "nri.sock"; }
  /// For cgroup_parent: a group of this test's, removed at the end.
  const std::string& cgroup_root() const { return root_; }
  /// The same for one pod, as the cgroup driver of this host wants it.
  std::string GroupOfPod(const std::string& uid) const;
  /// Everything below cgroup_root in all hierarchies, as absolute directories.
  std::vector<std::string> Groups() const;
  /// Mount points below this containerd's folders.
  std::vector<std::string> Mounts() const;
  /// Pids of this containerd's shims by the id they were started for.
  std::map<std::string, int> Shims() const;
  /// All that containers and sandboxes have left, a line each: in the runtime (which has to answer), shims, mounts,
  /// groups below cgroup_root, runc's records. Not counted: a shim without children once containerd was killed, or
  /// (`client_killed`) who called it. In the first case it dies between starting a shim and writing that down, in the
  /// second it (1.6) ends what it was doing for a call whose connection is gone: it knows nothing of that shim
  /// afterwards, and nobody can ask it to end.
  std::vector<std::string> Leftovers(bool client_killed) const;
  /// A control file of the first group below cgroup_root whose path ends with `suffix`, without newline; "": none.
  std::string Value(std::string_view controller, std::string_view suffix, std::string_view file) const;
  /// What it keeps of a container, as `ctr containers info` prints it; "": it has none of that id.
  std::string RecordOf(const std::string& id) const;
  std::string output() const;
  bool Until(const std::string& what, const std::function<bool()>& done) const;

 private:
  void ImportImages();
  void KillEverything();
  void RemoveRuncState();
  std::vector<std::string> RuncRecords() const;

  TempDir temp_;
  std::string root_;
  std::string own_group_;  // where containerd and its shims are
  int pid_ = -1;
  std::optional<os::LockFile> network_;
  bool imported_ = false;
  bool killed_ = false;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTS_INTEGRATION_CONTAINERD_FIXTURE_H_
