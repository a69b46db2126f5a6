#include "manifest/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/node_conditions.h"

namespace berth::manifest {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::string_view kPodHead = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n";

ParsedPods ParsePodText(std::string_view text) {
  Result<ParsedPods> pods = ParsePods(text, "pod.yaml");
  EXPECT_TRUE(pods) << (pods ? "" : pods.error().message);
  return pods ? *std::move(pods) : ParsedPods();
}

Pod ParseOne(std::string_view text) {
  ParsedPods parsed = ParsePodText(text);
  EXPECT_THAT(parsed.pods, SizeIs(1));
  return parsed.pods.empty() ? Pod() : std::move(parsed.pods.front());
}

/// The messages for a pod with the spec given as YAML flow text.
std::string ErrorOfSpec(const std::string& spec) {
  const Result<ParsedPods> pods = ParsePods(std::string(kPodHead) + "spec: " + spec + "\n", "pod.yaml");
  if (pods) return "accepted";
  EXPECT_EQ(pods.error().code, Code::kInvalid);
  return pods.error().message;
}

std::string ErrorOfPods(std::string_view text) {
  const Result<ParsedPods> pods = ParsePods(text, "pod.yaml");
  return pods ? "accepted" : pods.error().message;
}

std::vector<std::string> WarningsOfSpec(const std::string& spec) {
  std::vector<std::string> out;
  for (const Warning& warning : ParsePodText(std::string(kPodHead) + "spec: " + spec + "\n").warnings)
    out.push_back(warning.where + ": " + warning.message);
  return out;
}

Quantity Q(std::string_view text) { return *Quantity::Parse(text); }

constexpr std::string_view kFullPod = R"(
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  uid: 0a-1
  labels: {app: web}
  annotations: {note: "1"}
  creationTimestamp: "2026-01-01T00:00:00Z"
spec:
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 5
  nodeName: node-1
  priority: 7
  priorityClassName: high
  hostNetwork: true
  overhead: {cpu: 10m}
  initContainers:
  - name: migrate
    image: registry:5000/migrate:v2
    command: [/bin/migrate]
  - name: proxy
    image: proxy@sha256:0123
    restartPolicy: Always
    resources: {limits: {cpu: 200m}}
  containers:
  - name: app
    image: app
    imagePullPolicy: Never
    command: ["/bin/app"]
    args: ["--port", "80"]
    workingDir: /srv
    env:
    - {name: A, value: "1"}
    - name: NODE
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: spec.nodeName}}
    ports: [{containerPort: 80}]
    resources:
      requests: {cpu: 1, memory: 1.5Gi}
      limits: {memory: 2Gi, vendor.example/gpu: 2, hugepages-2Mi: 4Mi}
    lifecycle: {postStart: {exec: {command: [/bin/warm, up]}}, preStop: {exec: {command: [/bin/drain]}}}
status: {phase: Running, qosClass: Guaranteed, somethingNew: 1}
)";

TEST(ParsePodsTest, ReadsEveryFieldBerthUses) {
  const Pod pod = ParseOne(kFullPod);
  EXPECT_EQ(pod.name, "web");
  EXPECT_EQ(pod.namespace_, "shop");
  EXPECT_EQ(pod.uid, "0a-1");
  EXPECT_THAT(pod.labels, ElementsAre(std::pair("app", "web")));
  EXPECT_THAT(pod.annotations, ElementsAre(std::pair("note", "1")));
  EXPECT_EQ(pod.creation_timestamp, "2026-01-01T00:00:00Z");
  EXPECT_EQ(pod.restart_policy, RestartPolicy::kOnFailure);
  EXPECT_EQ(pod.termination_grace_s, 5);
  EXPECT_EQ(pod.node_name, "node-1");
  EXPECT_EQ(pod.priority, 7);
  EXPECT_EQ(pod.priority_class, "high");
  EXPECT_TRUE(pod.host_network);
  EXPECT_EQ(pod.overhead, (ResourceList{{"cpu", Q("10m")}}));
  EXPECT_EQ(pod.status_qos, QosClass::kGuaranteed);
  EXPECT_EQ(pod.phase, "Running");
  EXPECT_EQ(pod.resources, std::nullopt);
}

