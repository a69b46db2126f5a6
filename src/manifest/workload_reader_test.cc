// Pods of the templates of workloads.
#include "manifest/workload_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "manifest/manifest.h"

namespace berth::manifest {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

ParsedPods FromTemplates(const std::string& text) {
  const Result<ParsedPods> parsed = ParsePods(text, "f", {.run_by = RunBy::kProcess, .templates = true});
  if (parsed) return *parsed;
  ADD_FAILURE() << parsed.error().message;
  return {};
}

std::string ErrorOfTemplate(const std::string& text) {
  const Result<ParsedPods> parsed = ParsePods(text, "f", {.run_by = RunBy::kProcess, .templates = true});
  return parsed ? "accepted" : parsed.error().message;
}

constexpr const char* kTemplate =
    "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, command: [x]}]}}";

TEST(WorkloadTest, TemplatesBecomeAsManyPodsAsTheySay) {
  const ParsedPods parsed = FromTemplates(
      std::string("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 3, "
                  "selector: {}, strategy: {type: Recreate}, ") +
      kTemplate + "}}");
  ASSERT_THAT(parsed.pods, SizeIs(3));
  EXPECT_EQ(FullName(parsed.pods[0]), "shop/web-0");
  EXPECT_EQ(FullName(parsed.pods[2]), "shop/web-2");
  EXPECT_EQ(parsed.pods[1].labels.at("app"), "web");
  EXPECT_THAT(parsed.warnings, IsEmpty());
  ASSERT_THAT(parsed.made, SizeIs(1));
  EXPECT_EQ(parsed.made[0].where, "f: document 1: spec");
  EXPECT_THAT(parsed.made[0].message,
              AllOf(HasSubstr("made 3 pods of its template (web-0 to web-2)"), HasSubstr("no effect: strategy")));
}

TEST(WorkloadTest, AJobSaysHowManyPodsAtOnceAreHonest) {
  const ParsedPods parsed = FromTemplates(
      std::string("{apiVersion: batch/v1, kind: Job, metadata: {name: sum}, spec: {completions: 4, parallelism: 2, ") +
      kTemplate + "}}");
  EXPECT_THAT(parsed.pods, SizeIs(4));
  ASSERT_THAT(parsed.warnings, SizeIs(1));
  EXPECT_EQ(parsed.warnings[0].where, "f: document 1: spec.parallelism");
  EXPECT_THAT(parsed.warnings[0].message, HasSubstr("all 4 pods run at once"));
}

TEST(WorkloadTest, ATemplateOfNoPodsIsNothingToDo) {
  const ParsedPods parsed =
      FromTemplates(std::string("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 0, ") +
                    kTemplate + "}}");
  EXPECT_THAT(parsed.pods, IsEmpty());
  EXPECT_TRUE(parsed.has_templates);
  ASSERT_THAT(parsed.made, SizeIs(1));
  EXPECT_EQ(parsed.made[0].message, "made no pods of its template: it says 0");
}

TEST(WorkloadTest, ASuspendedJobIsNothingToDo) {
  const std::string job =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: sum}, spec: {completions: 4, parallelism: ";
  const ParsedPods parsed = FromTemplates(job + "2, suspend: true, " + kTemplate + "}}");
  EXPECT_THAT(parsed.pods, IsEmpty());
  EXPECT_THAT(parsed.warnings, IsEmpty());
  EXPECT_TRUE(parsed.has_templates);
  ASSERT_THAT(parsed.made, SizeIs(1));
  EXPECT_THAT(parsed.made[0].message, testing::StartsWith("made no pods of its template: it says suspend: true; "));
  EXPECT_THAT(FromTemplates(job + "4, suspend: false, " + kTemplate + "}}").pods, SizeIs(4));
}

TEST(WorkloadTest, AFieldThatAWorkloadDoesNotHaveIsCalledUnknown) {
  const ParsedPods parsed = FromTemplates(
      std::string("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, label: {a: b}, annotations: {}}, "
                  "specs: {}, status: {replicas: 1}, spec: {replica: 3, paused: true, selector: {}, ") +
      kTemplate + "}}");
  EXPECT_THAT(parsed.pods, SizeIs(1));
  std::vector<std::string> said;
  for (const Warning& warning : parsed.warnings) said.push_back(warning.where + ": " + warning.message);
  ASSERT_THAT(said, SizeIs(3));
  EXPECT_THAT(said[0], HasSubstr("metadata.label: unknown field, ignored; did you mean \"labels\"?"));
  EXPECT_THAT(said[1], HasSubstr("spec.replica: unknown field, ignored; did you mean \"replicas\"?"));
  EXPECT_THAT(parsed.made[0].message, AllOf(HasSubstr("made 1 pod"), HasSubstr("no effect: paused")));
  EXPECT_THAT(said[2], HasSubstr("specs: unknown field, ignored; did you mean \"spec\"?"));
}

TEST(WorkloadTest, AWorkloadSaysItsApiVersion) {
  const auto error = [](const std::string& start) {
    return ErrorOfTemplate("{" + start + "metadata: {name: w}, spec: {" + kTemplate + "}}");
  };
  EXPECT_THAT(error("kind: Deployment, "), HasSubstr("apiVersion: Required value: write \"apiVersion: apps/v1\""));
  EXPECT_THAT(error("kind: Job, "), HasSubstr("write \"apiVersion: batch/v1\""));
  EXPECT_THAT(error("apiVersion: v1, kind: Deployment, "),
              HasSubstr("apiVersion: Unsupported value: \"v1\": supported values: \"apps/v1\""));
  EXPECT_EQ(error("apiVersion: v1, kind: ReplicationController, "), "accepted");
  EXPECT_THAT(
      ErrorOfTemplate(std::string("{apiVersion: v1, kind: List, items: [{kind: Deployment, metadata: {name: w}, "
                                  "spec: {") +
                      kTemplate + "}}]}"),
      HasSubstr("items[0].apiVersion: Required value: write \"apiVersion: apps/v1\""));
}

TEST(WorkloadTest, WhatTemplatesCannotSayWithoutAControllerIsRefused) {
  EXPECT_THAT(
      ErrorOfTemplate("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: w}, spec: {replicas: 5, template: "
                      "{spec: {hostUsers: false, containers: [{name: a, command: [x]}]}}}}"),
      AllOf(HasSubstr("spec.template.spec.hostUsers: Forbidden: "), Not(HasSubstr("\n"))));
  EXPECT_THAT(
      ErrorOfTemplate(std::string("{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {replicas: "
                                  "100000, ") +
                      kTemplate + "}}"),
      HasSubstr("Too many: 100000 pods"));
}

TEST(WorkloadTest, AFieldOfAnotherKindIsUnknownToo) {
  const ParsedPods parsed = FromTemplates(
      std::string("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {serviceName: web, "
                  "completionMode: Indexed, suspend: true, volumeClaimTemplates: [{}], ") +
      kTemplate + "}}");
  EXPECT_THAT(parsed.pods, SizeIs(1));
  ASSERT_THAT(parsed.warnings, SizeIs(4));
  for (const Warning& warning : parsed.warnings) EXPECT_THAT(warning.message, HasSubstr("unknown field"));
}

TEST(WorkloadTest, PodsAreSaidToBeMadeOnlyWhereTheyWere) {
  const std::string text =
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {replicas: 2, template: {spec: {containers: "
      "[{name: a, command: [x]}]}}}}";
  const auto made_with = [&](PodOptions options) {
    options.templates = true;
    const Result<ParsedPods> parsed = ParsePods(text, "f", options);
    return parsed ? parsed->made.size() : 0;
  };
  EXPECT_EQ(made_with({}), 1U);
  EXPECT_EQ(made_with({.most_pods = 1}), 0U);
}

TEST(WorkloadTest, WhereNothingIsDonePodsWouldBeMade) {
  const auto said = [](const std::string& replicas) {
    const Result<ParsedPods> parsed =
        ParsePods("{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {replicas: " + replicas + ", " +
                      kTemplate + "}}",
                  "f", {.templates = true, .dry_run = true});
    return parsed ? parsed->made.at(0).message : parsed.error().message;
  };
  EXPECT_THAT(said("2"), testing::StartsWith("would make 2 pods of its template (w-0 to w-1); "));
  EXPECT_EQ(said("0"), "would make no pods of its template: it says 0");
}

TEST(WorkloadTest, AnIndexedJobTellsEachPodItsIndex) {
  const std::string text =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: sum}, spec: {completions: 2, completionMode: Indexed, "
      "template: {metadata: {annotations: {a: b}}, spec: {initContainers: [{name: i, image: x, command: [x]}], "
      "containers: [{name: a, image: x, command: [x], env: [{name: V, value: v}]}, {name: own, image: x, command: "
      "[x], env: [{name: JOB_COMPLETION_INDEX, value: mine}]}]}}}}";
  const auto parsed = ParsePods(text, "f", {.run_by = RunBy::kCri, .templates = true});
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_THAT(parsed->pods, SizeIs(2));
  const Pod& pod = parsed->pods[1];
  EXPECT_EQ(pod.annotations.at("batch.kubernetes.io/job-completion-index"), "1");
  EXPECT_EQ(pod.annotations.at("a"), "b");
  EXPECT_EQ(pod.labels.at("batch.kubernetes.io/job-completion-index"), "1");
  EXPECT_EQ(pod.hostname, "sum-1");
  const auto index_of = [](const Container& container) {
    std::string out;
    for (const EnvVar& var : container.env)
      if (var.name == "JOB_COMPLETION_INDEX") out += var.value + ";";
    return out;
  };
  EXPECT_EQ(index_of(pod.containers[0]), "1;");
  EXPECT_EQ(pod.containers[0].env[0].name, "V");
  EXPECT_EQ(index_of(pod.containers[1]), "mine;") << "as Kubernetes does";
  EXPECT_EQ(index_of(pod.init_containers[0]), "1;");
  const ParsedPods as_processes = FromTemplates(text);
  EXPECT_EQ(as_processes.pods[1].hostname, "") << "a process has the host's";
  EXPECT_EQ(index_of(as_processes.pods[1].containers[0]), "1;");
}

TEST(WorkloadTest, AnIndexedJobSaysHowManyIndexesThereAre) {
  const auto error = [](const std::string& fields) {
    return ErrorOfTemplate("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {" + fields + ", " +
                           kTemplate + "}}");
  };
  EXPECT_THAT(error("completionMode: Indexed"), HasSubstr("spec.completions: Required value: how many indexes"));
  EXPECT_THAT(error("completionMode: indexed"), HasSubstr("spec.completionMode: Unsupported value: \"indexed\""));
  EXPECT_EQ(error("completionMode: NonIndexed"), "accepted");
}

TEST(WorkloadTest, PodsOfAStatefulSetHaveItsNamesAndItsServiceIsNotSilent) {
  const std::string text =
      "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 2, serviceName: dbs, selector: "
      "{}, template: {spec: {containers: [{name: a, image: x, command: [x]}]}}}}";
  const auto parsed = ParsePods(text, "f", {.run_by = RunBy::kCri, .templates = true});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->pods[1].hostname, "db-1");
  EXPECT_EQ(parsed->pods[1].subdomain, "dbs");
  EXPECT_EQ(parsed->pods[1].labels.at("apps.kubernetes.io/pod-index"), "1");
  ASSERT_THAT(parsed->warnings, SizeIs(1));
  EXPECT_EQ(parsed->warnings[0].where, "f: document 1: spec.serviceName");
  EXPECT_THAT(parsed->warnings[0].message, HasSubstr("it is the pods' subdomain"));
  const ParsedPods as_processes = FromTemplates(text);
  EXPECT_EQ(as_processes.pods[1].subdomain, "");
  EXPECT_THAT(as_processes.warnings[0].message, HasSubstr("no effect: there are no services"));
}

TEST(WorkloadTest, AProblemOfAPodsNameIsOneOfTheWorkloads) {
  const auto error = [](const std::string& name) {
    return ErrorOfTemplate("{apiVersion: apps/v1, kind: Deployment, metadata: {name: " + name + "}, spec: {" +
                           kTemplate + "}}");
  };
  EXPECT_THAT(error(std::string(252, 'a')), HasSubstr("f: document 1: metadata.name: Invalid value: "));
  EXPECT_THAT(error("\"\""), HasSubstr("metadata.name: Required value: give it a name"));
}

TEST(WorkloadTest, WhatIsWrongWithTheTemplateIsToldWithTheRest) {
  const std::string error = ErrorOfTemplate(
      "{kind: Deployment, metadata: {}, spec: {replicas: -1, template: {spec: {hostUsers: false, containers: [{name: "
      "a, command: [x]}]}}}}");
  EXPECT_THAT(Split(error, '\n'),
              testing::UnorderedElementsAre(HasSubstr("f: document 1: apiVersion: Required value"),
                                            HasSubstr("f: document 1: metadata.name: Required value: give it a name"),
                                            HasSubstr("f: document 1: spec.replicas: Invalid value: must be 0 or more"),
                                            HasSubstr("f: document 1: spec.template.spec.hostUsers: Forbidden: ")));
}

TEST(WorkloadTest, WhatTheNodeSaysOfAPodIsToldOfItsFieldInTheTemplateWithAllElse) {
  PodOptions options{.run_by = RunBy::kProcess, .templates = true};
  options.on_node = [](const Pod& pod) {
    return std::vector<FieldProblem>{{"spec.runtimeClassName", "Forbidden: not here"},
                                     {"metadata.name", "Invalid value: " + pod.name}};
  };
  const auto parsed = ParsePods(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, command: [x]}]}}\n---\n"
      "{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {replicas: 3, template: {spec: "
      "{hostUsers: false, containers: [{name: a, image: x}]}}}}",
      "f", options);
  ASSERT_FALSE(parsed);
  EXPECT_THAT(Split(parsed.error().message, '\n'),
              testing::UnorderedElementsAre("f: document 1: spec.runtimeClassName: Forbidden: not here",
                                            "f: document 1: metadata.name: Invalid value: p",
                                            testing::StartsWith("f: document 2: spec.template.spec.containers[0]"),
                                            "f: document 2: spec.template.spec.runtimeClassName: Forbidden: not here",
                                            "f: document 2: metadata.name: Invalid value: w-0",
                                            testing::StartsWith("f: document 2: spec.template.spec.hostUsers: ")));
}

}  // namespace
}  // namespace berth::manifest
