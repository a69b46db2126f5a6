#include "berth/apply_command.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "api/codec/views.h"
#include "base/fnv128.h"
#include "base/text.h"
#include "berth/manifests_at.h"
#include "berth/pod_name.h"
#include "berth/pod_problem.h"
#include "berth/pods_command.h"
#include "host/os/clock.h"
#include "host/os/input.h"
#include "manifest/manifest.h"
#include "view/style.h"

namespace berth::cli {
namespace {

constexpr os::Millis kAskAgain{100};

/// What a command came to so far: the worst status wins, "not reachable" ends it.
class Outcome {
 public:
  void Add(int status) { status_ = std::max(status_, status); }
  /// Prints the error and keeps its status.
  void Fail(const Session& session, const Error& error) { Add(session.Report(error)); }
  bool hopeless() const { return status_ == kUnreachable; }
  int status() const { return status_; }

 private:
  int status_ = kOk;
};

bool TimeIsUp(os::MonoTime start, const WaitOptions& options) {
  return os::SystemClock().Now() - start >= std::chrono::seconds(options.timeout_s);
}

/// Full name -> uid of every pod there is.
Result<std::map<std::string, std::string>> Uids(const Session& session) {
  BERTH_TRY(const PodList pods, session.berthd().Pods());
  std::map<std::string, std::string> out;
  for (const auto& pod : pods.pods) out[FullName(*pod)] = pod->uid;
  return out;
}

/// Every manifest the names stand for. Errors are reported and kept in `outcome`.
std::vector<std::string> Expand(const std::vector<std::string>& names, const Session& session, Outcome& outcome) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    auto files = ManifestsAt(name);
    if (files) {
      out.insert(out.end(), files->begin(), files->end());
    } else {
      session.err() << "berth: " << files.error().message << '\n';
      outcome.Add(kFailed);
    }
  }
  return out;
}