TEST(ParsePodsTest, TheTwoBuiltInPriorityClassesHaveTheirValuesAndANumberBesideThemCounts) {
  const auto with = [](const std::string& fields) {
    return ParseOne(std::string(kPodHead) + "spec: {" + fields + ", containers: [{name: a, image: a}]}\n");
  };
  EXPECT_EQ(PriorityOf(with("priorityClassName: system-node-critical")), 2'000'001'000);
  EXPECT_EQ(PriorityOf(with("priorityClassName: system-cluster-critical")), 2'000'000'000);
  EXPECT_EQ(PriorityOf(with("priorityClassName: high")), 0);
  EXPECT_EQ(PriorityOf(with("priorityClassName: high, priority: 7")), 7);
  EXPECT_EQ(PriorityOf(with("restartPolicy: Always")), 0);
  for (const std::string name : {"system-node-critical", "system-cluster-critical"}) {
    const Pod named = with("priorityClassName: " + name);
    EXPECT_EQ(named.priority_class, name);
    EXPECT_EQ(named.priority, 0) << "as it was given: the pod's uid is made of it";
    EXPECT_TRUE(IsCritical(named)) << name;
    EXPECT_EQ(PressureWait(true, true, named), std::nullopt) << name;
    EXPECT_TRUE(IsCritical(with("priorityClassName: " + name + ", priority: 2000000000"))) << name;
    EXPECT_FALSE(IsCritical(with("priorityClassName: " + name + ", priority: 1999999999"))) << name;
  }
}

TEST(ParsePodsTest, APriorityClassOfWhichNobodyKnowsTheValueIsWarnedAbout) {
  constexpr std::string_view kRest = ", containers: [{name: a, image: a}]}";
  const auto warnings = [&](const std::string& fields) { return WarningsOfSpec("{" + fields + std::string(kRest)); };
  EXPECT_THAT(warnings("priorityClassName: high"),
              ElementsAre(AllOf(HasSubstr("spec.priorityClassName"), HasSubstr("\"high\" is not known"),
                                HasSubstr("write spec.priority"))));
  EXPECT_THAT(warnings("priorityClassName: high, priority: 0"), IsEmpty()) << "as an API server wrote it";
  EXPECT_THAT(warnings("priorityClassName: system-node-critical"), IsEmpty());
}

TEST(ParsePodsTest, ReadsContainers) {
  const Pod pod = ParseOne(kFullPod);
  ASSERT_THAT(pod.init_containers, SizeIs(2));
  EXPECT_FALSE(pod.init_containers[0].restartable_init);
  EXPECT_TRUE(pod.init_containers[1].restartable_init);
  ASSERT_THAT(pod.containers, SizeIs(1));
  const Container& app = pod.containers[0];
  EXPECT_EQ(app.name, "app");
  EXPECT_EQ(app.image, "app");
  EXPECT_EQ(app.image_pull_policy, "Never");
  EXPECT_THAT(app.command, ElementsAre("/bin/app"));
  EXPECT_THAT(app.args, ElementsAre("--port", "80"));
  EXPECT_EQ(app.working_dir, "/srv");
  EXPECT_THAT(app.env, ElementsAre(EnvVar{"A", "1", ""}, EnvVar{"NODE", "", "spec.nodeName"}));
  EXPECT_EQ(app.resources.requests.at("cpu"), Q("1"));
  EXPECT_EQ(app.resources.requests.at("memory").ToString(), "1536Mi");
  EXPECT_THAT(app.post_start_exec, ElementsAre("/bin/warm", "up"));
  EXPECT_THAT(app.pre_stop_exec, ElementsAre("/bin/drain"));
}

TEST(ParsePodsTest, AResizePolicyNamesAResourceAndWhetherItRestarts) {
  const auto parsed = [](const std::string& policies) {
    return ParsePods(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: a, resizePolicy: [" +
            policies + "]}]}",
        "f");
  };
  const auto pods = parsed(
      "{resourceName: memory, restartPolicy: RestartContainer}, "
      "{resourceName: cpu, restartPolicy: NotRequired}");
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_THAT(pods->pods[0].containers[0].restart_to_resize, testing::ElementsAre("memory"));
  const std::string restart = "{resourceName: cpu, restartPolicy: RestartContainer}";
  for (const std::string& wrong :
       {std::string("{resourceName: disk, restartPolicy: NotRequired}"), std::string("{resourceName: cpu}"),
        std::string("{resourceName: cpu, restartPolicy: Always}"), restart + ", " + restart})
    EXPECT_FALSE(parsed(wrong)) << wrong;
}

TEST(ParsePodsTest, AKnownFieldIsNeverCalledUnknown) {
  EXPECT_THAT(ParsePodText(kFullPod).warnings, IsEmpty());
  EXPECT_THAT(WarningsOfSpec("{containers: [{name: a, image: a, volumeMounts: [], resizePolicy: [{resourceName: cpu, "
                             "restartPolicy: NotRequired}]}], "
                             "volumes: [], affinity: {}, tolerations: [], serviceAccountName: x, dnsPolicy: Default}"),
              IsEmpty());
}

TEST(ParsePodsTest, JsonGivesTheSamePod) {
  const Pod yaml = ParseOne(std::string(kPodHead) +
                            "spec: {containers: [{name: a, image: a, resources: "
                            "{limits: {cpu: 2, memory: 1e9}}}]}\n");
  const Pod json = ParseOne(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[
      {"name":"a","image":"a","resources":{"limits":{"cpu":2,"memory":1e9}}}]}})");
  EXPECT_EQ(yaml, json);
  const Result<Pod> bare = ParsePodJson(R"({"metadata":{"name":"web"},"spec":{"containers":[
      {"name":"a","image":"a","resources":{"limits":{"cpu":2,"memory":1e9}}}]}})",
                                        "case 1");
  ASSERT_TRUE(bare);
  EXPECT_EQ(*bare, yaml);
}

