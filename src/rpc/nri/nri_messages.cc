#include "rpc/nri/nri_messages.h"

#include <utility>

#include "nri.pb.h"

namespace berth::nri {
namespace {

namespace pb = ::nri::pkg::api::v1alpha1;

template <class Message>
Result<Message> Parse(std::string_view bytes, const char* what) {
  Message out;
  if (!out.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Fail(Code::kInvalid, std::string("this is no message of ") + what);
  return out;
}

template <class Map>
Texts TakeTexts(const Map& from) {
  return {from.begin(), from.end()};
}

/// Zero is how runtimes write that it does not change.
template <class Value, class Message>
void TakeSet(bool has, const Message& from, std::optional<Value>& to) {
  if (has && from.value() != 0) to = from.value();
}

Resources TakeResources(const pb::LinuxResources& from) {
  Resources out;
  const pb::LinuxCPU& cpu = from.cpu();
  TakeSet(cpu.has_shares(), cpu.shares(), out.cpu_shares);
  TakeSet(cpu.has_quota(), cpu.quota(), out.cpu_quota);
  TakeSet(cpu.has_period(), cpu.period(), out.cpu_period);
  out.cpus = cpu.cpus();
  out.mems = cpu.mems();
  TakeSet(from.memory().has_limit(), from.memory().limit(), out.memory_limit);
  for (const pb::HugepageLimit& limit : from.hugepage_limits()) out.hugepages[limit.page_size()] = limit.limit();
  out.unified = TakeTexts(from.unified());
  return out;
}

void PutResources(const Resources& from, pb::LinuxResources& to) {
  if (from.cpu_shares) to.mutable_cpu()->mutable_shares()->set_value(*from.cpu_shares);
  if (from.cpu_quota) to.mutable_cpu()->mutable_quota()->set_value(*from.cpu_quota);
  if (from.cpu_period) to.mutable_cpu()->mutable_period()->set_value(*from.cpu_period);
  if (!from.cpus.empty()) to.mutable_cpu()->set_cpus(from.cpus);
  if (!from.mems.empty()) to.mutable_cpu()->set_mems(from.mems);
  if (from.memory_limit) to.mutable_memory()->mutable_limit()->set_value(*from.memory_limit);
  for (const auto& [size, limit] : from.hugepages) {
    pb::HugepageLimit& put = *to.add_hugepage_limits();
    put.set_page_size(size);
    put.set_limit(limit);
  }
  for (const auto& [file, value] : from.unified) (*to.mutable_unified())[file] = value;
}

Pod TakePod(const pb::PodSandbox& from) {
  return {.id = from.id(),
          .name = from.name(),
          .uid = from.uid(),
          .name_space = from.namespace_(),
          .labels = TakeTexts(from.labels()),
          .annotations = TakeTexts(from.annotations()),
          .handler = from.runtime_handler(),
          .cgroup_parent = from.linux().cgroup_parent(),
          .resources = TakeResources(from.linux().pod_resources()),
          .overhead = TakeResources(from.linux().pod_overhead())};
}

Container TakeContainer(const pb::Container& from) {
  Container out{.id = from.id(),
                .pod_id = from.pod_sandbox_id(),
                .name = from.name(),
                .state = ContainerState::kUnknown,
                .labels = TakeTexts(from.labels()),
                .annotations = TakeTexts(from.annotations()),
                .env = {from.env().begin(), from.env().end()},
                .cgroups_path = from.linux().cgroups_path(),
                .oom_score_adj = std::nullopt,
                .resources = TakeResources(from.linux().resources()),
                .pid = from.pid()};
  if (from.state() >= pb::CONTAINER_UNKNOWN && from.state() <= pb::CONTAINER_STOPPED)
    out.state = static_cast<ContainerState>(from.state());
  if (from.linux().has_oom_score_adj()) out.oom_score_adj = from.linux().oom_score_adj().value();
  return out;
}

template <class Message>
Subject TakeSubject(const Message& from) {
  Subject out{.pod = TakePod(from.pod()), .container = std::nullopt, .wanted = {}, .overhead = {}};
  if (from.has_container()) out.container = TakeContainer(from.container());
  return out;
}

template <class Field>
void PutUpdates(const std::vector<Update>& from, Field& to) {
  for (const Update& update : from) {
    pb::ContainerUpdate& put = *to.Add();
    put.set_container_id(update.container_id);
    put.set_ignore_failure(update.ignore_failure);
    PutResources(update.resources, *put.mutable_linux()->mutable_resources());
  }
}

void PutPolicy(const MemoryPolicy& from, pb::LinuxMemoryPolicy& to) {
  to.set_mode(static_cast<pb::MpolMode>(from.mode));
  to.set_nodes(from.nodes);
  for (const MemoryPolicy::Flag flag : from.flags) to.add_flags(static_cast<pb::MpolFlag>(flag));
}

void PutAdjustment(const Adjustment& from, pb::ContainerAdjustment& to) {
  for (const auto& [key, value] : from.annotations) (*to.mutable_annotations())[key] = value;
  for (const auto& [key, value] : from.env) {
    pb::KeyValue& put = *to.add_env();
    put.set_key(key);
    put.set_value(value);
  }
  if (from.resources != Resources()) PutResources(from.resources, *to.mutable_linux()->mutable_resources());
  if (from.memory_policy) PutPolicy(*from.memory_policy, *to.mutable_linux()->mutable_memory_policy());
}

}  // namespace

std::string EncodeRegister(const std::string& name, const std::string& index, const std::string& nri_version) {
  pb::RegisterPluginRequest out;
  out.set_plugin_name(name);
  out.set_plugin_idx(index);
  out.set_nri_version(nri_version);
  return out.SerializeAsString();
}

Result<Runtime> DecodeConfigure(std::string_view bytes) {
  BERTH_TRY(const auto from, Parse<pb::ConfigureRequest>(bytes, "Configure"));
  return Runtime{.name = from.runtime_name(),
                 .version = from.runtime_version(),
                 .nri_version = from.nri_version(),
                 .config = from.config(),
                 .request_timeout_ms = from.request_timeout()};
}

std::string EncodeConfigured(std::uint32_t events) {
  pb::ConfigureResponse out;
  out.set_events(static_cast<std::int32_t>(events));
  return out.SerializeAsString();
}

Result<InventoryPart> DecodeSynchronize(std::string_view bytes) {
  BERTH_TRY(const auto from, Parse<pb::SynchronizeRequest>(bytes, "Synchronize"));
  InventoryPart out{.inventory = {}, .more = from.more()};
  for (const pb::PodSandbox& pod : from.pods()) out.inventory.pods.push_back(TakePod(pod));
  for (const pb::Container& container : from.containers()) out.inventory.containers.push_back(TakeContainer(container));
  return out;
}

std::string EncodeSynchronized(const std::vector<Update>& updates, bool more) {
  pb::SynchronizeResponse out;
  PutUpdates(updates, *out.mutable_update());
  out.set_more(more);
  return out.SerializeAsString();
}

Result<Subject> DecodeSubject(std::string_view bytes) {
  BERTH_TRY(const auto from, Parse<pb::UpdateContainerRequest>(bytes, "an event"));
  Subject out = TakeSubject(from);
  out.wanted = TakeResources(from.linux_resources());
  return out;
}

Result<Subject> DecodeUpdatePod(std::string_view bytes) {
  BERTH_TRY(const auto from, Parse<pb::UpdatePodSandboxRequest>(bytes, "UpdatePodSandbox"));
  return Subject{.event = Event::kUpdatePod,
                 .pod = TakePod(from.pod()),
                 .container = std::nullopt,
                 .wanted = TakeResources(from.linux_resources()),
                 .overhead = TakeResources(from.overhead_linux_resources())};
}

Result<Subject> DecodeStateChange(std::string_view bytes) {
  BERTH_TRY(const auto from, Parse<pb::StateChangeEvent>(bytes, "StateChange"));
  Subject out = TakeSubject(from);
  if (pb::Event_IsValid(from.event())) out.event = static_cast<Event>(from.event());
  return out;
}

std::string EncodeCreated(const Creation& creation) {
  pb::CreateContainerResponse out;
  PutAdjustment(creation.adjustment, *out.mutable_adjust());
  PutUpdates(creation.updates, *out.mutable_update());
  return out.SerializeAsString();
}

std::string EncodeUpdated(const std::vector<Update>& updates) {
  pb::UpdateContainerResponse out;
  PutUpdates(updates, *out.mutable_update());
  return out.SerializeAsString();
}

}  // namespace berth::nri
