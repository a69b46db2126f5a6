// Pod sources. A source says which pods it wants now; the daemon works out what that changes.
#ifndef BERTH_FRONTEND_POD_SOURCES_SOURCE_H_
#define BERTH_FRONTEND_POD_SOURCES_SOURCE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/work_notes.h"
#include "manifest/pod_options.h"
#include "model/document.h"
#include "model/pod.h"

namespace berth::pod_sources {

struct SourceProblem {
  std::string file;             ///< path or URL
  std::string message;          ///< file, document, field path, what is wrong
  std::string source = "file";  ///< Source::name() of where it stands
  friend bool operator==(const SourceProblem&, const SourceProblem&) = default;
};

/// All pods of one source as of now.
struct Snapshot {
  bool ready = false;  ///< false until the source could be read once; a source that is not ready removes nothing
  /// False while some file was never read well since the start, or some source is not ready: pods are not known then,
  /// so one that only the ledger knows must not be taken for removed. A file that was only refused for want of room and
  /// has no pod of a name that ran before is known well enough.
  bool complete = true;
  /// By namespace/name, never null; static pod naming and uids applied (rules/sources#static-pods). What did not change
  /// is the same object as in the snapshot before.
  std::vector<std::shared_ptr<const Pod>> pods;
  ConfigDocuments documents;  ///< ConfigMaps and Secrets
  /// Full name of a pod, or name of a document -> path of the file, or URL, it came from.
  std::map<std::string, std::string> files;
  /// Full name of a pod -> IdentityOf it: two versions of which this is the same differ in what a resize changes.
  std::map<std::string, std::string> identities{};
  std::string storage{};                ///< PersistentVolumes and claims of a folder, as manifest::ParsedPods::storage
  std::size_t held_bytes = 0;           ///< what the files of a folder hold together, of kMostHeldBytes
  std::vector<SourceProblem> warnings;  ///< what works but is probably not meant (unknown fields)
  std::vector<SourceProblem> problems;  ///< the last good pod of a broken file stays in `pods`
};

class Source {
 public:
  virtual ~Source() = default;
  virtual std::string name() const = 0;  ///< "file", "http", "api"
  virtual int event_fd() const = 0;      ///< readable when Poll may find something new
  /// Time of the next look that does not wait for an event.
  virtual os::MonoTime next_due() const = 0;
  /// A new snapshot if anything changed since the last one; nullopt otherwise.
  virtual std::optional<Snapshot> Poll(os::MonoTime now) = 0;
};

/// Of what a folder holds at a time, all its files together (ReadPods::bytes): berthd needs as much again while it
/// reads one more. What a URL answers is one text, which manifest::Budget keeps below this.
inline constexpr std::size_t kMostHeldBytes = std::size_t{32} << 20;
/// That with `what`, a file's path say, a folder would hold more than `most`, in whole MiB.
std::string NoRoomFor(const std::string& what, std::size_t most = kMostHeldBytes);

struct FolderOptions {
  std::string path;
  std::string node_name;
  os::Millis period{20'000};
  /// Refuse the folder, or a file in it, that others than root (or the user this runs as) could change: who writes a
  /// manifest runs programs as root.
  bool only_trusted = true;
  /// Uids, identities (Snapshot::identities) and full names of pods that ran before the source was opened: a file that
  /// holds one of them, by uid or identity, counts, and not another one with a pod of the same name; it has room.
  std::set<std::string> running = {};
  os::WorkNotes* notes = nullptr;  ///< keep manifests that berthd died of from being read again; outlives the source
  manifest::PodOptions pods = {};  ///< how strictly they are read
  std::size_t most_held = kMostHeldBytes;
};

/// A folder (or one file) of manifests, watched with inotify and re-listed every period. A missing path is not an
/// error: it is looked for again.
Result<std::unique_ptr<Source>> OpenFolder(FolderOptions options);

struct HttpOptions {
  std::string url;                                          ///< http:// or https://, without user and password
  std::map<std::string, std::vector<std::string>> headers;  ///< sent with each request
  std::string node_name;
  os::Millis period{20'000};
  os::Millis timeout{10'000};      ///< of one request, from the connection to the last byte
  os::WorkNotes* notes = nullptr;  ///< as FolderOptions::notes
  manifest::PodOptions pods = {};
};
/// A Pod or PodList behind a URL, asked for every period by a thread of its own (rules/sources#url). Only an
/// answer with status 200 counts. An empty one means no pods, and is a problem; one that cannot be read leaves the last
/// good pods in force. Until the first good answer it is asked again sooner, after 1 s and twice as long each time.
/// Redirections are not followed: headers may hold secrets. The destructor waits for a request that is under way.
/// Errors: as CheckHttp.
Result<std::unique_ptr<Source>> OpenHttp(HttpOptions options);
/// Errors: kInvalid for a URL or header that cannot be used, with the kubelet's field and the cure.
Result<void> CheckHttp(const HttpOptions& options);

/// Several sources as one, in order of weight: of pods with one full name or uid in two of them the one that counted
/// before does, else the one that ran (`running`: FolderOptions::running), else that of the earlier source. Of
/// documents with one name the one that counted before does, else that of the earlier source: which counted before this
/// was opened nobody knows. The others are told in Snapshot::problems. Ready as soon as one is; complete when all are.
/// Errors: as epoll_create(2).
Result<std::unique_ptr<Source>> JoinSources(std::vector<std::unique_ptr<Source>> sources,
                                            std::set<std::string> running = {});

}  // namespace berth::pod_sources

#endif  // BERTH_FRONTEND_POD_SOURCES_SOURCE_H_