TEST(ParsePodsTest, ReadsListsAndManyDocuments) {
  const std::string item = "{metadata: {name: b}, spec: {containers: [{name: a, image: a}]}}";
  const std::string typed =
      "{apiVersion: v1, kind: Pod, metadata: {name: c}, spec: {containers: [{name: a, image: a}]}}";
  const ParsedPods parsed =
      ParsePodText("apiVersion: v1\nkind: PodList\nmetadata: {resourceVersion: \"\"}\nitems: [" + item + "]\n---\n" +
                   std::string(kPodHead) + "spec: {containers: [{name: a, image: a}]}\n---\n" +
                   "apiVersion: v1\nkind: List\nitems: [" + typed + "]\n");
  ASSERT_THAT(parsed.pods, SizeIs(3));
  EXPECT_EQ(parsed.pods[0].name, "b");
  EXPECT_EQ(parsed.pods[1].name, "web");
  EXPECT_EQ(parsed.pods[2].name, "c");
  EXPECT_THAT(parsed.warnings, IsEmpty());
}

TEST(ParsePodsTest, AnItemOfAListSaysItsApiVersionUnlessTheListIsOfItsKind) {
  const auto error = [](const std::string& list, const std::string& item) {
    return ErrorOfPods("{apiVersion: v1, kind: " + list + ", items: [{" + item +
                       "metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}]}");
  };
  EXPECT_EQ(error("PodList", ""), "accepted");
  EXPECT_EQ(error("List", "apiVersion: v1, kind: Pod, "), "accepted");
  EXPECT_EQ(error("List", "kind: Pod, "),
            "pod.yaml: document 1: items[0].apiVersion: Required value: write \"apiVersion: v1\"");
  for (const char* const list : {"List", "PodList"})
    EXPECT_EQ(error(list, "apiVersion: v2, kind: Pod, "),
              "pod.yaml: document 1: items[0].apiVersion: Unsupported value: \"v2\": supported values: \"v1\"");
}

TEST(ParsePodsTest, AFileHoldsAtMostAThousandPodsToBeRun) {
  std::string text = "apiVersion: v1\nkind: PodList\nitems:\n";
  for (int i = 0; i <= 1'000; ++i)
    text += "- {metadata: {name: p" + std::to_string(i) + "}, spec: {containers: [{name: a, image: b}]}}\n";
  EXPECT_EQ(ErrorOfPods(text), "pod.yaml: more than 1000 pods in one file: make several files of it");
  EXPECT_EQ(1'001U,
            ParsePods(text, "pod.yaml", {.to_be_run = false, .most_pods = PodOptions::kAnyNumber})->pods.size());
}

TEST(ParsePodsTest, ReadingEndsAtTheFirstPodTooMany) {
  std::string text;
  for (int i = 0; i < 2; ++i)
    text += R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p)" + std::to_string(i) +
            R"("},"spec":{"containers":[{"name":"a","image":"b"}]}})" + "\n";
  const auto read = ParsePods(text + "---\nnever: [read\n", "f", {.to_be_run = false, .most_pods = 1});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "f: holds more than one pod; give exactly one");
}

TEST(ParsePodsTest, OneBudgetHoldsForAllPodsOfAText) {
  std::string containers;
  for (int i = 0; i < 200; ++i) containers += "{name: c" + std::to_string(i) + ", image: x}, ";
  std::string text;
  for (int i = 0; i < 900; ++i) text += std::string(kPodHead) + "spec: {containers: [" + containers + "]}\n---\n";
  const std::string error = ErrorOfPods(text);  // with a line for each pod that is read: they have one name
  EXPECT_THAT(error, HasSubstr("the text holds too many values"));
  EXPECT_LT(std::ranges::count(error, '\n'), 100);
}