/// berthd knows no file: it says "request" where the reader of the message wants to see the name.
std::string NamingFile(std::string message, const std::string& file) {
  constexpr std::string_view kStart = "request: ";
  for (std::size_t at = 0; at < message.size();) {
    if (message.compare(at, kStart.size(), kStart) == 0) message.replace(at, kStart.size(), file + ": ");
    const std::size_t end = message.find('\n', at);
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return message;
}

std::string ShownName(const std::string& file) { return file == "-" ? "standard input" : file; }

/// A file, and what was found in it.
struct Manifest {
  std::string file;
  std::string text;
  std::string origin;  ///< as manifest::PodOptions has it
  Result<manifest::ParsedPods> parsed;

  bool MayMountClaims() const { return !parsed || parsed->mounts_claims; }
  bool HasNoPods() const {
    return parsed && parsed->pods.empty() && parsed->documents.empty() && !parsed->has_templates;
  }
  bool HasNothing() const { return HasNoPods() && parsed->storage.empty(); }
};

/// Checks the text here, so that messages name the file.
void Check(Manifest& manifest, bool as_pods) {
  manifest.parsed =
      manifest::ParsePods(manifest.text, ShownName(manifest.file), {.templates = as_pods, .origin = manifest.origin});
}

/// Errors: as os::ReadInput; what is wrong with the text is in `parsed`.
Result<Manifest> ReadManifest(const std::string& file, bool as_pods) {
  BERTH_TRY(std::string text, os::ReadInput(file));
  Manifest out{.file = file, .text = std::move(text), .origin = os::OriginOf(file), .parsed = {}};
  Check(out, as_pods);
  return out;
}

/// Adds PersistentVolumes and claims that stand beside the manifest.
void AddStorage(Manifest& manifest, const std::string& storage, bool as_pods) {
  if (storage.empty()) return;
  if (manifest.origin.empty()) manifest.origin = Fnv128(manifest.text);  // made names stay those of the text alone
  manifest.text += "\n---\n" + storage;                                  // after it: documents keep their numbers
  Check(manifest, as_pods);
}

std::string TextOfWarning(const manifest::Warning& warning) { return warning.where + ": " + warning.message; }

/// Warnings go to the error stream. Requires: it was parsed.
void TellWarnings(const Manifest& manifest, const Session& session) {
  std::set<std::string> told;
  for (const manifest::Warning& warning : manifest.parsed->warnings)
    if (const auto [text, added] = told.insert(TextOfWarning(warning)); added)
      session.err() << "berth: warning: " << *text << '\n';
}

/// A file without anything beside others is no fault: a folder may hold manifests of other kinds.
void TellOfNothing(const std::string& file, bool others_have, const Session& session, Outcome& outcome) {
  session.err() << "berth: " << (others_have ? "warning: " : "") << ShownName(file)
                << ": there is no pod, ConfigMap or Secret in it\n";
  if (!others_have) outcome.Add(kFailed);
}

std::string NameOf(const StoredPod& pod) { return pod.namespace_ + "/" + pod.name; }

/// "default/web-n1", "configmap default/app".
std::string Shown(const std::string& kind, const std::string& full_name) {
  if (kind == "Pod") return full_name;
  return (kind == "Secret" ? "secret " : "configmap ") + full_name;
}

/// The pod that is there is what the manifest says, but for what every pod of a node gets beside.
bool IsAsWanted(const Pod& now, Pod wanted) {
  wanted.name = now.name;
  wanted.uid = now.uid;
  wanted.node_name = now.node_name;
  for (const char* const own : {"kubernetes.io/config.hash", "kubernetes.io/config.source"})
    if (const auto it = now.annotations.find(own); it != now.annotations.end())
      wanted.annotations.insert_or_assign(own, it->second);
  return now == wanted;
}

int ReportResize(const StoredPod& stored, const ResizeView& resize, const Session& session) {
  session.err() << "berth: " << NameOf(stored) << ": not resized (" << resize.reason << "): " << resize.message << '\n';
  for (const std::string& detail : resize.details) session.err() << "  " << detail << '\n';
  return kRejected;
}

/// A pod whose manifest was removed.
struct Deleted {
  std::string namespace_;
  std::string name;
  std::string uid;  ///< "": berthd had not read its manifest yet
};

int AwaitEnd(const Deleted& pod, const WaitOptions& options, const Session& session) {
  const std::string full_name = pod.namespace_ + "/" + pod.name;
  for (const os::MonoTime start = os::SystemClock().Now();; os::SleepFor(kAskAgain)) {
    const auto uids = Uids(session);
    if (!uids) return session.Report(uids.error());
    const auto it = uids->find(full_name);
    if (it == uids->end() || (!pod.uid.empty() && it->second != pod.uid)) return kOk;
    if (TimeIsUp(start, options)) {
      session.err() << "berth: " << full_name << " was still there after " << options.timeout_s
                    << " s; its grace period may be longer\n";
      return kFailed;
    }
  }
}

Result<Deleted> TakeAway(const PodView& pod, const Session& session) {
  BERTH_TRY(const DeletedPod answer, session.berthd().DeletePod(pod.namespace_, pod.name));
  return Deleted{.namespace_ = answer.namespace_, .name = answer.name, .uid = pod.uid};
}

/// Takes the manifest of the pod of that whole name away, also when berthd has not read it yet.
/// Errors: as FindPodToChange and api::NodeClient.
Result<Deleted> TakeAway(const PodToChange& wanted, const Session& session) {
  const auto pod = FindPodToChange(session, wanted);
  if (pod) return TakeAway(**pod, session);
  if (pod.error().code != Code::kNotFound) return std::unexpected(pod.error());
  auto unread = session.berthd().DeletePod(wanted.namespace_, wanted.name);
  if (unread) return Deleted{.namespace_ = unread->namespace_, .name = unread->name, .uid = ""};
  return std::unexpected(unread.error().code == Code::kNotFound ? pod.error() : unread.error());
}

/// What came of deleting one pod; `deleted` is for those who wait.
void TellDeleted(Result<Deleted> pod, const Session& session, Outcome& outcome, std::vector<Deleted>& deleted) {
  if (!pod) return outcome.Fail(session, pod.error());
  if (session.for_people()) session.out() << pod->namespace_ << '/' << pod->name << " deleted\n" << std::flush;
  deleted.push_back(*std::move(pod));
}

void DeleteDocument(const ConfigDocument& document, const Session& session, Outcome& outcome) {
  const auto gone = session.berthd().DeleteDocument(document.kind, document.namespace_, document.name);
  if (!gone) return outcome.Fail(session, gone.error());
  if (session.for_people())
    session.out() << Shown(gone->kind, gone->namespace_ + "/" + gone->name) << " deleted\n" << std::flush;
}

/// What was handed over so far.
struct Applied {
  std::vector<StoredPod> results;   ///< what berthd did with each pod
  std::map<std::string, Pod> pods;  ///< by NameOf their result
  std::set<std::string> own_uids;   ///< uids that manifests name themselves: they stay when the pod changes
};

/// A manifest, and the PersistentVolumes and claims of the others beside it: pods of one command find them.
struct ToApply {
  Manifest manifest;
  std::string storage_beside;
  bool claims_mounted = false;  ///< by some pod of the command, as far as it can be known
  bool others_have = false;     ///< some file of the command has something
};

/// What was printed of it.
std::set<std::string> TextsOf(const Manifest& manifest) {
  std::set<std::string> out;
  if (manifest.parsed)
    for (const manifest::Warning& warning : manifest.parsed->warnings) out.insert(TextOfWarning(warning));
  return out;
}

void TellOfStorageAlone(const std::string& file, const Session& session) {
  session.err() << "berth: warning: " << ShownName(file)
                << ": no effect: PersistentVolumes and claims are read with the pods that mount them: put them into "
                   "one file, or name the files or their folder in one command\n";
}

/// Adds the lines that are not there yet.
void AddLines(std::vector<std::string>& lines, std::string_view more) {
  for (const std::string_view line : Split(more, '\n'))
    if (std::ranges::find(lines, line) == lines.end()) lines.emplace_back(line);
}

/// All that is wrong with a manifest, here and by berthd's answer; empty: nothing is, or the answer is an error of
/// another kind.
std::vector<std::string> WhyRefused(const Manifest& manifest, const Result<StoredPods>& answer) {
  const std::string file = ShownName(manifest.file);
  std::vector<std::string> out;
  if (!manifest.parsed) AddLines(out, manifest.parsed.error().message);
  if (answer)
    for (const std::string& problem : answer->problems) AddLines(out, NamingFile(problem, file));
  else if (answer.error().code == Code::kInvalid || answer.error().code == Code::kConflict)
    AddLines(out, NamingFile(answer.error().message, file));
  return out;
}

/// Warnings of berthd, which knows its runtime, that were not printed yet, and what it did or would do. `refused`: why
/// nothing of it is done.
void TellAnswer(const StoredPods& answer, const std::string& file, bool dry_run, bool refused,
                const std::set<std::string>& warned, const Session& session) {
  for (const std::string& text : answer.warnings)
    if (const std::string warning = NamingFile(text, file); !warned.contains(warning))
      session.err() << "berth: warning: " << warning << '\n';
  if (!session.for_people()) return;
  const std::string end = refused ? " (dry run; " + file + " is refused)" : dry_run ? " (dry run)" : "";
  for (const StoredPod& stored : answer.results)
    session.out() << Shown(stored.kind, NameOf(stored)) << ' ' << Name(stored.action) << end << '\n' << std::flush;
}

void Keep(const manifest::ParsedPods& sent, const StoredPods& answer, Applied& applied) {
  for (const Pod& pod : sent.pods)
    if (!pod.uid.empty()) applied.own_uids.insert(pod.uid);
  auto pod = sent.pods.begin();  // results are in their order
  for (const StoredPod& stored : answer.results) {
    if (stored.kind == "Pod" && pod != sent.pods.end()) applied.pods.insert_or_assign(NameOf(stored), *pod++);
    applied.results.push_back(stored);
  }
}

/// One manifest to berthd. One that is wrong is only looked at there: berthd knows what else is wrong with it on this
/// node.
void ApplyOne(ToApply item, const ApplyOptions& options, const Session& session, Outcome& outcome, Applied& applied) {
  Manifest& manifest = item.manifest;
  if (manifest.parsed) TellWarnings(manifest, session);
  if (manifest.HasNothing()) return TellOfNothing(manifest.file, item.others_have, session, outcome);
  if (manifest.HasNoPods()) {
    if (!item.claims_mounted) TellOfStorageAlone(manifest.file, session);
    return;
  }
  const std::string file = ShownName(manifest.file);
  std::set<std::string> warned = TextsOf(manifest);
  AddStorage(manifest, item.storage_beside, options.as_pods);
  warned.merge(TextsOf(manifest));  // those of the storage were printed with its own file
  const auto answer = session.berthd().ApplyPods({.manifests = manifest.text,
                                                  .templates = options.as_pods,
                                                  .dry_run = options.dry_run || !manifest.parsed,
                                                  .file = manifest.origin});
  const std::vector<std::string> refused = WhyRefused(manifest, answer);
  if (!answer && refused.empty()) {
    Error error = answer.error();
    error.message = NamingFile(std::move(error.message), file);
    return outcome.Fail(session, error);
  }
  if (!refused.empty()) {
    session.err() << "berth: " << view::WithoutControls(Join(refused, "\n")) << '\n';
    outcome.Add(kFailed);
  }
  if (!answer || (!options.dry_run && !refused.empty())) return;
  TellAnswer(*answer, file, options.dry_run, !refused.empty(), warned, session);
  if (refused.empty()) Keep(*manifest.parsed, *answer, applied);
}

/// The pod as berthd stored it: it knows its runtime, which may give host names, and which volumes are this node's.
/// As it was sent where the file cannot be read.
Pod AsStored(const StoredPod& stored, Pod sent) {
  const auto text = os::ReadInput(stored.file);
  if (!text) return sent;
  auto parsed = manifest::ParsePods(*text, stored.file, {.most_pods = 1});
  return parsed && parsed->pods.size() == 1 ? std::move(parsed->pods.front()) : std::move(sent);
}

/// All manifests of a command, each with the storage of the others. Errors are reported and kept in `outcome`.
std::vector<Result<ToApply>> ReadAll(const std::vector<std::string>& files, bool as_pods, const Session& session,
                                     Outcome& outcome) {
  std::vector<Result<ToApply>> out;
  bool mounted = false;
  bool some_have = false;
  for (const std::string& file : Expand(files, session, outcome)) {
    auto read = ReadManifest(file, as_pods);
    if (!read) {
      out.emplace_back(std::unexpected(std::move(read).error()));
      continue;
    }
    mounted = mounted || read->MayMountClaims();
    some_have = some_have || !read->HasNothing();
    out.push_back(ToApply{.manifest = *std::move(read), .storage_beside = {}});
  }
  for (auto& one : out) {
    if (!one) continue;
    one->claims_mounted = mounted;
    one->others_have = some_have;
    for (const auto& other : out)
      if (other && &other != &one && other->manifest.parsed && one->manifest.MayMountClaims())
        one->storage_beside += other->manifest.parsed->storage;
  }
  return out;
}

}  // namespace

