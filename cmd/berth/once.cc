#include "berth/once.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "api/local_api/node_client.h"
#include "host/os/clock.h"
#include "host/os/fs.h"
#include "host/os/path.h"
#include "host/os/pidfd.h"
#include "host/os/process.h"
#include "host/os/remove_tree.h"
#include "rpc/http/listener.h"

namespace berth::cli {
namespace {

constexpr std::string_view kHome = "/run/berth-once";
constexpr os::Millis kLookAtSocket{50};
constexpr os::Millis kForItsStart{15'000};
constexpr os::Millis kForItsEnd{15'000};

constexpr std::string_view kKubeletSettings = R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
kubeReserved: {cpu: 500m}
topologyManagerPolicy: best-effort
memoryManagerPolicy: None
evictionHard: {memory.available: 0%}
failCgroupV1: false
failSwapOn: false
)";
constexpr std::string_view kSettings = R"(apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
runtime: process
devicePluginDir: ""
podPolicies:
- {name: run, namespaces: ["*"], cpus: [exclusive], numaNodes: ["*"]}
)";

std::string InHome(std::string_view name) { return std::string(kHome) + "/" + std::string(name); }

bool Answers() { return http::ProbeSocket(OnceDaemon::Socket()).code == Code::kInUse; }

/// The program beside ours, else the one PATH finds.
std::string DaemonProgram() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = self.parent_path() / "berthd";
  return !error && std::filesystem::exists(beside, error) ? beside.string() : "berthd";
}

Result<void> WriteSettings() {
  BERTH_TRY(const auto fs, os::OpenFs("/"));
  BERTH_RETURN_IF_ERROR(fs->Replace(InHome("kubelet.yaml"), kKubeletSettings));
  BERTH_RETURN_IF_ERROR(fs->Replace(InHome("berth.yaml"), kSettings));
  return os::MakeDirs(InHome("pods"), 0700);
}

std::string WhatItSaid() {
  const auto fs = os::OpenFs("/");
  const std::string text = fs ? (*fs)->Read(InHome("berthd.log")).value_or("") : "";
  constexpr std::size_t kShown = 2000;
  return text.size() > kShown ? text.substr(text.size() - kShown) : text;
}

Result<void> StartDaemon() {
  BERTH_RETURN_IF_ERROR(WriteSettings());
  const os::UniqueFd log(::open(InHome("berthd.log").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!log.valid()) return FailErrno("open", InHome("berthd.log"), errno);
  os::ProcessSpec spec;
  spec.argv = {
      DaemonProgram(), "--config",    InHome("berth.yaml"), "--kubelet-config", InHome("kubelet.yaml"), "--pod-dir",
      InHome("pods"),  "--state-dir", InHome("state"),      "--run-dir",        InHome("run"),          "--log-dir",
      InHome("log"),   "--socket",    OnceDaemon::Socket(), "--cgroup-root",    "/berth-once",          "--node-name",
      "once"};
  if (const char* path = std::getenv("PATH"); path != nullptr) {
    spec.env = {std::string("PATH=") + path};
    spec.search_path = path;
  }
  spec.stdout_fd = log.get();
  spec.stderr_fd = log.get();
  BERTH_TRY(const os::Process process, os::Spawn(spec));
  if (process.refused) return Wrap(*process.refused, "start berthd");
  const os::MonoTime start = os::SystemClock().Now();
  while (!Answers()) {
    const bool ended = os::HasEnded(process.pidfd.get());
    if (ended || os::SystemClock().Now() - start > kForItsStart) {
      if (const auto killed = os::SendSignal(process.pidfd.get(), SIGKILL); killed)
        if (os::WaitEnd(process.pidfd.get(), kForItsEnd)) os::Reap(process.pidfd.get());
      return Fail(Code::kTimeout,
                  std::string("berthd ") + (ended ? "ended" : "does not answer") + "; it said:\n" + WhatItSaid());
    }
    os::SleepFor(kLookAtSocket);
  }
  return {};
}

/// A part of what the folder is needed for. Waits while the last user of an earlier one stops it, who removes the
/// folder.
Result<os::LockFile> JoinUsers() {
  constexpr int kTries = 100;  // each is another one that came and went meanwhile
  const std::string users = InHome("users");
  Error problem{.code = Code::kBusy, .message = users + " is removed again and again"};
  for (int i = 0; i < kTries; ++i) {
    auto made = os::MakeDirs(std::string(kHome), 0700);
    if (made) made = os::MakeDirs(users, 0700);
    auto user = made ? os::LockFile::TakeDirectory(users, os::Hold::kTogether, kForItsEnd + kForItsStart)
                     : Result<os::LockFile>(std::unexpected(made.error()));
    if (user && user->Guards(users)) return user;
    if (!user && user.error().code != Code::kNotFound) return user;
    if (!user) problem = user.error();
  }
  return std::unexpected(std::move(problem));
}

/// Whoever joins meanwhile finds that what he waited for is gone, and makes it anew.
void RemoveHome() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kHome, error)) {
    if (entry.path().filename() == "users") continue;
    if (const auto gone = os::RemoveTree(entry.path().string()); !gone) continue;  // the next one tries again
  }
  std::filesystem::remove(InHome("users"), error);
  std::filesystem::remove(kHome, error);  // not if somebody made it anew
}

/// Asks it to end, and waits for that.
void StopDaemon() {
  const auto status = api::NodeClient(OnceDaemon::Socket()).Status();
  if (!status) return;
  const auto ticks = os::StartTicksOf(status->pid);
  const auto handle = ticks ? os::OpenPidfd(status->pid, *ticks) : std::unexpected(ticks.error());
  if (!handle || !os::SendSignal(handle->get(), SIGTERM)) return;
  if (os::WaitEnd(handle->get(), kForItsEnd)) os::Reap(handle->get());
}

}  // namespace

std::string OnceDaemon::Socket() { return InHome("berth.sock"); }

Result<OnceDaemon> OnceDaemon::Join() {
  if (::geteuid() != 0)
    return Fail(Code::kPermission, "--once takes root: it makes cgroups. Try: sudo berth run --once ...");
  BERTH_TRY(os::LockFile user, JoinUsers());
  OnceDaemon out(std::move(user));  // removes what was made, also when berthd does not start
  BERTH_TRY(const os::LockFile starting, os::LockFile::Take(InHome("start.lock"), kForItsStart + kForItsStart));
  if (!Answers()) BERTH_RETURN_IF_ERROR(StartDaemon());
  return out;
}

OnceDaemon::~OnceDaemon() {
  if (!user_) return;
  user_.reset();
  const auto last = os::LockFile::TakeDirectory(InHome("users"), os::Hold::kAlone, os::Millis(0));
  if (!last) return;  // others need it
  const auto pods = api::NodeClient(Socket()).Pods();
  if (pods && !pods->pods.empty()) return;  // somebody detached one
  StopDaemon();
  if (!Answers()) RemoveHome();
}

}  // namespace berth::cli
