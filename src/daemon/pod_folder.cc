#include "daemon/pod_folder.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "api/codec/codec.h"
#include "base/text.h"
#include "frontend/pod_sources/source.h"
#include "frontend/pod_sources/static_pod.h"
#include "host/os/fs.h"
#include "host/os/path.h"
#include "manifest/document_tree.h"
#include "manifest/manifest.h"

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
    return Fail(Code::kConflict, fmt::format("{} comes from {}; change it there", full_name, it->second));
  std::vector<std::string> others;
  for (const auto& [name, file] : files)
    if (file == it->second && name != full_name) others.push_back(name);
  if (others.empty()) return it->second;
  return Fail(Code::kConflict,
              fmt::format("{} also holds {}; change that file by hand, or split it into a file per pod", it->second,
                          Join(others, ", ")));
}

/// The errors as one, with the code of the first. Requires: there is one.
Error AllOf(std::vector<Error> errors) {
  Error out = std::move(errors.front());
  for (std::size_t i = 1; i < errors.size(); ++i) out.message += "\n" + errors[i].message;
  return out;
}

/// While it is written the file has another name, which is longer by a dot and ".tmp".
Result<void> CheckFileNameLength(const std::string& file, const std::string& what) {
  constexpr std::size_t kLongest = 255 - 5;
  const std::string name = os::FileNameOf(file);
  if (name.size() <= kLongest) return {};
  return Fail(Code::kInvalid,
              fmt::format("{} cannot be stored: its file {} would have {} bytes in its name, and at most "
                          "{} fit; give it a shorter name",
                          what, file, name.size(), kLongest));
}

struct StoreChange {
  StoreAction action = StoreAction::kCreated;
  std::size_t before = 0;  ///< BytesOf what its file holds now
};

/// What storing a pod, or document, in its file does: kCreated, kUnchanged (the file says the same already, in whatever
/// words: it is left alone then, comments and all) or kConfigured. A file that is there is only replaced when it holds
/// exactly this one now, whatever was known of it before.
template <class Compare>
Result<StoreChange> ChangeOf(const std::string& file, const std::string& what, Compare compare) {
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(os::FolderOf(file), manifest::kMaxTextBytes));
  const std::string name = os::FileNameOf(file);
  BERTH_TRY(const bool exists, fs->Exists(name));
  if (!exists && !fs->ReadLink(name)) return StoreChange();
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kConflict,
                fmt::format("{} is there already and {}, so it is not replaced by {}; change that file "
                            "by hand, or move it out of the folder and apply again",
                            file, why, what));
  };
  const auto text = fs->Read(name);
  if (!text) return refuse("cannot be read (" + text.error().message + ")");
  const auto parsed = manifest::ParsePods(*text, file, {.most_pods = 1});
  if (!parsed) return refuse("is not a valid manifest (" + parsed.error().message + ")");
  if (parsed->pods.size() + parsed->documents.size() != 1)
    return refuse(fmt::format("holds {} pods and {} documents", parsed->pods.size(), parsed->documents.size()));
  if (!parsed->storage.empty()) return refuse("holds PersistentVolumes or claims");
  return compare(*parsed, refuse);
}

Result<StoreChange> ChangeOfPod(const std::string& file, const Pod& pod) {
  return ChangeOf(file, "pod " + FullName(pod), [&](const auto& parsed, const auto& refuse) -> Result<StoreChange> {
    if (parsed.pods.empty()) return refuse("holds " + NameOf(parsed.documents.front()));
    const Pod& there = parsed.pods.front();
    if (FullName(there) != FullName(pod)) return refuse("holds pod " + FullName(there));
    return StoreChange{there == pod ? StoreAction::kUnchanged : StoreAction::kConfigured, pod_sources::BytesOf(there)};
  });
}

Result<StoreChange> ChangeOfDocument(const std::string& file, const ConfigDocument& document) {
  return ChangeOf(file, NameOf(document), [&](const auto& parsed, const auto& refuse) -> Result<StoreChange> {
    if (parsed.documents.empty()) return refuse("holds pod " + FullName(parsed.pods.front()));
    const ConfigDocument& there = parsed.documents.front();
    if (NameOf(there) != NameOf(document)) return refuse("holds " + NameOf(there));
    const std::size_t before = pod_sources::BytesOf(there);
    if (there == document) return StoreChange{StoreAction::kUnchanged, before};
    if (!there.immutable) return StoreChange{StoreAction::kConfigured, before};
    return Fail(Code::kConflict, NameOf(document) + " is immutable: give the new content another name, or delete it " +
                                     "and apply again");
  });
}

