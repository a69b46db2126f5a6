// Common steps of pod sources: reading manifests, and telling pods apart. Internal to the component.
#ifndef BERTH_FRONTEND_POD_SOURCES_GATHER_H_
#define BERTH_FRONTEND_POD_SOURCES_GATHER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "frontend/pod_sources/source.h"
#include "host/os/work_notes.h"
#include "manifest/pod_options.h"
#include "model/document.h"
#include "model/pod.h"

namespace berth::pod_sources {

/// A pod and where it stands: a file's path, a URL.
struct FoundPod {
  std::shared_ptr<const Pod> pod;  ///< never null
  std::string place;
  std::string source = "file";  ///< Source::name() of where that is
  std::string identity{};       ///< IdentityOf the pod, where it is known already
};

/// What stood before: it goes before what comes beside it.
struct Standing {
  /// Full name of a pod, or name of a document -> the place that counted in the snapshot before (Snapshot::files).
  const std::map<std::string, std::string>& counted;
  const std::set<std::string>& running;  ///< FolderOptions::running
};

/// Puts `found`, in the order of the source (of several sources, in theirs), into out.pods and out.files. Of pods with
/// one full name, or one uid, the one that counted before does; without such a one the one that runs, else the first.
/// What is left out is told in out.problems, with both places.
void Gather(const std::vector<FoundPod>& found, const Standing& before, Snapshot& out);

/// A ConfigMap or Secret and where it stands.
struct FoundDocument {
  std::shared_ptr<const ConfigDocument> document;
  std::string place;
  std::string source = "file";
};
/// Puts `found` into out.documents and out.files. Of documents with one name the one that counted before does, else the
/// first; what is left out is told in out.problems.
void GatherDocuments(const std::vector<FoundDocument>& found, const Standing& before, Snapshot& out);

/// What one manifest text holds.
struct ReadPods {
  std::vector<std::shared_ptr<const Pod>> pods;
  std::vector<std::shared_ptr<const ConfigDocument>> documents;
  std::vector<SourceProblem> warnings;
  std::string storage;    ///< as manifest::ParsedPods::storage
  std::size_t bytes = 0;  ///< that all of this takes for as long as it is held, about
};
/// Where a manifest text stands, and who reads it.
struct StaticText {
  std::string place;   ///< a file's path, a URL
  std::string scheme;  ///< "file", "url": with the place the pods' origin
  std::string source;  ///< Source::name()
  std::string node_name;
  os::WorkNotes* notes = nullptr;  ///< may be null
  manifest::PodOptions pods = {};  ///< how strictly pods are read
};
/// Reads `text` and makes its pods static ones. Errors: as manifest::ParsePods; kInvalid for a text that from.notes set
/// aside.
Result<ReadPods> ReadStaticPods(std::string_view text, const StaticText& from);

/// Why documents that were `before` may not be `now`: one that is immutable says something else. "": they may.
std::string WhyImmutable(const std::vector<std::shared_ptr<const ConfigDocument>>& before,
                         const std::vector<std::shared_ptr<const ConfigDocument>>& now);

/// Puts `text` into `slot`; whether that changed it.
bool Note(std::string& slot, const std::string& text);

}  // namespace berth::pod_sources

#endif  // BERTH_FRONTEND_POD_SOURCES_GATHER_H_
