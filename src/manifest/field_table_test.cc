#include "manifest/field_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "manifest/document_tree.h"
#include "manifest/field_check.h"
#include "manifest/field_reader.h"
#include "manifest/manifest.h"
#include "manifest/pod_reader.h"
#include "testing/fixtures.h"

namespace berth::manifest {
namespace {

using Json = nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

struct SchemaField {
  std::string path;  ///< "spec.containers[].tty"; init containers have the fields of containers
  std::string type;  ///< string (also quantities, times, and numbers that may be names), number, bool, map
};

/// Every field of v1.Pod, as the API's schema has them.
std::vector<SchemaField> SchemaFields() {
  std::istringstream in(testkit::ReadText(testkit::SourcePath("tests/golden/manifest/pod-fields.txt")));
  std::vector<SchemaField> out;
  for (SchemaField field; in >> field.path >> field.type;) out.push_back(field);
  return out;
}

/// A value of the field that is not among the fine ones of its row, if there is such a value.
Json SampleOf(const SchemaField& field, const FieldRow& row) {
  static const std::map<std::string_view, Json> kNeeded = {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata.uid", "u-1"},
      {"spec.containers[].env[].name", "E"},
      {"spec.containers[].env[].valueFrom.fieldRef.fieldPath", "metadata.name"},
      {"spec.containers[].env[].valueFrom.resourceFieldRef.resource", "limits.cpu"},
      {"spec.containers[].env[].valueFrom.resourceFieldRef.divisor", "1"},
      {"spec.containers[].imagePullPolicy", "Always"},
      {"spec.containers[].restartPolicy", "Always"},
      {"spec.containers[].volumeMounts[].mountPath", "/m"},
      {"spec.containers[].volumeMounts[].mountPropagation", "Bidirectional"},
      {"spec.containers[].workingDir", "/"},
      {"spec.restartPolicy", "Never"},
      {"spec.volumes[].hostPath.path", "/p"},
      {"status.qosClass", "BestEffort"},
  };
  if (const auto it = kNeeded.find(field.path); it != kNeeded.end()) return it->second;
  if (field.path.ends_with(".optional")) return false;
  if (field.type == "bool") return !IsFine(row, "true") || IsFine(row, "false");
  if (field.type == "number") return 7;
  if (field.type == "map")
    return field.path.contains("esources") || field.path.ends_with("overhead") ? Json{{"cpu", "1"}} : Json{{"k", "v"}};
  return "x";
}

/// Sets the field of `json`, making what is above it.
void Put(Json& json, std::string_view path, Json value) {
  Json* at = &json;
  for (std::string_view part : Split(path, '.')) {
    const bool list = part.ends_with("[]");
    if (list) part.remove_suffix(2);
    at = &(*at)[std::string(part)];
    if (list && at->empty()) at->push_back(nullptr);
    if (list) at = &at->front();
  }
  *at = std::move(value);
}

/// Gives the items on the way what every such item must have.
void Complete(Json& pod) {
  Json& spec = pod["spec"];
  for (const char* list : {"containers", "initContainers"}) {
    if (!spec.contains(list)) continue;
    Json& container = spec[list].front();
    const auto give = [](Json& item, const char* key, const Json& value) {
      if (!item.contains(key)) item[key] = value;
    };
    give(container, "name", std::string(list).substr(0, 4));
    if (container["command"].is_null()) container["command"] = {"true"};
    give(container, "image", "none");
    if (container.contains("env")) give(container["env"].front(), "name", "E");
    if (container.contains("volumeMounts")) {
      give(container["volumeMounts"].front(), "name", "v");
      give(container["volumeMounts"].front(), "mountPath", "/m");
    }
  }
  if (spec.contains("volumes") && !spec["volumes"].front().contains("name")) spec["volumes"].front()["name"] = "v";
}

std::string PodWith(std::string_view path, const Json& value) {
  Json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "p"}}}};
  pod["spec"]["containers"] = Json::array({Json::object()});
  Put(pod, path, value);
  Complete(pod);
  return pod.dump();
}

/// All that is said of a manifest, a line each.
std::vector<std::string> SaidOf(const std::string& text, const PodOptions& options) {
  std::vector<std::string> out;
  const Result<ParsedPods> parsed = ParsePods(text, "f", options);
  if (!parsed) {
    for (const std::string_view line : Split(parsed.error().message, '\n')) out.emplace_back(line);
    return out;
  }
  for (const Warning& warning : parsed->warnings) out.push_back(warning.where + ": " + warning.message);
  return out;
}

