#include "runtime/cri/pod_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cri {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* kResolvConf =
    "# of the node\nnameserver 10.0.0.2\nnameserver 10.0.0.3\nsearch corp.example. lan\noptions edns0 ndots:1\n";

Pod Web() {
  Pod pod;
  pod.name = "web-n1";
  pod.namespace_ = "shop";
  return pod;
}

TEST(PodNamesTest, APodHasTheNodesServersWhereThereIsNoCluster) {
  const DnsConfig dns = DnsOf(Web(), {}, kResolvConf);
  EXPECT_THAT(dns.servers, ElementsAre("10.0.0.2", "10.0.0.3"));
  EXPECT_THAT(dns.searches, ElementsAre("corp.example", "lan"));
  EXPECT_THAT(dns.options, ElementsAre("edns0", "ndots:1"));
}

TEST(PodNamesTest, TheClustersServersComeFirstUnlessThePodIsInTheNodesNetwork) {
  const NodeDns node{.cluster_servers = {"10.96.0.10"}, .cluster_domain = "cluster.local"};
  Pod pod = Web();
  DnsConfig dns = DnsOf(pod, node, kResolvConf);
  EXPECT_THAT(dns.servers, ElementsAre("10.96.0.10"));
  EXPECT_THAT(dns.searches,
              ElementsAre("shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp.example", "lan"));
  EXPECT_THAT(dns.options, ElementsAre("ndots:5"));
  pod.host_network = true;
  EXPECT_THAT(DnsOf(pod, node, kResolvConf).servers, ElementsAre("10.0.0.2", "10.0.0.3"));
  pod.dns_policy = "ClusterFirstWithHostNet";
  EXPECT_THAT(DnsOf(pod, node, kResolvConf).servers, ElementsAre("10.96.0.10"));
}

TEST(PodNamesTest, WhatAPodSaysIsAddedAndItsOptionsWin) {
  Pod pod = Web();
  pod.dns = {.servers = {"10.0.0.3", "1.1.1.1", "9.9.9.9"}, .searches = {"lan", "b"}, .options = {"ndots:2", "debug"}};
  DnsConfig dns = DnsOf(pod, {}, kResolvConf);
  EXPECT_THAT(dns.servers, ElementsAre("10.0.0.2", "10.0.0.3", "1.1.1.1")) << "three at most";
  EXPECT_THAT(dns.searches, ElementsAre("corp.example", "lan", "b"));
  EXPECT_THAT(dns.options, ElementsAre("edns0", "ndots:2", "debug"));
  pod.dns_policy = "None";
  dns = DnsOf(pod, {}, kResolvConf);
  EXPECT_THAT(dns.servers, ElementsAre("10.0.0.3", "1.1.1.1", "9.9.9.9"));
  EXPECT_THAT(dns.searches, ElementsAre("lan", "b"));
}

TEST(PodNamesTest, AHostnameIsThePodsNameOrItsOwnWithItsSubdomain) {
  Pod pod = Web();
  EXPECT_EQ("web-n1", NamesOf(pod, "cluster.local")->kernel);
  pod.hostname = "db";
  pod.subdomain = "sub";
  EXPECT_EQ("db", NamesOf(pod, "cluster.local")->kernel);
  pod.hostname_as_fqdn = true;
  EXPECT_EQ("db.sub.shop.svc.cluster.local", NamesOf(pod, "cluster.local")->kernel);
  pod.hostname = std::string(40, 'a');
  EXPECT_FALSE(NamesOf(pod, "cluster.local"));
  pod.hostname = "";
  pod.subdomain = "";
  pod.name = std::string(62, 'a') + "-b";
  EXPECT_EQ(std::string(62, 'a'), NamesOf(pod, "")->kernel);
}

TEST(PodNamesTest, AHostsFileHasThePodAndItsAliases) {
  Pod pod = Web();
  pod.subdomain = "sub";
  pod.host_aliases = {{.ip = "10.1.2.3", .hostnames = {"foo", "bar.example"}}};
  const PodNames names = *NamesOf(pod, "");
  const std::string own = HostsOf(pod, names, {"10.244.0.7", "fd00::7"}, "not this");
  EXPECT_THAT(own, StartsWith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"));
  EXPECT_THAT(own, HasSubstr("10.244.0.7\tweb-n1.sub.shop.svc\tweb-n1\nfd00::7\tweb-n1.sub.shop.svc\tweb-n1\n"));
  EXPECT_THAT(own, EndsWith("# Entries added by HostAliases.\n10.1.2.3\tfoo\tbar.example\n"));
  pod.host_network = true;
  EXPECT_THAT(HostsOf(pod, names, {}, "1.2.3.4 node\n"),
              StartsWith("# Kubernetes-managed hosts file (host network).\n1.2.3.4 node\n\n# Entries"));
}

}  // namespace
}  // namespace berth::cri
