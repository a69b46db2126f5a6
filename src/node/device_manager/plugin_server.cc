#include "node/device_manager/plugin_server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "base/words.h"
#include "host/os/lock_file.h"
#include "host/os/unique_fd.h"
#include "host/os/whole_file.h"
#include "rpc/grpc/transport.h"

namespace berth::device_manager {
namespace {

constexpr unsigned kFolderMode = 0750;
constexpr unsigned kSocketMode = 0600;
constexpr std::size_t kMostResources = 64;
constexpr std::size_t kMostRegistering = 16;  // at a time
constexpr os::Millis kLongestRegistration{30'000};
constexpr std::size_t kMostNotes = 200;       // that wait; what is more is lost
constexpr std::size_t kMostNamed = 10;        // devices in a note
constexpr std::size_t kLongestCounted = 200;  // bytes of a resource's name
/// The kubelet's, in seconds.
constexpr std::array kAllocateBounds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0};

/// Who sees the sockets go registers anew.
void RemoveSockets(const std::string& folder) {
  const os::UniqueFd dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid()) return;
  for (const std::string& name : os::NamesIn(dir.get(), folder).value_or(std::vector<std::string>())) {
    struct stat info{};
    if (::fstatat(dir.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(info.st_mode))
      ::unlinkat(dir.get(), name.c_str(), 0);
  }
}

bool SomebodyListens(const std::string& socket) {
  const auto answers = grpc::UnixConnector(socket)();
  if (answers) return true;
  const int why = answers.error().sys;
  return why != ECONNREFUSED && why != ENOENT && why != ENOTDIR;
}

/// The socket of the kubelet whose registry that would be.
std::string KubeletOf(const std::string& registry) {
  return std::filesystem::path(registry).parent_path() / "device-plugins/kubelet.sock";
}

std::string NamesOfUnhealthy(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const Device& device : devices) {
    if (device.healthy) continue;
    if (names.size() < kMostNamed)
      names.push_back(Printable(device.id));
    else
      ++more;
  }
  return Join(names, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string InSeconds(os::Millis time) { return fmt::format("{:.0f} s", std::chrono::duration<double>(time).count()); }

}  // namespace

std::string RegistryBeside(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return std::filesystem::path(folder).parent_path() / "plugins_registry";
}

PluginServer::PluginServer(ServerOptions options, os::EventFd changed)
    : options_(std::move(options)), changed_(std::move(changed)), watchers_({.most = 2 * kMostResources}) {
  const MutexLock lock(mutex_);
  for (const std::string& name : options_.awaited) resources_[name].away = os::SystemClock().Now();
  Changed();
}

Result<std::unique_ptr<PluginServer>> PluginServer::Start(ServerOptions options) {
  BERTH_RETURN_IF_ERROR(os::MakeDirs(options.folder, kFolderMode));
  const std::string path = options.folder + "/kubelet.sock";
  if (SomebodyListens(path))
    return Fail(Code::kInUse, path + ": a kubelet, or another berthd, listens there; device plug-ins stay with it");
  // Asked while nobody but a kubelet can listen there.
  const bool another = !options.registry.empty() && SomebodyListens(KubeletOf(options.registry));
  BERTH_TRY(os::EventFd changed, os::EventFd::Open());
  std::unique_ptr<PluginServer> out(new PluginServer(std::move(options), std::move(changed)));
  RemoveSockets(out->options_.folder);
  grpc::Services services;
  services.unary["/v1beta1.Registration/Register"] =
      [server = out.get()](const grpc::ServerCall&, const std::string& request) { return server->Register(request); };
  grpc::ServerOptions limits{.most_calls = kMostRegistering,
                             .longest_call = kLongestRegistration,
                             .on_lost_socket = out->options_.on_lost_socket};
  limits.limits.message = std::size_t{64} << 10;
  BERTH_TRY(out->server_, grpc::Server::Start(std::move(services), limits));
  BERTH_RETURN_IF_ERROR(out->server_->Listen(path, kSocketMode));
  if (out->options_.registry.empty()) return out;
  const Result<void> opened =
      another ? Fail(Code::kInUse, "a kubelet listens at " + KubeletOf(out->options_.registry) + "; they stay with it")
              : out->OpenRegistry();
  if (!opened) out->TellOfRegistry(opened.error());
  return out;
}

Result<void> PluginServer::OpenRegistry() {
  BERTH_RETURN_IF_ERROR(os::MakeDirs(options_.registry, kFolderMode));
  BERTH_TRY(registry_, PluginRegistry::Start(options_.registry,
                                             {.join = [this](const PluginInfo& info) { return JoinFound(info); },
                                              .part = [this](const EndpointPtr& gone) { return PartFound(gone); },
                                              .unwatched = [this](const Error& why) { TellOfRegistry(why); }}));
  return {};
}

/// Plug-ins that register themselves need none of it.
void PluginServer::TellOfRegistry(const Error& why) {
  const MutexLock lock(mutex_);
  Tell(true, "PluginRegistryProblem", fmt::format("plug-ins in {}: {}", options_.registry, why.message));
}

PluginServer::~PluginServer() {
  GiveUp();
  registry_.reset();
  server_.reset();
}

void PluginServer::GiveUp() {
  const MutexLock lock(mutex_);
  ending_ = true;
  for (const EndpointPtr& endpoint : greeted_) endpoint->Stop();
  for (const auto& [name, resource] : resources_)
    if (resource.endpoint) resource.endpoint->Stop();
}

// ---- registration ------------------------------------------------------------------------------------------------

grpc::Reply PluginServer::Register(const std::string& request) {
  const auto registration = ReadRegistration(request);
  const Result<void> taken = registration ? Take(*registration) : Refuse(registration.error());
  if (taken) return std::string();
  return std::unexpected(grpc::Status(grpc::StatusCode::kUnknown, taken.error().message));  // as Go's errors arrive
}

Result<void> PluginServer::Take(const Registration& registration) {
  Count(registration.resource);
  if (auto right = CheckRegistration(registration); !right) return Refuse(std::move(right).error());
  BERTH_RETURN_IF_ERROR(
      Meet(registration.resource, options_.folder + "/" + registration.endpoint, registration.endpoint));
  return {};
}

Result<PluginServer::EndpointPtr> PluginServer::JoinFound(const PluginInfo& info) {
  Count(info.name);
  if (auto right = CheckPluginInfo(info); !right) return Refuse(std::move(right).error());
  return Meet(info.name, info.endpoint, info.endpoint);
}

/// Its list ends with that. False: somebody else serves the resource, whatever its socket is called.
bool PluginServer::PartFound(const EndpointPtr& endpoint) {
  endpoint->Stop();
  const MutexLock lock(mutex_);
  const auto found = resources_.find(endpoint->resource());
  return found == resources_.end() || found->second.endpoint == endpoint || found->second.away;
}

Result<PluginServer::EndpointPtr> PluginServer::Meet(const std::string& resource, const std::string& path,
                                                     const std::string& name) {
  BERTH_TRY(const EndpointPtr endpoint, Endpoint::Make(resource, path, name, options_.patience));
  auto taken = Greet(endpoint);
  if (taken) return endpoint;
  const MutexLock lock(mutex_);
  Tell(true, "DevicePluginRefused", fmt::format("{} ({}): {}", resource, name, taken.error().message));
  return std::unexpected(std::move(taken).error());
}

std::unexpected<Error> PluginServer::Refuse(Error why) {
  const MutexLock lock(mutex_);
  Tell(true, "DevicePluginRefused", why.message);
  return std::unexpected(std::move(why));
}

/// Names that are refused do not fill the memory: when there are too many, new ones are not counted.
void PluginServer::Count(const std::string& resource) {
  const std::string name = Printable(resource, kLongestCounted);
  const MutexLock lock(mutex_);
  if (figures_.registrations.contains(name) || figures_.registrations.size() < 2 * kMostResources)
    ++figures_.registrations[name];
}

Result<void> PluginServer::Greet(const EndpointPtr& endpoint) {
  {
    const MutexLock lock(mutex_);
    if (ending_) return Fail(Code::kCancelled, "berthd is stopping");
    greeted_.insert(endpoint);
  }
  const auto wants = endpoint->Greet();
  Result<void> out = wants ? TakeOver(endpoint, *wants) : Result<void>(std::unexpected(wants.error()));
  const MutexLock lock(mutex_);
  greeted_.erase(endpoint);
  return out;
}

/// From here on it is the one that serves the resource. The devices of the one before stay until it has listed its own.
Result<void> PluginServer::TakeOver(const EndpointPtr& endpoint, const PluginOptions& wants) {
  EndpointPtr before;
  {
    const MutexLock lock(mutex_);
    if (ending_) return Fail(Code::kCancelled, "berthd is stopping");
    const std::string& name = endpoint->resource();
    if (!resources_.contains(name) && resources_.size() >= kMostResources)
      return Fail(Code::kExhausted, fmt::format("device plug-ins of {} resources are the most", kMostResources));
    if (!watchers_.DoNow([this, endpoint] { Watch(endpoint); }))
      return Fail(Code::kExhausted, "too many device plug-ins");
    Resource& resource = resources_[name];
    before = std::exchange(resource.endpoint, endpoint);
    resource.options = wants;
    resource.listed = false;
    resource.away.reset();
    ++registrations_;
    gone_.erase(name);
    Tell(false, "DevicePluginRegistered", fmt::format("{} at {}", name, endpoint->name()));
    Changed();
  }
  if (before) before->Stop();
  return {};
}

// ---- lists -------------------------------------------------------------------------------------------------------

void PluginServer::Watch(const EndpointPtr& endpoint) {
  const Error why = endpoint->Watch(options_.nodes, [&](DeviceList list) { TakeList(endpoint, std::move(list)); });
  TakeEnd(endpoint, why);  // first: who asks it is told that it stopped, and looks at what is known then
  endpoint->Stop();
}

void PluginServer::TakeList(const EndpointPtr& endpoint, DeviceList list) {
  const MutexLock lock(mutex_);
  const auto found = resources_.find(endpoint->resource());
  if (found == resources_.end() || found->second.endpoint != endpoint) return;
  Resource& resource = found->second;
  TellOfList(found->first, resource, list);
  if (resource.listed && resource.devices == list.devices) return;
  resource.devices = std::move(list.devices);
  resource.listed = true;
  Changed();
}

/// Each thing once, as long as it is so.
void PluginServer::TellOfList(const std::string& name, Resource& resource, DeviceList& list) {
  if (!list.problems.empty() && list.problems != resource.problems)
    Tell(true, "DevicePluginProblem", fmt::format("{}: {}", name, Join(list.problems, "; ")));
  resource.problems = std::move(list.problems);
  std::string unhealthy = NamesOfUnhealthy(list.devices);
  if (unhealthy != resource.unhealthy) {
    if (unhealthy.empty())
      Tell(false, "DevicesHealthy", fmt::format("all devices of {} are healthy", name));
    else
      Tell(true, "DevicesUnhealthy", fmt::format("{}: {}", name, unhealthy));
  }
  resource.unhealthy = std::move(unhealthy);
}

void PluginServer::TakeEnd(const EndpointPtr& endpoint, const Error& why) {
  const MutexLock lock(mutex_);
  const auto found = resources_.find(endpoint->resource());
  if (ending_ || found == resources_.end() || found->second.endpoint != endpoint) return;
  Resource& resource = found->second;
  for (Device& device : resource.devices) device.healthy = false;
  resource.away = os::SystemClock().Now();
  resource.unhealthy = NamesOfUnhealthy(resource.devices);
  Tell(true, "DevicePluginGone",
       fmt::format("{} at {}: {}; its {} are unhealthy, and no longer the node's when it is not back within {}",
                   found->first, endpoint->name(), why.message,
                   Counted(static_cast<std::int64_t>(resource.devices.size()), "device"),
                   InSeconds(options_.patience.grace)));
  Changed();
}

// ---- what is known -----------------------------------------------------------------------------------------------

void PluginServer::Tell(bool warning, std::string reason, std::string message) {
  if (notes_.size() >= kMostNotes) return;
  notes_.push_back({.warning = warning, .reason = std::move(reason), .message = std::move(message)});
  changed_.Signal();
}

void PluginServer::Changed() {
  auto known = std::make_shared<Known>();
  for (const auto& [name, resource] : resources_) {
    known->devices[name] = resource.devices;
    known->resources[name] = {.endpoint = resource.endpoint ? resource.endpoint->name() : "",
                              .ready = resource.endpoint && resource.listed && !resource.away,
                              .options = resource.options};
  }
  known->gone = gone_;
  known->registrations = registrations_;
  known_ = std::move(known);
  changed_.Signal();
}

std::shared_ptr<const Known> PluginServer::known() const {
  const MutexLock lock(mutex_);
  return known_;
}

std::vector<Note> PluginServer::TakeNotes() {
  const MutexLock lock(mutex_);
  changed_.Clear();
  return std::exchange(notes_, {});
}

DeviceFigures PluginServer::figures() const {
  const MutexLock lock(mutex_);
  return figures_;
}

os::MonoTime PluginServer::next_due() const {
  const MutexLock lock(mutex_);
  os::MonoTime out = os::MonoTime::max();
  for (const auto& [name, resource] : resources_)
    if (resource.away) out = std::min(out, *resource.away + options_.patience.grace);
  return out;
}

void PluginServer::Forget(os::MonoTime now) {
  const MutexLock lock(mutex_);
  bool some = false;
  for (auto next = resources_.begin(); next != resources_.end();) {
    const auto entry = next++;
    if (!entry->second.away || now - *entry->second.away < options_.patience.grace) continue;
    Tell(true, "DevicePluginForgotten",
         fmt::format("no plug-in has served {} for {}: it is no resource of the node any more", entry->first,
                     InSeconds(options_.patience.grace)));
    gone_.insert(entry->first);
    resources_.erase(entry);
    some = true;
  }
  if (some) Changed();
}

// ---- questions ---------------------------------------------------------------------------------------------------

Result<PluginServer::EndpointPtr> PluginServer::Find(const std::string& resource) const {
  const MutexLock lock(mutex_);
  const auto found = resources_.find(resource);
  if (found == resources_.end() || !found->second.endpoint || found->second.away)
    return Fail(Code::kUnreachable, "no device plug-in of " + resource + " is registered");
  return found->second.endpoint;
}

Result<DeviceAnswer> PluginServer::Allocate(const std::string& resource, const std::vector<std::string>& ids) {
  BERTH_TRY(const EndpointPtr endpoint, Find(resource));
  const os::MonoTime from = os::SystemClock().Now();
  auto answer = endpoint->Allocate(ids);
  {
    const MutexLock lock(mutex_);
    figures_.allocate_seconds.try_emplace(resource, kAllocateBounds)
        .first->second.Add(std::chrono::duration<double>(os::SystemClock().Now() - from).count());
  }
  BERTH_TRY(DeviceAnswer out, std::move(answer));
  const std::shared_ptr<const Known> now = known();
  const auto devices = now->devices.find(resource);
  if (devices == now->devices.end()) return out;
  for (const std::string& id : ids) {
    const auto device = std::ranges::lower_bound(devices->second, id, {}, &Device::id);
    out.nodes[id] = device != devices->second.end() && device->id == id ? device->nodes : NodeSet();
  }
  return out;
}

Result<void> PluginServer::PreStart(const std::string& resource, const std::vector<std::string>& ids) {
  BERTH_TRY(const EndpointPtr endpoint, Find(resource));
  return endpoint->PreStart(ids);
}

Result<std::vector<std::string>> PluginServer::Prefer(const std::string& resource, const PreferenceQuestion& question) {
  BERTH_TRY(const EndpointPtr endpoint, Find(resource));
  return endpoint->Prefer(question);
}

}  // namespace berth::device_manager