/// All that reading the pod says, and the field table: "path: words".
std::vector<std::string> FoundIn(const std::string& text, const PodOptions& options) {
  const Result<Document> document = ReadJson(text);
  EXPECT_TRUE(document);
  Report report;
  const Path top;
  static_cast<void>(ReadPod(document->root, top, report));
  CheckFields(document->root, top, options, report);
  std::vector<std::string> out;
  for (const auto* entries : {&report.problems, &report.warnings})
    for (const Report::Entry& entry : *entries) out.push_back(entry.path + ": " + entry.text);
  return out;
}

/// What the table says of the field; "" for nothing.
std::string VerdictIn(const std::vector<std::string>& said, const std::string& where) {
  for (const std::string& line : said) {
    const std::string start = where + ": ";
    if (!line.starts_with(start)) continue;
    const std::string rest = line.substr(start.size());
    if (rest.starts_with("no effect: ") || rest.ends_with("leave it out") ||
        rest.find("; ask for a resource of a device plug-in instead") != std::string::npos ||
        rest.find("leave it out, or run") != std::string::npos)
      return rest;
  }
  return "";
}

std::string AtFirst(std::string path) {
  for (std::size_t at = 0; (at = path.find("[]", at)) != std::string::npos;) path.replace(at, 2, "[0]");
  return path;
}

/// The words the row promises for a value that is not fine.
std::string PromiseOf(const FieldRow& row, const Json& value, RunBy run_by) {
  const FieldTreatment& treatment = row.Under(run_by);
  if (IsFine(row, value.is_string() ? value.get<std::string>() : value.dump())) return "";
  if (treatment.verdict == FieldVerdict::kNoEffect) return "no effect: " + std::string(treatment.why);
  const std::string cure(treatment.cure.empty() ? "leave it out" : treatment.cure);
  if (treatment.verdict == FieldVerdict::kRefused)
    return "Forbidden: " + std::string(treatment.why) + (treatment.why.contains("; ") ? ", or " : "; ") + cure;
  return "";
}

void ExpectAsTheRowSays(const std::string& path, const SchemaField& field) {
  SCOPED_TRACE(path);
  const FieldRow* row = RowOf(path);
  ASSERT_NE(row, nullptr) << "no row for this field";
  const Json value = SampleOf(field, *row);
  const std::string text = PodWith(path, value);
  std::string where = AtFirst(std::string(row->path));
  if (path.starts_with("spec.initContainers"))
    where.replace(0, std::string("spec.containers").size(), "spec.initContainers");
  for (const RunBy run_by : {RunBy::kProcess, RunBy::kCri}) {
    const std::vector<std::string> said = FoundIn(text, {.run_by = run_by});
    EXPECT_THAT(said, Not(Contains(HasSubstr("unknown field"))));
    const std::string verdict = VerdictIn(said, where);
    const std::string promise = PromiseOf(*row, value, run_by);
    EXPECT_TRUE(promise.empty() ? verdict.empty() : verdict.starts_with(promise))
        << "said: " << verdict << "\nrow:  " << promise << "\nof " << text;
  }
}

TEST(FieldTableTest, EveryFieldOfAPodIsTreatedAsItsRowSays) {
  const std::vector<SchemaField> fields = SchemaFields();
  EXPECT_GT(fields.size(), 700U);
  for (const SchemaField& field : fields) {
    ExpectAsTheRowSays(field.path, field);
    if (field.path.starts_with("spec.containers[]"))
      ExpectAsTheRowSays("spec.initContainers[]" + field.path.substr(std::string_view("spec.containers[]").size()),
                         field);
  }
}

