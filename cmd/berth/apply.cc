#include "berth/apply.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/client.h"
#include "berth/manifests_at.h"
#include "berth/pod_name.h"
#include "manifest/manifest.h"
#include "os/clock.h"
#include "os/input.h"

namespace berth::cli {
namespace {

using codec::Json;

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
  BERTH_TRY(const Json answer, session.Get("/v1/pods"));
  std::map<std::string, std::string> out;
  for (const Json& pod : Member(answer, "pods")) out[FullName(pod)] = Text(pod, "uid");
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

struct Manifest {
  std::string text;
  std::vector<Pod> pods;
};

/// Reads and checks a manifest here, so that messages name the file. Warnings go to the error stream.
Result<Manifest> LoadManifest(const std::string& file, const Session& session) {
  BERTH_TRY(std::string text, os::ReadInput(file));
  BERTH_TRY(manifest::ParsedPods parsed, manifest::ParsePods(text, file == "-" ? "standard input" : file));
  for (const manifest::Warning& w : parsed.warnings)
    session.err() << "berth: warning: " << w.where << ": " << w.message << '\n';
  if (parsed.pods.empty()) return Fail(Code::kInvalid, file + ": there is no pod in it");
  return Manifest{std::move(text), std::move(parsed.pods)};
}

/// Until the pod runs, ended or was rejected. `old_uid`: of the pod it replaces; "" for none.
int AwaitStart(const Json& result, const std::string& old_uid, const WaitOptions& options, const Session& session) {
  for (const os::MonoTime start = os::SystemClock().Now();; os::SleepFor(kAskAgain)) {
    const auto pod = session.Get(PodPath("pods", result));
    if (!pod && pod.error().code != Code::kNotFound) return session.Report(pod.error());
    if (pod && Text(*pod, "uid") != old_uid && Text(*pod, "phase") != "Pending") {
      if (Text(*pod, "phase") != "Failed") return kOk;
      session.err() << "berth: " << FullName(result) << ": " << Text(*pod, "reason") << ": " << Text(*pod, "message")
                    << '\n';
      for (const Json& detail : Member(*pod, "details"))
        if (detail.is_string()) session.err() << "  " << detail.get<std::string>() << '\n';
      return Text(*pod, "admittedAt").empty() ? kRejected : kFailed;
    }
    if (TimeIsUp(start, options)) {
      session.err() << "berth: " << FullName(result) << " did not start within " << options.timeout_s
                    << " s; see 'berth describe " << Text(result, "name") << "'\n";
      return kFailed;
    }
  }
}

int AwaitEnd(const Json& pod, const WaitOptions& options, const Session& session) {
  for (const os::MonoTime start = os::SystemClock().Now();; os::SleepFor(kAskAgain)) {
    const auto uids = Uids(session);
    if (!uids) return session.Report(uids.error());
    const auto it = uids->find(FullName(pod));
    if (it == uids->end() || it->second != Text(pod, "uid")) return kOk;
    if (TimeIsUp(start, options)) {
      session.err() << "berth: " << FullName(pod) << " was still there after " << options.timeout_s
                    << " s; its grace period may be longer\n";
      return kFailed;
    }
  }
}

/// Deletes one pod; its status goes to `deleted` for those who wait.
void DeleteOne(const std::string& name, const Session& session, Outcome& outcome, std::vector<Json>& deleted) {
  const auto pod = FindPod(session, name);
  if (!pod) return outcome.Fail(session, pod.error());
  const auto answer = session.Call("DELETE", PodPath("pods", *pod), {});
  if (!answer) return outcome.Fail(session, answer.error());
  if (session.for_people()) session.out() << FullName(*pod) << " deleted\n" << std::flush;
  deleted.push_back(*pod);
}

/// What was handed over so far.
struct Applied {
  Json results = Json::array();    ///< what berthd did with each pod
  std::set<std::string> own_uids;  ///< uids that manifests name themselves: they stay when the pod changes
};

/// One manifest to berthd.
void ApplyOne(const std::string& file, const Session& session, Outcome& outcome, Applied& applied) {
  const auto loaded = LoadManifest(file, session);
  if (!loaded) {
    session.err() << "berth: " << loaded.error().message << '\n';
    return outcome.Add(kFailed);
  }
  for (const Pod& pod : loaded->pods)
    if (!pod.uid.empty()) applied.own_uids.insert(pod.uid);
  const auto answer = session.Call("POST", "/v1/pods", loaded->text);
  if (!answer) return outcome.Fail(session, answer.error());
  for (const Json& result : Member(*answer, "results")) {
    applied.results.push_back(result);
    if (session.for_people()) session.out() << FullName(result) << ' ' << Text(result, "action") << '\n' << std::flush;
  }
}

}  // namespace

int RunApply(const ApplyOptions& options, const Session& session) {
  Outcome outcome;
  const auto before = Uids(session);
  if (!before) return session.Report(before.error());
  Applied applied;
  for (const std::string& file : Expand(options.files, session, outcome)) {
    ApplyOne(file, session, outcome, applied);
    if (outcome.hopeless()) return outcome.status();
  }
  for (const Json& result : applied.results) {
    if (!options.wait.wait || outcome.hopeless()) break;
    const auto old = before->find(FullName(result));
    const bool replaces =
        Text(result, "action") == "configured" && old != before->end() && !applied.own_uids.contains(old->second);
    outcome.Add(AwaitStart(result, replaces ? old->second : "", options.wait, session));
  }
  if (!session.for_people()) session.PrintData({{"results", applied.results}});
  return outcome.status();
}

int RunDelete(const DeleteOptions& options, const Session& session) {
  Outcome outcome;
  std::vector<Json> deleted;
  std::vector<std::string> names = options.pods;
  for (const std::string& file : Expand(options.files, session, outcome)) {
    const auto loaded = LoadManifest(file, session);
    if (!loaded) {
      session.err() << "berth: " << loaded.error().message << '\n';
      outcome.Add(kFailed);
      continue;
    }
    for (const Pod& pod : loaded->pods) names.push_back(berth::FullName(pod));
  }
  for (const std::string& name : names) {
    DeleteOne(name, session, outcome, deleted);
    if (outcome.hopeless()) return outcome.status();
  }
  for (const Json& pod : deleted)
    if (options.wait.wait && !outcome.hopeless()) outcome.Add(AwaitEnd(pod, options.wait, session));
  if (!session.for_people()) {
    Json list = Json::array();
    for (const Json& pod : deleted)
      list.push_back({{"namespace", Text(pod, "namespace")}, {"name", Text(pod, "name")}});
    session.PrintData({{"deleted", std::move(list)}});
  }
  return outcome.status();
}

}  // namespace berth::cli
