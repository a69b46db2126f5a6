#include "runtime/process/record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "base/text_record.h"
#include "host/os/path.h"

namespace berth::runtime {
namespace {

constexpr std::string_view kRequestKind = "berth-request 1";
constexpr std::string_view kStateKind = "berth-state 1";
constexpr std::array kPhases = {ShimPhase::kReady, ShimPhase::kStarting, ShimPhase::kRunning, ShimPhase::kExited,
                                ShimPhase::kFailed};

std::string_view PathOf(std::string_view line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  return second == std::string_view::npos ? std::string_view() : line.substr(second + 1);
}

constexpr std::size_t kDigits = 16;  // of an instruction

std::string HexOf(const os::SeccompProgram& filter) {
  std::string out;
  out.reserve(filter.size() * kDigits);
  for (const std::uint64_t instruction : filter) {
    std::array<char, kDigits> text;
    char* const end = std::to_chars(text.data(), text.data() + text.size(), instruction, 16).ptr;
    const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
    out.append(kDigits - digits.size(), '0').append(digits);
  }
  return out;
}

void ReadFilter(RecordReader& in, os::SeccompProgram& out) {
  std::string text;
  in.Text("seccomp_filter", text);
  for (std::size_t at = 0; at < text.size(); at += kDigits) {
    const char* const begin = text.data() + at;
    const char* const end = text.data() + std::min(at + kDigits, text.size());
    const auto [ptr, error] = std::from_chars(begin, end, out.emplace_back(), 16);
    if (error != std::errc() || ptr != end || end - begin != kDigits) return in.Bad("seccomp_filter is no filter");
  }
}

/// A line that older requests do not have.
template <class Number>
void ReadIfThere(RecordReader& in, std::string_view key, Number& out) {
  if (in.Has(key)) in.Number(key, out);
}

// A volume's flags in one number.
constexpr int kReadOnly = 1;
constexpr int kRecursively = 2;
constexpr int kPropagations = 4;  // the propagation times this

int ModeOf(const os::Volume& volume) {
  return (volume.read_only ? kReadOnly : 0) + (volume.recursive_read_only ? kRecursively : 0) +
         static_cast<int>(volume.propagation) * kPropagations;
}

void ReadVolumes(RecordReader& in, std::vector<os::Volume>& out) {
  std::vector<std::string> sources;
  std::vector<std::string> targets;
  std::vector<std::string> modes;
  in.List("volume_source", sources);
  in.List("volume_target", targets);
  in.List("volume_mode", modes);
  if (targets.size() != sources.size() || modes.size() != sources.size()) return in.Bad("a volume is not complete");
  for (std::size_t i = 0; i < sources.size(); ++i) {
    int mode = 0;
    in.ReadNumber("volume_mode", modes[i], mode);
    const int propagation = mode / kPropagations;
    if (mode < 0 || propagation > static_cast<int>(os::Volume::Propagation::kBoth))
      return in.Bad("volume_mode " + std::to_string(mode) + " is unknown");
    out.push_back({.source = sources[i],
                   .target = targets[i],
                   .read_only = (mode & kReadOnly) != 0,
                   .recursive_read_only = (mode & kRecursively) != 0,
                   .propagation = static_cast<os::Volume::Propagation>(propagation)});
  }
}

void ReadIdentity(RecordReader& in, ShimRequest& request) {
  int privileged = 0;
  int only_those_groups = 0;
  int no_new_privileges = 0;
  ReadIfThere(in, "privileged", privileged);
  in.List("added_capability", request.added_capabilities);
  in.List("dropped_capability", request.dropped_capabilities);
  if (in.Has("user")) in.Number("user", request.user.emplace());
  if (in.Has("group")) in.Number("group", request.group.emplace());
  std::vector<std::string> groups;
  in.List("supplemental_group", groups);
  for (const std::string& group : groups) in.ReadNumber("supplemental_group", group, request.groups.emplace_back());
  ReadIfThere(in, "only_those_groups", only_those_groups);
  ReadIfThere(in, "no_new_privileges", no_new_privileges);
  int read_only_root = 0;
  ReadIfThere(in, "read_only_root", read_only_root);
  request.read_only_root = read_only_root != 0;
  ReadVolumes(in, request.volumes);
  in.Text("seccomp", request.seccomp);
  in.Text("seccomp_profile", request.seccomp_profile);
  ReadFilter(in, request.seccomp_filter);
  request.privileged = privileged != 0;
  request.only_those_groups = only_those_groups != 0;
  request.no_new_privileges = no_new_privileges != 0;
}

}  // namespace

std::string_view Name(ShimPhase phase) {
  switch (phase) {
    case ShimPhase::kReady: return "ready";
    case ShimPhase::kStarting: return "starting";
    case ShimPhase::kRunning: return "running";
    case ShimPhase::kExited: return "exited";
    case ShimPhase::kFailed: return "failed";
  }
  return "failed";
}

std::string FormatRequest(const ShimRequest& request) {
  RecordWriter out(kRequestKind);
  out.Text("id", request.id);
  out.Text("pod_uid", request.pod_uid);
  out.Text("pod_namespace", request.pod_namespace);
  out.Text("pod_name", request.pod_name);
  out.Text("container", request.container);
  out.Number("attempt", request.attempt);
  for (const std::string& word : request.argv) out.Item("arg", word);
  for (const std::string& variable : request.env) out.Item("env", variable);
  out.Text("working_dir", request.working_dir);
  out.Number("cgroup_v2", request.cgroup.v2 ? 1 : 0);
  for (const std::string& dir : request.cgroup.dirs) out.Item("cgroup", dir);
  out.Number("oom_score_adj", request.oom_score_adj);
  out.Number("privileged", request.privileged ? 1 : 0);
  for (const std::string& name : request.added_capabilities) out.Item("added_capability", name);
  for (const std::string& name : request.dropped_capabilities) out.Item("dropped_capability", name);
  if (request.user) out.Number("user", *request.user);
  if (request.group) out.Number("group", *request.group);
  for (const std::uint32_t group : request.groups) out.Number("supplemental_group", group);
  out.Number("only_those_groups", request.only_those_groups ? 1 : 0);
  out.Number("no_new_privileges", request.no_new_privileges ? 1 : 0);
  out.Number("read_only_root", request.read_only_root ? 1 : 0);
  for (const os::Volume& volume : request.volumes) {
    out.Item("volume_source", volume.source);
    out.Item("volume_target", volume.target);
    out.Number("volume_mode", ModeOf(volume));
  }
  out.Text("seccomp", request.seccomp);
  out.Text("seccomp_profile", request.seccomp_profile);
  out.Text("seccomp_filter", HexOf(request.seccomp_filter));
  out.Text("log_path", request.log_path);
  out.Number("log_max_bytes", request.log_max_bytes);
  out.Number("log_max_files", request.log_max_files);
  return out.Finish();
}

Result<ShimRequest> ParseRequest(std::string_view text) {
  RecordReader in(text, kRequestKind);
  ShimRequest request;
  int v2 = 0;
  in.Text("id", request.id);
  in.Text("pod_uid", request.pod_uid);
  in.Text("pod_namespace", request.pod_namespace);
  in.Text("pod_name", request.pod_name);
  in.Text("container", request.container);
  in.Number("attempt", request.attempt);
  in.List("arg", request.argv);
  in.List("env", request.env);
  in.Text("working_dir", request.working_dir);
  in.Number("cgroup_v2", v2);
  in.List("cgroup", request.cgroup.dirs);
  in.Number("oom_score_adj", request.oom_score_adj);
  ReadIdentity(in, request);
  in.Text("log_path", request.log_path);
  in.Number("log_max_bytes", request.log_max_bytes);
  in.Number("log_max_files", request.log_max_files);
  request.cgroup.v2 = v2 != 0;
  if (request.argv.empty()) in.Bad("there is no command");
  if (!in.error().empty()) return Fail(Code::kCorrupt, "container request: " + in.error());
  return request;
}

std::string FormatState(const ShimState& state) {
  RecordWriter out(kStateKind);
  out.Text("phase", Name(state.phase));
  out.Text("boot_id", state.boot_id);
  out.Number("shim_pid", state.shim_pid);
  out.Number("shim_start", state.shim_start);
  out.Number("pid", state.pid);
  out.Number("start", state.start);
  for (const std::string& line : state.cgroups) out.Item("cgroup", line);
  out.Text("started_at", state.started_at);
  out.Text("finished_at", state.finished_at);
  out.Number("exit_code", state.exit_code);
  if (state.signal) out.Number("signal", *state.signal);
  out.Number("oom_killed", state.oom_killed ? 1 : 0);
  out.Text("message", state.message);
  for (const std::string& warning : state.warnings) out.Item("warning", warning);
  return out.Finish();
}

Result<ShimState> ParseState(std::string_view text) {
  RecordReader in(text, kStateKind);
  ShimState state;
  std::string phase;
  int oom_killed = 0;
  in.Text("phase", phase);
  in.Text("boot_id", state.boot_id);
  in.Number("shim_pid", state.shim_pid);
  in.Number("shim_start", state.shim_start);
  in.Number("pid", state.pid);
  in.Number("start", state.start);
  in.List("cgroup", state.cgroups);
  in.Text("started_at", state.started_at);
  in.Text("finished_at", state.finished_at);
  in.Number("exit_code", state.exit_code);
  if (in.Has("signal")) in.Number("signal", state.signal.emplace());
  in.Number("oom_killed", oom_killed);
  in.Text("message", state.message);
  in.List("warning", state.warnings);
  state.oom_killed = oom_killed != 0;
  const auto known = std::ranges::find(kPhases, phase, [](ShimPhase p) { return Name(p); });
  if (known == kPhases.end()) {
    in.Bad("unknown phase '" + Printable(phase) + "'");
  } else {
    state.phase = *known;
  }
  if (!in.error().empty()) return Fail(Code::kCorrupt, "container state: " + in.error());
  return state;
}

std::vector<std::string> OwnCgroupLines(const std::vector<std::string>& lines, const std::vector<std::string>& dirs) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    const std::string_view path = PathOf(line);
    if (path.size() < 2) continue;  // the root of a hierarchy is nobody's own
    if (std::ranges::any_of(dirs, [path](const std::string& dir) { return dir.ends_with(path); })) out.push_back(line);
  }
  return out;
}

bool IsInCgroups(const std::vector<std::string>& lines, const std::vector<std::string>& own) {
  return own.empty() || std::ranges::any_of(own, [&lines](const std::string& mine) {
           return std::ranges::any_of(lines, [&mine](const std::string& line) { return os::IsAtOrBelow(line, mine); });
         });
}

}  // namespace berth::runtime
