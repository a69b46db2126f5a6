#include "frontend/static_pods/volume_files.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace berth::pods {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// A node with a ConfigMap "large" of `bytes` in one key.
runtime::NodeFacts NodeWithDocument(std::size_t bytes) {
  auto document = std::make_shared<ConfigDocument>();
  document->namespace_ = "default";
  document->name = "large";
  document->data["text"] = std::string(bytes, 'x');
  auto documents = std::make_shared<ConfigDocuments>();
  documents->emplace(DocumentName(DocumentKind::kConfigMap, "default", "large"), document);
  runtime::NodeFacts node;
  node.documents = documents;
  return node;
}

Pod PodWithVolumes(int count) {
  Pod pod;
  pod.namespace_ = "default";
  for (int i = 0; i < count; ++i) {
    Volume volume;
    volume.name = "v" + std::to_string(i);
    volume.kind = Volume::Kind::kFiles;
    VolumeSource source;
    source.document = DocumentKind::kConfigMap;
    source.name = "large";
    volume.sources.push_back(source);
    pod.volumes.push_back(volume);
  }
  return pod;
}

TEST(VolumeFilesTest, VolumesOfAPodShareABudget) {
  const runtime::NodeFacts node = NodeWithDocument(20 * kMiB);
  const Pod fits = PodWithVolumes(3);
  const auto files = FilesOf(fits, fits.volumes.front(), node);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->at("text").bytes.size(), 20 * kMiB);
  const Pod large = PodWithVolumes(4);
  const auto refused = FilesOf(large, large.volumes.front(), node);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_EQ(
      refused.error().message,
      "the files of the pod's volumes come to more than 64 MiB, with volume v3; make several pods of it, or mount a "
      "hostPath");
}

TEST(VolumeFilesTest, AThousandVolumesAreRefusedBeforeAnythingIsCopied) {
  const Pod pod = PodWithVolumes(1000);
  EXPECT_FALSE(FilesOf(pod, pod.volumes.back(), NodeWithDocument(60 * kMiB)));
}

TEST(VolumeFilesTest, FilesWithoutContentCountTheirNumber) {
  const Pod pod = PodWithVolumes(70'000);
  const auto refused = FilesOf(pod, pod.volumes.front(), NodeWithDocument(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
}

TEST(VolumeFilesTest, ANameOfADocumentIsLookedUpAndNeverAPath) {
  Pod pod = PodWithVolumes(1);
  for (const char* const name : {"../default/large", "/etc/passwd", "."}) {
    pod.volumes.front().sources.front().name = name;
    const auto files = FilesOf(pod, pod.volumes.front(), NodeWithDocument(1));
    ASSERT_FALSE(files) << name;
    EXPECT_EQ(files.error().code, Code::kNotFound) << files.error().message;
  }
}

TEST(VolumeFilesTest, AMissingDocumentOfAnotherVolumeIsNoConcernOfThisOne) {
  Pod pod = PodWithVolumes(2);
  pod.volumes.back().sources.front().name = "missing";
  const runtime::NodeFacts node = NodeWithDocument(kMiB);
  EXPECT_TRUE(FilesOf(pod, pod.volumes.front(), node));
  EXPECT_FALSE(FilesOf(pod, pod.volumes.back(), node));
}

}  // namespace
}  // namespace berth::pods
