// What is asked of a container while it runs: ports, probes, hooks and restart rules of v1.Container, both ways.
#include <utility>

#include "api/codec/json_parts.h"

namespace berth::codec {
namespace {

/// As Kubernetes writes a port: a number where it is one.
Json PortJson(const std::string& port) {
  const bool number = !port.empty() && port.find_first_not_of("0123456789") == std::string::npos && port.size() < 6;
  return number ? Json(std::stoi(port)) : Json(port);
}
std::string ReadPort(const Reader& reader) {
  return reader.IsString() ? reader.String() : std::to_string(reader.Integer<std::int32_t>());
}

std::string MaybeText(const Reader& reader, const char* key) {
  return reader.Has(key) ? reader.Field(key).String() : std::string();
}

Json HttpJson(const HttpCheck& check) {
  Json out = {{"port", PortJson(check.port)}, {"path", check.path}, {"scheme", check.https ? "HTTPS" : "HTTP"}};
  if (!check.host.empty()) out["host"] = check.host;
  for (const auto& [name, value] : check.headers) out["httpHeaders"].push_back({{"name", name}, {"value", value}});
  return out;
}
HttpCheck ReadHttp(const Reader& reader) {
  HttpCheck out{.host = MaybeText(reader, "host"),
                .port = ReadPort(reader.Field("port")),
                .path = reader.Field("path").String(),
                .https = reader.Field("scheme").String() == "HTTPS",
                .headers = {}};
  if (reader.Has("httpHeaders"))
    for (const Reader& item : reader.Field("httpHeaders").Items())
      out.headers.emplace_back(item.Field("name").String(), item.Field("value").String());
  return out;
}

struct PutCheck {
  Json& out;
  void operator()(const ExecCheck& check) const { out["exec"]["command"] = check.command; }
  void operator()(const HttpCheck& check) const { out["httpGet"] = HttpJson(check); }
  void operator()(const TcpCheck& check) const {
    out["tcpSocket"]["port"] = PortJson(check.port);
    if (!check.host.empty()) out["tcpSocket"]["host"] = check.host;
  }
  void operator()(const GrpcCheck& check) const { out["grpc"] = {{"port", check.port}, {"service", check.service}}; }
};

Json ProbeJson(const Probe& probe) {
  Json out = {{"initialDelaySeconds", probe.initial_delay_s},
              {"timeoutSeconds", probe.timeout_s},
              {"periodSeconds", probe.period_s},
              {"successThreshold", probe.success_threshold},
              {"failureThreshold", probe.failure_threshold}};
  if (probe.termination_grace_s) out["terminationGracePeriodSeconds"] = *probe.termination_grace_s;
  std::visit(PutCheck{out}, probe.check);
  return out;
}

std::optional<Probe> ReadProbe(const Reader& container, const char* key) {
  if (!container.Has(key)) return std::nullopt;
  const Reader reader = container.Field(key);
  const auto number = [&](const char* field) { return reader.Field(field).Integer<std::int32_t>(); };
  Probe out{.check = {},
            .initial_delay_s = number("initialDelaySeconds"),
            .timeout_s = number("timeoutSeconds"),
            .period_s = number("periodSeconds"),
            .success_threshold = number("successThreshold"),
            .failure_threshold = number("failureThreshold"),
            .termination_grace_s = {}};
  if (reader.Has("terminationGracePeriodSeconds"))
    out.termination_grace_s = reader.Field("terminationGracePeriodSeconds").Integer<std::int64_t>();
  if (reader.Has("httpGet")) {
    out.check = ReadHttp(reader.Field("httpGet"));
  } else if (reader.Has("tcpSocket")) {
    const Reader tcp = reader.Field("tcpSocket");
    out.check = TcpCheck{.host = MaybeText(tcp, "host"), .port = ReadPort(tcp.Field("port"))};
  } else if (reader.Has("grpc")) {
    const Reader grpc = reader.Field("grpc");
    out.check = GrpcCheck{.port = grpc.Field("port").Integer<std::int32_t>(), .service = MaybeText(grpc, "service")};
  } else {
    out.check = ExecCheck{reader.Field("exec").Field("command").Strings()};
  }
  return out;
}

Json ContainerPortJson(const ContainerPort& port) {
  Json out = {{"containerPort", port.port}, {"protocol", port.protocol}};
  if (!port.name.empty()) out["name"] = port.name;
  if (port.host_port != 0) out["hostPort"] = port.host_port;
  if (!port.host_ip.empty()) out["hostIP"] = port.host_ip;
  return out;
}
ContainerPort ReadContainerPort(const Reader& reader) {
  ContainerPort out{.name = MaybeText(reader, "name"),
                    .port = reader.Field("containerPort").Integer<std::int32_t>(),
                    .host_port = 0,
                    .host_ip = MaybeText(reader, "hostIP"),
                    .protocol = reader.Field("protocol").String()};
  if (reader.Has("hostPort")) out.host_port = reader.Field("hostPort").Integer<std::int32_t>();
  return out;
}

Json HooksJson(const Container& c) {
  Json out = Json::object();
  if (!c.post_start_exec.empty()) out["postStart"]["exec"]["command"] = c.post_start_exec;
  if (c.post_start_http) out["postStart"]["httpGet"] = HttpJson(*c.post_start_http);
  if (c.post_start_sleep_s > 0) out["postStart"]["sleep"]["seconds"] = c.post_start_sleep_s;
  if (!c.pre_stop_exec.empty()) out["preStop"]["exec"]["command"] = c.pre_stop_exec;
  if (c.pre_stop_http) out["preStop"]["httpGet"] = HttpJson(*c.pre_stop_http);
  if (c.pre_stop_sleep_s > 0) out["preStop"]["sleep"]["seconds"] = c.pre_stop_sleep_s;
  if (!c.stop_signal.empty()) out["stopSignal"] = c.stop_signal;
  return out;
}

void ReadHook(const Reader& hooks, const char* key, std::vector<std::string>& exec, std::optional<HttpCheck>& http,
              std::int64_t& sleep_s) {
  if (!hooks.Has(key)) return;
  const Reader hook = hooks.Field(key);
  if (hook.Has("exec")) exec = hook.Field("exec").Field("command").Strings();
  if (hook.Has("httpGet")) http = ReadHttp(hook.Field("httpGet"));
  if (hook.Has("sleep")) sleep_s = hook.Field("sleep").Field("seconds").Integer<std::int64_t>();
}

Json RuleJson(const RestartRule& rule) {
  return {{"action", "Restart"}, {"exitCodes", {{"operator", rule.in ? "In" : "NotIn"}, {"values", rule.exit_codes}}}};
}
RestartRule ReadRule(const Reader& reader) {
  const Reader codes = reader.Field("exitCodes");
  RestartRule out{.in = codes.Field("operator").String() == "In", .exit_codes = {}};
  for (const Reader& item : codes.Field("values").Items()) out.exit_codes.push_back(item.Integer<std::int32_t>());
  return out;
}

}  // namespace

void PutChecks(Json& out, const Container& c) {
  if (c.restartable_init) out["restartPolicy"] = "Always";
  if (c.restart_policy) out["restartPolicy"] = Name(*c.restart_policy);
  if (!c.restart_rules.empty()) out["restartPolicyRules"] = ListJson(c.restart_rules, RuleJson);
  if (!c.ports.empty()) out["ports"] = ListJson(c.ports, ContainerPortJson);
  if (c.liveness) out["livenessProbe"] = ProbeJson(*c.liveness);
  if (c.readiness) out["readinessProbe"] = ProbeJson(*c.readiness);
  if (c.startup) out["startupProbe"] = ProbeJson(*c.startup);
  if (Json hooks = HooksJson(c); !hooks.empty()) out["lifecycle"] = std::move(hooks);
  if (!c.termination_message_path.empty()) out["terminationMessagePath"] = c.termination_message_path;
  if (c.message_from_log) out["terminationMessagePolicy"] = "FallbackToLogsOnError";
}

void ReadChecks(const Reader& reader, bool init, Container& out) {
  if (reader.Has("restartPolicy")) {
    const auto policy =
        reader.Field("restartPolicy").OneOf({RestartPolicy::kAlways, RestartPolicy::kOnFailure, RestartPolicy::kNever});
    out.restartable_init = init && policy == RestartPolicy::kAlways;
    if (!out.restartable_init) out.restart_policy = policy;
  }
  if (reader.Has("restartPolicyRules"))
    for (const Reader& item : reader.Field("restartPolicyRules").Items()) out.restart_rules.push_back(ReadRule(item));
  if (reader.Has("ports"))
    for (const Reader& item : reader.Field("ports").Items()) out.ports.push_back(ReadContainerPort(item));
  out.liveness = ReadProbe(reader, "livenessProbe");
  out.readiness = ReadProbe(reader, "readinessProbe");
  out.startup = ReadProbe(reader, "startupProbe");
  if (reader.Has("lifecycle")) {
    const Reader hooks = reader.Field("lifecycle");
    ReadHook(hooks, "postStart", out.post_start_exec, out.post_start_http, out.post_start_sleep_s);
    ReadHook(hooks, "preStop", out.pre_stop_exec, out.pre_stop_http, out.pre_stop_sleep_s);
    out.stop_signal = MaybeText(hooks, "stopSignal");
  }
  out.termination_message_path = MaybeText(reader, "terminationMessagePath");
  out.message_from_log = MaybeText(reader, "terminationMessagePolicy") == "FallbackToLogsOnError";
}

}  // namespace berth::codec
