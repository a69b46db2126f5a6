// Pods from a folder of manifests.
//
// A file is read when nobody writes to it any more: after its last event it has to be quiet for kSettle, unless that
// was its being renamed to this name, and while some process has it open for writing it is left alone, with its last
// good pods in force. The same holds for a file that cannot be parsed, a link that leads nowhere and a folder that is
// missing: only a file that is gone from a readable folder, and still is after the quiet time, takes its pods away. One
// that was removed and put back within that time takes them away too, before the new ones are there: whoever deletes a
// pod and makes it again wants another one.
//
// PersistentVolumes and claims are there for the pods of all files: when those of one change, files whose pods mount
// claims are read again.
//
// What all files hold together is bounded (FolderOptions::most_held). A file beyond it is refused and keeps its last
// good pods, and is read again when another one holds less. One whose pods ran before the start is taken all the same
// when it is read first: those pods go on. Others with pods make room for it while the first listing is read.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/fnv128.h"
#include "frontend/pod_sources/gather.h"
#include "frontend/pod_sources/source.h"
#include "frontend/pod_sources/static_pod.h"
#include "host/os/folder_watch.h"
#include "host/os/fs.h"
#include "host/os/open_writers.h"
#include "host/os/path.h"
#include "host/os/trusted_path.h"
#include "manifest/document_tree.h"

