#include "manifest/storage.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "base/name_validation.h"
#include "base/text.h"
#include "manifest/volume_reader.h"

namespace berth::manifest {
namespace {

constexpr std::string_view kStorageTopUnused[] = {"apiVersion", "kind", "status"};
constexpr std::string_view kClaimRefUnused[] = {"apiVersion", "fieldPath", "kind", "resourceVersion", "uid"};
// Volumes of these kinds may be in a text, and answer a claim only with why they cannot be mounted.
constexpr std::string_view kOtherVolumeSources[] = {"awsElasticBlockStore",
                                                    "azureDisk",
                                                    "azureFile",
                                                    "cephfs",
                                                    "cinder",
                                                    "csi",
                                                    "fc",
                                                    "flexVolume",
                                                    "flocker",
                                                    "gcePersistentDisk",
                                                    "glusterfs",
                                                    "iscsi",
                                                    "nfs",
                                                    "photonPersistentDisk",
                                                    "portworxVolume",
                                                    "quobyte",
                                                    "rbd",
                                                    "scaleIO",
                                                    "storageos",
                                                    "vsphereVolume"};
// Before it was a field.
constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

/// Name and what else metadata says that matters. Returns the class of the annotation; "": there is none.
std::string ReadStorageMetadata(Object& top, std::string& name, std::string* namespace_,
                                std::map<std::string, std::string>& labels) {
  std::map<std::string, std::string> annotations;
  const bool there = top.Within("metadata", [&](Object& metadata) {
    metadata.Read("name", name);
    if (namespace_ != nullptr) metadata.Read("namespace", *namespace_);
    metadata.Read("labels", labels);
    metadata.Read("annotations", annotations);
    if (std::string wrong = CheckSubdomainName(name); !wrong.empty())
      metadata.report().Problem(metadata.PathOf("name"), std::move(wrong));
    metadata.Finish(kObjectMetadataUnused);
  });
  if (!there) top.report().Problem(top.PathOf("metadata"), "Required value: give it a name");
  const auto given = annotations.find(std::string(kClassAnnotation));
  return given == annotations.end() ? "" : given->second;
}

void ReadAccessModes(Object& spec, std::vector<std::string>& out) {
  spec.Read("accessModes", out);
  for (const std::string& mode : out)
    CheckWord(spec, "accessModes", mode, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
  std::ranges::sort(out);
  const auto doubled = std::ranges::unique(out);
  out.erase(doubled.begin(), doubled.end());
  if (out.empty())
    spec.report().Problem(spec.PathOf("accessModes"), "Required value: at least one, such as ReadWriteOnce");
}

/// Of a capacity or a request.
void ReadStorageAmount(Object& of, const ResourceList& list, std::string_view field, Quantity& out) {
  const auto given = list.find("storage");
  if (given != list.end()) out = given->second;
  if (out.Sign() <= 0)
    of.report().Problem(of.PathOf(field), "Required value: storage, an amount above 0, such as storage: 1Gi");
}

void ReadVolumeMode(Object& spec, std::string& out) {
  ReadWord(spec, "volumeMode", {"Block", "Filesystem"}, out);
  if (out.empty()) out = "Filesystem";
}

/// Of a volume or a claim.
void WarnOfAttributesClass(Object& spec) {
  std::string name;
  spec.Read("volumeAttributesClassName", name);
  if (!name.empty())
    spec.report().Warn(spec.PathOf("volumeAttributesClassName"),
                       "no effect: there is no driver that would change a volume; set up its folder beforehand");
}

std::vector<Requirement> ReadRequirements(Object& object, std::string_view field, Words operators) {
  std::vector<Requirement> out;
  object.Each(field, [&](const Node& node, const Path& path) {
    Object item(node, path, object.report());
    Requirement& requirement = out.emplace_back();
    item.Read("key", requirement.key);
    ReadWord(item, "operator", operators, requirement.op);
    item.Read("values", requirement.values);
    if (requirement.op.empty()) item.report().Problem(item.PathOf("operator"), "Required value");
    item.Finish();
  });
  return out;
}

bool Holds(const Requirement& requirement, const std::map<std::string, std::string>& labels) {
  const auto label = labels.find(requirement.key);
  const bool there = label != labels.end();
  const bool among = there && std::ranges::find(requirement.values, label->second) != requirement.values.end();
  if (requirement.op == "In") return among;
  if (requirement.op == "NotIn") return !among;
  if (requirement.op == "Exists") return there;
  if (requirement.op == "DoesNotExist") return !there;
  if (!there || requirement.values.size() != 1) return false;
  const auto has = ParseDecimal<std::int64_t>(label->second);
  const auto than = ParseDecimal<std::int64_t>(requirement.values.front());
  return has && than && (requirement.op == "Gt" ? *has > *than : *has < *than);
}

bool HoldAll(const std::vector<Requirement>& requirements, const std::map<std::string, std::string>& labels) {
  return std::ranges::all_of(requirements, [&](const Requirement& one) { return Holds(one, labels); });
}

/// What a node is known by without an API server.
std::map<std::string, std::string> LabelsOfNode(const std::string& name) {
#if defined(__x86_64__)
  constexpr const char* kArchitecture = "amd64";
#elif defined(__aarch64__)
  constexpr const char* kArchitecture = "arm64";
#else
  constexpr const char* kArchitecture = "";
#endif
  return {{"kubernetes.io/arch", kArchitecture}, {"kubernetes.io/hostname", name}, {"kubernetes.io/os", "linux"}};
}

/// One of the terms holds. `said`: what they ask for.
bool TermsHold(Object& required, const std::string& node_name, std::string& said) {
  bool holds = false;
  required.Each("nodeSelectorTerms", [&](const Node& node, const Path& path) {
    Object term(node, path, required.report());
    const std::vector<Requirement> expressions =
        ReadRequirements(term, "matchExpressions", {"DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"});
    const std::vector<Requirement> fields = ReadRequirements(term, "matchFields", {"In", "NotIn"});
    term.Finish();
    for (const auto* list : {&expressions, &fields})
      for (const Requirement& one : *list)
        said += (said.empty() ? "" : ", ") + Printable(one.key, 80) + " " + Printable(one.op, 20) +
                (one.values.empty() ? "" : " [" + Printable(Join(one.values, ", "), 120) + "]");
    holds = holds || ((!expressions.empty() || !fields.empty()) && HoldAll(expressions, LabelsOfNode(node_name)) &&
                      HoldAll(fields, {{"metadata.name", node_name}}));
  });
  return holds;
}

/// Whether there is an affinity; `elsewhere`: as PersistentVolume has it.
bool ReadNodeAffinity(Object& spec, const std::string& node_name, std::string& elsewhere) {
  bool there = false;
  spec.Within("nodeAffinity", [&](Object& affinity) {
    affinity.Within("required", [&](Object& required) {
      there = true;
      std::string said;
      if (!TermsHold(required, node_name, said) && !node_name.empty())
        elsewhere = "its nodeAffinity (" + said + ") is not this node's, which is known as kubernetes.io/hostname " +
                    node_name + ", kubernetes.io/os linux and kubernetes.io/arch " +
                    LabelsOfNode(node_name)["kubernetes.io/arch"];
      required.Finish();
    });
    affinity.Finish();
  });
  return there;
}

void ReadVolumeSource(Object& spec, PersistentVolume& out) {
  std::vector<std::string_view> sources;
  const bool on_host = spec.Within("hostPath", [&](Object& source) { ReadHostPath(source, out.volume); });
  if (on_host) sources.push_back("hostPath");
  const bool local = spec.Within("local", [&](Object& source) {
    out.volume.kind = Volume::Kind::kHostPath;
    out.volume.type = "Directory";
    source.Read("path", out.volume.host_path);
    CheckMountPath(source, "path", out.volume.host_path);
    if (source.Take("fsType") != nullptr)
      source.report().Warn(source.PathOf("fsType"), "no effect: nothing is formatted or mounted; give a directory");
    source.Finish();
  });
  if (local) sources.push_back("local");
  for (const std::string_view other : kOtherVolumeSources)
    if (spec.Take(other) != nullptr) sources.push_back(other);
  if (sources.size() == 1)
    out.source = sources.front();
  else
    spec.report().Problem(spec.path(), sources.empty() ? "Required value: a source, such as hostPath: {path: /srv/data}"
                                                       : "Forbidden: may not specify more than 1 volume type");
}

void ReadVolumeSpec(Object& spec, const std::string& node_name, PersistentVolume& out) {
  ResourceList capacity;
  spec.Read("capacity", capacity);
  ReadStorageAmount(spec, capacity, "capacity", out.capacity);
  ReadAccessModes(spec, out.access_modes);
  spec.Read("storageClassName", out.storage_class);
  ReadVolumeMode(spec, out.volume_mode);
  spec.Within("claimRef", [&](Object& ref) {
    std::string name;
    std::string namespace_;
    ref.Read("name", name);
    ref.Read("namespace", namespace_);
    ref.Finish(kClaimRefUnused);
    out.claim = (namespace_.empty() ? "default" : namespace_) + "/" + name;
  });
  ReadVolumeSource(spec, out);
  const bool pinned = ReadNodeAffinity(spec, node_name, out.elsewhere);
  if (out.source == "local" && !pinned)
    spec.report().Problem(
        spec.PathOf("nodeAffinity"),
        "Required value: local volume requires node affinity; say which node has it, or use hostPath");
  std::string reclaim;
  ReadWord(spec, "persistentVolumeReclaimPolicy", {"Delete", "Recycle", "Retain"}, reclaim);
  if (reclaim == "Delete" || reclaim == "Recycle")
    spec.report().Warn(spec.PathOf("persistentVolumeReclaimPolicy"),
                       "no effect: what is in the volume stays, as with Retain");
  WarnOfAttributesClass(spec);
  if (const Node* options = spec.Take("mountOptions"); options != nullptr && !options->items.empty())
    spec.report().Warn(spec.PathOf("mountOptions"), "no effect: nothing is mounted on the host for it");
  spec.Finish();
}

void ReadClaimSelector(Object& spec, std::vector<Requirement>& out) {
  spec.Within("selector", [&](Object& selector) {
    out = ReadRequirements(selector, "matchExpressions", {"DoesNotExist", "Exists", "In", "NotIn"});
    std::map<std::string, std::string> labels;
    selector.Read("matchLabels", labels);
    for (const auto& [key, value] : labels) out.push_back({.key = key, .op = "In", .values = {value}});
    selector.Finish();
  });
}

void ReadClaimSpec(Object& spec, VolumeClaim& out) {
  ReadAccessModes(spec, out.access_modes);
  if (out.access_modes.size() > 1 && std::ranges::find(out.access_modes, "ReadWriteOncePod") != out.access_modes.end())
    spec.report().Problem(spec.PathOf("accessModes"),
                          "Forbidden: may not use ReadWriteOncePod with other access modes");
  spec.Within("resources", [&](Object& resources) {
    ResourceList requests;
    ResourceList limits;
    resources.Read("requests", requests);
    resources.Read("limits", limits);
    ReadStorageAmount(resources, requests, "requests", out.request);
    resources.Finish();
  });
  if (out.request.IsZero() && spec.Take("resources") == nullptr)
    spec.report().Problem(spec.PathOf("resources"), "Required value: requests: {storage: 1Gi}");
  spec.Read("storageClassName", out.storage_class);
  spec.Read("volumeName", out.volume_name);
  ReadVolumeMode(spec, out.volume_mode);
  ReadClaimSelector(spec, out.selector);
  for (const std::string_view field : {"dataSource", "dataSourceRef"})
    if (spec.Take(field) != nullptr)
      spec.report().Warn(spec.PathOf(field),
                         "no effect: nothing is copied into the volume; fill its folder beforehand");
  WarnOfAttributesClass(spec);
  spec.Finish();
}

bool HasAll(const std::vector<std::string>& modes, const std::vector<std::string>& wanted) {
  return std::ranges::includes(modes, wanted);
}

/// A document that would answer the claim.
std::string VolumeFor(const VolumeClaim& claim) {
  std::string labels;
  for (const Requirement& one : claim.selector)
    if (one.op == "In" && !one.values.empty())
      labels += (labels.empty() ? ", labels: {" : ", ") + Printable(one.key, 320) + ": \"" +
                Printable(one.values.front(), 63) + "\"";
  if (!labels.empty()) labels += "}";
  return "{apiVersion: v1, kind: PersistentVolume, metadata: {name: " +
         (claim.volume_name.empty() ? claim.name.substr(claim.name.find('/') + 1) : claim.volume_name) + labels +
         "}, spec: {capacity: {storage: " + claim.request.ToString() + "}, accessModes: [" +
         Join(claim.access_modes, ", ") + "], " +
         (claim.storage_class.empty() ? "" : "storageClassName: " + Printable(claim.storage_class, 253) + ", ") +
         "hostPath: {path: /srv/" + claim.name.substr(claim.name.find('/') + 1) + ", type: DirectoryOrCreate}}}";
}

}  // namespace

void Storage::AddVolume(const Node& node, const Path& path, Report& report) {
  PersistentVolume volume;
  Object object(node, path, report);
  const std::string old_class = ReadStorageMetadata(object, volume.name, nullptr, volume.labels);
  if (!object.Within("spec", [&](Object& spec) { ReadVolumeSpec(spec, node_name_, volume); }))
    report.Problem(object.PathOf("spec"), "Required value");
  if (!old_class.empty()) volume.storage_class = old_class;
  object.Finish(kStorageTopUnused);
  const auto same = std::ranges::find(volumes_, volume.name, &PersistentVolume::name);
  if (same == volumes_.end())
    volumes_.push_back(std::move(volume));
  else if (*same != volume)
    report.Problem(object.PathOf("metadata"), "Duplicate value: PersistentVolume \"" + Printable(volume.name, 253) +
                                                  "\" is given more than once; rename or remove all but one");
}

void Storage::AddClaim(const Node& node, const Path& path, const std::string& of_template, Report& report) {
  VolumeClaim claim;
  claim.of_template = of_template;
  std::string name;
  std::string namespace_;
  std::map<std::string, std::string> labels;
  Object object(node, path, report);
  const std::string old_class = ReadStorageMetadata(object, name, &namespace_, labels);
  claim.name = (namespace_.empty() ? "default" : namespace_) + "/" + name;
  if (!object.Within("spec", [&](Object& spec) { ReadClaimSpec(spec, claim); }))
    report.Problem(object.PathOf("spec"), "Required value");
  if (!old_class.empty()) claim.storage_class = old_class;
  object.Finish(kStorageTopUnused);
  const auto same = std::ranges::find(claims_, claim.name, &VolumeClaim::name);
  if (same == claims_.end())
    claims_.push_back(std::move(claim));
  else if (!same->of_template.empty())
    *same = std::move(claim);
  else if (of_template.empty() && *same != claim)
    report.Problem(object.PathOf("metadata"), "Duplicate value: PersistentVolumeClaim \"" + Printable(claim.name, 253) +
                                                  "\" is given more than once; rename or remove all but one");
}

std::string Storage::WhyNot(const VolumeClaim& claim, const PersistentVolume& volume, bool by_name) const {
  const auto serves = serves_.find(&volume);
  if (serves != serves_.end()) return "it serves claim " + Printable(serves->second, 320);
  if (!volume.claim.empty() && volume.claim != claim.name) return "its claimRef is " + Printable(volume.claim, 320);
  if (!HasAll(volume.access_modes, claim.access_modes)) return "its accessModes are " + Join(volume.access_modes, ", ");
  if (volume.capacity < claim.request) return "it has " + volume.capacity.ToString();
  if (volume.volume_mode != claim.volume_mode) return "its volumeMode is " + volume.volume_mode;
  const bool names_claim = volume.claim == claim.name;
  if (volume.storage_class != claim.storage_class && (!names_claim || by_name))
    return "its storageClassName is \"" + Printable(volume.storage_class, 253) + "\"";
  if (!by_name && !names_claim && !HoldAll(claim.selector, volume.labels)) return "the selector is not for its labels";
  return volume.elsewhere;
}

void Storage::Give(const VolumeClaim& claim, const PersistentVolume& volume) {
  bound_.emplace(claim.name, &volume);
  serves_.emplace(&volume, claim.name);
}

void Storage::Bind() {
  for (const VolumeClaim& claim : claims_) {
    const auto named = std::ranges::find(volumes_, claim.volume_name, &PersistentVolume::name);
    if (!claim.volume_name.empty() && named != volumes_.end() && WhyNot(claim, *named, /*by_name=*/true).empty())
      Give(claim, *named);
  }
  for (const bool reserved : {true, false})  // what a volume's claimRef names comes before all others
    for (const VolumeClaim& claim : claims_) {
      if (bound_.contains(claim.name) || !claim.volume_name.empty()) continue;
      const PersistentVolume* best = nullptr;
      const auto rank = [](const PersistentVolume& volume) {
        return std::tuple(volume.access_modes.size(), volume.capacity);
      };
      for (const PersistentVolume& volume : volumes_)
        if (volume.claim.empty() != reserved && WhyNot(claim, volume, /*by_name=*/false).empty() &&
            (best == nullptr || rank(volume) < rank(*best)))
          best = &volume;
      if (best != nullptr) Give(claim, *best);
    }
}

std::string Storage::WhyUnbound(const VolumeClaim& claim) const {
  constexpr std::size_t kMostTold = 5;
  std::string out = "no PersistentVolume beside it answers claim " + Printable(claim.name, 320) + " (" +
                    claim.request.ToString() + ", " + Join(claim.access_modes, ", ") + ", storageClassName \"" +
                    Printable(claim.storage_class, 253) + "\")";
  std::size_t told = 0;
  for (const PersistentVolume& volume : volumes_) {
    const bool by_name = !claim.volume_name.empty();
    if ((by_name && volume.name != claim.volume_name) || told++ >= kMostTold) continue;
    out += (told == 1 ? ": " : "; ") + Printable(volume.name, 253) + ": " + WhyNot(claim, volume, by_name);
  }
  if (told > kMostTold) out += "; and " + std::to_string(told - kMostTold) + " more";
  if (!claim.volume_name.empty() && told == 0)
    out += ": it names " + Printable(claim.volume_name, 253) + ", which is not there";
  return out + ". Put one beside it: " + VolumeFor(claim) + "; or use a volume of type hostPath";
}

Storage::Answer Storage::Find(const std::string& claim) const {
  Answer out;
  const auto found = std::ranges::find(claims_, claim, &VolumeClaim::name);
  if (claim.ends_with('/')) {  // as a pod is stored that was taken without its volume
    out.why = "it names no claim: set claimName, or use a volume of type hostPath";
    return out;
  }
  if (found == claims_.end()) {
    out.why = "there is no PersistentVolumeClaim " + Printable(claim, 320) +
              " beside the pod. Put it into the same file or folder, with a PersistentVolume of type hostPath or local "
              "that answers it; or use a volume of type hostPath";
    return out;
  }
  out.claim = &*found;
  if (found->volume_mode == "Block") {
    out.why = "claim " + Printable(claim, 320) +
              " is for a block device (volumeMode Block), and those are not given to containers. Make a file system on "
              "it, mount it on the host, and use volumeMode Filesystem";
    return out;
  }
  const auto bound = bound_.find(claim);
  if (bound == bound_.end())
    out.why = WhyUnbound(*found);
  else if (bound->second->source != "hostPath" && bound->second->source != "local")
    out.why = "PersistentVolume " + Printable(bound->second->name, 253) + " is of type " + bound->second->source +
              ", and no storage is attached or mounted for pods. Mount it on the host, and make the volume one of "
              "type hostPath with that path";
  else
    out.volume = bound->second;
  return out;
}

}  // namespace berth::manifest
