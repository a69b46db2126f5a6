// Any bytes on the local API's socket get an answer or none, and the next caller a good one.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/local_api/api_server.h"
#include "host/os/unique_fd.h"
#include "manifest/manifest.h"

namespace {

using berth::Result;

/// Reads what it is given, as berthd does, and knows nothing.
class EmptyBackend final : public berth::api::Backend {
 public:
  Result<berth::DaemonStatus> Status() override { return berth::DaemonStatus(); }
  Result<berth::Health> GetHealth() override { return berth::Health(); }
  Result<std::shared_ptr<const berth::Machine>> GetMachine() override { return std::make_shared<berth::Machine>(); }
  Result<std::shared_ptr<const berth::DeviceInventory>> Devices() override {
    return std::make_shared<berth::DeviceInventory>();
  }
  Result<std::shared_ptr<const berth::NodeView>> Node() override { return std::make_shared<berth::NodeView>(); }
  Result<std::shared_ptr<const berth::Ledger>> GetLedger() override { return std::make_shared<berth::Ledger>(); }
  Result<berth::PodList> Pods() override { return berth::PodList(); }
  Result<berth::TreeView> Tree() override { return berth::TreeView(); }
  Result<berth::ImageList> Images() override { return berth::ImageList(); }
  Result<std::string> Metrics() override { return std::string(); }
  Result<berth::StatsSummary> Stats() override { return berth::StatsSummary(); }
  Result<berth::PodDetails> GetPod(const std::string& namespace_, const std::string& name) override {
    return Unknown(namespace_ + "/" + name);
  }
  Result<berth::DeletedPod> DeletePod(const std::string& namespace_, const std::string& name) override {
    return berth::DeletedPod{namespace_, name, "file"};
  }
  Result<berth::DeletedPod> DeleteDocument(berth::DocumentKind kind, const std::string& namespace_,
                                           const std::string& name) override {
    return berth::DeletedPod{namespace_, name, "file", std::string(berth::Name(kind))};
  }
  Result<berth::RestartedPod> RestartPod(const std::string& namespace_, const std::string& name) override {
    return Unknown(namespace_ + "/" + name);
  }
  Result<berth::StoredPods> ApplyPods(const berth::api::ApplyQuery& query) override {
    static_cast<void>(
        berth::manifest::ParsePods(query.manifests, "body", {.templates = query.templates, .origin = query.file}));
    return berth::StoredPods();
  }
  Result<berth::Move> MoveContainer(const berth::MoveRequest& request) override {
    return berth::Move{.request = request, .pod = "p", .containers = {}, .bytes = {}};
  }
  Result<berth::Outlook> Explain(const berth::api::ExplainQuery& query) override {
    static_cast<void>(berth::manifest::ParsePods(query.manifest, "body"));
    return Unknown("node");
  }
  Result<berth::EventList> Events(const berth::api::EventQuery& query) override { return Unknown(query.pod); }
  Result<berth::LogPage> Logs(const berth::api::LogQuery& query) override { return Unknown(query.pod + query.log); }
  Result<berth::CommandEnd> Exec(const berth::api::ExecQuery& query) override { return Unknown(query.command[0]); }

 private:
  static std::unexpected<berth::Error> Unknown(const std::string& what) {
    return berth::Fail(berth::Code::kNotFound, "no " + what);
  }
};

const std::string& Socket() {
  static const std::string path = "/tmp/berth-api-fuzz-" + std::to_string(::getpid());
  return path;
}

/// The fuzzer's alarm interrupts calls that wait: these are made again.
std::string Ask(std::string_view bytes) {
  const berth::os::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  Socket().copy(address.sun_path, sizeof address.sun_path - 1);
  BERTH_CHECK(TEMP_FAILURE_RETRY(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address)) ==
              0);
  while (!bytes.empty()) {
    const ssize_t n = TEMP_FAILURE_RETRY(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    if (n <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  ::shutdown(fd.get(), SHUT_WR);
  std::string out;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = TEMP_FAILURE_RETRY(::recv(fd.get(), buffer.data(), buffer.size(), 0))) > 0;)
    out.append(buffer.data(), static_cast<std::size_t>(n));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static EmptyBackend backend;
  static const auto server = *berth::api::StartServer({.socket = Socket(), .group = ""}, backend);
  const std::string answer = Ask({reinterpret_cast<const char*>(data), size});
  BERTH_CHECK(answer.empty() || answer.starts_with("HTTP/1."));
  BERTH_CHECK(Ask("GET /v1/status HTTP/1.1\r\nHost: h\r\n\r\n").starts_with("HTTP/1.1 200 "));
  return 0;
}
