#include "manifest/storage.h"

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

/// `more` with accessModes, and what goes before it.
std::string WithModes(const std::string& more) {
  const std::string modes = more.find("accessModes") == std::string::npos ? ", accessModes: [ReadWriteOnce]" : "";
  return modes + (more.empty() ? "" : ", " + more) + "}}\n---\n";
}

/// A PersistentVolume at /NAME; `more` goes into its spec.
std::string Pv(const std::string& name, const std::string& size, const std::string& more = "") {
  return "{apiVersion: v1, kind: PersistentVolume, metadata: {name: " + name + ", labels: {disk: " + name +
         "}}, spec: {capacity: {storage: " + size + "}, hostPath: {path: /" + name + "}" + WithModes(more);
}

std::string Pvc(const std::string& name, const std::string& size, const std::string& more = "") {
  return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name +
         "}, spec: {resources: {requests: {storage: " + size + "}}" + WithModes(more);
}

std::string User(const std::string& claim, const std::string& pod = "p", const std::string& source = "") {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + pod +
         "}, spec: {containers: [{name: a, command: [x], volumeMounts: [{name: v, mountPath: /m}]}], volumes: [{name: "
         "v, persistentVolumeClaim: {claimName: " +
         claim + source + "}}]}}\n---\n";
}

PodOptions Strict() { return {.run_by = RunBy::kProcess, .templates = true, .node_name = "n1"}; }

Result<ParsedPods> Parse(const std::string& text, const PodOptions& options = Strict()) {
  return ParsePods(text, "f", options);
}

/// The path of the host that the pod's first volume is; the error, if there is one.
std::string PathIn(const std::string& text, const PodOptions& options = Strict()) {
  const auto parsed = Parse(text, options);
  if (!parsed) return parsed.error().message;
  const Volume& volume = parsed->pods.at(0).volumes.at(0);
  EXPECT_EQ("v", volume.name);
  return volume.kind == Volume::Kind::kHostPath ? volume.host_path : "is a " + volume.type;
}

TEST(StorageTest, AClaimGetsTheSmallestVolumeThatIsLargeEnough) {
  EXPECT_EQ("/mid", PathIn(User("c") + Pvc("c", "2Gi") + Pv("large", "9Gi") + Pv("mid", "3Gi") + Pv("small", "1Gi")));
  EXPECT_EQ("/same", PathIn(Pv("large", "9Gi") + Pv("same", "2Gi") + Pvc("c", "2Gi") + User("c")));
}

TEST(StorageTest, AccessModesAreAllThereAndTheFewestAreTakenFirst) {
  const std::string many = Pv("many", "1Gi", "accessModes: [ReadWriteOnce, ReadWriteMany]");
  EXPECT_EQ("/one", PathIn(many + Pv("one", "5Gi") + Pvc("c", "1Gi") + User("c")));
  EXPECT_EQ("/many", PathIn(many + Pv("one", "5Gi") + Pvc("c", "1Gi", "accessModes: [ReadWriteMany]") + User("c")));
  EXPECT_THAT(PathIn(Pv("one", "5Gi") + Pvc("c", "1Gi", "accessModes: [ReadWriteMany]") + User("c")),
              HasSubstr("one: its accessModes are ReadWriteOnce"));
}

TEST(StorageTest, TheClassIsTheSame) {
  const std::string fast = Pv("fast", "1Gi", "storageClassName: fast");
  EXPECT_EQ("/fast", PathIn(Pv("plain", "1Gi") + fast + Pvc("c", "1Gi", "storageClassName: fast") + User("c")));
  EXPECT_EQ("/plain", PathIn(fast + Pv("plain", "1Gi") + Pvc("c", "1Gi") + User("c")));
  EXPECT_THAT(PathIn(fast + Pvc("c", "1Gi") + User("c")), HasSubstr("fast: its storageClassName is \"fast\""));
}

TEST(StorageTest, AClaimMayNameItsVolumeAndAVolumeItsClaim) {
  EXPECT_EQ("/b", PathIn(Pv("a", "1Gi") + Pv("b", "2Gi") + Pvc("c", "1Gi", "volumeName: b") + User("c")));
  EXPECT_THAT(PathIn(Pv("a", "1Gi") + Pvc("c", "1Gi", "volumeName: b") + User("c")),
              HasSubstr("it names b, which is not there"));
  EXPECT_THAT(PathIn(Pv("a", "1Gi") + Pvc("c", "2Gi", "volumeName: a") + User("c")), HasSubstr("a: it has 1Gi"));
  const std::string for_c = Pv("kept", "9Gi", "claimRef: {namespace: default, name: c}");
  EXPECT_EQ("/kept", PathIn(Pv("a", "1Gi") + for_c + Pvc("c", "1Gi") + User("c")));
  EXPECT_THAT(PathIn(for_c + Pvc("d", "1Gi") + User("d")), HasSubstr("kept: its claimRef is default/c"));
}

