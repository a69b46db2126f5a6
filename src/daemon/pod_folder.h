// Manifests that come through the API, stored as files in the pod folder (where the folder source finds them).
#ifndef BERTH_DAEMON_POD_FOLDER_H_
#define BERTH_DAEMON_POD_FOLDER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "model/document.h"
#include "model/operation_results.h"
#include "model/pod.h"

namespace berth::daemon {

/// Full name of a pod on the node, or name of a document -> absolute path of the manifest, or URL, it came from.
using ManifestFiles = std::map<std::string, std::string>;

/// Thread: any; one change at a time.
class PodFolder {
 public:
  PodFolder(std::string path, std::string node_name) : path_(std::move(path)), node_name_(std::move(node_name)) {}

  /// Writes each pod into a file of its own, atomically: where it came from, if it is known, else
  /// "<namespace>_<name>.yaml"; each document likewise, first, "configmap_<namespace>_<name>.json" and for root only.
  /// All or, when some cannot be stored for reasons that show beforehand, none.
  /// `held`: Snapshot::held_bytes, of the snapshot that `files` are of.
  /// Requires: pods were validated. Errors, a line for each that cannot be stored, with the code of the first: kInvalid
  /// (a pod twice, a name that is no file name), kConflict (the file is there and holds anything but exactly this pod
  /// or document; it comes from a URL; the document there is immutable), kPermission, kIo; kExhausted: the folder would
  /// hold too much (pod_sources::kMostHeldBytes), about, with all of them.
  Result<std::vector<StoredPod>> Store(const std::vector<Pod>& pods, const ManifestFiles& files,
                                       const std::vector<ConfigDocument>& documents = {}, std::size_t held = 0) const;
  /// What Store would do with each that can be stored, and why not with each other one, or with all. Nothing is
  /// written.
  StoredPods Look(const std::vector<Pod>& pods, const ManifestFiles& files,
                  const std::vector<ConfigDocument>& documents = {}, std::size_t held = 0) const;
  /// Removes the file a pod came from and returns its path. What Store has accepted can be removed at once, also when
  /// nobody has read it yet and `files` does not know it. Errors: kNotFound, kConflict (the file holds other pods, or
  /// the pod comes from a URL).
  Result<std::string> Remove(const std::string& full_name, const ManifestFiles& files) const;

  /// The same for a document.
  Result<std::string> RemoveDocument(DocumentKind kind, const std::string& namespace_, const std::string& name,
                                     const ManifestFiles& files) const;

  const std::string& path() const { return path_; }
  /// Name of a pod of that name on this node.
  std::string NameOnNode(const std::string& name) const;

 private:
  Result<std::string> FileToRemove(const std::string& full_name, const ManifestFiles& files) const
      BERTH_REQUIRES(changing_->held);
  struct Planned;
  Result<Planned> PlanOf(const Pod& pod, const ManifestFiles& files) const BERTH_REQUIRES(changing_->held);
  Result<Planned> PlanOf(const ConfigDocument& document, const ManifestFiles& files) const
      BERTH_REQUIRES(changing_->held);
  struct Plan;
  Plan PlanOfAll(const std::vector<Pod>& pods, const ManifestFiles& files, const std::vector<ConfigDocument>& documents,
                 std::size_t held) const BERTH_REQUIRES(changing_->held);
  std::size_t Unread(const ManifestFiles& files) const BERTH_REQUIRES(changing_->held);
  std::string DocumentFile(DocumentKind kind, const std::string& namespace_, const std::string& name) const;
  /// Where a pod of this name is stored when nothing else is known.
  std::string FileOf(const std::string& namespace_, const std::string& name) const;

  std::string path_;
  std::string node_name_;
  struct Stored {
    std::string file;
    std::size_t bytes = 0;  // that it takes once it was read, about
  };
  struct Changing {
    Mutex held;  // while files are looked at and changed
    /// Full name on the node, or name of a document -> what was stored and may not have been read yet.
    std::map<std::string, Stored> stored BERTH_GUARDED_BY(held);
  };
  std::unique_ptr<Changing> changing_ = std::make_unique<Changing>();
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_POD_FOLDER_H_
