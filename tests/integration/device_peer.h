// A device plug-in for one test: one in C++, or the one of tests/go that $BERTH_DEVICE_PLUGIN names.
#ifndef BERTH_TESTS_INTEGRATION_DEVICE_PEER_H_
#define BERTH_TESTS_INTEGRATION_DEVICE_PEER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::testkit {

struct PeerDevice {
  std::string id;
  bool healthy = true;
  std::optional<int> node = 0;  ///< NUMA; nullopt: it says nothing of that
};

struct PeerOptions {
  std::string folder;               ///< where plug-ins register
  std::string registry{};           ///< where this one waits to be found in place of that; "": it registers
  std::string resource;             ///< that it serves
  std::string endpoint;             ///< name of its socket
  std::vector<PeerDevice> devices;  ///< that it lists first
  std::string scratch;              ///< a folder for files of its own
  /// Of Allocate's answer: paths of the host, and those in the container. Mounts are read-only, nodes "rw".
  std::vector<std::pair<std::string, std::string>> mounts{};
  std::vector<std::pair<std::string, std::string>> nodes{};
};

/// Runs from its construction until its destruction, which is as sudden as a SIGKILL. Registers at once, where somebody
/// listens. Allocate says DEVICES=<ids>.
class DevicePeer {
 public:
  virtual ~DevicePeer() = default;

  /// From now on it has these.
  virtual void List(const std::vector<PeerDevice>& devices) = 0;
  /// As long as this is so, Allocate is not answered.
  virtual void Hold(bool on) = 0;
  virtual int asked() = 0;        ///< calls of Allocate so far
  virtual bool registered() = 0;  ///< some registration was taken
  /// berthd has started anew, and waits for plug-ins. Those that watch its socket have seen that themselves.
  virtual void OnStart() {}
};

std::unique_ptr<DevicePeer> StartPeer(PeerOptions options);

}  // namespace berth::testkit

#endif  // BERTH_TESTS_INTEGRATION_DEVICE_PEER_H_
