#include "daemon/node_storage.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

std::int64_t LeftOf(const KubeletConfiguration& config, Bytes capacity) {
  return StorageForPods(config, capacity).at("ephemeral-storage").Value();
}

TEST(NodeStorageTest, PodsHaveTheDiskWithoutWhatIsReservedAndTheThreshold) {
  KubeletConfiguration config;
  EXPECT_NEAR(LeftOf(config, GiB(10)), GiB(9).v, 100) << "10% in 32 bits";
  config.eviction_hard.emplace()["nodefs.available"] = "1Gi";
  config.system_reserved["ephemeral-storage"] = Quantity::FromBytes(GiB(1));
  config.kube_reserved["ephemeral-storage"] = Quantity::FromBytes(GiB(2));
  EXPECT_EQ(LeftOf(config, GiB(10)), GiB(6).v);
  config.eviction_hard.emplace()["nodefs.available"] = "512Mi";
  EXPECT_EQ(LeftOf(config, GiB(10)), (GiB(7) - MiB(512)).v);
  EXPECT_EQ(LeftOf(config, GiB(1)), 0);
}

}  // namespace
}  // namespace berth
