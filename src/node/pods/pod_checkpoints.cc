#include "node/pods/pod_checkpoints.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text_record.h"
#include "host/os/fs.h"
#include "host/os/lock_file.h"
#include "host/os/volatile_file.h"
#include "runtime/lifecycle/hook.h"

namespace berth::pods {
namespace {

constexpr std::string_view kKind = "berth-life 1";
constexpr std::string_view kContainer = "container";  // begins what is about one

using Of = runtime::LifecycleTimes::Of;

std::int64_t Number(os::MonoTime time) { return time.time_since_epoch().count(); }

void WriteTime(RecordWriter& out, std::string_view key, const std::optional<os::MonoTime>& time) {
  if (time) out.Number(key, Number(*time));
}

void WriteHttp(RecordWriter& out, const HttpCheck& http) {
  out.Item("pre_stop_port", http.port);
  out.Text("pre_stop_host", http.host);
  out.Item("pre_stop_path", http.path);
  out.Number("pre_stop_https", http.https ? 1 : 0);
  for (const auto& [name, value] : http.headers) {
    out.Item("pre_stop_header", name);
    out.Item("pre_stop_value", value);
  }
}

/// False: the key is none of a request.
bool ReadHttp(const RecordReader::Field& field, std::optional<HttpCheck>& http) {
  const auto& [key, value] = field;
  if (key == "pre_stop_port") {
    http.emplace().port = value;
  } else if (!http) {
    return false;
  } else if (key == "pre_stop_host") {
    http->host = value;
  } else if (key == "pre_stop_path") {
    http->path = value;
  } else if (key == "pre_stop_https") {
    http->https = value == "1";
  } else if (key == "pre_stop_header") {
    http->headers.emplace_back(value, "");
  } else if (key == "pre_stop_value" && !http->headers.empty()) {
    http->headers.back().second = value;
  } else {
    return false;
  }
  return true;
}

void WriteContainer(RecordWriter& out, const Of& of, const PreStop* pre_stop) {
  out.Item(kContainer, of.container);
  if (pre_stop != nullptr) {
    for (const std::string& word : pre_stop->exec) out.Item("pre_stop", word);
    if (pre_stop->http) WriteHttp(out, *pre_stop->http);
    out.Number("pre_stop_sleep_s", pre_stop->sleep_s);
  }
  out.Number("attempt", of.attempt);
  WriteTime(out, "term_at", of.term_at);
  WriteTime(out, "ended_at", of.ended_at);
  out.Number("restarts", of.restarts);
  out.Number("last_restart", Number(of.last_restart));
  out.Number("counted_attempt", of.counted_attempt);
  out.Number("start_failures", of.start_failures);
  WriteTime(out, "retry_at", of.retry_at);
  out.Text("start_reason", of.start_reason);
  out.Text("start_error", of.start_error);
  out.Number("post_started", of.post_started ? 1 : 0);
  WriteTime(out, "asked", of.asked);
  out.Number("started", of.started ? 1 : 0);
  out.Number("ready", of.ready ? 1 : 0);
  WriteTime(out, "end_by", of.end_by);
}

os::MonoTime ReadTime(RecordReader& in, const RecordReader::Field& field) {
  std::int64_t number = 0;
  in.ReadNumber(field.first, field.second, number);
  return os::MonoTime(std::chrono::nanoseconds(number));
}

void ReadOf(RecordReader& in, const RecordReader::Field& field, Of& of, PodCheckpoint& life) {
  const auto& [key, value] = field;
  if (key == "pre_stop") {
    life.pre_stops[of.container].exec.push_back(value);
  } else if (key == "pre_stop_sleep_s") {
    in.ReadNumber(key, value, life.pre_stops[of.container].sleep_s);
  } else if (key.starts_with("pre_stop_")) {
    ReadHttp(field, life.pre_stops[of.container].http);
  } else if (key == "attempt") {
    in.ReadNumber(key, value, of.attempt);
  } else if (key == "term_at") {
    of.term_at = ReadTime(in, field);
  } else if (key == "ended_at") {
    of.ended_at = ReadTime(in, field);
  } else if (key == "restarts") {
    in.ReadNumber(key, value, of.restarts);
  } else if (key == "last_restart") {
    of.last_restart = ReadTime(in, field);
  } else if (key == "counted_attempt") {
    in.ReadNumber(key, value, of.counted_attempt);
  } else if (key == "start_failures") {
    in.ReadNumber(key, value, of.start_failures);
  } else if (key == "retry_at") {
    of.retry_at = ReadTime(in, field);
  } else if (key == "start_reason") {
    of.start_reason = value;
  } else if (key == "start_error") {
    of.start_error = value;
  } else if (key == "post_started") {
    of.post_started = value == "1";
  } else if (key == "asked") {
    of.asked = ReadTime(in, field);
  } else if (key == "started" || key == "ready") {
    (key == "ready" ? of.ready : of.started) = value == "1";
  } else if (key == "end_by") {
    of.end_by = ReadTime(in, field);
  }
}

/// Names that are a file of their own.
bool IsFileName(const std::string& uid) {
  return !uid.empty() && uid[0] != '.' && uid.find('/') == std::string::npos && uid.find('\0') == std::string::npos;
}

}  // namespace

PodCheckpoint CheckpointOf(const ManagedPod& managed) {
  PodCheckpoint out{.grace_s = managed.pod.termination_grace_s, .admitted_at = managed.admitted_at()};
  ForEachContainer(managed.pod, [&](const Container& container, ContainerKind) {
    if (runtime::PreStopOf(container).empty()) return;
    PreStop& kept = out.pre_stops[container.name];
    kept = {.exec = container.pre_stop_exec, .http = container.pre_stop_http, .sleep_s = container.pre_stop_sleep_s};
    if (!kept.http) return;
    for (const ContainerPort& port : container.ports)
      if (port.name == kept.http->port) kept.http->port = std::to_string(port.port);
  });
  out.ending = managed.Is<Ending>();
  if (managed.evicted()) out.evicted = managed.why();
  out.identity = managed.identity;
  if (managed.lifecycle) out.times = managed.lifecycle->Times();
  for (const runtime::Action& action : managed.due) {
    if (action.kind != runtime::Action::Kind::kTerm || action.asked_at) continue;
    const auto of = std::ranges::find(out.times.containers, action.container, &Of::container);
    if (of != out.times.containers.end()) of->term_at.reset();
  }
  return out;
}

void Complete(Pod& pod, const PodCheckpoint& life) {
  pod.termination_grace_s = life.grace_s;
  for (std::vector<Container>* const containers : {&pod.init_containers, &pod.containers}) {
    for (Container& container : *containers) {
      const auto found = life.pre_stops.find(container.name);
      if (found == life.pre_stops.end()) continue;
      container.pre_stop_exec = found->second.exec;
      container.pre_stop_http = found->second.http;
      container.pre_stop_sleep_s = found->second.sleep_s;
    }
  }
}

std::string FormatCheckpoint(const PodCheckpoint& life, std::string_view boot_id) {
  RecordWriter out(kKind);
  out.Text("boot_id", boot_id);
  out.Number("grace_s", life.grace_s);
  out.Text("admitted_at", life.admitted_at);
  out.Number("ending", life.ending ? 1 : 0);
  if (life.evicted) {
    out.Item("evicted", life.evicted->reason);
    out.Text("evicted_message", life.evicted->message);
  }
  if (!life.identity.empty()) out.Text("identity", life.identity);
  WriteTime(out, "deadline", life.times.deadline);
  WriteTime(out, "active_since", life.times.active_since);
  out.Number("overdue", life.times.overdue ? 1 : 0);
  for (const Of& of : life.times.containers) {
    const auto pre_stop = life.pre_stops.find(of.container);
    WriteContainer(out, of, pre_stop == life.pre_stops.end() ? nullptr : &pre_stop->second);
  }
  return out.Finish();
}

Result<std::optional<PodCheckpoint>> ParseCheckpoint(std::string_view text, std::string_view boot_id) {
  RecordReader in(text, kKind);
  PodCheckpoint life;
  std::string boot;
  std::string evicted;
  int ending = 0;
  in.Text("boot_id", boot);
  in.Number("grace_s", life.grace_s);
  in.Text("admitted_at", life.admitted_at);
  in.Number("ending", ending);
  life.ending = ending != 0;
  in.Text("evicted", evicted);
  if (!evicted.empty()) in.Text("evicted_message", life.evicted.emplace(Why{.reason = evicted}).message);
  for (const auto& field : in.fields()) {
    if (field.first == kContainer) {
      life.times.containers.emplace_back().container = field.second;
    } else if (field.first == "identity") {
      life.identity = field.second;
    } else if (field.first == "deadline") {
      life.times.deadline = ReadTime(in, field);
    } else if (field.first == "active_since") {
      life.times.active_since = ReadTime(in, field);
    } else if (field.first == "overdue") {
      life.times.overdue = field.second == "1";
    } else if (!life.times.containers.empty()) {
      ReadOf(in, field, life.times.containers.back(), life);
    }
  }
  if (!in.error().empty()) return Fail(Code::kCorrupt, "what was kept of a pod's life: " + in.error());
  if (boot != boot_id) return std::optional<PodCheckpoint>();
  return std::optional(std::move(life));
}

std::vector<std::string> PodCheckpoints::Load() {
  std::vector<std::string> problems;
  if (dir_.empty()) return problems;
  auto fs = os::OpenFs(dir_);
  if (!fs && fs.error().code == Code::kNotFound) return problems;
  auto names = fs ? (*fs)->List("") : std::unexpected(fs.error());
  if (!names) {
    problems.push_back("deadlines of pods that were ending are lost: " + names.error().message);
    return problems;
  }
  for (const std::string& uid : *names) {
    if (!IsFileName(uid)) continue;  // a temporary file
    const auto text = (*fs)->Read(uid);
    auto life = text ? ParseCheckpoint(*text, boot_id_) : std::unexpected(text.error());
    if (!life)
      problems.push_back("pod " + uid + ": " + life.error().message);
    else if (*life)
      checkpoints_.insert_or_assign(uid, **std::move(life));
  }
  return problems;
}

const PodCheckpoint* PodCheckpoints::Find(const std::string& uid) const {
  const auto found = checkpoints_.find(uid);
  return found == checkpoints_.end() ? nullptr : &found->second;
}

std::optional<std::string> PodCheckpoints::UidOf(const std::string& identity) const {
  const auto found =
      std::ranges::find_if(checkpoints_, [&](const auto& life) { return life.second.identity == identity; });
  return found == checkpoints_.end() || identity.empty() ? std::nullopt : std::optional(found->first);
}

Result<void> PodCheckpoints::Keep(const std::string& uid, PodCheckpoint life) {
  const auto known = checkpoints_.find(uid);
  if (known != checkpoints_.end() && known->second == life) return {};
  checkpoints_.insert_or_assign(uid, std::move(life));
  auto written = Write(uid);
  if (written) unwritten_.erase(uid);
  const bool told = !written && !unwritten_.insert(uid).second;
  return told ? Result<void>() : written;
}

void PodCheckpoints::KeepAgain() {
  std::erase_if(unwritten_, [this](const std::string& uid) { return Write(uid).has_value(); });
}

Result<void> PodCheckpoints::Write(const std::string& uid) const {
  if (dir_.empty() || !IsFileName(uid)) return {};
  BERTH_RETURN_IF_ERROR(os::MakeDirs(dir_, 0700));
  return os::ReplaceVolatile(dir_ + "/" + uid, FormatCheckpoint(checkpoints_.at(uid), boot_id_));
}

void PodCheckpoints::Forget(const std::string& uid) {
  unwritten_.erase(uid);
  if (checkpoints_.erase(uid) == 0 || dir_.empty()) return;
  std::error_code error;  // what stays is found again, and belongs to no pod
  std::filesystem::remove(dir_ + "/" + uid, error);
}

void PodCheckpoints::Retain(const std::set<std::string>& uids) {
  std::vector<std::string> others;
  for (const auto& [uid, life] : checkpoints_)
    if (!uids.contains(uid)) others.push_back(uid);
  for (const std::string& uid : others) Forget(uid);
}

}  // namespace berth::pods