TEST(FieldTableTest, APlainProcessThatIsNotToBeRootNeedsAnotherUser) {
  const auto said = [](const std::string& pod, const std::string& container, RunBy run_by = RunBy::kProcess) {
    return SaidOf(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"securityContext": )" +
                      pod + R"(, "containers": [{"name": "c", "command": ["true"], "securityContext": )" + container +
                      "}]}}",
                  {.run_by = run_by});
  };
  const auto refused = Contains(HasSubstr("spec.containers[0].securityContext.runAsNonRoot: Invalid value: true"));
  EXPECT_THAT(said(R"({"runAsNonRoot": true})", "{}"), refused);
  EXPECT_THAT(said(R"({"runAsNonRoot": true, "runAsUser": 7})", R"({"runAsUser": 0})"), refused);
  EXPECT_THAT(said("{}", R"({"runAsNonRoot": true})", RunBy::kCri), Not(refused)) << "its image may name one";
  EXPECT_THAT(said(R"({"runAsNonRoot": true, "runAsUser": 7})", "{}"), IsEmpty());
  EXPECT_THAT(said(R"({"runAsNonRoot": true})", R"({"runAsNonRoot": false})"), IsEmpty());
}

TEST(FieldTableTest, EveryRowIsOfAFieldAndSaysWhy) {
  const std::vector<SchemaField> fields = SchemaFields();
  for (const FieldRow& row : FieldTable()) {
    const std::string path(row.path);
    EXPECT_TRUE(std::ranges::any_of(fields, [&](const SchemaField& f) {
      return f.path == path || f.path.starts_with(path + ".") || f.path.starts_with(path + "[");
    })) << path;
    for (const FieldTreatment* treatment : {&row.process, &row.cri})
      EXPECT_EQ(treatment->why.empty(),
                treatment->verdict == FieldVerdict::kCarriedOut || treatment->verdict == FieldVerdict::kForOthers)
          << path;
  }
}

std::string Cell(const FieldTreatment& treatment) {
  const std::string name(Name(treatment.verdict));
  return treatment.why.empty() ? name : "**" + name + "**: " + std::string(treatment.why);
}

TEST(FieldTableTest, ThePageOfFieldsIsTheTable) {
  constexpr std::string_view kPage = "docs/reference/pod-fields.md";
  std::string page = testkit::ReadText(testkit::SourcePath(kPage));
  page.resize(std::min(page.size(), page.find("| field |")));
  page += "| field | always fine | as plain processes | under a container runtime |\n|---|---|---|---|\n";
  for (const FieldRow& row : FieldTable()) {
    std::string fine;
    for (const std::string_view value : row.fine.empty() ? std::vector<std::string_view>() : Split(row.fine, '|'))
      fine += (fine.empty() ? "`" : ", `") + std::string(value) + "`";
    page += "| `" + std::string(row.path) + "` | " + fine + " | " + Cell(row.process) + " | " + Cell(row.cri) + " |\n";
  }
  testkit::ExpectGolden(kPage, page);
}

TEST(FieldTableTest, WhatChangesNothingNeedsNoWord) {
  const std::string text = R"({apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {
      hostNetwork: false, hostPID: false, dnsPolicy: ClusterFirst, enableServiceLinks: true, schedulerName: default-scheduler,
      tolerations: [], nodeSelector: {}, securityContext: {}, affinity: null, serviceAccountName: "", runtimeClassName: "",
      containers: [{name: a, image: none, command: ["true"], stdin: false, tty: false, terminationMessagePath: /dev/termination-log,
        terminationMessagePolicy: File, securityContext: {runAsUser: 0, readOnlyRootFilesystem: false},
        ports: [{containerPort: 80, protocol: TCP}]}]}})";
  EXPECT_THAT(SaidOf(text, {.run_by = RunBy::kProcess}), IsEmpty());
  EXPECT_THAT(SaidOf(text, {.run_by = RunBy::kCri}), IsEmpty());
}

TEST(FieldTableTest, FieldsOfOneKindAreSaidOnceWithTheirNumber) {
  const std::string text = R"({apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [
      {name: a, command: [a], tty: true}, {name: b, command: [a]}, {name: c, command: [a], tty: true}, {name: d, command: [a], tty: true}]}})";
  EXPECT_THAT(
      SaidOf(text, {.run_by = RunBy::kProcess}),
      testing::ElementsAre("f: document 1: spec.containers[0].tty (and 2 more): no effect: there is no terminal"));
}

TEST(FieldTableTest, NothingIsSaidOfPodsThatNobodyRuns) {
  EXPECT_THAT(SaidOf(PodWith("spec.hostUsers", false), {}), IsEmpty());
}