int AwaitApplied(const StoredPod& stored, const std::string& old_uid, const Pod& wanted, const WaitOptions& options,
                 const Session& session) {
  std::string why;
  for (const os::MonoTime start = os::SystemClock().Now();; os::SleepFor(kAskAgain)) {
    const auto pod = session.berthd().GetPod(stored.namespace_, stored.name);
    if (!pod && (pod.error().code != Code::kNotFound || !session.Reachable())) return session.Report(pod.error());
    const bool is_it = pod && (pod->view->uid != old_uid || (!pod->view->resize && IsAsWanted(pod->manifest, wanted)));
    if (is_it) why = WhyNotRunning(*pod->view);
    if (is_it && pod->view->phase != PodPhase::kFailed && CannotStart(*pod->view)) {
      session.err() << "berth: " << NameOf(stored) << ": " << why << '\n';
      return kFailed;
    }
    if (pod && pod->view->phase != PodPhase::kPending) {
      const PodView& view = *pod->view;
      if (is_it) return view.phase == PodPhase::kFailed ? ReportFailed(view, session) : kOk;
      if (view.resize && !view.resize->in_progress && view.resize->requests == PodRequests(wanted))
        return ReportResize(stored, *view.resize, session);
    }
    if (TimeIsUp(start, options)) {
      session.err() << "berth: " << NameOf(stored) << " did not start within " << options.timeout_s << " s"
                    << (why.empty() ? "" : ": " + why) << "; see 'berth describe " << stored.name << "'\n";
      return kFailed;
    }
  }
}