/// What the file holds, if that is one pod or one document and nothing else.
std::optional<manifest::ParsedPods> OnlyIn(const std::string& file) {
  const auto fs = os::OpenFs(os::FolderOf(file), manifest::kMaxTextBytes);
  if (!fs) return std::nullopt;
  const auto text = (*fs)->Read(os::FileNameOf(file));
  if (!text) return std::nullopt;
  auto parsed = manifest::ParsePods(*text, file, {.most_pods = 1});
  if (!parsed || parsed->pods.size() + parsed->documents.size() != 1 || !parsed->storage.empty()) return std::nullopt;
  return *std::move(parsed);
}

/// The file is a manifest of this pod, whose name on the node is given, and of nothing else.
bool HoldsOnly(const std::string& file, const std::string& full_name, const std::string& node_name) {
  const auto parsed = OnlyIn(file);
  return parsed && !parsed->pods.empty() && FullName(parsed->pods.front()) + "-" + node_name == full_name;
}

bool HoldsOnlyDocument(const std::string& file, const std::string& name) {
  const auto parsed = OnlyIn(file);
  return parsed && !parsed->documents.empty() && NameOf(parsed->documents.front()) == name;
}

}  // namespace

std::string PodFolder::NameOnNode(const std::string& name) const { return name + "-" + node_name_; }

std::string PodFolder::FileOf(const std::string& namespace_, const std::string& name) const {
  return fmt::format("{}/{}_{}.yaml", path_, namespace_, name);
}

std::string PodFolder::DocumentFile(DocumentKind kind, const std::string& namespace_, const std::string& name) const {
  return fmt::format("{}/{}_{}_{}.json", path_, kind == DocumentKind::kSecret ? "secret" : "configmap", namespace_,
                     name);
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
  if (stored != changing_->stored.end() && HoldsOnly(stored->second.file, full_name, node_name_))
    return stored->second.file;
  const std::size_t slash = full_name.find('/');
  std::string name = full_name.substr(slash + 1);
  if (const std::string end = NameOnNode(""); name.ends_with(end)) name.resize(name.size() - end.size());
  if (IsFileNamePart(full_name.substr(0, slash)) && IsFileNamePart(name))
    if (std::string file = FileOf(full_name.substr(0, slash), name); HoldsOnly(file, full_name, node_name_))
      return file;
  return Fail(Code::kNotFound, fmt::format("no manifest of pod {} is known", Printable(full_name)));
}

struct PodFolder::Planned {
  std::string name;  ///< in ManifestFiles
  StoredPod pod;
  std::function<std::string()> content;  ///< made when it is written: of all together it may be much
  std::size_t bytes = 0;                 ///< that it takes once it was read, about
  std::size_t before = 0;                ///< StoreChange::before
};

Result<PodFolder::Planned> PodFolder::PlanOf(const Pod& pod, const ManifestFiles& files) const {
  Pod on_node = pod;
  on_node.name = NameOnNode(pod.name);
  if (!IsFileNamePart(pod.namespace_) || !IsFileNamePart(pod.name))
    return Fail(Code::kInvalid, fmt::format("pod '{}' cannot be stored under its name", Printable(FullName(pod))));
  Planned out{.name = FullName(on_node),
              .pod = {pod.namespace_, on_node.name, FileOf(pod.namespace_, pod.name), {}},
              .content = [&pod] { return codec::ToYaml(codec::ToJson(pod)); },
              .bytes = pod_sources::BytesOf(pod)};
  if (files.contains(out.name)) {
    BERTH_TRY(out.pod.file, OwnFile(out.name, files));
  } else if (const auto stored = changing_->stored.find(out.name); stored != changing_->stored.end()) {
    out.pod.file = stored->second.file;
  }
  BERTH_RETURN_IF_ERROR(CheckFileNameLength(out.pod.file, "pod " + FullName(pod)));
  BERTH_TRY(const StoreChange change, ChangeOfPod(out.pod.file, pod));
  out.pod.action = change.action;
  out.before = change.before;
  return out;
}

Result<PodFolder::Planned> PodFolder::PlanOf(const ConfigDocument& document, const ManifestFiles& files) const {
  constexpr int kIndent = 2;
  const std::string name = NameOf(document);
  if (!IsFileNamePart(document.namespace_) || !IsFileNamePart(document.name))
    return Fail(Code::kInvalid, fmt::format("{} cannot be stored under its name", Printable(name)));
  Planned out{.name = name,
              .pod = {.namespace_ = document.namespace_,
                      .name = document.name,
                      .file = DocumentFile(document.kind, document.namespace_, document.name),
                      .kind = std::string(Name(document.kind))},
              .content = [&document] { return codec::FormatJson(codec::ToJson(document), kIndent) + "\n"; },
              .bytes = pod_sources::BytesOf(document)};
  if (files.contains(name)) {
    BERTH_TRY(out.pod.file, OwnFile(name, files));
  } else if (const auto stored = changing_->stored.find(name); stored != changing_->stored.end()) {
    out.pod.file = stored->second.file;
  }
  BERTH_RETURN_IF_ERROR(CheckFileNameLength(out.pod.file, name));
  BERTH_TRY(const StoreChange change, ChangeOfDocument(out.pod.file, document));
  out.pod.action = change.action;
  out.before = change.before;
  return out;
}

