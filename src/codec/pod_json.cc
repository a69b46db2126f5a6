#include <string>

#include "codec/codec.h"

namespace berth::codec {
namespace {

/// Kubernetes leaves empty fields out; so does this, to give back what a person would have written.
void PutIf(Json& out, const char* key, const std::string& value) {
  if (!value.empty()) out[key] = value;
}
void PutIf(Json& out, const char* key, const std::vector<std::string>& values) {
  if (!values.empty()) out[key] = values;
}
void PutIf(Json& out, const char* key, const std::map<std::string, std::string>& values) {
  if (!values.empty()) out[key] = values;
}

Json ResourcesJson(const Resources& resources) {
  Json out = Json::object();
  if (!resources.requests.empty()) out["requests"] = ToJson(resources.requests);
  if (!resources.limits.empty()) out["limits"] = ToJson(resources.limits);
  return out;
}

Json EnvJson(const std::vector<EnvVar>& env) {
  Json out = Json::array();
  for (const EnvVar& var : env) {
    if (var.field_path.empty())
      out.push_back({{"name", var.name}, {"value", var.value}});
    else
      out.push_back({{"name", var.name}, {"valueFrom", {{"fieldRef", {{"fieldPath", var.field_path}}}}}});
  }
  return out;
}

Json ContainerJson(const Container& c) {
  Json out = {{"name", c.name}};
  PutIf(out, "image", c.image);
  PutIf(out, "imagePullPolicy", c.image_pull_policy);
  PutIf(out, "command", c.command);
  PutIf(out, "args", c.args);
  PutIf(out, "workingDir", c.working_dir);
  if (!c.env.empty()) out["env"] = EnvJson(c.env);
  out["resources"] = ResourcesJson(c.resources);
  if (c.restartable_init) out["restartPolicy"] = "Always";
  if (!c.pre_stop_exec.empty()) out["lifecycle"]["preStop"]["exec"]["command"] = c.pre_stop_exec;
  return out;
}

Json ContainersJson(const std::vector<Container>& containers) {
  Json out = Json::array();
  for (const Container& c : containers) out.push_back(ContainerJson(c));
  return out;
}

Json MetadataJson(const Pod& pod) {
  Json out = {{"name", pod.name}, {"namespace", pod.namespace_}};
  PutIf(out, "uid", pod.uid);
  PutIf(out, "labels", pod.labels);
  PutIf(out, "annotations", pod.annotations);
  PutIf(out, "creationTimestamp", pod.creation_timestamp);
  return out;
}

Json SpecJson(const Pod& pod) {
  Json out = Json::object();
  PutIf(out, "nodeName", pod.node_name);
  if (pod.priority != 0) out["priority"] = pod.priority;
  PutIf(out, "priorityClassName", pod.priority_class);
  if (pod.host_network) out["hostNetwork"] = true;
  out["restartPolicy"] = Name(pod.restart_policy);
  out["terminationGracePeriodSeconds"] = pod.termination_grace_s;
  if (!pod.overhead.empty()) out["overhead"] = ToJson(pod.overhead);
  if (pod.resources) out["resources"] = ResourcesJson(*pod.resources);
  if (!pod.init_containers.empty()) out["initContainers"] = ContainersJson(pod.init_containers);
  out["containers"] = ContainersJson(pod.containers);
  return out;
}

}  // namespace

Json ToJson(const Pod& pod) {
  Json out = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", MetadataJson(pod)}, {"spec", SpecJson(pod)}};
  Json status = Json::object();
  PutIf(status, "phase", pod.phase);
  if (pod.status_qos) status["qosClass"] = Name(*pod.status_qos);
  if (!status.empty()) out["status"] = std::move(status);
  return out;
}

}  // namespace berth::codec
