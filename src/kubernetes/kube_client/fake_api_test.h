// An API server in a few lines, for what a real one does not do on demand. For this component's tests.
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_FAKE_API_TEST_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_FAKE_API_TEST_H_

#include <sys/socket.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/text.h"
#include "kubernetes/kube_client/access.h"
#include "kubernetes/kube_client/kube_client.h"
#include "testing/raw_server.h"

namespace berth::kube {

/// What it was asked: "VERB TARGET", headers as they came, body.
struct Asked {
  std::string line;
  std::string headers;
  std::string body;
};

class FakeApi {
 public:
  /// `answer` says bytes to a request, or talks with it itself.
  using Answering = std::function<void(const Asked& asked, int number, int fd)>;
  explicit FakeApi(Answering answer) : answer_(std::move(answer)), server_([this](int fd) { Talk(fd); }) {}

  Access access() const {
    Access out;
    out.server = "http://127.0.0.1:" + std::to_string(server_.port());
    return out;
  }
  std::vector<Asked> asked() const BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return asked_;
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (const Asked& each : asked()) out.push_back(each.line);
    return out;
  }

 private:
  void Talk(int fd) BERTH_EXCLUDES(mutex_) {
    Asked asked;
    if (!Receive(fd, asked.headers, [](const std::string& text) { return text.ends_with("\r\n\r\n"); })) return;
    asked.line = asked.headers.substr(0, asked.headers.find(" HTTP/"));
    constexpr std::string_view kLength = "Content-Length: ";
    if (const std::size_t at = asked.headers.find(kLength); at != std::string::npos) {
      const std::string_view rest = std::string_view(asked.headers).substr(at + kLength.size());
      const auto size = ParseDecimal<std::size_t>(rest.substr(0, rest.find('\r'))).value_or(0);
      if (!Receive(fd, asked.body, [size](const std::string& text) { return text.size() >= size; })) return;
    }
    int number = 0;
    {
      const MutexLock lock(mutex_);
      asked_.push_back(asked);
      number = static_cast<int>(asked_.size());
    }
    answer_(asked, number, fd);
  }

  /// Byte by byte, so that nothing of what follows is taken.
  static bool Receive(int fd, std::string& out, const std::function<bool(const std::string&)>& enough) {
    for (char c = 0; !enough(out); out += c)
      if (::recv(fd, &c, 1, 0) != 1) return false;
    return true;
  }

  Answering answer_;
  mutable Mutex mutex_;
  std::vector<Asked> asked_ BERTH_GUARDED_BY(mutex_);
  testkit::RawServer server_;  // last: it uses the others
};

/// A kubeconfig that leads to a server on the loopback, with nobody's credentials.
inline std::string KubeconfigOf(const Access& access) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: k, cluster: {server: '" + access.server +
         "'}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n";
}
inline std::string JsonAnswer(int status, const std::string& body, const std::string& headers = {}) {
  return testkit::HttpText(status, "Content-Type: application/json\r\n" + headers, body);
}
inline std::string StatusText(int code, const std::string& reason, const std::string& message = "so it is") {
  return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":")" + message +
         R"(","reason":")" + reason + R"(","code":)" + std::to_string(code) + "}";
}
inline std::string PodText(const std::string& name, const std::string& version) {
  return R"({"kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"default","uid":"u-)" + name +
         R"(","resourceVersion":")" + version + R"("}})";
}
inline std::string ListAnswer(const std::vector<std::string>& items, const std::string& version,
                              const std::string& token = {}) {
  return JsonAnswer(200, R"({"kind":"PodList","metadata":{"resourceVersion":")" + version + R"(","continue":")" +
                             token + R"("},"items":[)" + Join(items, ",") + "]}");
}
/// The beginning of a stream, which ends with the connection.
inline std::string StreamBegin() { return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"; }
inline std::string Line(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}
inline Target Pods() { return {.resource = {.plural = "pods"}, .namespace_ = {}, .name = {}, .subresource = {}}; }

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_FAKE_API_TEST_H_