struct PodFolder::Plan {
  std::vector<Planned> items;
  std::vector<Error> problems;
};

/// What was stored and not read yet comes to what is held.
std::size_t PodFolder::Unread(const ManifestFiles& files) const {
  std::size_t out = 0;
  for (const auto& [name, stored] : changing_->stored)
    if (!files.contains(name) && ::access(stored.file.c_str(), F_OK) == 0) out += stored.bytes;
  return out;
}

PodFolder::Plan PodFolder::PlanOfAll(const std::vector<Pod>& pods, const ManifestFiles& files,
                                     const std::vector<ConfigDocument>& documents, std::size_t held) const {
  Plan out;
  std::set<std::string> seen;
  const auto add = [&](Result<Planned> made) {
    if (!made) {
      // That of the folder itself is one for all.
      if (std::ranges::find(out.problems, made.error().message, &Error::message) == out.problems.end())
        out.problems.push_back(std::move(made).error());
    } else if (!seen.insert(made->name).second) {
      out.problems.push_back(Fail(Code::kInvalid, fmt::format("{} stands in the request twice", made->name)).error());
    } else {
      out.items.push_back(*std::move(made));
    }
  };
  for (const ConfigDocument& document : documents) add(PlanOf(document, files));
  for (const Pod& pod : pods) add(PlanOf(pod, files));
  std::size_t more = 0;
  for (const Planned& item : out.items) more += item.bytes - std::min(item.bytes, item.before);
  if (more > 0 && held + Unread(files) + more > pod_sources::kMostHeldBytes)
    out.problems.push_back(Fail(Code::kExhausted, pod_sources::NoRoomFor("request")).error());
  return out;
}

StoredPods PodFolder::Look(const std::vector<Pod>& pods, const ManifestFiles& files,
                           const std::vector<ConfigDocument>& documents, std::size_t held) const {
  const MutexLock lock(changing_->held);
  Plan plan = PlanOfAll(pods, files, documents, held);
  StoredPods out;
  for (Planned& item : plan.items) out.results.push_back(std::move(item.pod));
  for (Error& problem : plan.problems) out.problems.push_back(std::move(problem.message));
  return out;
}

Result<std::vector<StoredPod>> PodFolder::Store(const std::vector<Pod>& pods, const ManifestFiles& files,
                                                const std::vector<ConfigDocument>& documents, std::size_t held) const {
  const MutexLock lock(changing_->held);
  Plan plan = PlanOfAll(pods, files, documents, held);
  if (!plan.problems.empty()) return std::unexpected(AllOf(std::move(plan.problems)));
  std::erase_if(changing_->stored, [&](const auto& stored) { return files.contains(stored.first); });
  std::vector<StoredPod> out;
  for (Planned& item : plan.items) {
    if (item.pod.action != StoreAction::kUnchanged) {
      BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(os::FolderOf(item.pod.file)));
      BERTH_RETURN_IF_ERROR(fs->Replace(os::FileNameOf(item.pod.file), item.content()));
    }
    changing_->stored.insert_or_assign(item.name, Stored{.file = item.pod.file, .bytes = item.bytes});
    out.push_back(std::move(item.pod));
  }
  return out;
}

Result<std::string> PodFolder::RemoveDocument(DocumentKind kind, const std::string& namespace_, const std::string& name,
                                              const ManifestFiles& files) const {
  const MutexLock lock(changing_->held);
  const std::string key = DocumentName(kind, namespace_, name);
  std::string file;
  if (files.contains(key)) {
    BERTH_TRY(file, OwnFile(key, files));
  } else if (const auto stored = changing_->stored.find(key); stored != changing_->stored.end()) {
    file = stored->second.file;
  } else if (IsFileNamePart(namespace_) && IsFileNamePart(name)) {
    file = DocumentFile(kind, namespace_, name);
  }
  if (file.empty() || !HoldsOnlyDocument(file, key))
    return Fail(Code::kNotFound, fmt::format("no file of {} is known", Printable(key)));
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(os::FolderOf(file)));
  BERTH_RETURN_IF_ERROR(fs->RemoveFile(os::FileNameOf(file)));
  changing_->stored.erase(key);
  return file;
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
