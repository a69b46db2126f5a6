#include "manifest/checks_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/name_validation.h"
#include "base/text.h"

namespace berth::manifest {
namespace {

constexpr std::int32_t kLastPort = 65535;
constexpr std::size_t kLongestPortName = 15;
constexpr std::size_t kMostRules = 20;
constexpr std::size_t kMostExitCodes = 255;
constexpr std::string_view kRunHooks = "no kubelet runs such a hook, the container would be ended: use exec or httpGet";
// As the API has them for Linux.
constexpr std::string_view kSignals[] = {
    "SIGABRT", "SIGALRM",   "SIGBUS",  "SIGCHLD",   "SIGCLD",   "SIGCONT", "SIGFPE",  "SIGHUP",  "SIGILL",
    "SIGINT",  "SIGIO",     "SIGIOT",  "SIGKILL",   "SIGPIPE",  "SIGPOLL", "SIGPROF", "SIGPWR",  "SIGQUIT",
    "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS",    "SIGTERM",  "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU",
    "SIGURG",  "SIGUSR1",   "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ"};

bool IsKnownSignal(std::string_view name) {
  if (std::ranges::find(kSignals, name) != std::end(kSignals)) return true;
  // SIGRTMIN, SIGRTMIN+1 ... +15, SIGRTMAX-14 ... SIGRTMAX
  if (name == "SIGRTMIN" || name == "SIGRTMAX") return true;
  const bool up = name.starts_with("SIGRTMIN+");
  if (!up && !name.starts_with("SIGRTMAX-")) return false;
  const std::string_view digits = name.substr(9);
  const auto number = ParseDecimal<int>(digits);
  return number && !digits.starts_with('0') && *number >= 1 && *number <= (up ? 15 : 14);
}

/// IANA_SVC_NAME.
bool IsPortName(std::string_view name) {
  const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || IsDigit(c) || c == '-'; };
  return !name.empty() && name.size() <= kLongestPortName && std::ranges::all_of(name, inner) &&
         std::ranges::any_of(name, [](char c) { return c >= 'a' && c <= 'z'; }) && !name.starts_with('-') &&
         !name.ends_with('-') && name.find("--") == std::string_view::npos;
}

void CheckPortNumber(std::int64_t port, const Path& path, Report& report) {
  if (port < 1 || port > kLastPort)
    report.Problem(path, "Invalid value: " + std::to_string(port) + ": must be between 1 and 65535, inclusive");
}

/// A number or a name; kept as text.
void ReadPort(Object& object, std::string& out) {
  const Path path = object.PathOf("port");
  const Node* const node = object.Take("port");
  if (node == nullptr) return object.report().Problem(path, "Required value: a number, or the name of a port");
  if (node->kind == Node::Kind::kNumber) {
    std::int64_t number = 0;
    object.Read("port", number);
    CheckPortNumber(number, path, object.report());
    out = std::to_string(number);
  } else if (ReadString(*node, path, object.report(), out) && !IsPortName(out)) {
    const bool digits = !out.empty() && std::ranges::all_of(out, IsDigit);
    object.report().Problem(
        path, InvalidValue(out, digits ? "a number is written without quotes"
                                       : "a port's name has at most 15 of a-z, 0-9 and '-', and one letter at least"));
  }
}

bool IsHeaderName(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kMarks.contains(c);
  });
}

