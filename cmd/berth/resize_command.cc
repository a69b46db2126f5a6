#include "berth/resize_command.h"

#include <algorithm>
#include <utility>

#include "api/codec/codec.h"
#include "api/codec/views.h"
#include "base/quantity.h"
#include "berth/pod_name.h"
#include "host/os/input.h"
#include "manifest/manifest.h"

namespace berth::cli {
namespace {

/// The pod as its manifest says it. Errors: kConflict where that is not a file that can be changed here.
Result<Pod> ManifestOf(const PodDetails& pod) {
  const PodView& view = *pod.view;
  if (view.file.empty() || !view.file.starts_with('/'))
    return Fail(Code::kConflict, FullName(view) + ": its manifest is " + (view.file.empty() ? "not known" : view.file) +
                                     "; change it where it comes from");
  BERTH_TRY(const std::string text, os::ReadInput(view.file));
  BERTH_TRY(manifest::ParsedPods parsed, manifest::ParsePods(text, view.file, {}));
  for (Pod& found : parsed.pods)
    if (found.namespace_ == view.namespace_ && found.name + "-" + pod.manifest.node_name == view.name)
      return std::move(found);
  return Fail(Code::kNotFound, FullName(view) + ": " + view.file + " does not hold it (any more)");
}

/// Its request, and its limit where that was the same or would be less.
Result<void> SetAmount(Resources& resources, const std::string& resource, const std::string& text) {
  if (text.empty()) return {};
  const auto amount = Quantity::Parse(text);
  if (!amount || amount->Sign() <= 0)
    return Fail(Code::kInvalid, "\"" + text + "\": expected an amount of " + resource + " like " +
                                    (resource == "cpu" ? "4 or 500m" : "512Mi"));
  const auto limit = resources.limits.find(resource);
  const auto request = resources.requests.find(resource);
  if (limit != resources.limits.end())
    if (request == resources.requests.end() || request->second == limit->second || limit->second < *amount)
      limit->second = *amount;
  resources.requests.insert_or_assign(resource, *amount);
  return {};
}

Container* FindContainer(Pod& pod, const std::string& name) {
  for (auto* const list : {&pod.containers, &pod.init_containers})
    if (const auto it = std::ranges::find(*list, name, &Container::name); it != list->end()) return &*it;
  return nullptr;
}

/// The pod with the amounts that are asked for.
Result<Pod> Changed(const PodDetails& details, const ResizeOptions& options) {
  BERTH_TRY(Pod pod, ManifestOf(details));
  BERTH_TRY(const std::string name, PickContainer(*details.view, options.container));
  Container* const container = FindContainer(pod, name);
  if (container == nullptr) return Fail(Code::kNotFound, "the manifest has no container " + name);
  BERTH_RETURN_IF_ERROR(SetAmount(container->resources, "cpu", options.cpus));
  BERTH_RETURN_IF_ERROR(SetAmount(container->resources, "memory", options.memory));
  return pod;
}

}  // namespace

int RunResize(const ResizeOptions& options, const Session& session) {
  const auto found = FindPodToChange(session, options.pod, options.namespace_);
  if (!found) return session.Report(found.error());
  const auto details = session.berthd().GetPod((*found)->namespace_, (*found)->name);
  if (!details) return session.Report(details.error());
  const auto pod = Changed(*details, options);
  if (!pod) return session.Report(pod.error());
  const auto answer = session.berthd().ApplyPods({codec::ToYaml(codec::ToJson(*pod))});
  if (!answer) return session.Report(answer.error());
  int status = kOk;
  codec::Json results = codec::Json::array();
  for (const StoredPod& stored : answer->results) {
    if (session.for_people())
      session.out() << stored.namespace_ << '/' << stored.name << ' ' << Name(stored.action) << '\n' << std::flush;
    results.push_back(codec::ToJson(stored));
    if (options.wait.wait)
      status = std::max(status, AwaitApplied(stored, details->view->uid, *pod, options.wait, session));
  }
  if (!session.for_people()) session.PrintData({{"results", std::move(results)}});
  return status;
}

}  // namespace berth::cli
