#include "daemon/pod_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "codec/codec.h"
#include "manifest/manifest.h"
#include "os/fs.h"
#include "os/path.h"

namespace berth::daemon {
namespace {

/// Letters of DNS names only: what validation lets through, checked again where it becomes a path.
bool IsFileNamePart(const std::string& text) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return !text.empty() && text.size() <= 253 && text.front() != '.' && std::ranges::all_of(text, plain);
}

/// The file of a pod, checked to be one and to hold nothing else.
Result<std::string> OwnFile(const std::string& full_name, const ManifestFiles& files) {
  const auto it = files.find(full_name);
  if (it == files.end()) return Fail(Code::kNotFound, fmt::format("no manifest of pod {} is known", full_name));
  if (!it->second.starts_with('/'))
    return Fail(Code::kConflict, fmt::format("pod {} comes from {}; change it there", full_name, it->second));
  std::vector<std::string> others;
  for (const auto& [name, file] : files)
    if (file == it->second && name != full_name) others.push_back(name);
  if (others.empty()) return it->second;
  return Fail(Code::kConflict,
              fmt::format("{} also holds {}; change that file by hand, or split it into a file per pod", it->second,
                          Join(others, ", ")));
}

struct Planned {
  StoredPod pod;
  std::string content;
};

/// What storing a pod in its file does: kCreated, kUnchanged (the file says the same already, in whatever words: it
/// is left alone then, comments and all) or kConfigured. A file that is there is only replaced when it holds exactly
/// this pod now, whatever was known of it before.
Result<StoreAction> ActionOn(const std::string& file, const Pod& pod) {
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(os::FolderOf(file)));
  const std::string name = os::FileNameOf(file);
  BERTH_TRY(const bool exists, fs->Exists(name));
  if (!exists && !fs->ReadLink(name)) return StoreAction::kCreated;
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kConflict,
                fmt::format("{} is there already and {}, so it is not replaced by pod {}; change that file "
                            "by hand, or move it out of the folder and apply again",
                            file, why, FullName(pod)));
  };
  const auto text = fs->Read(name);
  if (!text) return refuse("cannot be read (" + text.error().message + ")");
  const auto parsed = manifest::ParsePods(*text, file);
  if (!parsed) return refuse("is not a valid manifest (" + parsed.error().message + ")");
  if (parsed->pods.size() != 1) return refuse(fmt::format("holds {} pods", parsed->pods.size()));
  const Pod& there = parsed->pods.front();
  if (FullName(there) != FullName(pod)) return refuse("holds pod " + FullName(there));
  return there == pod ? StoreAction::kUnchanged : StoreAction::kConfigured;
}

/// The file is a manifest of this pod, whose name on the node is given, and of nothing else.
bool HoldsOnly(const std::string& file, const std::string& full_name, const std::string& node_name) {
  const auto fs = os::OpenFs(os::FolderOf(file));
  if (!fs) return false;
  const auto text = (*fs)->Read(os::FileNameOf(file));
  if (!text) return false;
  const auto parsed = manifest::ParsePods(*text, file);
  return parsed && parsed->pods.size() == 1 && FullName(parsed->pods.front()) + "-" + node_name == full_name;
}

}  // namespace

std::string PodFolder::NameOnNode(const std::string& name) const { return name + "-" + node_name_; }

std::string PodFolder::FileOf(const std::string& namespace_, const std::string& name) const {
  return fmt::format("{}/{}_{}.yaml", path_, namespace_, name);
}

/// The one it was read from, if it is still there; else the one it was stored in.
Result<std::string> PodFolder::FileToRemove(const std::string& full_name, const ManifestFiles& files) const {
  if (files.contains(full_name)) {
    BERTH_TRY(std::string file, OwnFile(full_name, files));
    BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(os::FolderOf(file)));
    BERTH_TRY(const bool there, fs->Exists(os::FileNameOf(file)));
    if (there) return file;
  }
  const auto stored = changing_->stored.find(full_name);
  if (stored != changing_->stored.end() && HoldsOnly(stored->second, full_name, node_name_)) return stored->second;
  const std::size_t slash = full_name.find('/');
  std::string name = full_name.substr(slash + 1);
  if (const std::string end = NameOnNode(""); name.ends_with(end)) name.resize(name.size() - end.size());
  if (IsFileNamePart(full_name.substr(0, slash)) && IsFileNamePart(name))
    if (std::string file = FileOf(full_name.substr(0, slash), name); HoldsOnly(file, full_name, node_name_))
      return file;
  return Fail(Code::kNotFound, fmt::format("no manifest of pod {} is known", Printable(full_name)));
}

Result<std::vector<StoredPod>> PodFolder::Store(const std::vector<Pod>& pods, const ManifestFiles& files) const {
  const MutexLock lock(changing_->held);
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
    Planned item{{pod.namespace_, on_node.name, FileOf(pod.namespace_, pod.name), {}},
                 codec::ToYaml(codec::ToJson(pod))};
    if (files.contains(full_name)) {
      BERTH_TRY(item.pod.file, OwnFile(full_name, files));
    } else if (const auto stored = changing_->stored.find(full_name); stored != changing_->stored.end()) {
      item.pod.file = stored->second;
    }
    BERTH_TRY(item.pod.action, ActionOn(item.pod.file, pod));
    plan.push_back(std::move(item));
  }
  std::erase_if(changing_->stored, [&](const auto& stored) { return files.contains(stored.first); });
  std::vector<StoredPod> out;
  for (Planned& item : plan) {
    if (item.pod.action != StoreAction::kUnchanged) {
      BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(os::FolderOf(item.pod.file)));
      BERTH_RETURN_IF_ERROR(fs->Replace(os::FileNameOf(item.pod.file), item.content));
    }
    changing_->stored.insert_or_assign(item.pod.namespace_ + "/" + item.pod.name, item.pod.file);
    out.push_back(std::move(item.pod));
  }
  return out;
}

Result<std::string> PodFolder::Remove(const std::string& full_name, const ManifestFiles& files) const {
  const MutexLock lock(changing_->held);
  auto file = FileToRemove(full_name, files);
  if (!file) return file;
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(os::FolderOf(*file)));
  BERTH_RETURN_IF_ERROR(fs->RemoveFile(os::FileNameOf(*file)));
  changing_->stored.erase(full_name);
  return file;
}

}  // namespace berth::daemon