int ReportFailed(const PodView& pod, const Session& session) {
  session.err() << "berth: " << FullName(pod) << ": " << WhyFailed(pod) << '\n';
  for (const std::string& detail : pod.details) session.err() << "  " << detail << '\n';
  return pod.admitted_at ? kFailed : kRejected;
}

int RunApply(const ApplyOptions& options, const Session& session) {
  Outcome outcome;
  const auto before = Uids(session);
  if (!before) return session.Report(before.error());
  Applied applied;
  for (auto& item : ReadAll(options.files, options.as_pods, session, outcome)) {
    if (item) {
      ApplyOne(*std::move(item), options, session, outcome, applied);
    } else {
      session.err() << "berth: " << item.error().message << '\n';
      outcome.Add(kFailed);
    }
    if (outcome.hopeless()) return outcome.status();
  }
  for (const StoredPod& stored : applied.results) {
    if (!options.wait.wait || outcome.hopeless()) break;
    if (stored.kind != "Pod") continue;
    const auto old = before->find(NameOf(stored));
    const bool replaces =
        stored.action == StoreAction::kConfigured && old != before->end() && !applied.own_uids.contains(old->second);
    const Pod wanted = AsStored(stored, std::move(applied.pods[NameOf(stored)]));
    outcome.Add(AwaitApplied(stored, replaces ? old->second : "", wanted, options.wait, session));
  }
  if (!session.for_people()) {
    codec::Json results = codec::Json::array();
    for (const StoredPod& stored : applied.results) results.push_back(codec::ToJson(stored));
    session.PrintData({{"results", std::move(results)}});
  }
  return outcome.status();
}