TEST(ParsePodsTest, PodsOfATemplateCountLikeOthers) {
  std::string args;
  for (int i = 0; i < 5'000; ++i) args += "x, ";
  const auto read = ParsePods(
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {replicas: 1000, "
      "template: {spec: {containers: [{name: a, image: b, args: [" +
          args + "]}]}}}}",
      "f", {.templates = true});
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, testing::StartsWith("f: the text holds too many values"));
}

TEST(ParsePodsTest, AHundredPodsOfAUsualTemplateAreTaken) {
  std::string text =
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec:\n  replicas: 100\n  template:\n    spec:\n    "
      "  containers:\n";
  for (int c = 0; c < 3; ++c) {
    text += "      - name: c" + std::to_string(c) + "\n        image: b\n        env:\n";
    for (int i = 0; i < 20; ++i) text += "        - {name: VARIABLE_" + std::to_string(i) + ", value: its value}\n";
  }
  const auto read = ParsePods(text, "f", {.run_by = RunBy::kCri, .templates = true});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->pods.size(), 100U);
}

TEST(ParsePodsTest, WarningsOfAFileAreBounded) {
  std::string text;
  for (int i = 0; i < 3'000; ++i) text += "kind: Service\n---\n";
  EXPECT_THAT(ParsePodText(text).warnings, SizeIs(1'001));
}

TEST(ParsePodsTest, AnEmptyFileHoldsNoPods) { EXPECT_THAT(ParsePodText("# nothing yet\n").pods, IsEmpty()); }

TEST(ParsePodsTest, OtherKindsAreLeftOutWithAWarningAndThePodsBesideThemRun) {
  const ParsedPods parsed = ParsePodText(
      "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\napiVersion: apps/v1\nkind: Deployment\n---\n" +
      std::string(kPodHead) +
      "spec: {containers: [{name: a, image: a}]}\n---\n"
      "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Endpoints}]}\n");
  EXPECT_THAT(parsed.pods, SizeIs(1));
  ASSERT_THAT(parsed.warnings, SizeIs(3));
  EXPECT_EQ(parsed.warnings[0].where, "pod.yaml: document 1: kind");
  EXPECT_EQ(parsed.warnings[0].message, "left out: a Service is no pod; Berth runs pods only");
  EXPECT_THAT(parsed.warnings[1].message, HasSubstr("a Deployment is a controller's business, and there is none"));
  EXPECT_EQ(parsed.warnings[2].where, "pod.yaml: document 4: items[0].kind");
}

TEST(ParsePodsTest, ACronJobIsLeftOutWithItsCureAlsoWherePodsAreMadeOfTemplates) {
  for (const bool templates : {false, true}) {
    const auto parsed = ParsePods("{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}}\n---\n" +
                                      std::string(kPodHead) + "spec: {containers: [{name: a, image: a}]}\n",
                                  "pod.yaml", {.templates = templates});
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_THAT(parsed->pods, SizeIs(1));
    ASSERT_THAT(parsed->warnings, SizeIs(1));
    EXPECT_EQ(parsed->warnings[0].where, "pod.yaml: document 1: kind");
    EXPECT_THAT(parsed->warnings[0].message, AllOf(HasSubstr("left out: a CronJob starts pods by the clock"),
                                                   HasSubstr("let cron run"), Not(HasSubstr("--as-pods"))));
  }
}

TEST(ParsePodsTest, AllCapabilitiesAreMeantInWhicheverCase) {
  const Pod pod = ParseOne(std::string(kPodHead) +
                           "spec: {containers: [{name: a, image: a, securityContext: {capabilities: {drop: [all], add: "
                           "[All, net_admin]}}}]}\n");
  EXPECT_THAT(pod.containers[0].security.drop_capabilities, ElementsAre("ALL"));
  EXPECT_THAT(pod.containers[0].security.add_capabilities, ElementsAre("ALL", "net_admin"));
}

TEST(ParsePodsTest, WhatIsNoPodIsRefused) {
  EXPECT_THAT(ErrorOfPods("apiVersion: v1\nkind: pod\n"), HasSubstr("kind: Unsupported value: \"pod\""));
  EXPECT_THAT(ErrorOfPods("metadata: {name: a}\n"), HasSubstr("kind: Required value"));
  EXPECT_THAT(ErrorOfPods("apiVersion: v2\nkind: Pod\n"), HasSubstr("apiVersion: Unsupported value: \"v2\""));
  EXPECT_THAT(ErrorOfPods("kind: Pod\n"), HasSubstr("apiVersion: Required value"));
  EXPECT_THAT(ErrorOfPods("[1, 2]"), HasSubstr("expected a Pod, PodList or List, got a list"));
  EXPECT_THAT(ErrorOfPods("just text"), HasSubstr("expected a Pod, PodList or List, got a string"));
}

TEST(ParsePodsTest, AllProblemsOfAFileAreReportedTogether) {
  const std::string text = std::string(kPodHead) +
                           "spec: {containers: [{name: A, image: a, resources: {limits: {cpu: 1.5.2Gi}}}]}\n---\n" +
                           "a: [\n---\n" + "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: []}\n";
  EXPECT_THAT(ErrorOfPods(text),
              AllOf(HasSubstr("pod.yaml: document 1: spec.containers[0].resources.limits[cpu]: Invalid value: bad "
                              "quantity \"1.5.2Gi\""),
                    HasSubstr("pod.yaml: document 1: spec.containers[0].name: Invalid value: \"A\""),
                    HasSubstr("pod.yaml: document 2: line "),
                    HasSubstr("pod.yaml: document 3: spec.containers: Required value")));
}

TEST(ManifestTest, SecurityContextsAreHeldToWhatTheApiTakes) {
  const auto of_pod = [](const std::string& security) {
    return ErrorOfSpec("{securityContext: " + security + ", containers: [{name: a, image: a}]}");
  };
  const auto of_container = [](const std::string& security) {
    return ErrorOfSpec("{containers: [{name: a, image: a, securityContext: " + security + "}]}");
  };
  EXPECT_THAT(of_pod("{runAsUser: -1}"),
              HasSubstr("spec.securityContext.runAsUser: Invalid value: -1: must be between"));
  EXPECT_THAT(of_container("{runAsGroup: 2147483648}"), HasSubstr("securityContext.runAsGroup: Invalid value"));
  EXPECT_THAT(of_pod("{supplementalGroups: [1, -5]}"), HasSubstr("supplementalGroups[1]: Invalid value: -5"));
  EXPECT_THAT(of_pod("{supplementalGroups: [staff]}"), HasSubstr("supplementalGroups[0]: Invalid value: \"staff\""));
  EXPECT_THAT(of_pod("{supplementalGroupsPolicy: Both}"), HasSubstr("supported values: \"Merge\", \"Strict\""));
  EXPECT_THAT(of_pod("{fsGroupChangePolicy: Never}"), HasSubstr("supported values: \"Always\", \"OnRootMismatch\""));
  EXPECT_THAT(of_container("{seccompProfile: {type: Default}}"), HasSubstr("seccompProfile.type: Unsupported value"));
  EXPECT_THAT(of_container("{seccompProfile: {type: Localhost}}"), HasSubstr("localhostProfile: Required value"));
  for (const char* const file : {"../x.json", "/etc/x.json", "a/../../x.json"})
    EXPECT_THAT(of_container("{seccompProfile: {type: Localhost, localhostProfile: " + std::string(file) + "}}"),
                HasSubstr("must be a relative path without"));
  EXPECT_THAT(of_container("{privileged: true, allowPrivilegeEscalation: false}"),
              HasSubstr("allowPrivilegeEscalation: Invalid value: false"));
}

TEST(ManifestTest, AFieldOfTheOtherLevelsSecurityContextIsAnUnknownOne) {
  const std::string spec =
      "{securityContext: {runAsUser: 7, privileged: true, allowPrivilegeEscalation: false, capabilities: {add: "
      "[CAP_SYS_ADMIN]}, procMount: Masked, readOnlyRootFilesystem: true}, containers: [{name: a, image: a, "
      "securityContext: {runAsUser: 8, fsGroup: -1, fsGroupChangePolicy: Never, supplementalGroups: [5], "
      "supplementalGroupsPolicy: Both, sysctls: [{name: \"..\"}], seLinuxChangePolicy: MountOption}}]}";
  EXPECT_EQ(ErrorOfSpec(spec), "accepted") << "they are not judged";
  const std::vector<std::string> said = WarningsOfSpec(spec);
  EXPECT_THAT(said, SizeIs(11));
  for (const std::string field :
       {"allowPrivilegeEscalation", "capabilities", "privileged", "procMount", "readOnlyRootFilesystem"})
    EXPECT_THAT(said,
                testing::Contains("pod.yaml: document 1: spec.securityContext." + field +
                                  ": unknown field, ignored; it is a field of spec.containers[].securityContext"));
  for (const std::string field : {"fsGroup", "fsGroupChangePolicy", "seLinuxChangePolicy", "supplementalGroups",
                                  "supplementalGroupsPolicy", "sysctls"})
    EXPECT_THAT(said, testing::Contains("pod.yaml: document 1: spec.containers[0].securityContext." + field +
                                        ": unknown field, ignored; it is a field of spec.securityContext"));
  const Pod pod = ParseOne(std::string(kPodHead) + "spec: " + spec + "\n");
  SecurityContext of_pod;
  of_pod.run_as_user = 7;
  SecurityContext of_container;
  of_container.run_as_user = 8;
  EXPECT_TRUE(pod.security == of_pod && pod.containers[0].security == of_container) << "they have no effect";
}

TEST(ParsePodsTest, NamesOfVolumesBecomePathsAndAreChecked) {
  const auto error_with = [](const std::string& volume) {
    return ErrorOfSpec("{containers: [{name: a, image: a}], volumes: [" + volume + "]}");
  };
  EXPECT_THAT(error_with("{name: ../../etc, emptyDir: {}}"),
              HasSubstr("spec.volumes[0].name: Invalid value: \"../../etc\""));
  EXPECT_THAT(error_with("{name: a/b, emptyDir: {}}"), HasSubstr("spec.volumes[0].name: Invalid value: \"a/b\""));
  EXPECT_THAT(error_with("{emptyDir: {}}"), HasSubstr("spec.volumes[0].name: Required value"));
  EXPECT_THAT(error_with("{name: v, hostPath: {path: /a/../etc}}"), HasSubstr("spec.volumes[0].hostPath.path"));
  EXPECT_THAT(
      ErrorOfSpec("{containers: [{name: a, image: a, volumeMounts: [{name: v, mountPath: /m, subPath: ../x}]}]}"),
      HasSubstr("volumeMounts[0].subPath: Invalid value: \"/../x\""));
}

TEST(ParsePodsTest, ARelativeMountPathIsBelowTheRoot) {
  const auto with = [](const std::string& path) {
    return "{containers: [{name: a, image: a, volumeMounts: [{name: v, mountPath: " + path +
           "}]}], volumes: [{name: v, emptyDir: {}}]}";
  };
  const Pod pod = ParseOne(std::string(kPodHead) + "spec: " + with("data/x") + "\n");
  EXPECT_EQ(pod.containers[0].mounts[0].mount_path, "/data/x");
  EXPECT_THAT(ErrorOfSpec(with("a/../../etc")), HasSubstr("mountPath: Invalid value: \"/a/../../etc\": must be"));
  EXPECT_THAT(ErrorOfSpec(with("\"\"")), HasSubstr("mountPath: Invalid value: \"\": must be an absolute path"));
}

TEST(ParsePodsTest, ASecretForImagesWithoutANameIsSkippedAndNoOtherNameIsJudged) {
  const Pod pod = ParseOne(std::string(kPodHead) +
                           "spec: {imagePullSecrets: [{name: null}, {}, {name: \"\"}, null, {name: My_Secret}, "
                           "{name: a/b}], containers: [{name: a, image: a}]}\n");
  EXPECT_THAT(pod.image_pull_secrets, ElementsAre("My_Secret", "a/b"));
}

TEST(ParsePodsTest, UnknownFieldsAreWarningsWithAHint) {
  EXPECT_THAT(WarningsOfSpec("{containers: [{name: a, image: a, resourcs: {}}], zzz: 1}"),
              ElementsAre("pod.yaml: document 1: spec.containers[0].resourcs: unknown field, ignored; did you mean "
                          "\"resources\"?",
                          "pod.yaml: document 1: spec.zzz: unknown field, ignored"));
  EXPECT_THAT(WarningsOfSpec("{containers: [{name: a, image: a}], workloadRef: {name: w}}"),
              ElementsAre(HasSubstr("spec.workloadRef: unknown field, ignored")))
      << "Kubernetes 1.36 does not have it";
}

TEST(ParsePodsTest, DuplicateKeysAreErrors) {
  EXPECT_THAT(ErrorOfSpec("{containers: [{name: a, name: b, image: a}]}"),
              HasSubstr("document 1: spec.containers[0].name: the key is given more than once"));
}

TEST(ParsePodsTest, WrongTypesNameTheCure) {
  EXPECT_THAT(ErrorOfSpec("{containers: [{name: 5, image: a}]}"),
              AllOf(HasSubstr("spec.containers[0].name: Invalid value: 5: expected a string; put it in quotes"),
                    Not(HasSubstr("Required value"))));
  EXPECT_THAT(ErrorOfSpec("{containers: [{name: a, image: a, env: [{name: X, value: on}]}]}"),
              HasSubstr("env[0].value: Invalid value: true: expected a string; put it in quotes"));
  EXPECT_THAT(ErrorOfSpec("{containers: {name: a}}"),
              HasSubstr("spec.containers: Invalid value: an object: expected a list"));
  EXPECT_THAT(ErrorOfSpec("{containers: [a]}"),
              HasSubstr("spec.containers[0]: Invalid value: \"a\": expected an object"));
  EXPECT_THAT(ErrorOfSpec("{containers: [{name: a, image: a}], terminationGracePeriodSeconds: 1.5}"),
              HasSubstr("Invalid value: 1.5: expected a whole number"));
  EXPECT_THAT(ErrorOfSpec("{containers: [{name: a, image: a}], priority: 99999999999}"),
              HasSubstr("must be between -2147483648 and 2147483647"));
  EXPECT_THAT(ErrorOfSpec("{containers: [{name: a, image: a, resources: {limits: {cpu: 010}}}]}"),
              HasSubstr("leading zeros"));
  EXPECT_THAT(ErrorOfSpec("{containers: [{name: a, image: a, resources: {limits: {cpu: true}}}]}"),
              HasSubstr("expected a quantity"));
  EXPECT_THAT(ErrorOfSpec("{containers: [{name: a, image: a}], hostNetwork: \"yes\"}"),
              HasSubstr("spec.hostNetwork: Invalid value: \"yes\": expected true or false"));
}

TEST(ParsePodsTest, ChoicesListWhatIsSupported) {
  EXPECT_THAT(
      ErrorOfSpec("{containers: [{name: a, image: a}], restartPolicy: Sometimes}"),
      HasSubstr("spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"Never\", "
                "\"OnFailure\""));
  EXPECT_THAT(ErrorOfSpec("{containers: [{name: a, image: a}], initContainers: [{name: i, image: a, "
                          "restartPolicy: Often}]}"),
              HasSubstr("spec.initContainers[0].restartPolicy: Unsupported value: \"Often\": supported values: "
                        "\"Always\""));
}

TEST(ParsePodsTest, ReferencesToDocumentsAreRead) {
  const ParsedPods parsed = ParsePodText(
      std::string(kPodHead) +
      "spec: {containers: [{name: a, image: a, env: [{name: X, valueFrom: {secretKeyRef: {name: s, key: k, optional: "
      "true}}}], envFrom: [{prefix: P_, configMapRef: {name: c}}]}]}");
  const Container& container = parsed.pods.at(0).containers.at(0);
  EXPECT_EQ(container.env.at(0).document, (DocumentKey{DocumentKind::kSecret, "s", "k", true}));
  EXPECT_EQ(container.env_from.at(0), (EnvFrom{DocumentKind::kConfigMap, "c", "P_", false}));
}

TEST(ParsePodsTest, VariablesMayReferToADocumentOfANameThatNoneCanHave) {
  const Pod pod =
      ParseOne(std::string(kPodHead) +
               "spec: {containers: [{name: a, image: a, env: [{name: A, valueFrom: {configMapKeyRef: {name: a/b, "
               "key: k}}}], envFrom: [{secretRef: {name: My_Secret}}]}]}");
  EXPECT_EQ(pod.containers.at(0).env.at(0).document->name, "a/b");
  EXPECT_EQ(pod.containers.at(0).env_from.at(0).name, "My_Secret");
  EXPECT_THAT(ErrorOfSpec("{containers: [{name: a, image: a, envFrom: [{secretRef: {}}]}]}"),
              HasSubstr("envFrom[0].secretRef.name: Required value: name a Secret"));
}

TEST(ParsePodsTest, EnvSourcesAreChecked) {
  const auto env = [](const std::string& var) {
    return ErrorOfSpec("{containers: [{name: a, image: a, env: [" + var + "]}]}");
  };
  EXPECT_THAT(env("{value: x}"), HasSubstr("env[0].name: Required value"));
  EXPECT_THAT(env("{name: a=b}"), HasSubstr("env[0].name: Invalid value: \"a=b\""));
  EXPECT_THAT(env("{name: A, valueFrom: {secretKeyRef: {name: s, key: ../k}}}"),
              HasSubstr("secretKeyRef.key: Invalid value: \"../k\": a key must consist of letters"));
  EXPECT_THAT(env("{name: A, valueFrom: {configMapKeyRef: {key: k}}}"),
              HasSubstr("configMapKeyRef.name: Required value: name a ConfigMap"));
  EXPECT_THAT(env("{name: A, valueFrom: {}}"), HasSubstr("env[0].valueFrom: Invalid value: must name one source"));
  EXPECT_THAT(env("{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}"),
              HasSubstr("may not be given beside a value"));
  EXPECT_THAT(env("{name: A, valueFrom: {fieldRef: {}}}"), HasSubstr("fieldRef.fieldPath: Required value"));
  EXPECT_THAT(env("{name: A, valueFrom: {fieldRef: {fieldPath: spec.secret}}}"),
              HasSubstr("fieldRef.fieldPath: Unsupported value: \"spec.secret\""));
  EXPECT_EQ(env("{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['app']\"}}}"), "accepted");
}

TEST(ParsePodsTest, MemoryInFractionsOfAByteIsAWarning) {
  EXPECT_THAT(WarningsOfSpec("{containers: [{name: a, image: a, resources: {limits: {memory: 100m}}}]}"),
              testing::Contains(HasSubstr("memory limit of 100m is a fraction of a byte")));
}

TEST(ParsePodsTest, TheSamePodTwiceInAFileIsAnError) {
  const std::string pod = std::string(kPodHead) + "spec: {containers: [{name: a, image: a}]}\n";
  EXPECT_EQ(ErrorOfPods(pod + "---\nkind: Service\n---\n" + pod),
            "pod.yaml: document 3: pod \"default/web\" is given more than once, first in document 1; rename or remove "
            "all but one");
  const auto with_uid = [](const std::string& name) {
    return "{apiVersion: v1, kind: Pod, metadata: {name: " + name +
           ", uid: u-1}, spec: {containers: [{name: a, image: a}]}}\n---\n";
  };
  EXPECT_EQ(ErrorOfPods(with_uid("a") + with_uid("b")),
            "pod.yaml: document 2: uid \"u-1\" is given to more than one pod, first in document 1; remove it from all "
            "but one");
}

TEST(ParsePodsTest, AThousandUnknownFieldsAreNotAThousandWarnings) {
  std::string spec = "{containers: [{name: a, image: a}]";
  for (int i = 0; i < 1000; ++i) spec += ", unknown" + std::to_string(i) + ": 1";
  EXPECT_THAT(WarningsOfSpec(spec + "}"), SizeIs(201));
}

TEST(ParsePodJsonTest, ChecksOnlyWhatDecisionsRestOn) {
  EXPECT_TRUE(ParsePodJson(R"({"metadata":{"name":"NOT A NAME"},"spec":{"containers":[{"name":"c_0"}]}})", "x"));
  const auto error = [](std::string_view json) {
    const Result<Pod> pod = ParsePodJson(json, "line 3");
    return pod ? "accepted" : pod.error().message;
  };
  EXPECT_THAT(error("{"), HasSubstr("line 3: line 1, column"));
  EXPECT_THAT(error("[]"), HasSubstr("line 3: "));
  EXPECT_THAT(error("{}"), HasSubstr("metadata: Required value"));
  EXPECT_THAT(error(R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c"},{"name":"c"}]}})"),
              HasSubstr("spec.containers[1].name: Duplicate value: \"c\""));
  EXPECT_THAT(error(R"({"metadata":{"name":"a"},"spec":{"containers":[{}]}})"),
              HasSubstr("spec.containers[0].name: Required value"));
  EXPECT_THAT(
      error(R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":-1}}}]}})"),
      HasSubstr("line 3: spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\""));
  EXPECT_THAT(error(R"({"metadata":{"name":"a","name":"b"},"spec":{"containers":[{"name":"c"}]}})"),
              HasSubstr("metadata.name: the key is given more than once"));
}

/// Names of what is fine in the text.
std::vector<std::string> FineIn(const Reading& read) {
  std::vector<std::string> out;
  for (const Pod& pod : read.found.pods) out.push_back(pod.name);
  for (const ConfigDocument& document : read.found.documents) out.push_back(document.name);
  return out;
}

TEST(ReadManifestTest, DocumentsWithoutProblemsAreThereAndSoAreAllWarnings) {
  const auto pod = [](const std::string& name, const std::string& more) {
    return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {containers: [{name: a, image: i, " +
           more + "}]}}\n---\n";
  };
  const Reading read =
      ReadManifest(pod("good", "tty: false") + pod("bad", "imagePullPolicy: Seldom, typo: 1") +
                       "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n---\n"
                       "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {\"../k\": v}}\n---\na: [\n",
                   "f");
  EXPECT_THAT(FineIn(read), ElementsAre("good", "c"));
  EXPECT_THAT(read.problems, ElementsAre(HasSubstr("document 2: spec.containers[0].imagePullPolicy"),
                                         HasSubstr("document 4: "), HasSubstr("document 5: ")));
  ASSERT_THAT(read.found.warnings, SizeIs(1));
  EXPECT_THAT(read.found.warnings[0].where, HasSubstr("document 2"));
}

TEST(ReadManifestTest, OfAPodThatIsGivenTwiceTheFirstIsFine) {
  const std::string pod = std::string(kPodHead) + "spec: {containers: [{name: a, image: i}]}\n---\n";
  const Reading read = ReadManifest(pod + pod, "f");
  EXPECT_THAT(FineIn(read), ElementsAre("web"));
  EXPECT_THAT(read.problems, ElementsAre(HasSubstr("pod \"default/web\" is given more than once")));
}

TEST(ReadManifestTest, APodWhoseClaimHasNoVolumeIsNotFine) {
  const Reading read = ReadManifest(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, command: [x]}], volumes: [{name: "
      "v, persistentVolumeClaim: {claimName: c}}]}}\n---\n"
      "{apiVersion: v1, kind: Pod, metadata: {name: q}, spec: {containers: [{name: a, command: [x]}]}}\n",
      "f", {.run_by = RunBy::kProcess});
  EXPECT_THAT(FineIn(read), ElementsAre("q"));
  EXPECT_THAT(read.problems, SizeIs(1));
}

}  // namespace
}  // namespace berth::manifest