TEST(FieldTableTest, AnOperatorMayTakePodsWithoutWhatIsNotCarriedOut) {
  EXPECT_THAT(SaidOf(PodWith("spec.hostUsers", false), {.run_by = RunBy::kCri, .refuse_unsupported = false}),
              testing::ElementsAre(testing::StartsWith("f: document 1: spec.hostUsers: not carried out: ")));
}

TEST(FieldTableTest, ALabelOfSeLinuxIsIgnoredByARuntimeWhereTheHostHasNone) {
  for (const char* const field :
       {"spec.securityContext.seLinuxOptions", "spec.containers[].securityContext.seLinuxOptions"})
    for (const bool refuse : {true, false}) {
      const Json label = {{"level", "s0:c1,c2"}};
      EXPECT_THAT(
          SaidOf(PodWith(field, label), {.run_by = RunBy::kCri, .refuse_unsupported = refuse, .se_linux = false}),
          testing::ElementsAre(
              testing::EndsWith("securityContext.seLinuxOptions: no effect: SELinux is not enabled on this host")));
      EXPECT_THAT(SaidOf(PodWith(field, label), {.run_by = RunBy::kCri, .refuse_unsupported = refuse}), IsEmpty());
    }
}

TEST(FieldTableTest, ACureOfTheFieldsOwnAndToLeaveItOutAreTwo) {
  EXPECT_THAT(SaidOf(PodWith("spec.volumes[].nfs", Json{{"server", "s"}}), {.run_by = RunBy::kCri}),
              Contains(HasSubstr("mount it on the host and use hostPath, or leave it out")));
  EXPECT_THAT(SaidOf(PodWith("spec.hostUsers", false), {.run_by = RunBy::kCri}),
              Contains(HasSubstr("containers share the host's users; leave it out")));
}

TEST(FieldTableTest, TheCureOfDevicesNamesThoseOfTheNodeTenAtMost) {
  const std::string text = PodWith("spec.resourceClaims[].name", "gpu");
  const auto said = [&](std::vector<std::string> resources) {
    return SaidOf(text, {.run_by = RunBy::kCri, .device_resources = std::move(resources)});
  };
  EXPECT_THAT(said({}), testing::ElementsAre(HasSubstr("resources.limits: {vendor.example/gpu: 1}")));
  EXPECT_THAT(
      said({"a.test/gpu", "b.test/nic"}),
      testing::ElementsAre(
          "f: document 1: spec.resourceClaims: Forbidden: there is no API server to allocate these devices; ask "
          "for a resource of this node's devices instead (a.test/gpu, b.test/nic), or for one that localDevices "
          "of Berth's settings makes of the same devices: resources.limits: {a.test/gpu: 1}"));
  std::vector<std::string> many;
  for (char c = 'a'; c <= 'l'; ++c) many.push_back(std::string(1, c) + ".test/x");
  EXPECT_THAT(said(many), testing::ElementsAre(HasSubstr("i.test/x, j.test/x and 2 more), or for one")));
}

TEST(FieldTableTest, AnAnnotationThatAsksForNetworksIsWarnedOfUnlessAPlugInReadsIt) {
  const Json networks = {{"k8s.v1.cni.cncf.io/networks", "storage"}};
  const std::string text = PodWith("metadata.annotations", networks);
  const std::string field = "f: document 1: metadata.annotations[k8s.v1.cni.cncf.io/networks]: no effect: ";
  EXPECT_THAT(SaidOf(text, {.run_by = RunBy::kProcess}),
              testing::ElementsAre(field + "a plain process is in the host's network"));
  EXPECT_THAT(SaidOf(text, {.run_by = RunBy::kCri}),
              testing::ElementsAre(testing::StartsWith(field + "no CNI plug-in")));
  EXPECT_THAT(SaidOf(text, {.run_by = RunBy::kCri, .cni_reads_annotations = true}), IsEmpty());
  Json in_host = Json::parse(text);
  in_host["spec"]["hostNetwork"] = true;
  EXPECT_THAT(SaidOf(in_host.dump(), {.run_by = RunBy::kCri, .cni_reads_annotations = true}),
              testing::ElementsAre(field + "the pod is in the host's network"));
}

