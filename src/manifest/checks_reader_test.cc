// What is asked of containers while they run and when they end, as manifests say it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "manifest/manifest.h"

namespace berth::manifest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Result<ParsedPods> ParseSpec(const std::string& spec) {
  return ParsePods("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: " + spec + "}", "pod.yaml");
}

/// The first container of a pod whose only container has these fields besides.
Container ContainerWith(const std::string& fields) {
  auto parsed = ParseSpec("{os: {name: linux}, containers: [{name: a, image: a, " + fields + "}]}");
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().message);
  if (!parsed) return {};
  EXPECT_TRUE(parsed->warnings.empty());
  return parsed->pods.front().containers.front();
}

std::string ErrorOfPod(const std::string& spec) {
  const auto parsed = ParseSpec(spec);
  EXPECT_FALSE(parsed.has_value()) << spec;
  return parsed ? "" : parsed.error().message;
}

std::string ErrorWith(const std::string& fields) {
  return ErrorOfPod("{containers: [{name: a, image: a, " + fields + "}]}");
}

TEST(ChecksReaderTest, AProbeHasTheDefaultsOfTheApiAlsoWhereItSaysZero) {
  const Container bare = ContainerWith("livenessProbe: {exec: {command: [ls]}}");
  const Container zeros = ContainerWith(
      "livenessProbe: {exec: {command: [ls]}, timeoutSeconds: 0, periodSeconds: 0, successThreshold: 0, "
      "failureThreshold: 0}");
  ASSERT_TRUE(bare.liveness.has_value());
  EXPECT_EQ(bare.liveness, zeros.liveness);
  EXPECT_EQ(0, bare.liveness->initial_delay_s);
  EXPECT_EQ(1, bare.liveness->timeout_s);
  EXPECT_EQ(10, bare.liveness->period_s);
  EXPECT_EQ(1, bare.liveness->success_threshold);
  EXPECT_EQ(3, bare.liveness->failure_threshold);
  EXPECT_FALSE(bare.liveness->termination_grace_s.has_value());
}

TEST(ChecksReaderTest, EachKindOfProbeIsReadWithAllItsFields) {
  const Container c = ContainerWith(
      "ports: [{name: web, containerPort: 8080}], "
      "livenessProbe: {httpGet: {port: web, path: /ok, scheme: HTTPS, host: h, httpHeaders: [{name: A, value: b}]}, "
      "initialDelaySeconds: 1, timeoutSeconds: 2, periodSeconds: 3, failureThreshold: 4, "
      "terminationGracePeriodSeconds: 5}, "
      "readinessProbe: {tcpSocket: {port: 80}, successThreshold: 2}, "
      "startupProbe: {grpc: {port: 9000, service: s}}");
  const auto& http = std::get<HttpCheck>(c.liveness->check);
  EXPECT_EQ("web", http.port);
  EXPECT_EQ("/ok", http.path);
  EXPECT_TRUE(http.https);
  EXPECT_EQ("h", http.host);
  EXPECT_THAT(http.headers, ElementsAre(Pair("A", "b")));
  EXPECT_EQ(5, c.liveness->termination_grace_s);
  EXPECT_EQ(4, c.liveness->failure_threshold);
  EXPECT_EQ("80", std::get<TcpCheck>(c.readiness->check).port);
  EXPECT_EQ(2, c.readiness->success_threshold);
  EXPECT_EQ(9000, std::get<GrpcCheck>(c.startup->check).port);
  EXPECT_EQ("s", std::get<GrpcCheck>(c.startup->check).service);
}

TEST(ChecksReaderTest, AProbeAsksInOneWayOnly) {
  EXPECT_THAT(ErrorWith("livenessProbe: {periodSeconds: 1}"),
              HasSubstr("livenessProbe: Required value: give one of exec, httpGet, tcpSocket, grpc"));
  EXPECT_THAT(ErrorWith("livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 1}}"),
              HasSubstr("livenessProbe: Forbidden: may not specify more than 1 handler type"));
  EXPECT_THAT(ErrorWith("livenessProbe: {exec: {}}"), HasSubstr("exec.command: Required value"));
}

TEST(ChecksReaderTest, ThresholdsAndTimesAreHeldToTheRulesOfTheApi) {
  const std::string probe = "{exec: {command: [a]}, ";
  EXPECT_THAT(ErrorWith("livenessProbe: " + probe + "successThreshold: 2}"), HasSubstr("2: must be 1"));
  EXPECT_THAT(ErrorWith("startupProbe: " + probe + "successThreshold: 2}"), HasSubstr("2: must be 1"));
  EXPECT_THAT(ErrorWith("livenessProbe: " + probe + "periodSeconds: -1}"), HasSubstr("-1: must be greater than or"));
  EXPECT_THAT(ErrorWith("livenessProbe: " + probe + "terminationGracePeriodSeconds: 0}"),
              HasSubstr("0: must be greater than 0"));
  EXPECT_THAT(ErrorWith("readinessProbe: " + probe + "terminationGracePeriodSeconds: 5}"),
              HasSubstr("must not be set for readinessProbes"));
}

