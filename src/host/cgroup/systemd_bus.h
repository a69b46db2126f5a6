// Systemd units of cgroups over D-Bus: start, set properties, attach, stop. Internal to this folder; an interface, so
// that a test can play systemd.
//
// Every call ends within a few seconds. After one that systemd did not answer, calls fail at once for a moment, so that
// a loop with many of them goes on. Errors: kNotFound (no such unit is loaded), kPermission, kInvalid (systemd refuses
// the words), kTimeout (no answer), kUnreachable (no connection), kUncertain (the connection broke), kIo (a job
// failed), all with the cure. Everything may be repeated.
#ifndef BERTH_HOST_CGROUP_SYSTEMD_BUS_H_
#define BERTH_HOST_CGROUP_SYSTEMD_BUS_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/cgroup/systemd_units.h"

namespace berth::cgroup {

class Systemd {
 public:
  virtual ~Systemd() = default;
  /// Makes and starts a transient unit and waits until it is there; false: there is one of that name, nothing was done.
  virtual Result<bool> StartTransient(const std::string& unit, const std::vector<Property>& properties) = 0;
  /// Starts a unit that exists; running already: success.
  virtual Result<void> Start(const std::string& unit) = 0;
  /// Sets properties until the next boot; when it returns, the kernel's files have them.
  virtual Result<void> Set(const std::string& unit, const std::vector<Property>& properties) = 0;
  /// Moves a process into the unit's cgroup. Errors: also when the unit is on its way out.
  virtual Result<void> Attach(const std::string& unit, int pid) = 0;
  /// Stops a unit and waits until it has; not loaded: success.
  virtual Result<void> Stop(const std::string& unit) = 0;
  /// Closes the connection; the next call opens another one.
  virtual void Rest() {}
};

inline constexpr const char* kSystemdSocket = "unix:path=/run/systemd/private";

/// The system's systemd. Connects when it is first needed: by its own socket (a D-Bus address), else through the
/// system's bus.
std::unique_ptr<Systemd> OpenSystemd(std::string own_socket = kSystemdSocket);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_SYSTEMD_BUS_H_
