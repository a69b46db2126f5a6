// PersistentVolumes and claims beside pods: read, bound to each other, and given to the pods that mount them.
//
// Nothing of it is kept: a claim is bound anew for each text, by what stands in it alone, and the pod then has the path
// of the host as if it said hostPath.
#ifndef BERTH_MANIFEST_STORAGE_H_
#define BERTH_MANIFEST_STORAGE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "manifest/document_tree.h"
#include "manifest/field_reader.h"
#include "model/pod.h"

namespace berth::manifest {

/// v1.PersistentVolume.
struct PersistentVolume {
  std::string name;
  std::map<std::string, std::string> labels;
  Quantity capacity;
  std::vector<std::string> access_modes;
  std::string storage_class;
  std::string volume_mode;  ///< "Filesystem", "Block"
  std::string claim;        ///< of claimRef: "namespace/name"; "": it is for any
  std::string source;       ///< "hostPath", "local"; else a kind that is not here
  Volume volume;            ///< of these two: the path
  std::string elsewhere;    ///< why nodeAffinity keeps it from this node; "": it does not
  friend bool operator==(const PersistentVolume&, const PersistentVolume&) = default;
};

/// Of a label: v1.NodeSelectorRequirement, metav1.LabelSelectorRequirement.
struct Requirement {
  std::string key;
  std::string op;
  std::vector<std::string> values;
  friend bool operator==(const Requirement&, const Requirement&) = default;
};

/// v1.PersistentVolumeClaim.
struct VolumeClaim {
  std::string name;  ///< "namespace/name"
  Quantity request;
  std::vector<std::string> access_modes;
  std::string storage_class;
  std::string volume_mode;
  std::string volume_name;            ///< "": any volume that fits
  std::vector<Requirement> selector;  ///< of the volume's labels
  std::string of_template;            ///< where the volumeClaimTemplate is that it was made of; "": it was written
  friend bool operator==(const VolumeClaim&, const VolumeClaim&) = default;
};

class Storage {
 public:
  /// `node_name`: of the node that nodeAffinity is judged for; "": it is not judged.
  explicit Storage(std::string node_name) : node_name_(std::move(node_name)) {}

  void AddVolume(const Node& node, const Path& path, Report& report);
  /// `of_template`: as VolumeClaim has it; such a claim gives way to one that was written.
  void AddClaim(const Node& node, const Path& path, const std::string& of_template, Report& report);
  std::size_t size() const { return volumes_.size() + claims_.size(); }

  /// Gives each claim its volume, as Kubernetes does: the smallest one that is large enough, of those with the fewest
  /// access modes; before that what names each other (volumeName, claimRef). One volume serves one claim.
  void Bind();

  /// What a claim came to. Requires: Bind was called.
  struct Answer {
    const VolumeClaim* claim = nullptr;
    const PersistentVolume* volume = nullptr;
    std::string why;  ///< why there is no volume, and the cure
  };
  Answer Find(const std::string& claim) const;

 private:
  void Give(const VolumeClaim& claim, const PersistentVolume& volume);
  /// "": it answers the claim. `by_name`: one of them names the other.
  std::string WhyNot(const VolumeClaim& claim, const PersistentVolume& volume, bool by_name) const;
  std::string WhyUnbound(const VolumeClaim& claim) const;

  std::string node_name_;
  std::vector<PersistentVolume> volumes_;  // in the order of the text
  std::vector<VolumeClaim> claims_;
  std::map<std::string, const PersistentVolume*, std::less<>> bound_;  // by claim
  std::map<const PersistentVolume*, std::string> serves_;
};

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_STORAGE_H_
