#include "berth/run_pod.h"

#include <algorithm>
#include <cctype>

#include "base/id_set.h"
#include "base/text.h"
#include "host/os/path.h"
#include "model/pod_wishes.h"

namespace berth::cli {
namespace {

Result<Quantity> ParseAmount(const std::string& option, const std::string& text) {
  auto amount = Quantity::Parse(text);
  if (!amount) return Wrap(std::move(amount).error(), option);
  if (amount->Sign() <= 0) return Fail(Code::kInvalid, option + " " + Printable(text) + ": must be more than 0");
  return amount;
}

/// How it asks for CPUs of its own where no memory limit makes it Guaranteed, as berth.dev/cpus has it; "": it does
/// not.
Result<std::string> OwnCpusWish(const RunRequest& request, const Quantity& cpus, const NodeView& node) {
  constexpr std::int64_t kMostOwnCpus = 1'000'000;  // more than any machine has
  if (!request.memory.empty() || node.cpu_policy != "static" || cpus.Sign() == 0 || !cpus.IsInteger()) return "";
  PodWishes wishes;
  wishes.cpus[""] = {.kind = ContainerCpuWish::Kind::kExclusive,
                     .cpus = static_cast<int>(std::min(cpus.Value(), kMostOwnCpus))};
  const PodPolicy* const rule = FindPolicy(node.own.pods, request.namespace_);
  if (rule != nullptr && WhatIsNotAllowed(*rule, wishes).empty()) return FormatCpuWishes(wishes.cpus);
  return Fail(
      Code::kInvalid,
      "--cpus " + request.cpus +
          ": CPUs of its own without a limit of memory take a rule of the node's podPolicies that has namespace " +
          Printable(request.namespace_) + " and cpus: [exclusive]; add one, or give --memory");
}

Result<void> AddDevice(const std::string& text, codec::Json& limits) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (name.empty() || !name.contains('/'))
    return Fail(Code::kInvalid, "--device " + Printable(text) + ": must be VENDOR/NAME or VENDOR/NAME=COUNT");
  if (limits.contains(name)) return Fail(Code::kInvalid, "--device " + Printable(name) + ": named twice");
  BERTH_TRY(const Quantity count, ParseAmount("--device", equals == std::string::npos ? "1" : text.substr(equals + 1)));
  limits[name] = count.ToString();
  return {};
}

Result<codec::Json> LimitsOf(const RunRequest& request, const Quantity& cpus) {
  codec::Json limits = codec::Json::object();
  if (cpus.Sign() > 0) limits["cpu"] = cpus.ToString();
  if (!request.memory.empty()) {
    BERTH_TRY(const Quantity memory, ParseAmount("--memory", request.memory));
    limits["memory"] = memory.ToString();
  }
  for (const std::string& device : request.devices)
    if (auto added = AddDevice(device, limits); !added) return std::unexpected(std::move(added).error());
  return limits;
}

/// "$(NAME)" in a command is a variable to Kubernetes, and "$$(NAME)" is the text.
std::string Literally(const std::string& word) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '$') out += '$';
    out += word[i];
  }
  return out;
}

codec::Json FieldVariable(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

Result<codec::Json> PodOf(const RunRequest& request, codec::Json container, const NodeView& node) {
  Quantity cpus;
  if (!request.cpus.empty()) {
    BERTH_TRY(cpus, ParseAmount("--cpus", request.cpus));
  }
  BERTH_TRY(codec::Json limits, LimitsOf(request, cpus));
  BERTH_TRY(const std::string own_cpus, OwnCpusWish(request, cpus, node));
  container["name"] = "run";
  container["terminationMessagePolicy"] = "FallbackToLogsOnError";
  if (!limits.empty()) container["resources"] = {{"limits", limits}, {"requests", std::move(limits)}};
  codec::Json metadata{{"name", request.name}, {"namespace", request.namespace_}};
  if (!request.numa.empty()) {
    const auto nodes = NodeSet::Parse(request.numa);
    if (!nodes || nodes->empty())
      return Fail(Code::kInvalid,
                  "--numa " + Printable(request.numa) + ": must be numbers of NUMA nodes, as 1 or 0,2-3");
    metadata["annotations"][std::string(kNumaNodesAnnotation)] = FormatIds(*nodes);
  }
  if (!own_cpus.empty()) metadata["annotations"][std::string(kCpusAnnotation)] = own_cpus;
  return codec::Json{{"apiVersion", "v1"},
                     {"kind", "Pod"},
                     {"metadata", std::move(metadata)},
                     {"spec",
                      {{"restartPolicy", "Never"},
                       {"hostNetwork", true},
                       {"containers", codec::Json::array({std::move(container)})}}}};
}

}  // namespace

std::string RunName(const std::string& program, int pid) {
  constexpr std::size_t kLongest = 20;
  std::string name;
  for (const char c : os::FileNameOf(program)) {
    if (name.size() == kLongest) break;
    const char low = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (IsDigit(low) || (low >= 'a' && low <= 'z'))
      name += low;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  if (!name.empty() && name.back() != '-') name += '-';
  return "run-" + name + std::to_string(pid);
}

Result<codec::Json> DetachedPod(const RunRequest& request, const std::vector<std::string>& command, const RunAs& as,
                                const NodeView& node) {
  codec::Json words = codec::Json::array();
  for (const std::string& word : command) words.push_back(Literally(word));
  codec::Json variables = codec::Json::array();
  for (const std::string& variable : as.environment) {
    const std::size_t equals = variable.find('=');
    variables.push_back({{"name", variable.substr(0, equals)}, {"value", Literally(variable.substr(equals + 1))}});
  }
  codec::Json container{{"command", std::move(words)},
                        {"workingDir", as.folder},
                        {"env", std::move(variables)},
                        {"securityContext", {{"runAsUser", as.user}, {"runAsGroup", as.group}}}};
  BERTH_TRY(codec::Json pod, PodOf(request, std::move(container), node));
  if (!as.groups.empty()) pod["spec"]["securityContext"] = {{"supplementalGroups", as.groups}};
  return pod;
}

Result<codec::Json> HolderPod(const RunRequest& request, const std::vector<std::string>& holder, const NodeView& node) {
  codec::Json container{
      {"command", holder},
      {"env", codec::Json::array({FieldVariable("POD_UID", "metadata.uid"), FieldVariable("POD_NAME", "metadata.name"),
                                  FieldVariable("POD_NAMESPACE", "metadata.namespace")})},
      {"securityContext", {{"privileged", true}}}};  // cgroups that it can write
  return PodOf(request, std::move(container), node);
}

}  // namespace berth::cli
