#include "manifest/volume_reader.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/name_validation.h"
#include "base/text.h"
#include "manifest/document_reader.h"
#include "manifest/env_reader.h"

namespace berth::manifest {
namespace {

constexpr std::string_view kVolumeFieldRefUnused[] = {"apiVersion"};
constexpr std::string_view kHugePages = "HugePages";
constexpr std::size_t kMostItems = 10'000;  // of one volume

// Refused, with the cure, by the table of fields.
constexpr std::string_view kOtherSources[] = {"clusterTrustBundle", "podCertificate", "serviceAccountToken"};
constexpr std::string_view kOtherVolumes[] = {"awsElasticBlockStore",
                                              "azureDisk",
                                              "azureFile",
                                              "cephfs",
                                              "cinder",
                                              "csi",
                                              "ephemeral",
                                              "fc",
                                              "flexVolume",
                                              "flocker",
                                              "gcePersistentDisk",
                                              "gitRepo",
                                              "glusterfs",
                                              "image",
                                              "iscsi",
                                              "nfs",
                                              "persistentVolumeClaim",
                                              "photonPersistentDisk",
                                              "portworxVolume",
                                              "quobyte",
                                              "rbd",
                                              "scaleIO",
                                              "storageos",
                                              "vsphereVolume"};

bool LeadsUp(std::string_view path) {
  const std::vector<std::string_view> parts = Split(path, '/');
  return std::ranges::find(parts, "..") != parts.end();
}

/// Permissions, where 0640 and 0o640 are octal and 416 is the same in decimal, as Kubernetes reads them.
void ReadMode(Object& object, std::string_view key, std::optional<std::int32_t>& out) {
  constexpr int kMost = 0777;
  const Node* node = object.Take(key);
  if (node == nullptr) return;
  std::string_view text = node->text;
  int base = 10;
  if (text.starts_with("0o"))
    text.remove_prefix(2), base = 8;
  else if (text.size() > 1 && text.front() == '0')
    base = 8;
  int value = -1;
  const char* const end = std::to_address(text.end());
  const auto [at, wrong] = std::from_chars(std::to_address(text.begin()), end, value, base);
  const bool good = node->kind == Node::Kind::kNumber && wrong == std::errc() && at == end && value >= 0;
  if (good && value <= kMost)
    out = value;
  else
    object.report().Problem(object.PathOf(key), "Invalid value: " + Printable(node->text, 20) +
                                                    ": must be permissions between 0000 and 0777 (octal, or 0 and 511 "
                                                    "in decimal), without quotes");
}

/// Reads the files of one volume.
class FilesReader {
 public:
  FilesReader(const Node& spec, Volume& out) : spec_(spec), out_(out) {}

  void Documents(Object& object, DocumentKind kind, std::string_view name_field) {
    VolumeSource& source = out_.sources.emplace_back(VolumeSource{.document = kind});
    ReadDocumentName(object, name_field, kind, source.name);
    object.Read("optional", source.optional);
    object.Each("items", [&](const Node& node, const Path& path) {
      Object item(node, path, object.report());
      VolumeItem& out = source.items.emplace_back();
      item.Read("key", out.key);
      if (std::string wrong = CheckConfigKey(out.key); !wrong.empty())
        item.report().Problem(item.PathOf("key"), std::move(wrong));
      ReadPlace(item, out);
    });
  }

  void Downward(Object& object) {
    VolumeSource& source = out_.sources.emplace_back(VolumeSource{.document = std::nullopt});
    object.Each("items", [&](const Node& node, const Path& path) {
      Object item(node, path, object.report());
      VolumeItem& out = source.items.emplace_back();
      const bool field = item.Within("fieldRef", [&](Object& ref) { ReadField(ref, out); });
      const bool amount = item.Within("resourceFieldRef", [&](Object& ref) {
        ReadResourceField(ref, spec_, out.resource.emplace());
        if (out.resource->container.empty())
          ref.report().Problem(ref.PathOf("containerName"), "Required value: name a container of this pod");
      });
      if (field == amount) item.report().Problem(path, "Required value: give one of fieldRef and resourceFieldRef");
      ReadPlace(item, out);
    });
  }