TEST(FieldTableTest, AnAnnotationThatBoundsTheBandwidthIsWarnedOfUnlessAPlugInIsToldOfIt) {
  const Json bounds = {{"kubernetes.io/egress-bandwidth", "10M"}, {"kubernetes.io/ingress-bandwidth", "1M"}};
  const std::string text = PodWith("metadata.annotations", bounds);
  const std::string out = "f: document 1: metadata.annotations[kubernetes.io/egress-bandwidth]: no effect: ";
  const std::string in = "f: document 1: metadata.annotations[kubernetes.io/ingress-bandwidth]: no effect: ";
  EXPECT_THAT(SaidOf(text, {.run_by = RunBy::kProcess}),
              testing::ElementsAre(out + "a plain process is in the host's network",
                                   in + "a plain process is in the host's network"));
  EXPECT_THAT(SaidOf(text, {.run_by = RunBy::kCri, .cni_reads_annotations = true}),
              testing::ElementsAre(testing::StartsWith(out + "no CNI plug-in"), testing::StartsWith(in + "no CNI")));
  EXPECT_THAT(SaidOf(text, {.run_by = RunBy::kCri, .cni_limits_bandwidth = true}), IsEmpty());
}

TEST(FieldTableTest, ANodeNameOfAnotherNodeIsWarnedOf) {
  const std::string text = PodWith("spec.nodeName", "n2");
  EXPECT_THAT(
      SaidOf(text, {.run_by = RunBy::kCri, .node_name = "n1"}),
      testing::ElementsAre("f: document 1: spec.nodeName: no effect: the pod runs on this node, \"n1\"; give the "
                           "manifest to \"n2\" to run it there"));
  EXPECT_THAT(SaidOf(text, {.run_by = RunBy::kCri, .node_name = "n2"}), IsEmpty());
  EXPECT_THAT(SaidOf(text, {.run_by = RunBy::kCri}), IsEmpty()) << "no node is known";
  EXPECT_THAT(SaidOf(text, {.node_name = "n1"}), IsEmpty()) << "it is only looked at";
}

TEST(FieldTableTest, AVolumeOfAKindThatIsMissingIsRefusedEvenIfItSaysNothingMore) {
  EXPECT_THAT(SaidOf(PodWith("spec.volumes[].nfs", Json::object()), {.run_by = RunBy::kCri}),
              Contains(HasSubstr("spec.volumes[0].nfs: Forbidden: ")));
  EXPECT_THAT(SaidOf(PodWith("spec.volumes[].emptyDir", Json::object()), {.run_by = RunBy::kCri}), IsEmpty());
}