bool IsOneLine(std::string_view value) {
  return std::ranges::none_of(value, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

void ReadHeaders(Object& object, HttpCheck& out) {
  object.Each("httpHeaders", [&](const Node& node, const Path& path) {
    Object header(node, path, object.report());
    auto& [name, value] = out.headers.emplace_back();
    header.Read("name", name);
    header.Read("value", value);
    if (!IsHeaderName(name))
      object.report().Problem(header.PathOf("name"), InvalidValue(name, "must be the name of an HTTP header"));
    if (!IsOneLine(value)) object.report().Problem(header.PathOf("value"), "Invalid value: must be one line");
    header.Finish();
  });
}

HttpCheck ReadHttp(Object& object) {
  HttpCheck out;
  std::string scheme = "HTTP";
  object.Read("host", out.host);
  object.Read("path", out.path);
  object.Read("scheme", scheme);
  ReadPort(object, out.port);
  ReadHeaders(object, out);
  if (out.path.empty()) out.path = "/";
  if (!IsOneLine(out.path)) object.report().Problem(object.PathOf("path"), "Invalid value: must be one line");
  out.https = scheme == "HTTPS";
  if (scheme != "HTTP" && scheme != "HTTPS")
    object.report().Problem(object.PathOf("scheme"), UnsupportedValue(scheme, {"HTTP", "HTTPS"}));
  object.Finish();
  return out;
}

std::vector<std::string> ReadCommand(Object& exec) {
  std::vector<std::string> out;
  exec.Read("command", out);
  if (out.empty()) exec.report().Problem(exec.PathOf("command"), "Required value: the program and its arguments");
  exec.Finish();
  return out;
}

void ReadCheck(Object& object, Probe& out) {
  int handlers = 0;
  const auto one = [&](std::string_view key, auto&& read) {
    if (object.Within(key, read)) ++handlers;
  };
  one("exec", [&](Object& exec) { out.check = ExecCheck{ReadCommand(exec)}; });
  one("httpGet", [&](Object& http) { out.check = ReadHttp(http); });
  one("tcpSocket", [&](Object& tcp) {
    TcpCheck check;
    tcp.Read("host", check.host);
    ReadPort(tcp, check.port);
    tcp.Finish();
    out.check = std::move(check);
  });
  one("grpc", [&](Object& grpc) {
    GrpcCheck check;
    grpc.Read("port", check.port);
    grpc.Read("service", check.service);
    CheckPortNumber(check.port, grpc.PathOf("port"), grpc.report());
    grpc.Finish();
    out.check = std::move(check);
  });
  if (handlers == 0)
    object.report().Problem(object.path(), "Required value: give one of exec, httpGet, tcpSocket, grpc");
  if (handlers > 1) object.report().Problem(object.path(), "Forbidden: may not specify more than 1 handler type");
}

/// As the API: 0 means the default.
void ReadNumber(Object& object, std::string_view key, std::int32_t& out) {
  const std::int32_t usual = out;
  object.Read(key, out);
  if (out < 0)
    object.report().Problem(object.PathOf(key),
                            "Invalid value: " + std::to_string(out) + ": must be greater than or equal to 0");
  if (out <= 0) out = usual;
}

enum class Kind { kLiveness, kReadiness, kStartup };

void ReadProbe(Object& object, Kind kind, Probe& out) {
  ReadCheck(object, out);
  ReadNumber(object, "initialDelaySeconds", out.initial_delay_s);
  ReadNumber(object, "timeoutSeconds", out.timeout_s);
  ReadNumber(object, "periodSeconds", out.period_s);
  ReadNumber(object, "successThreshold", out.success_threshold);
  ReadNumber(object, "failureThreshold", out.failure_threshold);
  if (kind != Kind::kReadiness && out.success_threshold != 1)
    object.report().Problem(object.PathOf("successThreshold"),
                            "Invalid value: " + std::to_string(out.success_threshold) + ": must be 1");
  if (object.Take("terminationGracePeriodSeconds") != nullptr) {
    const Path path = object.PathOf("terminationGracePeriodSeconds");
    std::int64_t grace = 1;
    object.Read("terminationGracePeriodSeconds", grace);
    if (kind == Kind::kReadiness)
      object.report().Problem(path, "Invalid value: must not be set for readinessProbes");
    else if (grace < 1)
      object.report().Problem(path, "Invalid value: " + std::to_string(grace) + ": must be greater than 0");
    out.termination_grace_s = grace;
  }
  object.Finish();
}

void ReadProbes(Object& container, Container& out) {
  const auto read = [&](std::string_view key, Kind kind, std::optional<Probe>& probe) {
    container.Within(key, [&](Object& object) { ReadProbe(object, kind, probe.emplace()); });
  };
  read("livenessProbe", Kind::kLiveness, out.liveness);
  read("readinessProbe", Kind::kReadiness, out.readiness);
  read("startupProbe", Kind::kStartup, out.startup);
}

void ReadSleep(Object& hook, std::int64_t& seconds) {
  hook.Within("sleep", [&](Object& sleep) {
    sleep.Read("seconds", seconds);
    if (seconds < 0) sleep.report().Problem(sleep.PathOf("seconds"), "Invalid value: must not be negative");
    sleep.Finish();
  });
}

void ReadHook(Object& hook, std::vector<std::string>& exec, std::optional<HttpCheck>& http, std::int64_t& sleep_s) {
  int handlers = 0;
  if (hook.Within("exec", [&](Object& object) { exec = ReadCommand(object); })) ++handlers;
  if (hook.Within("httpGet", [&](Object& object) { http = ReadHttp(object); })) ++handlers;
  if (hook.Take("sleep") != nullptr) ++handlers;
  ReadSleep(hook, sleep_s);
  if (hook.Take("tcpSocket") != nullptr) {
    ++handlers;
    hook.report().Problem(hook.PathOf("tcpSocket"), "Forbidden: " + std::string(kRunHooks));
  }
  if (handlers == 0) hook.report().Problem(hook.path(), "Required value: give one of exec, httpGet, sleep");
  if (handlers > 1) hook.report().Problem(hook.path(), "Forbidden: may not specify more than 1 handler type");
  hook.Finish();
}

void ReadLifecycle(Object& lifecycle, Container& out) {
  lifecycle.Within("postStart", [&](Object& hook) {
    ReadHook(hook, out.post_start_exec, out.post_start_http, out.post_start_sleep_s);
  });
  lifecycle.Within("preStop",
                   [&](Object& hook) { ReadHook(hook, out.pre_stop_exec, out.pre_stop_http, out.pre_stop_sleep_s); });
  lifecycle.Read("stopSignal", out.stop_signal);
  if (!out.stop_signal.empty() && !IsKnownSignal(out.stop_signal))
    lifecycle.report().Problem(lifecycle.PathOf("stopSignal"),
                               InvalidValue(out.stop_signal, "must be the name of a signal, as \"SIGUSR1\""));
  lifecycle.Finish();
}

void ReadPorts(Object& container, Container& out) {
  container.Each("ports", [&](const Node& node, const Path& path) {
    Object object(node, path, container.report());
    ContainerPort& port = out.ports.emplace_back();
    object.Read("name", port.name);
    object.Read("containerPort", port.port);
    object.Read("hostPort", port.host_port);
    object.Read("hostIP", port.host_ip);
    object.Read("protocol", port.protocol);
    object.Finish();
    CheckPortNumber(port.port, object.PathOf("containerPort"), container.report());
    if (port.host_port != 0) CheckPortNumber(port.host_port, object.PathOf("hostPort"), container.report());
    if (!port.name.empty() && !IsPortName(port.name))
      container.report().Problem(
          object.PathOf("name"),
          InvalidValue(port.name, "at most 15 of a-z, 0-9 and '-', one letter at least, no '-' at an end or twice"));
    const auto same = [&](const ContainerPort& other) { return !port.name.empty() && other.name == port.name; };
    if (std::ranges::count_if(out.ports, same) > 1)
      container.report().Problem(object.PathOf("name"), "Duplicate value: \"" + port.name + "\"");
    if (port.protocol != "TCP" && port.protocol != "UDP" && port.protocol != "SCTP")
      container.report().Problem(object.PathOf("protocol"), UnsupportedValue(port.protocol, {"SCTP", "TCP", "UDP"}));
  });
}

void ReadRule(Object& rule, RestartRule& out) {
  Report& report = rule.report();
  std::string action;
  rule.Read("action", action);
  if (action != "Restart")
    report.Problem(rule.PathOf("action"), UnsupportedValue(action, {"Restart"}) + " (of this container)");
  const bool codes = rule.Within("exitCodes", [&](Object& object) {
    std::string op;
    object.Read("operator", op);
    if (op != "In" && op != "NotIn") report.Problem(object.PathOf("operator"), UnsupportedValue(op, {"In", "NotIn"}));
    out.in = op == "In";
    object.Each("values", [&](const Node& node, const Path& path) {
      const auto code = node.kind == Node::Kind::kNumber ? ParseDecimal<std::int32_t>(node.text) : std::nullopt;
      if (!code || *code > 255) report.Problem(path, "Invalid value: must be an exit code from 0 to 255");
      out.exit_codes.push_back(code.value_or(0));
    });
    if (out.exit_codes.size() > kMostExitCodes) report.Problem(object.PathOf("values"), "Too many: at most 255");
    object.Finish();
  });
  if (!codes) report.Problem(rule.PathOf("exitCodes"), "Required value: the exit codes that the rule is for");
  rule.Finish();
}

void ReadRestarts(Object& container, bool init, Container& out) {
  std::string policy;
  container.Read("restartPolicy", policy);
  const Path path = container.PathOf("restartPolicy");
  if (policy == "Always" && init)
    out.restartable_init = true;
  else if (policy == "Always")
    out.restart_policy = RestartPolicy::kAlways;
  else if (policy == "OnFailure")
    out.restart_policy = RestartPolicy::kOnFailure;
  else if (policy == "Never")
    out.restart_policy = RestartPolicy::kNever;
  else if (!policy.empty())
    container.report().Problem(path, UnsupportedValue(policy, {"Always", "Never", "OnFailure"}));
  container.Each("restartPolicyRules", [&](const Node& node, const Path& at) {
    Object rule(node, at, container.report());
    ReadRule(rule, out.restart_rules.emplace_back());
  });
  if (out.restart_rules.empty()) return;
  const Path rules = container.PathOf("restartPolicyRules");
  if (out.restart_rules.size() > kMostRules) container.report().Problem(rules, "Too many: at most 20 rules");
  if (policy.empty()) container.report().Problem(path, "Required value: it is needed beside restartPolicyRules");
  if (out.restartable_init)
    container.report().Problem(rules, "Forbidden: a sidecar (restartPolicy Always) is restarted in any case");
}

/// NotRequired, the other policy, is what happens without one.
void ReadResizePolicy(Object& container, Container& out) {
  container.Each("resizePolicy", [&](const Node& node, const Path& at) {
    Object entry(node, at, container.report());
    std::string resource;
    std::string policy;
    ReadWord(entry, "resourceName", {"cpu", "memory"}, resource);
    ReadWord(entry, "restartPolicy", {"NotRequired", "RestartContainer"}, policy);
    if (resource.empty()) container.report().Problem(entry.PathOf("resourceName"), "Required value: cpu or memory");
    if (policy.empty())
      container.report().Problem(entry.PathOf("restartPolicy"), "Required value: NotRequired or RestartContainer");
    if (policy == "RestartContainer") out.restart_to_resize.push_back(resource);
    entry.Finish();
  });
  std::ranges::sort(out.restart_to_resize);
  if (std::ranges::adjacent_find(out.restart_to_resize) != out.restart_to_resize.end())
    container.report().Problem(container.PathOf("resizePolicy"), "Duplicate value: one policy for each resource");
}

void ReadMessage(Object& container, Container& out) {
  std::string policy = "File";
  container.Read("terminationMessagePath", out.termination_message_path);
  container.Read("terminationMessagePolicy", policy);
  out.message_from_log = policy == "FallbackToLogsOnError";
  if (policy != "File" && !out.message_from_log)
    container.report().Problem(container.PathOf("terminationMessagePolicy"),
                               UnsupportedValue(policy, {"FallbackToLogsOnError", "File"}));
}

/// A regular init container runs to its end: the API wants nothing of this of it.
void RefuseForInit(Object& container, const Container& c) {
  const auto refuse = [&](bool there, std::string_view key) {
    if (there)
      container.report().Problem(container.PathOf(key),
                                 "Forbidden: may not be set for init containers without restartPolicy=Always");
  };
  refuse(c.liveness.has_value(), "livenessProbe");
  refuse(c.readiness.has_value(), "readinessProbe");
  refuse(c.startup.has_value(), "startupProbe");
  refuse(!c.post_start_exec.empty() || c.post_start_http || c.post_start_sleep_s > 0 || !c.pre_stop_exec.empty() ||
             c.pre_stop_http || c.pre_stop_sleep_s > 0,
         "lifecycle");
}

bool HasPort(const Container& c, std::string_view port) {
  const bool named = !port.empty() && !std::ranges::all_of(port, IsDigit);
  return !named || std::ranges::any_of(c.ports, [&](const ContainerPort& p) { return p.name == port; });
}

void CheckPortName(const Container& c, std::string_view port, const Path& handler, Report& report) {
  if (!HasPort(c, port))
    report.Problem(Path{.parent = &handler, .key = "port"},
                   InvalidValue(port, "no port of this container has that name; add it to ports, or give its number"));
}

void CheckProbePort(const Container& c, const std::optional<Probe>& probe, std::string_view key, const Path& path,
                    Report& report) {
  if (!probe) return;
  const Path at{.parent = &path, .key = key};
  if (const auto* http = std::get_if<HttpCheck>(&probe->check))
    CheckPortName(c, http->port, Path{.parent = &at, .key = "httpGet"}, report);
  if (const auto* tcp = std::get_if<TcpCheck>(&probe->check))
    CheckPortName(c, tcp->port, Path{.parent = &at, .key = "tcpSocket"}, report);
}

}  // namespace

void ReadContainerChecks(Object& container, bool init, Container& out) {
  ReadPorts(container, out);
  ReadRestarts(container, init, out);
  ReadResizePolicy(container, out);
  ReadProbes(container, out);
  container.Within("lifecycle", [&](Object& lifecycle) { ReadLifecycle(lifecycle, out); });
  ReadMessage(container, out);
  if (init && !out.restartable_init) RefuseForInit(container, out);
}

void CheckContainerChecks(const Pod& pod, const Container& c, const Path& path, Report& report) {
  CheckProbePort(c, c.liveness, "livenessProbe", path, report);
  CheckProbePort(c, c.readiness, "readinessProbe", path, report);
  CheckProbePort(c, c.startup, "startupProbe", path, report);
  const Path lifecycle{.parent = &path, .key = "lifecycle"};
  const auto check_hook = [&](const std::optional<HttpCheck>& http, std::string_view key) {
    const Path hook{.parent = &lifecycle, .key = key};
    if (http) CheckPortName(c, http->port, Path{.parent = &hook, .key = "httpGet"}, report);
  };
  check_hook(c.post_start_http, "postStart");
  check_hook(c.pre_stop_http, "preStop");
  if (c.stop_signal.empty()) return;
  const Path signal{.parent = &lifecycle, .key = "stopSignal"};
  if (pod.os.empty()) report.Problem(signal, "Forbidden: may not be set without spec.os.name; set that to linux");
}

}  // namespace berth::manifest