  /// All that was read goes to different places.
  void CheckPlaces(const Path& path, Report& report) const {
    std::set<std::string_view> places;
    std::size_t count = 0;
    for (const VolumeSource& source : out_.sources)
      for (const VolumeItem& item : source.items) {
        ++count;
        if (!item.path.empty() && !places.insert(item.path).second)
          report.Problem(path, "Invalid value: \"" + Printable(item.path, 80) + "\": the path is given to two files");
      }
    if (count > kMostItems)
      report.Problem(path, "Too many: " + std::to_string(count) + " items, at most " + std::to_string(kMostItems) +
                               " may be in a volume");
  }

 private:
  static void ReadField(Object& ref, VolumeItem& out) {
    constexpr std::string_view kFields[] = {"metadata.annotations", "metadata.labels", "metadata.name",
                                            "metadata.namespace", "metadata.uid"};
    ref.Read("fieldPath", out.field_path);
    ref.Finish(kVolumeFieldRefUnused);
    const std::string& field = out.field_path;
    const bool subscript = (field.starts_with("metadata.labels['") || field.starts_with("metadata.annotations['")) &&
                           field.ends_with("']");
    if (subscript || std::ranges::find(kFields, field) != std::end(kFields)) return;
    ref.report().Problem(ref.PathOf("fieldPath"),
                         field.empty() ? "Required value: the field that is meant, such as metadata.name"
                                       : "Unsupported value: \"" + Printable(field, 80) +
                                             "\": files have metadata.annotations, metadata.labels, metadata.name, "
                                             "metadata.namespace or metadata.uid; use a variable for others");
  }

  /// It becomes a path that root writes: never one that leads out of the volume, or to what changes its content.
  static void ReadPlace(Object& item, VolumeItem& out) {
    item.Read("path", out.path);
    ReadMode(item, "mode", out.mode);
    item.Finish();
    const std::string& path = out.path;
    if (!path.empty() && !path.starts_with('/') && !path.starts_with("..") && !LeadsUp(path)) return;
    item.report().Problem(item.PathOf("path"),
                          path.empty() ? "Required value: where in the volume the file is"
                                       : "Invalid value: \"" + Printable(path, 80) +
                                             "\": must be a relative path without \"..\" that does not start with it");
  }

  const Node& spec_;
  Volume& out_;
};

void ReadProjected(Object& object, FilesReader& files) {
  object.Each("sources", [&](const Node& node, const Path& path) {
    Object source(node, path, object.report());
    source.Within("configMap", [&](Object& from) {
      files.Documents(from, DocumentKind::kConfigMap, "name");
      from.Finish();
    });
    source.Within("secret", [&](Object& from) {
      files.Documents(from, DocumentKind::kSecret, "name");
      from.Finish();
    });
    source.Within("downwardAPI", [&](Object& from) {
      files.Downward(from);
      from.Finish();
    });
    for (const std::string_view other : kOtherSources) source.Take(other);
    source.Finish();
  });
}

void ReadFiles(Object& object, const Node& spec, Volume& out) {
  FilesReader files(spec, out);
  for (const std::string_view kind : {"configMap", "secret", "downwardAPI", "projected"}) {
    object.Within(kind, [&](Object& source) {
      out.kind = Volume::Kind::kFiles;
      out.type = kind;
      ReadMode(source, "defaultMode", out.file_mode);
      if (kind == "configMap") files.Documents(source, DocumentKind::kConfigMap, "name");
      if (kind == "secret") files.Documents(source, DocumentKind::kSecret, "secretName");
      if (kind == "downwardAPI") files.Downward(source);
      if (kind == "projected") ReadProjected(source, files);
      source.Finish();
      files.CheckPlaces(source.path(), source.report());
    });
  }
}

void ReadEmptyDir(Object& source, Volume& out) {
  source.Read("medium", out.medium);
  const std::string& medium = out.medium;
  const std::string page = medium.starts_with("HugePages-") ? medium.substr(kHugePages.size() + 1) : "";
  if (!medium.empty() && medium != "Memory" && medium != kHugePages && !Quantity::Parse(page))
    source.report().Problem(source.PathOf("medium"),
                            "Unsupported value: \"" + Printable(medium, 40) +
                                "\": supported values: \"\", \"Memory\", \"HugePages\", \"HugePages-<size>\"");
  if (const Node* node = source.Take("sizeLimit"))
    ReadQuantity(*node, source.PathOf("sizeLimit"), source.report(), out.size_limit.emplace());
  if (out.size_limit && out.size_limit->Sign() < 0)
    source.report().Problem(source.PathOf("sizeLimit"),
                            "Invalid value: \"" + out.size_limit->ToString() + "\": must be 0 or more");
  source.Finish();
}

/// A second source would be taken for the first, or stay without effect.
void CheckOneSource(const Node& node, const Path& path, Report& report) {
  if (node.kind != Node::Kind::kMap) return;
  std::string_view first;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    if (node.keys[i] == "name" || node.items[i].kind != Node::Kind::kMap) continue;
    if (first.empty())
      first = node.keys[i];
    else
      report.Problem(
          Path{.parent = &path, .key = node.keys[i]},
          "Forbidden: may not specify more than 1 volume type; this one is " + Printable(first, 40) + " already");
  }
}

/// Page sizes that the pod's containers ask for: "2Mi".
std::set<std::string> PagesOf(const Pod& pod) {
  constexpr std::string_view kStart = "hugepages-";
  std::set<std::string> out;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    for (const auto& [name, amount] : container.resources.requests)
      if (name.starts_with(kStart) && !amount.IsZero()) out.insert(name.substr(kStart.size()));
  });
  if (pod.resources)
    for (const auto& [name, amount] : pod.resources->requests)
      if (name.starts_with(kStart) && !amount.IsZero()) out.insert(name.substr(kStart.size()));
  return out;
}