std::string SaidOfVariable(const std::string& source, RunBy run_by = RunBy::kProcess) {
  const Result<ParsedPods> parsed = ParsePods(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {serviceAccountName: robot, containers: ["
      "{name: a, command: [x], env: [{name: V, valueFrom: {" +
          source + "}}]}, {name: b, command: [x], resources: {limits: {ephemeral-storage: 1Gi}}}]}}",
      "f", {.run_by = run_by});
  return parsed ? "fine: " + parsed->pods.front().containers.front().env.front().value : parsed.error().message;
}

TEST(FieldTableTest, ReferencesToAmountsAreChecked) {
  EXPECT_EQ(SaidOfVariable("resourceFieldRef: {resource: limits.cpu, divisor: 1m}"), "fine: ");
  EXPECT_EQ(SaidOfVariable("resourceFieldRef: {resource: limits.ephemeral-storage}"), "fine: ") << "the node's";
  EXPECT_THAT(SaidOfVariable("resourceFieldRef: {resource: limits.cpu, containerName: c}"),
              HasSubstr("Not found: \"c\""));
  EXPECT_THAT(SaidOfVariable("resourceFieldRef: {resource: limits.gpu}"),
              HasSubstr("Unsupported value: \"limits.gpu\""));
  EXPECT_THAT(SaidOfVariable("resourceFieldRef: {resource: limits.cpu, divisor: 1Ki}"), HasSubstr("use 1 or 1m"));
  EXPECT_EQ(SaidOfVariable("fieldRef: {fieldPath: spec.serviceAccountName}"), "fine: robot");
}

TEST(FieldTableTest, HugePagesOfAVolumeAreAmongThoseTheContainersAskFor) {
  const auto said = [](const std::string& medium, const std::string& limits) {
    const Result<ParsedPods> parsed = ParsePods(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [{name: v, emptyDir: {medium: " + medium +
            "}}], containers: [{name: a, command: [x], resources: {limits: {cpu: 1" + limits + "}}}]}}",
        "f", {.run_by = RunBy::kProcess});
    return parsed ? "fine" : parsed.error().message;
  };
  EXPECT_EQ(said("HugePages", ", hugepages-2Mi: 4Mi"), "fine");
  EXPECT_EQ(said("HugePages-2Mi", ", hugepages-2Mi: 4Mi, hugepages-1Gi: 1Gi"), "fine");
  EXPECT_THAT(said("HugePages", ", hugepages-2Mi: 4Mi, hugepages-1Gi: 1Gi"), HasSubstr("say which: HugePages-<size>"));
  EXPECT_THAT(said("HugePages", ""), HasSubstr("spec.volumes[0].emptyDir.medium: Invalid value: \"HugePages\""));
  EXPECT_THAT(said("HugePages-1Gi", ", hugepages-2Mi: 4Mi"),
              HasSubstr("no container of the pod asks for hugepages-1Gi"));
  EXPECT_THAT(said("Disk", ""), HasSubstr("Unsupported value: \"Disk\""));
}

TEST(FieldTableTest, ATokenOfAnApiServerIsRefusedWithACure) {
  EXPECT_THAT(
      SaidOf("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [{name: v, projected: {sources: ["
             "{configMap: {name: c}}, {serviceAccountToken: {path: token}}]}}], containers: [{name: a, image: i, "
             "command: [x]}]}}",
             {.run_by = RunBy::kCri}),
      testing::ElementsAre(HasSubstr("spec.volumes[0].projected.sources[1].serviceAccountToken: Forbidden: there is no "
                                     "API server to issue one; put a token into a Secret and use that")));
}

TEST(FieldTableTest, APlainProcessNeedsACommand) {
  const auto said = [](const std::string& container) {
    return SaidOf("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [" + container + "]}}",
                  {.run_by = RunBy::kProcess});
  };
  const auto refused =
      HasSubstr("spec.containers[0].command: Required value: a plain process runs a program of the host");
  EXPECT_THAT(said("{name: a, image: nginx}"), Contains(refused));
  EXPECT_THAT(said("{name: a, image: nginx, args: [--verbose]}"),
              Contains(testing::AllOf(refused, HasSubstr("args are arguments of nothing"))));
  EXPECT_THAT(said("{name: a, command: [sleep]}"), IsEmpty());
}

TEST(FieldTableTest, SpaceOnDisksIsSaidOnceToHaveNoEffect) {
  const auto said = [](const std::string& a, const std::string& b) {
    return SaidOf(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: i, resources: " + a +
            "}, {name: b, image: i, resources: " + b + "}]}}",
        {.run_by = RunBy::kCri});
  };
  EXPECT_THAT(
      said("{limits: {ephemeral-storage: 1Gi}}", "{requests: {ephemeral-storage: 1Gi}}"),
      testing::ElementsAre(testing::StartsWith("f: document 1: spec.containers[0].resources.limits[ephemeral-storage] "
                                               "(and 1 more): no effect: space on disks is ")));
  EXPECT_THAT(said("{limits: {cpu: 1}}", "{requests: {ephemeral-storage: 1Gi}}"),
              testing::ElementsAre(HasSubstr("spec.containers[1].resources.requests[ephemeral-storage]: no effect")));
  EXPECT_THAT(said("{limits: {cpu: 1}}", "{}"), IsEmpty());
}

TEST(FieldTableTest, AnnotationsThatBecameFieldsAreSaidToHaveNoEffect) {
  EXPECT_THAT(
      SaidOf("{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {note: mine, "
             "container.apparmor.security.beta.kubernetes.io/a: localhost/own, "
             "seccomp.security.alpha.kubernetes.io/pod: runtime/default}}, "
             "spec: {containers: [{name: a, image: i}]}}",
             {.run_by = RunBy::kCri}),
      testing::ElementsAre(
          HasSubstr("metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]: no effect: it is a "
                    "field now; write securityContext.appArmorProfile"),
          HasSubstr("metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: no effect: it is a field now; "
                    "write securityContext.seccompProfile")));
}

TEST(FieldTableTest, AContainerOfARuntimeNeedsAnImageAndNoCommand) {
  const auto said = [](const std::string& container) {
    return SaidOf("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {initContainers: [" + container +
                      "], containers: [{name: app, image: nginx}]}}",
                  {.run_by = RunBy::kCri});
  };
  EXPECT_THAT(said("{name: a, command: [sleep]}"),
              testing::ElementsAre(HasSubstr("spec.initContainers[0].image: Required value: a container runtime makes "
                                             "containers of images")));
  EXPECT_THAT(said("{name: a, image: nginx, args: [--verbose]}"), IsEmpty());
}

std::vector<std::string> SaidOfVolumes(const std::string& volumes, const std::string& container) {
  return SaidOf("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [" + volumes +
                    "], containers: [{name: a, image: i, " + container + "}]}}",
                {.run_by = RunBy::kCri});
}

TEST(FieldTableTest, ContainersMountVolumesThatAreThereEachAtAPlaceOfItsOwn) {
  constexpr const char* kTwo = "{name: v}, {name: w, emptyDir: {}}";
  EXPECT_THAT(SaidOfVolumes(kTwo, "volumeMounts: [{name: v, mountPath: /v}, {name: v, mountPath: /w}]"), IsEmpty());
  EXPECT_THAT(SaidOfVolumes(kTwo, "volumeMounts: [{name: v, mountPath: /v}, {name: x, mountPath: /x}]"),
              testing::ElementsAre(HasSubstr("spec.containers[0].volumeMounts[1].name: Not found: \"x\"")));
  EXPECT_THAT(SaidOfVolumes(kTwo, "volumeMounts: [{name: v, mountPath: /v}, {name: w, mountPath: /v}]"),
              testing::ElementsAre(HasSubstr("spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/v\": "
                                             "must be unique")));
  EXPECT_THAT(SaidOfVolumes("{name: v}, {name: w}, {name: v, hostPath: {path: /}}", "tty: false"),
              testing::ElementsAre(HasSubstr("spec.volumes[2].name: Duplicate value: \"v\"")));
}

TEST(FieldTableTest, AVolumeHasOneSourceOfAKnownKind) {
  EXPECT_THAT(SaidOfVolumes("{name: v, hostPath: {path: /}, emptyDir: {}}", "tty: false"),
              testing::ElementsAre(HasSubstr("spec.volumes[0].emptyDir: Forbidden: may not specify more than 1 volume "
                                             "type; this one is hostPath already")));
  EXPECT_THAT(SaidOfVolumes("{name: v, hostPath: {path: /, type: Folder}}", "tty: false"),
              testing::ElementsAre(HasSubstr("spec.volumes[0].hostPath.type: Unsupported value: \"Folder\"")));
}

TEST(FieldTableTest, HowMountsTravelAndWhatIsReadOnlyIsJudgedAtOnce) {
  const auto said = [](const std::string& mount, const std::string& container = "tty: false") {
    return SaidOfVolumes("{name: v}", "volumeMounts: [{name: v, mountPath: /v, " + mount + "}], " + container);
  };
  const std::string field = "spec.containers[0].volumeMounts[0].";
  EXPECT_THAT(said("mountPropagation: Bidirectional"),
              testing::ElementsAre(HasSubstr(field + "mountPropagation: Forbidden: Bidirectional mount propagation is "
                                                     "available only to privileged containers")));
  EXPECT_THAT(said("mountPropagation: Bidirectional", "securityContext: {privileged: true}"), IsEmpty());
  EXPECT_THAT(said("mountPropagation: HostToContainer"), IsEmpty());
  EXPECT_THAT(said("mountPropagation: Both"),
              testing::ElementsAre(HasSubstr(field + "mountPropagation: Unsupported value: \"Both\"")));
  EXPECT_THAT(
      said("recursiveReadOnly: Enabled"),
      testing::ElementsAre(HasSubstr(field + "recursiveReadOnly: Forbidden: may only be specified when readOnly "
                                             "is true")));
  EXPECT_THAT(said("readOnly: true, recursiveReadOnly: Enabled, mountPropagation: HostToContainer"),
              testing::ElementsAre(HasSubstr("may only be specified when mountPropagation is None")));
  EXPECT_THAT(said("readOnly: true, recursiveReadOnly: IfPossible"), IsEmpty());
}

}  // namespace
}  // namespace berth::manifest
