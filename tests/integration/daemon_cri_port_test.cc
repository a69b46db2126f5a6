// A port of the node that leads to a pod, with the plug-in that clusters use for it.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "containerd_fixture.h"
#include "cri_node.h"
#include "host/os/unique_fd.h"
#include "testing/raw_server.h"

namespace berth::testkit {
namespace {

constexpr const char* kProgram = "/usr/sbin/iptables";
constexpr const char* kPlugIn = "/usr/lib/cni/portmap";

/// The plug-in leaves its empty chains behind: they go with the test, if the host had none before.
class NatChains {
 public:
  explicit NatChains(std::string log) : log_(std::move(log)), there_before_(There()) {}
  ~NatChains() {
    if (there_before_) return;
    Run("iptables -w -t nat -S | sed -n 's/^-A \\(.*CNI-HOSTPORT.*\\)/iptables -w -t nat -D \\1/p' | sh; "
        "for chain in $(iptables -w -t nat -S | sed -n 's/^-N \\(CNI-HOSTPORT.*\\)/\\1/p'); do "
        "iptables -w -t nat -F $chain; iptables -w -t nat -X $chain; done");
    EXPECT_FALSE(There()) << "chains of the plug-in are still there";
  }
  NatChains(const NatChains&) = delete;
  NatChains& operator=(const NatChains&) = delete;

  /// Rules that name the port.
  bool Names(int port) const { return Run("iptables -w -t nat -S | grep -q -- ' " + std::to_string(port) + " '") == 0; }

 private:
  int Run(const std::string& script) const { return RunProgram({"/bin/sh", "-c", script}, log_); }
  bool There() const { return Run("iptables -w -t nat -S | grep -q CNI-HOSTPORT") == 0; }

  std::string log_;
  bool there_before_;
};

/// What a web server at a port of the loopback says; "": nobody is there, or he has nothing to say.
std::string PageAt(int port) {
  const os::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return "";
  if (!SendAll(fd.get(), "GET /page HTTP/1.0\r\n\r\n")) return "";
  return ReceiveAll(fd.get());
}

using DaemonCriPortTest = CriNodeTest;

TEST_F(DaemonCriPortTest, APortOfTheNodeLeadsToThePodThatHasIt) {
  if (::access(kProgram, X_OK) != 0 || ::access(kPlugIn, X_OK) != 0)
    GTEST_SKIP() << "needs iptables and CNI plug-ins: tools/install_packages test";
  ASSERT_TRUE(MakeNetwork(R"(, {"type": "portmap", "capabilities": {"portMappings": true}})"));
  const NatChains chains(containerd->Dir("nat.log"));
  Start();
  const RawServer holder("");  // so that nobody else has the port
  const int port = holder.port();
  Add({.name = "web",
       .script = "echo the page of web > /tmp/page; exec httpd -f -p 8080 -h /tmp",
       .container = "    ports: [{containerPort: 8080, hostPort: " + std::to_string(port) + "}]\n",
       .host_network = false});
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("web"); }));
  EXPECT_TRUE(berthd->Until("its page is there", [&] { return PageAt(port).contains("the page of web"); }));
  EXPECT_TRUE(chains.Names(port));
  Remove("web");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone("web"); }));
  EXPECT_EQ("", PageAt(port));
  ExpectNothingLeft();
  EXPECT_FALSE(chains.Names(port)) << "the plug-in took it back";
}

}  // namespace
}  // namespace berth::testkit
