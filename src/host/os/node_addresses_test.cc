#include "host/os/node_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::os {
namespace {

using testing::Each;
using testing::Not;
using testing::StartsWith;

constexpr const char* kRoute =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eth1\t00000000\t0102A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
    "eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    "eth2\t0000000A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";

TEST(NodeAddressesTest, TheDefaultRouteWithTheLeastMetricSaysWhichInterface) {
  EXPECT_EQ(DefaultInterface(kRoute), "eth0");
  EXPECT_EQ(DefaultInterface(""), "");
  EXPECT_EQ(DefaultInterface("Iface Destination\neth0 00000000\n"), "");
}

TEST(NodeAddressesTest, ARouteThatSaysUnreachableIsNone) {
  const std::string zeros(32, '0');
  const std::string lo = zeros + " 00 " + zeros + " 00 " + zeros + " ffffffff 00000001 00000000 00200200       lo\n";
  EXPECT_EQ(DefaultInterface6(lo), "");
  EXPECT_EQ(DefaultInterface6(zeros + " 00 " + zeros + " 00 fe800000000000000000000000000001 00000400 00000003 " +
                              "00000000 00450003     ens5\n" + lo),
            "ens5");
}

TEST(NodeAddressesTest, NoAddressOfThisNodeIsOneOnlyItselfReaches) {
  EXPECT_THAT(NodeAddresses(), Each(Not(StartsWith("127."))));
  EXPECT_THAT(NodeAddresses(), Each(Not("::1")));
}

}  // namespace
}  // namespace berth::os