int RunDelete(const DeleteOptions& options, const Session& session) {
  Outcome outcome;
  std::vector<Deleted> deleted;
  std::vector<PodToChange> wanted;
  for (const std::string& given : options.pods) {
    auto pod = ParsePodToChange(given, options.namespace_);
    if (!pod) return session.Report(pod.error());
    wanted.push_back(*std::move(pod));
  }
  std::vector<ConfigDocument> documents;  // after the pods
  for (const auto& item : ReadAll(options.files, options.as_pods, session, outcome)) {
    if (!item || !item->manifest.parsed) {
      session.err() << "berth: " << (item ? item->manifest.parsed.error() : item.error()).message << '\n';
      outcome.Add(kFailed);
      continue;
    }
    const manifest::ParsedPods& found = *item->manifest.parsed;
    TellWarnings(item->manifest, session);
    if (item->manifest.HasNothing()) TellOfNothing(item->manifest.file, item->others_have, session, outcome);
    for (const Pod& pod : found.pods)
      wanted.push_back({.namespace_ = pod.namespace_, .name = pod.name, .by_manifest = true});
    documents.insert(documents.end(), found.documents.begin(), found.documents.end());
  }
  if (options.all || !options.selector.empty()) {
    const auto pods = ChoosePods(session, {.namespace_ = options.namespace_, .selector = options.selector});
    if (!pods) return session.Report(pods.error());
    if (pods->pods.empty()) session.err() << "No pods to delete.\n";
    for (const auto& pod : pods->pods) {
      TellDeleted(TakeAway(*pod, session), session, outcome, deleted);
      if (outcome.hopeless()) return outcome.status();
    }
  }
  for (const PodToChange& pod : wanted) {
    TellDeleted(TakeAway(pod, session), session, outcome, deleted);
    if (outcome.hopeless()) return outcome.status();
  }
  for (const ConfigDocument& document : documents) {
    DeleteDocument(document, session, outcome);
    if (outcome.hopeless()) return outcome.status();
  }
  for (const Deleted& pod : deleted)
    if (options.wait.wait && !outcome.hopeless()) outcome.Add(AwaitEnd(pod, options.wait, session));
  if (!session.for_people()) {
    codec::Json list = codec::Json::array();
    for (const Deleted& pod : deleted) list.push_back({{"namespace", pod.namespace_}, {"name", pod.name}});
    session.PrintData({{"deleted", std::move(list)}});
  }
  return outcome.status();
}

}  // namespace berth::cli
