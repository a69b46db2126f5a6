#include "device_peer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "node/device_manager/played_plugin_test.h"
#include "node/device_manager/played_registrar_test.h"
#include "testing/fixtures.h"
#include "testing/seen_groups.h"

namespace berth::testkit {
namespace {

class PlayedPeer final : public DevicePeer {
 public:
  explicit PlayedPeer(PeerOptions options) : options_(std::move(options)) {
    List(options_.devices);
    OnStart();
  }

  void List(const std::vector<PeerDevice>& devices) override {
    listed_.clear();
    for (const PeerDevice& device : devices) {
      listed_.push_back({.id = device.id, .health = device.healthy ? "Healthy" : "Unhealthy"});
      if (device.node) listed_.back().nodes.push_back(*device.node);
    }
    if (plugin_) plugin_->List(listed_);
  }
  void Hold(bool on) override { hold_ = on; }
  int asked() override { return asked_; }
  bool registered() override { return registrar_ ? !registrar_->told().empty() : registered_; }
  void OnStart() override {
    if (registrar_) return;
    const std::string path = (found() ? options_.scratch : options_.folder) + "/" + options_.endpoint;
    plugin_.emplace(path);
    const grpc::UnaryHandler usual = plugin_->allocate;
    plugin_->allocate = [this, usual](const grpc::ServerCall& call, const std::string& request) {
      ++asked_;
      while (hold_ && !call.gone()) os::SleepFor(os::Millis(5));
      return WithGifts(usual(call, request));
    };
    plugin_->List(listed_);
    if (found())
      registrar_.emplace(
          options_.registry + "/" + options_.endpoint,
          device_manager::PluginInfo{
              .type = "DevicePlugin", .name = options_.resource, .endpoint = path, .versions = {"v1beta1"}});
    else if (device_manager::RegisterAt(options_.folder + "/kubelet.sock", options_.endpoint, options_.resource)
                 .empty())
      registered_ = true;
  }

 private:
  bool found() const { return !options_.registry.empty(); }
  grpc::Reply WithGifts(const grpc::Reply& usual) const {
    device_manager::pb::AllocateResponse out;
    out.ParseFromString(*usual);
    device_manager::pb::ContainerAllocateResponse& container = *out.mutable_container_responses(0);
    for (const auto& [host, inside] : options_.mounts) {
      device_manager::pb::Mount& mount = *container.add_mounts();
      mount.set_host_path(host);
      mount.set_container_path(inside);
      mount.set_read_only(true);
    }
    for (const auto& [host, inside] : options_.nodes) {
      device_manager::pb::DeviceSpec& node = *container.add_devices();
      node.set_host_path(host);
      node.set_container_path(inside);
      node.set_permissions("rw");
    }
    return out.SerializeAsString();
  }

  const PeerOptions options_;
  std::vector<device_manager::PlayedDevice> listed_;
  std::atomic<bool> hold_ = false;
  std::atomic<int> asked_ = 0;
  bool registered_ = false;
  std::optional<device_manager::PlayedPlugin> plugin_;
  std::optional<device_manager::PlayedRegistrar> registrar_;  // where it waits to be found
};

/// A process of its own, told by a file and heard by its log.
class GoPeer final : public DevicePeer {
 public:
  GoPeer(const std::string& program, const PeerOptions& options)
      : state_(options.scratch + "/" + options.endpoint + ".state"),
        log_(options.scratch + "/" + options.endpoint + ".calls"),
        devices_(options.devices) {
    WriteState();
    std::filesystem::remove(log_);
    std::vector<std::string> words = {program,      "--dir",          options.folder, "--resource", options.resource,
                                      "--endpoint", options.endpoint, "--state",      state_,       "--log",
                                      log_,         "--env",          "DEVICES=%s",   "--prestart", "--preferred"};
    if (!options.registry.empty()) words.insert(words.end(), {"--registry", options.registry});
    for (const auto& [host, inside] : options.mounts)
      words.insert(words.end(), {"--mount", host + ":" + inside + ":ro"});
    for (const auto& [host, inside] : options.nodes)
      words.insert(words.end(), {"--device-node", host + ":" + inside + ":rw"});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ~GoPeer() override {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  GoPeer(const GoPeer&) = delete;
  GoPeer& operator=(const GoPeer&) = delete;

  void List(const std::vector<PeerDevice>& devices) override {
    devices_ = devices;
    WriteState();
  }
  void Hold(bool on) override {
    hold_ = on;
    WriteState();
  }
  int asked() override { return CountCalls("Allocate"); }
  bool registered() override { return CountCalls("Registered") > 0; }

 private:
  /// As a whole, so that it never reads half of it.
  void WriteState() const {
    {
      std::ofstream out(state_ + ".new");
      for (const PeerDevice& device : devices_)
        out << "device " << device.id << (device.node ? " " + std::to_string(*device.node) : "")
            << (device.healthy ? "" : " unhealthy") << "\n";
      if (hold_) out << "hang Allocate\n";
    }
    std::filesystem::rename(state_ + ".new", state_);
  }
  int CountCalls(const std::string& name) const {
    const std::string text = ReadIfThere(log_);
    const std::string sought = "\"call\":\"" + name + "\"";
    int out = 0;
    for (std::size_t at = text.find(sought); at != std::string::npos; at = text.find(sought, at + 1)) ++out;
    return out;
  }

  const std::string state_;
  const std::string log_;
  std::vector<PeerDevice> devices_;
  bool hold_ = false;
  int pid_ = -1;
};

}  // namespace

std::unique_ptr<DevicePeer> StartPeer(PeerOptions options) {
  if (const char* const program = std::getenv("BERTH_DEVICE_PLUGIN")) return std::make_unique<GoPeer>(program, options);
  return std::make_unique<PlayedPeer>(std::move(options));
}

}  // namespace berth::testkit
