// Security contexts, networks and volumes as the container itself sees them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "cri_node.h"
#include "runtime/cri/cri_client.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class DaemonCriSecurityTest : public testkit::CriNodeTest {
 protected:
  /// A pod that tells who it is and ends.
  void Tell(const std::string& name, const std::string& security) {
    Add({.name = name,
         .script = "cat /proc/self/status; touch /made && echo 'Root: writable'; "
                   "test -r /proc/kcore && test -s /proc/kcore && echo 'Kcore: shown'; echo 'Done: yes'",
         .spec = "  restartPolicy: Never\n",
         .container = "    securityContext: " + security + "\n"});
  }
  /// "Seccomp" -> "2"; what it told.
  std::map<std::string, std::string> Told(const std::string& name) {
    EXPECT_TRUE(berthd->Until(name + " has told", [&] { return Phase(name, "Succeeded"); }));
    std::map<std::string, std::string> out;
    std::istringstream words(WordsOf(name));
    for (std::string line; std::getline(words, line);)
      if (const std::size_t at = line.find(':'); at != std::string::npos)
        out[line.substr(0, at)] = line.substr(line.find_first_not_of(" \t", at + 1));
    EXPECT_EQ("yes", out["Done"]) << LogOf(name);
    return out;
  }
};

TEST_F(DaemonCriSecurityTest, ContainersAreWhatTheirSecurityContextSays) {
  Start();
  Tell("plain", "{}");
  Tell("bound",
       "{seccompProfile: {type: RuntimeDefault}, allowPrivilegeEscalation: false, capabilities: {drop: [ALL], "
       "add: [NET_BIND_SERVICE]}}");
  Tell("open", "{seccompProfile: {type: Unconfined}}");
  Tell("mighty", "{privileged: true}");
  Tell("somebody", "{runAsUser: 1234, runAsGroup: 5678, readOnlyRootFilesystem: true}");
  auto plain = Told("plain");
  EXPECT_EQ("0\t0\t0\t0", plain["Uid"]);
  EXPECT_EQ("0", plain["NoNewPrivs"]);
  EXPECT_EQ("writable", plain["Root"]);
  EXPECT_EQ("", plain["Kcore"]) << "masked";
  auto bound = Told("bound");
  EXPECT_EQ("2", bound["Seccomp"]) << "a filter";
  EXPECT_EQ("1", bound["NoNewPrivs"]);
  EXPECT_EQ("0000000000000400", bound["CapEff"]);
  EXPECT_EQ("0000000000000400", bound["CapBnd"]);
  EXPECT_EQ("0", Told("open")["Seccomp"]);
  auto mighty = Told("mighty");
  EXPECT_EQ("0", mighty["Seccomp"]);
  EXPECT_LT(plain["CapEff"], mighty["CapEff"]);
  auto somebody = Told("somebody");
  EXPECT_EQ("1234\t1234\t1234\t1234", somebody["Uid"]);
  EXPECT_EQ("5678\t5678\t5678\t5678", somebody["Gid"]);
  EXPECT_EQ("", somebody["Root"]);
  for (const char* const name : {"plain", "bound", "open", "mighty", "somebody"}) Remove(name);
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriSecurityTest, AnEmptyDirBelongsToTheFsGroupAndThePodIsInItsGroups) {
  Start();
  for (const char* const medium : {"", "Memory"}) {
    const std::string name = std::string("group") + (*medium == 0 ? "-disk" : "-memory");
    Add({.name = name,
         .script = "touch /work/file; stat -c 'Volume: %a %g' /work; stat -c 'File: %u %g' /work/file; "
                   "echo Groups: $(id -G); echo 'Done: yes'",
         .spec = "  restartPolicy: Never\n  securityContext: {runAsUser: 1234, runAsGroup: 5678, fsGroup: 4321, "
                 "supplementalGroups: [17, 18]}\n  volumes: [{name: work, emptyDir: {medium: \"" +
                 std::string(medium) + "\"}}]\n",
         .container = "    volumeMounts: [{name: work, mountPath: /work}]\n"});
    auto told = Told(name);
    EXPECT_EQ("2777 4321", told["Volume"]);
    EXPECT_EQ("1234 4321", told["File"]);
    EXPECT_EQ("5678 17 18 4321", told["Groups"]);
    Remove(name);
  }
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriSecurityTest, APodHasTheNamesTheNamespacesAndTheAddressOfItsManifest) {
  if (!MakeNetwork()) GTEST_SKIP() << "needs CNI plug-ins: tools/install_packages test";
  Start();
  Add({.name = "iso",
       .script = "cat /etc/resolv.conf /etc/hosts; hostname; echo Init: $(cat /proc/1/comm); "
                 "echo Port: $(cat /proc/sys/net/ipv4/ip_unprivileged_port_start); test -t 1 && echo Tty: yes; "
                 "echo Address: $POD_IP; ip -4 -o addr show eth0; trap 'exit 0' TERM; sleep 1000 & wait",
       .spec =
           "  hostname: me\n  subdomain: sub\n  setHostnameAsFQDN: true\n  shareProcessNamespace: true\n"
           "  dnsPolicy: None\n  dnsConfig: {nameservers: [198.18.0.53], searches: [a.test], options: [{name: ndots, "
           "value: \"3\"}]}\n  hostAliases: [{ip: 198.18.0.9, hostnames: [alias.test]}]\n"
           "  securityContext: {sysctls: [{name: net.ipv4.ip_unprivileged_port_start, value: \"79\"}]}\n",
       .container = "    tty: true\n    env: [{name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]\n",
       .host_network = false});
  ASSERT_TRUE(berthd->Until("it has told", [&] { return WordsOf("iso").find("inet ") != std::string::npos; }));
  const std::string words = WordsOf("iso");
  const auto has = [&](const std::string& text) { return words.find(text) != std::string::npos; };
  EXPECT_TRUE(has("nameserver 198.18.0.53") && has("search a.test") && has("options ndots:3")) << words;
  EXPECT_TRUE(has("198.18.0.9\talias.test")) << words;
  EXPECT_TRUE(has("me.sub.default.svc\tme")) << words;
  EXPECT_TRUE(has("Init: sleep")) << "the sandbox, which sleeps, is the first of all its processes\n" << words;
  EXPECT_TRUE(has("Port: 79")) << words;
  EXPECT_TRUE(has("Tty: yes")) << words;
  ASSERT_TRUE(berthd->Until("it runs, and is known to", [&] { return berthd->Runs("iso"); }));
  const std::string address = berthd->PodNamed("iso")["addresses"][0];
  EXPECT_TRUE(address.starts_with("198.18.77."));
  EXPECT_TRUE(has("Address: " + address)) << words;
  EXPECT_TRUE(has("inet " + address + "/")) << words;
  Remove("iso");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone("iso"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriSecurityTest, ASandboxHasThePodsLabelsAndOneThatSomebodyElseEndsIsMadeAnew) {
  Start();
  Add({.name = "web", .spec = "  hostPID: true\n", .container = "    stdin: true\n"});
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("web"); }));
  const cri::Client client(containerd->socket());
  const auto sandboxes = client.Sandboxes({{"io.kubernetes.pod.name", "web-n1"}});
  ASSERT_TRUE(sandboxes);
  ASSERT_EQ(1U, sandboxes->size());
  const auto links = [&] {
    return std::distance(fs::directory_iterator(berthd->Dir("log") + "/containers"), fs::directory_iterator());
  };
  EXPECT_EQ(1, links());
  ASSERT_TRUE(client.StopSandbox(sandboxes->front().id));
  ASSERT_TRUE(berthd->Until("it is told", [&] { return berthd->CountEvents("SandboxChanged", "") == 1; }));
  ASSERT_TRUE(berthd->Until("it runs again", [&] { return berthd->Runs("web"); }));
  ASSERT_TRUE(berthd->Until("in a new one", [&] {
    const auto now = client.Sandboxes({{"io.kubernetes.pod.name", "web-n1"}});
    return now && now->size() == 1 && now->front().ready && now->front().id != sandboxes->front().id;
  }));
  Remove("web");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriSecurityTest, APodGetsANetworkOfItsOwnFromTheRuntimesPlugins) {
  if (!MakeNetwork()) GTEST_SKIP() << "needs CNI plug-ins: tools/install_packages test";
  Start();
  Add({.name = "net",
       .script = "hostname; ip -4 -o addr show eth0; trap 'exit 0' TERM; sleep 1000 & wait",
       .host_network = false});
  ASSERT_TRUE(berthd->Until("net has an address", [&] { return WordsOf("net").find("inet ") != std::string::npos; }));
  EXPECT_EQ(0U, WordsOf("net").find("net-n1\n")) << WordsOf("net");
  EXPECT_NE(std::string::npos, WordsOf("net").find("inet 198.18.77.")) << WordsOf("net");
  EXPECT_TRUE(fs::exists(containerd->Dir("addresses/berth-test/198.18.77.2")));
  Remove("net");
  ASSERT_TRUE(berthd->Until("net is gone", [&] { return Gone("net"); }));
  ExpectNothingLeft();
  EXPECT_FALSE(fs::exists(containerd->Dir("addresses/berth-test/198.18.77.2"))) << "its address is free again";
}

}  // namespace
}  // namespace berth