void CheckPagesOfVolumes(const Pod& pod, const Path& list, Report& report) {
  for (std::size_t i = 0; i < pod.volumes.size(); ++i) {
    const std::string& medium = pod.volumes[i].medium;
    if (!medium.starts_with(kHugePages)) continue;
    const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
    const Path empty_dir{.parent = &item, .key = "emptyDir"};
    const Path at{.parent = &empty_dir, .key = "medium"};
    const std::set<std::string> pages = PagesOf(pod);
    if (medium == kHugePages && pages.size() != 1)
      report.Problem(at, pages.empty()
                             ? "Invalid value: \"HugePages\": no container of the pod asks for hugepages-<size>"
                             : "Invalid value: \"HugePages\": containers of the pod ask for pages of several "
                               "sizes; say which: HugePages-<size>");
    if (medium != kHugePages && !pages.contains(medium.substr(kHugePages.size() + 1)))
      report.Problem(at, "Invalid value: \"" + Printable(medium, 40) +
                             "\": no container of the pod asks for hugepages-" +
                             Printable(medium.substr(kHugePages.size() + 1), 20));
  }
}

void CheckVolumeNames(const Pod& pod, const Path& list, Report& report) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < pod.volumes.size(); ++i) {
    const std::string& name = pod.volumes[i].name;
    if (name.empty() || names.insert(name).second) continue;
    const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
    report.Problem(Path{.parent = &item, .key = "name"},
                   "Duplicate value: \"" + Printable(name, 80) + "\": names are unique among the volumes of a pod");
  }
}

void CheckMounts(const Pod& pod, const Container& container, const Path& list, Report& report) {
  std::set<std::string_view> places;
  for (std::size_t i = 0; i < container.mounts.size(); ++i) {
    const VolumeMount& mount = container.mounts[i];
    const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
    if (!mount.name.empty() && std::ranges::find(pod.volumes, mount.name, &Volume::name) == pod.volumes.end())
      report.Problem(Path{.parent = &item, .key = "name"},
                     "Not found: \"" + Printable(mount.name, 80) + "\": spec.volumes has no volume of that name");
    if (!mount.mount_path.empty() && !places.insert(mount.mount_path).second)
      report.Problem(Path{.parent = &item, .key = "mountPath"},
                     "Invalid value: \"" + Printable(mount.mount_path, 80) + "\": must be unique");
    if (mount.propagation == "Bidirectional" && !container.security.privileged.value_or(false))
      report.Problem(Path{.parent = &item, .key = "mountPropagation"},
                     "Forbidden: Bidirectional mount propagation is available only to privileged containers; use "
                     "HostToContainer, or set securityContext.privileged");
  }
}

