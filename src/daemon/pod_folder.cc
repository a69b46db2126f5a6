#include "daemon/pod_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "codec/codec.h"
#include "manifest/manifest.h"
#include "os/fs.h"

namespace berth::daemon {
namespace {

/// Letters of DNS names only: what validation lets through, checked again where it becomes a path.
bool IsFileNamePart(const std::string& text) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return !text.empty() && text.size() <= 253 && text.front() != '.' && std::ranges::all_of(text, plain);
}

std::pair<std::string, std::string> SplitPath(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

/// The file of a pod, checked to hold nothing else.
Result<std::string> OwnFile(const std::string& full_name, const ManifestFiles& files) {
  const auto it = files.find(full_name);
  if (it == files.end()) return Fail(Code::kNotFound, fmt::format("no manifest of pod {} is known", full_name));
  std::vector<std::string> others;
  for (const auto& [name, file] : files)
    if (file == it->second && name != full_name) others.push_back(name);
  if (others.empty()) return it->second;
  return Fail(Code::kBusy, fmt::format("{} also holds {}; change that file by hand, or split it into a file per pod",
                                       it->second, Join(others, ", ")));
}

struct Planned {
  StoredPod pod;
  std::string content;
  Pod value;
};

/// True when a file says the same as `pod`, in whatever words: it is left alone then, comments and all.
bool Says(const std::string& text, const Pod& pod, const std::string& file) {
  const auto parsed = manifest::ParsePods(text, file);
  return parsed && parsed->pods.size() == 1 && parsed->pods.front() == pod;
}

}  // namespace

std::string PodFolder::NameOnNode(const std::string& name) const { return name + "-" + node_name_; }

Result<std::vector<StoredPod>> PodFolder::Store(const std::vector<Pod>& pods, const ManifestFiles& files) const {
  std::vector<Planned> plan;
  std::set<std::string> seen;
  for (const Pod& pod : pods) {
    Pod on_node = pod;
    on_node.name = NameOnNode(pod.name);
    const std::string full_name = FullName(on_node);
    if (!seen.insert(full_name).second)
      return Fail(Code::kInvalid, fmt::format("pod {} stands in the request twice", FullName(pod)));
    if (!IsFileNamePart(pod.namespace_) || !IsFileNamePart(pod.name))
      return Fail(Code::kInvalid, fmt::format("pod '{}' cannot be stored under its name", Printable(FullName(pod))));
    Planned item{{pod.namespace_, on_node.name, fmt::format("{}/{}_{}.yaml", path_, pod.namespace_, pod.name), ""},
                 codec::ToYaml(codec::ToJson(pod)),
                 pod};
    if (files.contains(full_name)) {
      BERTH_TRY(item.pod.file, OwnFile(full_name, files));
    }
    plan.push_back(std::move(item));
  }
  std::vector<StoredPod> out;
  for (Planned& item : plan) {
    const auto [folder, name] = SplitPath(item.pod.file);
    BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(folder));
    BERTH_TRY(const bool exists, fs->Exists(name));
    item.pod.action = exists ? "configured" : "created";
    const auto before = exists ? fs->Read(name) : Result<std::string>(std::string());
    if (exists && before && Says(*before, item.value, item.pod.file)) {
      item.pod.action = "unchanged";
    } else {
      BERTH_RETURN_IF_ERROR(fs->Replace(name, item.content));
    }
    out.push_back(std::move(item.pod));
  }
  return out;
}

Result<std::string> PodFolder::Remove(const std::string& full_name, const ManifestFiles& files) const {
  BERTH_TRY(std::string file, OwnFile(full_name, files));
  const auto [folder, name] = SplitPath(file);
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(folder));
  BERTH_RETURN_IF_ERROR(fs->RemoveFile(name));
  return file;
}

}  // namespace berth::daemon
