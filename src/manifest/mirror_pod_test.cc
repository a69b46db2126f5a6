#include "manifest/mirror_pod.h"

#include <gtest/gtest.h>

namespace berth::manifest {
namespace {

TEST(MirrorPodTest, AMirrorPodIsKnownByItsStaticPod) {
  Pod pod;
  pod.uid = "u-1";
  EXPECT_EQ(UidOnNode(pod), "u-1");
  pod.annotations["kubernetes.io/config.mirror"] = "5f2b";
  EXPECT_EQ(UidOnNode(pod), "5f2b");
  pod.annotations["kubernetes.io/config.mirror"] = "";
  EXPECT_EQ(UidOnNode(pod), "u-1");
}

}  // namespace
}  // namespace berth::manifest