namespace berth::pod_sources {
namespace {

using os::MonoTime;

constexpr os::Millis kSettle{50};
constexpr os::Millis kRetryMissing{1'000};
/// How long the first snapshot waits for files that somebody is writing to.
constexpr os::Millis kFirstWait{5'000};

/// Leftovers of editors and package managers that lie beside the real file.
bool IsManifestName(std::string_view name) {
  if (name.empty() || name.front() == '.' || name.front() == '#') return false;
  constexpr std::string_view kEnds[] = {
      "~",         "-bak",       ".bak",      ".backup",   ".old",      ".orig",    ".part",
      ".rej",      ".save",      ".swo",      ".swp",      ".swx",      ".tmp",  // editors and people
      ".dpkg-bak", ".dpkg-dist", ".dpkg-new", ".dpkg-old", ".dpkg-tmp", ".pacnew",  ".pacsave",
      ".rpmnew",   ".rpmorig",   ".rpmsave",  ".ucf-dist", ".ucf-new",  ".ucf-old",  // package managers
  };
  return std::ranges::none_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
}

struct FileState {
  std::string digest;                                            ///< of what was parsed last: Fnv128
  std::string parse_problem;                                     ///< of that content; empty: fine
  std::string read_problem;                                      ///< why it cannot be read now; empty: it can
  std::vector<std::shared_ptr<const Pod>> pods;                  ///< last good ones
  std::vector<std::shared_ptr<const ConfigDocument>> documents;  ///< likewise
  std::vector<SourceProblem> warnings;                           ///< of these
  std::string storage;                                           ///< PersistentVolumes and claims, likewise
  bool mounts_claims = false;                                    ///< what it comes to depends on those of others
  std::size_t bytes = 0;                                         ///< ReadPods::bytes of all of these
  bool has_no_room = false;  ///< its content is refused because the others hold so much
  bool may_run = false;      ///< of what is refused so: pods of these names ran before the start
  bool ran = false;          ///< was taken because its pods ran before the start
  std::string told_readers;  ///< that others can read its secrets; empty: they cannot, or it has none
  bool good = false;         ///< there was a good content once

  const std::string& problem() const { return read_problem.empty() ? parse_problem : read_problem; }
};

class FolderSource final : public Source {
 public:
  explicit FolderSource(FolderOptions options) : options_(std::move(options)) { Rewatch(); }

  std::string name() const override { return "file"; }
  int event_fd() const override { return watch_ ? watch_->fd() : -1; }
  MonoTime next_due() const override {
    MonoTime due = next_list_;
    for (const auto& [name, at] : settling_) due = std::min(due, at);
    return due;
  }

  std::optional<Snapshot> Poll(MonoTime now) override {
    TakeEvents(now);
    bool changed = false;
    if (now >= next_list_) changed |= ListAll(now);
    changed |= ReadSettled(now);
    changed |= BecomeReady(now);
    changed |= !told_complete_ && Complete();
    if (!changed || (!ready_ && folder_problem_.empty())) return std::nullopt;
    Snapshot out = MakeSnapshot();
    told_complete_ = out.complete;
    return out;
  }

 private:
  void Rewatch() {
    watch_.reset();
    auto watch = os::FolderWatch::Open(WatchedFolder());
    if (watch) watch_.emplace(*std::move(watch));
  }

  bool IsSingleFile() const {
    struct stat st{};
    return ::stat(options_.path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
  }
  std::string WatchedFolder() const { return IsSingleFile() ? os::FolderOf(options_.path) : options_.path; }
  std::string PathOf(const std::string& name) const { return WatchedFolder() + "/" + name; }

  void TakeEvents(MonoTime now) {
    if (!watch_) return;
    const os::FolderWatch::Changes changes = watch_->Take();
    // What was renamed to its name is whole. With others a pod may go from one file to another.
    const bool whole = settling_.empty() && std::ranges::all_of(changes.names, [&](const std::string& name) {
                         return !IsManifestName(name) || changes.arrived.contains(name);
                       });
    for (const std::string& name : changes.names)
      if (IsManifestName(name)) settling_[name] = whole ? now : now + kSettle;
    for (const std::string& name : changes.removed)
      if (files_.contains(name)) removed_.insert(name);
    if (changes.lost) next_list_ = now;
    if (!changes.gone) return;
    removed_.clear();  // with its folder a file is only missing
    Rewatch();
  }

  Result<void> CheckTrusted(const std::string& path) const {
    if (!options_.only_trusted) return {};
    auto trusted = os::CheckTrusted(path);
    if (!trusted && trusted.error().sys == 0) trusted.error().message += ", or set manifestOwners: any";
    return trusted;
  }

  /// Names of manifests now; error when the folder cannot be read, or must not be.
  Result<std::vector<std::string>> Names() const {
    const std::string folder = WatchedFolder();
    BERTH_RETURN_IF_ERROR(CheckTrusted(folder));
    BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(folder));
    if (IsSingleFile()) return std::vector<std::string>{os::FileNameOf(options_.path)};
    BERTH_TRY(std::vector<std::string> names, fs->List(""));
    std::erase_if(names, [](const std::string& name) { return !IsManifestName(name); });
    return names;
  }

  std::string FolderProblem(const Error& error) const {
    if (error.code != Code::kNotFound)
      return "cannot read the pod folder: " + error.message + "; pods that came from it stay until it is back";
    const std::string& path = options_.path;
    return "the pod folder " + path + " is missing: put it back, or make an empty one (mkdir " + path +
           ") if the pods that came from it are to end; until then they stay";
  }

  /// Looks at everything: new files settle, vanished ones too (a listing may miss a file that is being replaced),
  /// content that changed without an event is seen.
  bool ListAll(MonoTime now) {
    auto names = Names();
    if (!names) {
      next_list_ = now + kRetryMissing;
      const std::string problem = FolderProblem(names.error());
      return std::exchange(folder_problem_, problem) != problem;
    }
    if (!watch_) Rewatch();
    next_list_ = now + options_.period;
    const bool changed = !std::exchange(folder_problem_, "").empty();
    if (!first_listed_) first_listed_ = now;
    for (const auto& [name, file] : files_)
      if (!std::ranges::binary_search(*names, name)) settling_.try_emplace(name, now + kSettle);
    for (const std::string& name : *names) settling_.try_emplace(name, now);
    return changed;
  }

  /// False while pods of some file may run and are not known, because it was never read well.
  bool Complete() const {
    const auto known = [](const FileState& file) { return file.good || (file.has_no_room && !file.may_run); };
    return std::ranges::all_of(files_, [&](const auto& file) { return known(file.second); }) &&
           std::ranges::all_of(settling_, [&](const auto& settling) {
             const auto it = files_.find(settling.first);
             return it != files_.end() && known(it->second);
           });
  }

  /// Ready once every file of the first listing was read, or has kept us waiting long enough.
  bool BecomeReady(MonoTime now) {
    if (ready_ || !first_listed_ || (!settling_.empty() && now < *first_listed_ + kFirstWait)) return false;
    ready_ = true;
    return true;
  }

  bool ReadSettled(MonoTime now) {
    bool changed = false;
    for (auto it = settling_.begin(); it != settling_.end();) {
      if (it->second > now) {
        ++it;
      } else if (os::IsOpenForWriting(PathOf(it->first))) {
        it->second = now + kSettle;
        ++it;
      } else if (removed_.erase(it->first) > 0 && Names()) {
        changed |= Forget(it->first, now);
        it->second = now;  // what was put in its place, the same or not, is another one: the next look reads it
        ++it;
      } else {
        changed |= ReadOne(it->first, now);
        it = settling_.erase(it);
      }
    }
    return changed;
  }

  /// True when the pods or the problem of the file changed.
  bool ReadOne(const std::string& name, MonoTime now) {
    const std::string path = PathOf(name);
    struct stat st{};
    if (::lstat(path.c_str(), &st) != 0 && errno == ENOENT) return Drop(name, now);
    const bool is_link = S_ISLNK(st.st_mode);
    const int error = ::stat(path.c_str(), &st) == 0 ? 0 : errno;
    if (error == 0 && S_ISDIR(st.st_mode)) return false;
    FileState& file = files_[name];
    if (error == ENOENT && is_link)
      return Note(file.read_problem, path +
                                         ": this link leads to a file that is missing; put that file back, or remove "
                                         "the link from the folder");
    if (error != 0) return Note(file.read_problem, FailErrno("look at", path, error).error().message);
    if (!S_ISREG(st.st_mode)) return Note(file.read_problem, path + ": not a regular file; remove it from the folder");
    if (st.st_size > static_cast<off_t>(manifest::kMaxTextBytes))
      return Note(file.read_problem, path + ": not read: larger than 10 MiB; split it into several files");
    if (auto trusted = CheckTrusted(path); !trusted)
      return Note(file.read_problem, path + ": not read: " + trusted.error().message);
    auto fs = os::OpenFs("/", manifest::kMaxTextBytes);  // a link may lead out of the folder
    auto content = fs ? (*fs)->Read(path) : Result<std::string>(std::unexpected(fs.error()));
    if (!content) return Note(file.read_problem, content.error().message);
    bool changed = Note(file.read_problem, "");
    if (std::string digest = Fnv128(*content); file.digest != digest) {
      file.digest = std::move(digest);
      changed |= Parse(name, file, *content, now);
    }
    return NoteReaders(path, file) || changed;
  }

  /// Its secrets are whoever's can read it; berthd needs to be root to read them.
  static bool NoteReaders(const std::string& path, FileState& file) {
    const bool secrets = std::ranges::any_of(
        file.documents, [](const auto& document) { return document->kind == DocumentKind::kSecret; });
    return Note(file.told_readers,
                secrets && os::OthersCanRead(path)
                    ? path + ": holds a Secret and can be read by others than root: chmod 600 " + path
                    : "");
  }

  /// The file is gone. Together with its folder it is only missing, which the next listing will say.
  bool Drop(const std::string& name, MonoTime now) {
    if (Names()) return Forget(name, now);
    next_list_ = now;
    return false;
  }

  bool Forget(const std::string& name, MonoTime now) {
    ReadUsersAgain(name, now);
    const bool was_there = files_.erase(name) > 0;
    if (was_there) ReadRefusedAgain(now);
    return was_there;
  }

  /// There may be room for them now.
  void ReadRefusedAgain(MonoTime now) {
    for (auto& [name, file] : files_) {
      if (!file.has_no_room) continue;
      file.digest.clear();
      settling_.try_emplace(name, now);
    }
  }

  bool HasRoom(const std::string& name, std::size_t bytes) const {
    for (const auto& [other, file] : files_)
      if (other != name) bytes += file.bytes;
    return bytes <= options_.most_held;
  }

  /// Whether the file may hold what was read. While nobody was told of any pod yet, others give back what they have for
  /// one whose pods ran.
  bool TakeRoom(const std::string& name, FileState& file, const ReadPods& read, MonoTime now) {
    file.ran |= !file.good && Ran(read.pods);
    if (file.good || !file.ran) return read.bytes <= file.bytes || HasRoom(name, read.bytes);
    for (auto it = files_.rbegin(); !ready_ && it != files_.rend() && !HasRoom(name, read.bytes); ++it) {
      auto& [other, state] = *it;
      if (state.ran || state.pods.empty()) continue;
      ReadUsersAgain(other, now);
      FileState refused;
      refused.digest = std::move(state.digest);
      Refuse(other, refused, state.pods);
      state = std::move(refused);
    }
    return true;
  }

  /// True when that is new.
  bool Refuse(const std::string& name, FileState& file, const std::vector<std::shared_ptr<const Pod>>& pods) const {
    file.has_no_room = true;
    file.may_run =
        std::ranges::any_of(pods, [&](const auto& pod) { return options_.running.contains(FullName(*pod)); });
    return Note(file.parse_problem, NoRoomFor(PathOf(name), options_.most_held));
  }

  bool Ran(const std::vector<std::shared_ptr<const Pod>>& pods) const {
    return !options_.running.empty() && std::ranges::any_of(pods, [&](const auto& pod) {
      return options_.running.contains(pod->uid) || options_.running.contains(IdentityOf(*pod));
    });
  }

  /// The file's storage has changed, or goes.
  void ReadUsersAgain(const std::string& name, MonoTime now) {
    const auto gone = files_.find(name);
    if (gone == files_.end() || gone->second.storage.empty()) return;
    for (auto& [other, file] : files_) {
      if (other == name || !file.mounts_claims) continue;
      file.digest.clear();
      settling_.try_emplace(other, now);
    }
  }

  bool Parse(const std::string& name, FileState& file, std::string_view content, MonoTime now) {
    manifest::PodOptions pods = options_.pods;
    file.has_no_room = false;
    file.mounts_claims = content.find("persistentVolumeClaim") != std::string_view::npos;
    for (const auto& [other, state] : files_)
      if (other != name && file.mounts_claims) pods.storage += state.storage;
    auto parsed = ReadStaticPods(content, {.place = PathOf(name),
                                           .scheme = "file",
                                           .source = this->name(),
                                           .node_name = options_.node_name,
                                           .notes = options_.notes,
                                           .pods = std::move(pods)});
    if (!parsed) return Note(file.parse_problem, parsed.error().message);
    if (const std::string why = WhyImmutable(file.documents, parsed->documents); !why.empty())
      return Note(file.parse_problem, PathOf(name) + ": " + why);
    if (!TakeRoom(name, file, *parsed, now)) return Refuse(name, file, parsed->pods);
    file.parse_problem.clear();
    const bool others_made_room = file.ran && !file.good;
    file.good = true;
    file.pods = std::move(parsed->pods);
    file.documents = std::move(parsed->documents);
    if (file.storage != parsed->storage) {
      ReadUsersAgain(name, now);  // by what it was
      file.storage = std::move(parsed->storage);
      ReadUsersAgain(name, now);
    }
    file.warnings = std::move(parsed->warnings);
    // Of those that made room the smaller ones may have it still.
    if (std::exchange(file.bytes, parsed->bytes) > parsed->bytes || others_made_room) ReadRefusedAgain(now);
    return true;
  }

  Snapshot MakeSnapshot() {
    Snapshot out{.ready = ready_,
                 .complete = Complete(),
                 .pods = {},
                 .documents = {},
                 .files = {},
                 .warnings = {},
                 .problems = {}};
    if (!folder_problem_.empty()) out.problems.push_back({options_.path, folder_problem_});
    std::vector<FoundPod> found;
    std::vector<FoundDocument> documents;
    for (const auto& [name, file] : files_) {
      if (!file.problem().empty()) out.problems.push_back({PathOf(name), file.problem()});
      out.warnings.insert(out.warnings.end(), file.warnings.begin(), file.warnings.end());
      if (!file.told_readers.empty()) out.warnings.push_back({PathOf(name), file.told_readers});
      out.storage += file.storage;
      out.held_bytes += file.bytes;
      for (const auto& pod : file.pods) found.push_back({pod, PathOf(name)});
      for (const auto& document : file.documents) documents.push_back({document, PathOf(name)});
    }
    const Standing before{.counted = counted_, .running = options_.running};
    Gather(found, before, out);
    GatherDocuments(documents, before, out);
    if (ready_) counted_ = out.files;
    if (ready_ && out.complete) options_.running.clear();  // what counts is known
    return out;
  }

  FolderOptions options_;
  std::optional<os::FolderWatch> watch_;
  std::map<std::string, FileState> files_;      // by file name
  std::map<std::string, std::string> counted_;  // Snapshot::files of the last snapshot
  std::map<std::string, MonoTime> settling_;    // files to read, and when
  std::set<std::string> removed_;               // of these, those that were removed since they were read
  MonoTime next_list_{};
  std::string folder_problem_;
  std::optional<MonoTime> first_listed_;
  bool ready_ = false;
  bool told_complete_ = true;  // by the last snapshot
};

}  // namespace

std::string NoRoomFor(const std::string& what, std::size_t most) {
  return what + ": not taken: with it all files of the folder would hold more than " + std::to_string(most >> 20) +
         " MiB; remove some of them, or make ConfigMaps and Secrets smaller";
}

Result<std::unique_ptr<Source>> OpenFolder(FolderOptions options) {
  if (options.path.empty()) return Fail(Code::kInvalid, "no pod folder is set; give staticPodPath or --pod-dir");
  std::error_code error;
  options.path = std::filesystem::absolute(options.path, error).lexically_normal();
  if (error) return FailErrno("find folder", options.path, error.value());
  return std::unique_ptr<Source>(std::make_unique<FolderSource>(std::move(options)));
}

}  // namespace berth::pod_sources