TEST(StorageTest, ASelectorIsForTheVolumesLabels) {
  const std::string volumes = Pv("a", "1Gi") + Pv("b", "2Gi");
  EXPECT_EQ("/b", PathIn(volumes + Pvc("c", "1Gi", "selector: {matchLabels: {disk: b}}") + User("c")));
  EXPECT_EQ("/b", PathIn(volumes +
                         Pvc("c", "1Gi",
                             "selector: {matchExpressions: [{key: disk, operator: NotIn, values: [a]}, {key: disk, "
                             "operator: Exists}, {key: tape, operator: DoesNotExist}]}") +
                         User("c")));
  EXPECT_THAT(PathIn(volumes + Pvc("c", "1Gi", "selector: {matchLabels: {disk: z}}") + User("c")),
              HasSubstr("a: the selector is not for its labels; b: "));
}

TEST(StorageTest, AVolumeServesOneClaim) {
  const std::string two = Pvc("c", "1Gi") + Pvc("d", "1Gi") + User("c") + User("d", "q");
  EXPECT_THAT(PathIn(Pv("a", "1Gi") + two),
              AllOf(HasSubstr("claim default/d"), HasSubstr("it serves claim default/c")));
  const auto parsed = Parse(Pv("a", "1Gi") + Pv("b", "1Gi") + two);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ("/a", parsed->pods[0].volumes[0].host_path);
  EXPECT_EQ("/b", parsed->pods[1].volumes[0].host_path);
}

TEST(StorageTest, AClaimReadWriteOncePodIsForOnePod) {
  const std::string storage =
      Pv("a", "1Gi", "accessModes: [ReadWriteOncePod]") + Pvc("c", "1Gi", "accessModes: [ReadWriteOncePod]");
  EXPECT_EQ("/a", PathIn(storage + User("c")));
  EXPECT_THAT(PathIn(storage + User("c") + User("c", "q")),
              AllOf(HasSubstr("f: document 4: spec.volumes[0].persistentVolumeClaim: Forbidden: "),
                    HasSubstr("pod default/p mounts it")));
  EXPECT_EQ("/a", PathIn(Pv("a", "1Gi") + Pvc("c", "1Gi") + User("c") + User("c", "q"))) << "one node may have more";
}

TEST(StorageTest, AClaimReadWriteOncePodIsRefusedToAPodWhereAnotherOneOfTheNodeHasItsVolume) {
  const std::string storage =
      Pv("a", "1Gi", "accessModes: [ReadWriteOncePod]") + Pvc("c", "1Gi", "accessModes: [ReadWriteOncePod]");
  PodOptions options = Strict();
  std::vector<std::string> asked;
  options.other_user = [&](const Pod& pod, const std::string& path) {
    asked.push_back(FullName(pod) + " " + path);
    return std::string("default/first-n1");
  };
  EXPECT_EQ(
      "f: document 3: spec.volumes[0].persistentVolumeClaim: Forbidden: claim default/c is ReadWriteOncePod, and pod "
      "default/first-n1 of this node has its volume /a: delete that pod, give pod default/p a claim of its own, or "
      "make "
      "it ReadWriteOnce",
      PathIn(storage + User("c"), options));
  EXPECT_THAT(asked, testing::ElementsAre("default/p /a"));
  options.refuse_unsupported = false;
  EXPECT_THAT(PathIn(storage + User("c"), options), HasSubstr("pod default/first-n1 of this node has its volume /a"));
  options.refuse_unsupported = true;
  EXPECT_EQ("/b", PathIn(Pv("b", "1Gi") + Pvc("c", "1Gi") + User("c"), options)) << "one node may have more";
  options.other_user = [](const Pod&, const std::string&) { return std::string(); };
  EXPECT_EQ("/a", PathIn(storage + User("c"), options));
}

std::string LocalPv(const std::string& node) {
  return "{apiVersion: v1, kind: PersistentVolume, metadata: {name: on-" + node +
         "}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], local: {path: /on/" + node +
         "}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: "
         "In, values: [" +
         node + "]}]}]}}}}\n---\n";
}

