#include "runtime/record.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"

namespace berth::runtime {
namespace {

constexpr std::string_view kRequestKind = "berth-request 1";
constexpr std::string_view kStateKind = "berth-state 1";
constexpr std::array kPhases = {ShimPhase::kReady, ShimPhase::kStarting, ShimPhase::kRunning, ShimPhase::kExited,
                                ShimPhase::kFailed};

// The checksum line of `text`: FNV-1a, 64 bits. Against torn and edited files, not against malice.
std::string SumLine(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::array<char, 32> line;
  std::snprintf(line.data(), line.size(), "sum %016llx\n", static_cast<unsigned long long>(sum));
  return line.data();
}

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 5> hex;
      std::snprintf(hex.data(), hex.size(), "\\x%02x", static_cast<unsigned>(byte));
      out += hex.data();
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<std::string> Unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '\\') {
      out += '\\';
      i += 1;
      continue;
    }
    unsigned byte = 0;
    if (i + 3 >= text.size() || text[i + 1] != 'x') return std::nullopt;
    const char* end = text.data() + i + 4;
    if (const auto [ptr, ec] = std::from_chars(text.data() + i + 2, end, byte, 16); ec != std::errc() || ptr != end)
      return std::nullopt;
    out += static_cast<char>(byte);
    i += 3;
  }
  return out;
}

class Writer {
 public:
  explicit Writer(std::string_view kind) : text_(std::string(kind) + "\n") {}
  void Text(std::string_view key, std::string_view value) {
    if (!value.empty()) text_.append(key).append(" ").append(Escape(value)).append("\n");
  }
  void Item(std::string_view key, std::string_view value) {  // lists keep empty items
    text_.append(key).append(" ").append(Escape(value)).append("\n");
  }
  template <std::integral Int>
  void Number(std::string_view key, Int value) {
    Text(key, std::to_string(value));
  }
  std::string Finish() const { return text_ + SumLine(text_); }

 private:
  std::string text_;
};

// Takes the lines of a record apart; the first error sticks.
class Reader {
 public:
  Reader(std::string_view text, std::string_view kind) {
    const std::size_t at = text.rfind("sum ");
    if (at == std::string_view::npos) {
      Bad("no checksum line");
      return;
    }
    if (text.substr(at) != SumLine(text.substr(0, at))) {
      Bad("the checksum does not fit");
      return;
    }
    std::vector<std::string_view> lines = Split(text.substr(0, at), '\n');
    if (!lines.back().empty()) Bad("its last line is torn");
    lines.pop_back();
    if (lines.empty() || lines[0] != kind) {
      Bad("it does not start with '" + std::string(kind) + "'");
      return;
    }
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::size_t blank = lines[i].find(' ');
      std::optional<std::string> value;
      if (blank != std::string_view::npos) value = Unescape(lines[i].substr(blank + 1));
      if (!value) {
        Bad("line " + std::to_string(i + 1) + " is no 'key value'");
        return;
      }
      fields_.emplace_back(lines[i].substr(0, blank), *std::move(value));
    }
  }

  bool Has(std::string_view key) const { return std::ranges::find(fields_, key, &Field::first) != fields_.end(); }
  void Text(std::string_view key, std::string& out) const {
    const auto it = std::ranges::find(fields_, key, &Field::first);
    if (it != fields_.end()) out = it->second;
  }
  void List(std::string_view key, std::vector<std::string>& out) const {
    for (const Field& field : fields_)
      if (field.first == key) out.push_back(field.second);
  }
  template <std::integral Int>
  void Number(std::string_view key, Int& out) {
    std::string text;
    Text(key, text);
    const std::optional<Int> value = ParseDecimal<Int>(text);
    if (!value) return Bad(std::string(key) + " is no number: '" + Printable(text) + "'");
    out = *value;
  }
  void Bad(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }
  const std::string& error() const { return error_; }

 private:
  using Field = std::pair<std::string_view, std::string>;
  std::vector<Field> fields_;
  std::string error_;
};

std::string_view PathOf(std::string_view line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  return second == std::string_view::npos ? std::string_view() : line.substr(second + 1);
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
  Writer out(kRequestKind);
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
  out.Text("log_path", request.log_path);
  out.Number("log_max_bytes", request.log_max_bytes);
  out.Number("log_max_files", request.log_max_files);
  return out.Finish();
}

Result<ShimRequest> ParseRequest(std::string_view text) {
  Reader in(text, kRequestKind);
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
  in.Text("log_path", request.log_path);
  in.Number("log_max_bytes", request.log_max_bytes);
  in.Number("log_max_files", request.log_max_files);
  request.cgroup.v2 = v2 != 0;
  if (request.argv.empty()) in.Bad("there is no command");
  if (!in.error().empty()) return Fail(Code::kCorrupt, "container request: " + in.error());
  return request;
}

std::string FormatState(const ShimState& state) {
  Writer out(kStateKind);
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
  Reader in(text, kStateKind);
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
           return std::ranges::any_of(
               lines, [&mine](const std::string& line) { return line == mine || line.starts_with(mine + "/"); });
         });
}

}  // namespace berth::runtime
