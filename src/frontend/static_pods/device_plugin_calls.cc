#include "frontend/static_pods/device_plugin_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

namespace berth::pods {

// ---- what is waited for ------------------------------------------------------------------------------------------

/// By what decisions go by, and by what is newer: a plug-in that has gone since is waited for as well.
std::string DeviceGrants::AwaitedOf(const std::set<std::string>& resources) const {
  if (node_.devices().plugins() == nullptr) return "";
  const std::string awaited = FirstAwaited(resources, node_.devices().known());
  return awaited.empty() ? FirstAwaited(resources, *node_.devices().plugins()->known()) : awaited;
}

std::string DeviceGrants::AwaitedBy(const Pod& pod) const { return AwaitedOf(DeviceResourcesOf(pod)); }

std::string DeviceGrants::AwaitedFor(const std::string& uid) const {
  std::set<std::string> resources;
  for (const ledger::AnsweredDevices& lacking : Unanswered(uid)) resources.insert(lacking.devices.resource);
  return AwaitedOf(resources);
}

// ---- what they bring ---------------------------------------------------------------------------------------------

DeviceGrants::Answers DeviceGrants::Unanswered(const std::string& uid) const {
  Answers out;
  if (node_.devices().plugins() == nullptr) return out;
  const auto record = node_.allocations().ledger().pods.find(uid);
  if (record == node_.allocations().ledger().pods.end()) return out;
  for (const Placement& placement : record->second.placements)
    for (const DeviceAssignment& devices : placement.devices)
      if (!devices.answer && !devices.ids.empty()) out.push_back({placement.container, devices});
  return out;
}

bool DeviceGrants::Lacks(const std::string& uid) const { return !Unanswered(uid).empty(); }

/// Of the executor: questions about the same resources follow one another, so that a plug-in that does not answer holds
/// up pods that want its devices, and nobody who wants others' only.
std::string DeviceGrants::QueueOf(const std::set<std::string>& resources) {
  std::string out = "plugin";
  for (const std::string& resource : resources) out += "/" + resource;
  return out;
}

template <class State, class T>
void DeviceGrants::Ask(ManagedPod& managed, const std::set<std::string>& resources, std::function<Result<T>()> job,
                       std::function<void(ManagedPod&, Result<T>)> then) {
  managed.Move(pod_event::Wait{State{.question = ++questions_}});
  event_loop::Submit<T>(executor_, QueueOf(resources), std::move(job),
                        [this, uid = managed.pod.uid, number = questions_, then = std::move(then)](Result<T> answer) {
                          node_.agenda().WakeNow();
                          const auto pod = node_.pods().find(uid);
                          if (pod == node_.pods().end() || QuestionOf(pod->second.stage) != number) return;
                          pod->second.Move(pod_event::Answer{number});
                          then(pod->second, std::move(answer));
                        });
}

void DeviceGrants::AskWhatTheyBring(ManagedPod& managed, std::function<void(ManagedPod&, Result<Answers>)> then) {
  Answers questions = Unanswered(managed.pod.uid);
  std::set<std::string> resources;
  for (const ledger::AnsweredDevices& question : questions) resources.insert(question.devices.resource);
  std::function<Result<Answers>()> job = [plugins = node_.devices().plugins(),
                                          questions = std::move(questions)]() mutable -> Result<Answers> {
    for (ledger::AnsweredDevices& question : questions) {
      BERTH_TRY(question.devices.answer, plugins->Allocate(question.devices.resource, question.devices.ids));
    }
    return std::move(questions);
  };
  Ask<AllocatingDevices>(managed, resources, std::move(job), std::move(then));
}

// ---- which they prefer -------------------------------------------------------------------------------------------

bool DeviceGrants::Choosy(const PodRecord& record) const {
  for (const Placement& placement : record.placements)
    for (const DeviceAssignment& devices : placement.devices)
      if (const device_manager::Served* const served = node_.devices().Find(devices.resource);
          served != nullptr && served->options.preferred)
        return true;
  return false;
}

void DeviceGrants::AskPreference(ManagedPod& managed, const PodRecord& record,
                                 std::function<void(ManagedPod&, Result<Preferences>)> then) {
  DeviceChoices choices{.devices = node_.devices().inventory(),
                        .held = DevicesHeldByOthers(node_.allocations().newest(), managed.pod.uid),
                        .asked = ChoosyResources(node_.devices().known())};
  std::set<std::string> resources;
  for (const Placement& placement : record.placements)
    for (const DeviceAssignment& devices : placement.devices)
      if (choices.asked.contains(devices.resource)) resources.insert(devices.resource);
  std::function<Result<Preferences>()> job = [plugins = node_.devices().plugins(), record,
                                              choices = std::move(choices)]() {
    return AskPreferences(record, choices,
                          [&](const std::string& resource, const device_manager::PreferenceQuestion& question) {
                            return plugins->Prefer(resource, question);
                          });
  };
  Ask<AskingPlugin>(managed, resources, std::move(job), std::move(then));
}

// ---- before a start ----------------------------------------------------------------------------------------------

/// What of the container's devices its plug-ins want to be asked about. `awaited`: the first of which that is not known
/// yet, or whose plug-in is away; "": none.
Result<std::vector<DeviceAssignment>> DeviceGrants::WantPreStart(const PodRecord& record, const std::string& container,
                                                                 std::string& awaited) const {
  std::vector<DeviceAssignment> out;
  const Placement* const placement = FindPlacement(record, container);
  if (placement == nullptr) return out;
  for (const DeviceAssignment& devices : placement->devices) {
    const device_manager::Served* const served = node_.devices().Find(devices.resource);
    if (served == nullptr)
      return Fail(Code::kUnreachable, "no device plug-in of " + devices.resource + " is registered");
    const bool away = served->endpoint.empty() || (served->options.pre_start && !served->ready);
    if (away && awaited.empty()) awaited = devices.resource;
    if (served->options.pre_start) out.push_back(devices);
  }
  return out;
}

void DeviceGrants::AskToStart(const ManagedPod& managed, const std::string& container, int attempt,
                              std::vector<DeviceAssignment> wanted) {
  PreStart& state = context_.StateOf(managed.pod.uid).pre_starts[container];
  state = Follow(std::move(state), pre_start::Ask{.attempt = attempt, .question = ++questions_});
  std::set<std::string> resources;
  for (const DeviceAssignment& devices : wanted) resources.insert(devices.resource);
  event_loop::Submit<void>(
      executor_, QueueOf(resources),
      [plugins = node_.devices().plugins(), wanted = std::move(wanted)]() -> Result<void> {
        for (const DeviceAssignment& devices : wanted)
          BERTH_RETURN_IF_ERROR(plugins->PreStart(devices.resource, devices.ids));
        return {};
      },
      [this, uid = managed.pod.uid, container, number = questions_](Result<void> done) {
        node_.agenda().WakeNow();
        if (!node_.pods().contains(uid)) return;
        PreStart& asked = context_.StateOf(uid).pre_starts[container];
        asked = Follow(std::move(asked), pre_start::Answer{.question = number, .outcome = std::move(done)});
      });
}

Result<bool> DeviceGrants::MayStart(const ManagedPod& managed, const std::string& container, int attempt) {
  const auto record = node_.allocations().ledger().pods.find(managed.pod.uid);
  if (node_.devices().plugins() == nullptr || record == node_.allocations().ledger().pods.end()) return true;
  std::string awaited;
  BERTH_TRY(std::vector<DeviceAssignment> wanted, WantPreStart(record->second, container, awaited));
  PreStart& state = context_.StateOf(managed.pod.uid).pre_starts[container];
  if (!awaited.empty()) {
    if (!std::holds_alternative<pre_start::Away>(state))
      node_.events().Normal(std::string(kWaitingForPlugin), ObjectOf(managed.pod),
                            fmt::format("container {}: {}", container, WaitsForPlugin(awaited)));
    state = Follow(std::move(state), pre_start::PluginLeft());
    return false;
  }
  state = Follow(std::move(state), pre_start::PluginsBack());
  if (wanted.empty()) return true;
  const auto& present = std::get<pre_start::Present>(state);
  if (const auto* const asked = std::get_if<pre_start::Asked>(&present); asked != nullptr && asked->attempt == attempt)
    return false;
  if (const auto* const allowed = std::get_if<pre_start::Allowed>(&present);
      allowed != nullptr && allowed->attempt == attempt)
    return true;
  if (const auto* const refused = std::get_if<pre_start::Refused>(&present);
      refused != nullptr && refused->attempt == attempt) {
    Error why{.code = refused->code, .sys = 0, .message = refused->problem};
    state = Follow(std::move(state), pre_start::Forget());
    if (why.code == Code::kUnreachable) return false;  // asked again when it is back
    return std::unexpected(std::move(why));
  }
  AskToStart(managed, container, attempt, std::move(wanted));
  return false;
}

}  // namespace berth::pods