TEST(StorageTest, ALocalVolumeIsOfTheNodeThatItsAffinityNames) {
  const std::string text = LocalPv("n0") + LocalPv("n1") + Pvc("c", "1Gi") + User("c");
  EXPECT_EQ("/on/n1", PathIn(text));
  EXPECT_THAT(
      PathIn(LocalPv("n0") + Pvc("c", "1Gi") + User("c")),
      HasSubstr("on-n0: its nodeAffinity (kubernetes.io/hostname In [n0]) is not this node's, which is known as "
                "kubernetes.io/hostname n1, "));
  EXPECT_EQ("/on/n0", PathIn(LocalPv("n0") + Pvc("c", "1Gi") + User("c"), {})) << "no node is known";
  EXPECT_THAT(PathIn("{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, spec: {capacity: {storage: 1Gi}, "
                     "accessModes: [ReadWriteOnce], local: {path: /a}}}"),
              HasSubstr("spec.nodeAffinity: Required value: local volume requires node affinity"));
}

TEST(StorageTest, AClaimThatIsReadOnlyIsMountedSo) {
  const auto parsed = Parse(Pv("a", "1Gi") + Pvc("c", "1Gi") + User("c", "p", ", readOnly: true"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->pods[0].containers[0].mounts[0].read_only);
}

TEST(StorageTest, WhatIsMissingIsSaidWithADocumentThatWouldDo) {
  EXPECT_THAT(PathIn(User("c")),
              AllOf(HasSubstr("f: document 1: spec.volumes[0].persistentVolumeClaim: Forbidden: there "
                              "is no PersistentVolumeClaim default/c beside the pod"),
                    Not(HasSubstr("leave it out"))));
  const std::string text = Pvc("c", "2Gi", "storageClassName: fast, selector: {matchLabels: {disk: big}}") + User("c");
  const std::string said = PathIn(text);
  EXPECT_THAT(said, HasSubstr("no PersistentVolume beside it answers claim default/c (2Gi, ReadWriteOnce, "
                              "storageClassName \"fast\")"));
  const std::size_t start = said.find("{apiVersion");
  ASSERT_NE(std::string::npos, start);
  EXPECT_EQ("/srv/c", PathIn(text + said.substr(start, said.find("; or use") - start))) << "the document does";
}

TEST(StorageTest, WhoOnlyLooksIsToldNothingAndAnOperatorMayTakeThePodAnyway) {
  EXPECT_EQ("is a persistentVolumeClaim", PathIn(User("c"), {}));
  EXPECT_EQ("is a persistentVolumeClaim", PathIn(User("\"\""), {})) << "as it is stored then";
  EXPECT_THAT(PathIn(User("\"\"")), HasSubstr("Forbidden: it names no claim: set claimName"));
  const auto parsed = Parse(User("c"), {.run_by = RunBy::kProcess, .refuse_unsupported = false});
  ASSERT_TRUE(parsed);
  ASSERT_FALSE(parsed->warnings.empty());
  EXPECT_THAT(parsed->warnings.back().message, HasSubstr("not carried out: there is no PersistentVolumeClaim"));
}

TEST(StorageTest, AVolumeThatCannotBeMountedSaysWhy) {
  EXPECT_THAT(PathIn("{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, spec: {capacity: {storage: 1Gi}, "
                     "accessModes: [ReadWriteOnce], nfs: {server: s, path: /x}}}\n---\n" +
                     Pvc("c", "1Gi") + User("c")),
              HasSubstr("PersistentVolume a is of type nfs, and no storage is attached"));
  EXPECT_THAT(PathIn(Pv("a", "1Gi", "volumeMode: Block") + Pvc("c", "1Gi", "volumeMode: Block") + User("c")),
              HasSubstr("claim default/c is for a block device"));
  EXPECT_THAT(PathIn(Pv("a", "1Gi", "volumeMode: Block") + Pvc("c", "1Gi") + User("c")),
              HasSubstr("a: its volumeMode is Block"));
}

TEST(StorageTest, WhatIsWrongInVolumesAndClaimsIsAProblemWithItsPath) {
  EXPECT_THAT(PathIn("{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, spec: {}}"),
              AllOf(HasSubstr("spec.capacity: Required value"), HasSubstr("spec.accessModes: Required value"),
                    HasSubstr("spec: Required value: a source")));
  EXPECT_THAT(
      PathIn("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [Once]}}"),
      AllOf(HasSubstr("spec.resources: Required value"), HasSubstr("spec.accessModes: Unsupported value: \"Once\"")));
  EXPECT_THAT(PathIn(Pv("a", "1Gi") + Pv("a", "2Gi")), HasSubstr("PersistentVolume \"a\" is given more than once"));
  EXPECT_THAT(PathIn(Pvc("a", "1Gi") + Pvc("a", "2Gi")), HasSubstr("\"default/a\" is given more than once"));
}

std::string StatefulSet(int replicas) {
  return "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: " + std::to_string(replicas) +
         ", template: {spec: {containers: [{name: a, command: [x], volumeMounts: [{name: v, mountPath: /m}]}]}}, "
         "volumeClaimTemplates: [{metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], resources: {requests: "
         "{storage: 1Gi}}}}]}}\n---\n";
}

TEST(StorageTest, EachReplicaOfAStatefulSetHasAVolumeOfItsOwn) {
  const auto parsed = Parse(StatefulSet(2) + Pv("a", "1Gi") + Pv("b", "1Gi"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(2U, parsed->pods.size());
  EXPECT_EQ("/a", parsed->pods[0].volumes.at(0).host_path);
  EXPECT_EQ("/b", parsed->pods[1].volumes.at(0).host_path);
  EXPECT_EQ("/b", PathIn(StatefulSet(1) + Pv("a", "1Gi") + Pv("b", "1Gi") + Pvc("v-db-0", "1Gi", "volumeName: b")))
      << "a claim that is written counts";
}

TEST(StorageTest, AStatefulSetSaysWhatItsReplicasNeed) {
  EXPECT_THAT(
      PathIn(StatefulSet(3) + Pv("a", "1Gi")),
      AllOf(HasSubstr("f: document 1: spec.volumeClaimTemplates[0]: Forbidden: 2 claims need a PersistentVolume "
                      "each (default/v-db-1, default/v-db-2): "),
            HasSubstr("a: it serves claim default/v-db-0"), Not(HasSubstr("\n"))));
}

TEST(StorageTest, StorageOfOtherFilesStandsBesideTheText) {
  const auto beside = Parse(Pv("a", "1Gi") + "{apiVersion: v1, kind: PersistentVolumeClaimList, items: [" +
                            "{metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], resources: {requests: "
                            "{storage: 1073741824}}}}]}");
  ASSERT_TRUE(beside) << beside.error().message;
  EXPECT_THAT(beside->pods, IsEmpty());
  EXPECT_FALSE(beside->mounts_claims);
  PodOptions options = Strict();
  options.storage = beside->storage;
  EXPECT_EQ("/a", PathIn(User("c"), options));
  EXPECT_EQ("/a", PathIn(User("c") + beside->storage)) << "it may stand in the text too";
  EXPECT_EQ("/a", PathIn(User("c") + Pvc("c", "1Gi"), options)) << "the same twice is one";
  EXPECT_TRUE(Parse(User("c"), options)->mounts_claims);
}

TEST(StorageTest, ClaimsWithoutAVolumeAreCounted) {
  const auto unanswered = [](const std::string& text) {
    return ReadManifest(text, "f", Strict()).found.unanswered_claims;
  };
  EXPECT_EQ(0U, unanswered(Pv("a", "1Gi") + Pvc("c", "1Gi") + User("c")));
  EXPECT_EQ(2U, unanswered(Pvc("c", "1Gi") + User("c") + User("d", "q")));
}

TEST(StorageTest, AVolumeMayGiveAGenerateName) {
  const auto parsed = Parse(
      "{apiVersion: v1, kind: PersistentVolume, metadata: {generateName: disk-}, spec: {capacity: "
      "{storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /made}}}\n---\n" +
      Pvc("c", "1Gi") + User("c"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ("/made", parsed->pods[0].volumes[0].host_path);
  for (const Warning& warning : parsed->warnings) EXPECT_THAT(warning.message, Not(HasSubstr("unknown field")));
}

TEST(StorageTest, WhatAVolumeAsksForInVainIsWarnedOf) {
  const auto parsed = Parse(LocalPv("n1") + Pvc("c", "1Gi", "volumeAttributesClassName: gold") +
                            "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {securityContext: {fsGroup: 5}, "
                            "containers: [{name: a, command: [x]}], volumes: [{name: v, persistentVolumeClaim: "
                            "{claimName: c}}]}}\n---\n" +
                            Pv("b", "1Gi",
                               "persistentVolumeReclaimPolicy: Delete, mountOptions: [ro], "
                               "volumeAttributesClassName: gold"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  std::string said;
  for (const Warning& warning : parsed->warnings) said += warning.where + ": " + warning.message + "\n";
  EXPECT_THAT(said, AllOf(HasSubstr("f: document 2: spec.volumeAttributesClassName: no effect: there is no driver"),
                          HasSubstr("f: document 4: spec.volumeAttributesClassName: no effect: there is no driver"),
                          HasSubstr("spec.persistentVolumeReclaimPolicy: no effect"),
                          HasSubstr("spec.mountOptions: no effect"), HasSubstr("fsGroup has no effect on them")));
}

}  // namespace
}  // namespace berth::manifest