void CheckMountsOf(const Pod& pod, const std::vector<Container>& containers, const Path& list, Report& report) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
    CheckMounts(pod, containers[i], Path{.parent = &item, .key = "volumeMounts"}, report);
  }
}

}  // namespace

void CheckMountPath(Object& object, std::string_view field, const std::string& path) {
  if (path.starts_with('/') && !LeadsUp(path)) return;
  object.report().Problem(object.PathOf(field),
                          "Invalid value: \"" + Printable(path, 80) + "\": must be an absolute path without \"..\"");
}

void ReadHostPath(Object& source, Volume& out) {
  out.kind = Volume::Kind::kHostPath;
  source.Read("path", out.host_path);
  ReadWord(source, "type",
           {"BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"}, out.type);
  CheckMountPath(source, "path", out.host_path);
  source.Finish();
}

void ReadVolume(const Node& node, const Path& path, const Node& spec, Report& report, Volume& out) {
  Object object(node, path, report);
  CheckOneSource(node, path, report);
  object.Read("name", out.name);
  if (const std::string wrong = CheckLabelName(out.name); !wrong.empty())  // it becomes part of a path
    report.Problem(object.PathOf("name"), wrong);
  object.Within("hostPath", [&](Object& source) { ReadHostPath(source, out); });
  object.Within("emptyDir", [&](Object& source) { ReadEmptyDir(source, out); });
  ReadFiles(object, spec, out);
  for (const std::string_view other : kOtherVolumes)
    if (object.Take(other) != nullptr) {
      out.kind = Volume::Kind::kOther;
      out.type = other;
    }
  object.Finish();
}

void ReadVolumeMount(const Node& node, const Path& path, Report& report, VolumeMount& out) {
  Object object(node, path, report);
  object.Read("name", out.name);
  object.Read("mountPath", out.mount_path);
  object.Read("subPath", out.sub_path);
  object.Read("subPathExpr", out.sub_path_expr);
  object.Read("readOnly", out.read_only);
  ReadWord(object, "recursiveReadOnly", {"Disabled", "Enabled", "IfPossible"}, out.recursive_read_only);
  ReadWord(object, "mountPropagation", {"Bidirectional", "HostToContainer", "None"}, out.propagation);
  if (out.name.empty()) report.Problem(object.PathOf("name"), "Required value: name one of spec.volumes");
  if (!out.mount_path.empty() && !out.mount_path.starts_with('/')) out.mount_path.insert(0, 1, '/');  // as the kubelet
  CheckMountPath(object, "mountPath", out.mount_path);
  if (!out.sub_path.empty()) CheckMountPath(object, "subPath", "/" + out.sub_path);
  if (!out.sub_path_expr.empty()) CheckMountPath(object, "subPathExpr", "/" + out.sub_path_expr);
  if (!out.sub_path.empty() && !out.sub_path_expr.empty())
    report.Problem(object.PathOf("subPathExpr"), "Invalid value: may not be given beside subPath");
  const bool below = out.recursive_read_only == "Enabled" || out.recursive_read_only == "IfPossible";
  if (below && !out.read_only)
    report.Problem(object.PathOf("recursiveReadOnly"), "Forbidden: may only be specified when readOnly is true");
  if (below && !out.propagation.empty() && out.propagation != "None")
    report.Problem(object.PathOf("recursiveReadOnly"),
                   "Forbidden: may only be specified when mountPropagation is None or not specified");
  object.Finish();
}

void CheckVolumes(const Pod& pod, const Path& root, Report& report) {
  const Path spec{.parent = &root, .key = "spec"};
  const Path list{.parent = &spec, .key = "volumes"};
  CheckVolumeNames(pod, list, report);
  CheckPagesOfVolumes(pod, list, report);
  CheckMountsOf(pod, pod.containers, Path{.parent = &spec, .key = "containers"}, report);
  CheckMountsOf(pod, pod.init_containers, Path{.parent = &spec, .key = "initContainers"}, report);
}

}  // namespace berth::manifest