TEST(ChecksReaderTest, APortIsANumberOrANameOfTheContainer) {
  EXPECT_THAT(ErrorWith("livenessProbe: {tcpSocket: {port: 0}}"), HasSubstr("must be between 1 and 65535"));
  EXPECT_THAT(ErrorWith("livenessProbe: {tcpSocket: {port: \"80\"}}"), HasSubstr("a number is written without quotes"));
  EXPECT_THAT(ErrorWith("livenessProbe: {tcpSocket: {port: web}}"),
              HasSubstr("spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: \"web\": no port of this "
                        "container has that name"));
  EXPECT_THAT(ErrorWith("livenessProbe: {httpGet: {path: /}}"), HasSubstr("httpGet.port: Required value"));
  EXPECT_THAT(ErrorWith("ports: [{containerPort: 1, name: a}, {containerPort: 2, name: a}]"),
              HasSubstr("ports[1].name: Duplicate value"));
}

TEST(ChecksReaderTest, AnInitContainerThatEndsIsNotProbed) {
  const std::string probe = "startupProbe: {exec: {command: [a]}}";
  EXPECT_THAT(ErrorOfPod("{initContainers: [{name: i, image: a, " + probe + "}], containers: [{name: a, image: a}]}"),
              HasSubstr("spec.initContainers[0].startupProbe: Forbidden"));
  EXPECT_TRUE(ParseSpec("{initContainers: [{name: i, image: a, restartPolicy: Always, " + probe +
                        "}], containers: [{name: a, image: a}]}")
                  .has_value());
}

TEST(ChecksReaderTest, HooksAskByHttpToo) {
  const Container c = ContainerWith(
      "lifecycle: {postStart: {sleep: {seconds: 2}}, preStop: {httpGet: {port: 80, path: /bye}}, stopSignal: SIGUSR1}");
  EXPECT_EQ(2, c.post_start_sleep_s);
  EXPECT_EQ("/bye", c.pre_stop_http->path);
  EXPECT_EQ("SIGUSR1", c.stop_signal);
  EXPECT_THAT(ErrorWith("lifecycle: {preStop: {tcpSocket: {port: 80}}}"), HasSubstr("no kubelet runs such a hook"));
}

TEST(ChecksReaderTest, AStopSignalIsOneOfLinuxAndNeedsSpecOs) {
  EXPECT_THAT(ErrorWith("lifecycle: {stopSignal: SIGUSR1}"), HasSubstr("may not be set without spec.os.name"));
  EXPECT_THAT(ErrorWith("lifecycle: {stopSignal: USR1}"), HasSubstr("must be the name of a signal"));
  EXPECT_THAT(ErrorWith("lifecycle: {stopSignal: SIGRTMIN+16}"), HasSubstr("must be the name of a signal"));
  EXPECT_EQ("SIGRTMIN+15", ContainerWith("lifecycle: {stopSignal: SIGRTMIN+15}").stop_signal);
  EXPECT_THAT(ErrorOfPod("{os: {name: windows}, containers: [{name: a, image: a}]}"), HasSubstr("runs \"linux\""));
}

TEST(ChecksReaderTest, RestartRulesNeedAPolicyAndCodes) {
  const Container c = ContainerWith(
      "restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42, 43]}}]");
  EXPECT_EQ(RestartPolicy::kNever, c.restart_policy);
  ASSERT_EQ(1U, c.restart_rules.size());
  EXPECT_TRUE(c.restart_rules[0].in);
  EXPECT_THAT(c.restart_rules[0].exit_codes, ElementsAre(42, 43));
  const std::string codes = "exitCodes: {operator: In, values: [42]}";
  EXPECT_THAT(ErrorWith("restartPolicyRules: [{action: Restart, " + codes + "}]"),
              HasSubstr("restartPolicy: Required"));
  EXPECT_THAT(ErrorWith("restartPolicy: Never, restartPolicyRules: [{action: RestartAllContainers, " + codes + "}]"),
              HasSubstr("action: Unsupported value"));
  EXPECT_THAT(ErrorWith("restartPolicy: Never, restartPolicyRules: [{action: Restart}]"),
              HasSubstr("exitCodes: Required value"));
  EXPECT_THAT(ErrorWith("restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, "
                        "values: [300]}}]"),
              HasSubstr("values[0]: Invalid value: must be an exit code"));
}

TEST(ChecksReaderTest, APodMayHaveADeadlineOfItsOwn) {
  const auto parsed = ParseSpec("{activeDeadlineSeconds: 60, containers: [{name: a, image: a}]}");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(60, parsed->pods[0].active_deadline_s);
  EXPECT_THAT(ErrorOfPod("{activeDeadlineSeconds: 0, containers: [{name: a, image: a}]}"),
              HasSubstr("spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647"));
}

TEST(ChecksReaderTest, WhereAMessageIsTakenFromIsReadWithItsPolicy) {
  const Container c = ContainerWith("terminationMessagePath: /out, terminationMessagePolicy: FallbackToLogsOnError");
  EXPECT_EQ("/out", c.termination_message_path);
  EXPECT_TRUE(c.message_from_log);
  EXPECT_THAT(ErrorWith("terminationMessagePolicy: Sometimes"), HasSubstr("Unsupported value"));
}

}  // namespace
}  // namespace berth::manifest
