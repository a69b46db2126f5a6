#include "testing/web_page.h"

#include <httplib.h>

#include <thread>

#include "base/mutex.h"

namespace berth::testkit {

struct WebPage::Inner {
  httplib::Server server;
  int port = 0;
  std::thread thread;
  mutable Mutex mutex;
  int status BERTH_GUARDED_BY(mutex) = 200;
  std::string body BERTH_GUARDED_BY(mutex);
  int requests BERTH_GUARDED_BY(mutex) = 0;
  int elsewhere BERTH_GUARDED_BY(mutex) = 0;
  httplib::Headers seen BERTH_GUARDED_BY(mutex);
};

WebPage::WebPage() : inner_(std::make_unique<Inner>()) {
  Inner& inner = *inner_;
  inner.server.Get("/page", [&inner](const httplib::Request& request, httplib::Response& response) {
    const MutexLock lock(inner.mutex);
    ++inner.requests;
    inner.seen = request.headers;
    response.status = inner.status;
    if (inner.status / 100 == 3) response.set_header("Location", "/elsewhere");
    response.set_content(inner.body, "text/plain");
  });
  inner.server.Get("/elsewhere", [&inner](const httplib::Request&, httplib::Response&) {
    const MutexLock lock(inner.mutex);
    ++inner.elsewhere;
  });
  inner.port = inner.server.bind_to_any_port("127.0.0.1");
  inner.thread = std::thread([&inner] { inner.server.listen_after_bind(); });
}

WebPage::~WebPage() {
  while (!inner_->server.is_running()) std::this_thread::yield();  // stop() before that would be lost
  inner_->server.stop();
  inner_->thread.join();
}

std::string WebPage::url() const { return "http://127.0.0.1:" + std::to_string(inner_->port) + "/page"; }

void WebPage::Answer(int status, const std::string& body) {
  const MutexLock lock(inner_->mutex);
  inner_->status = status;
  inner_->body = body;
}

int WebPage::requests() const {
  const MutexLock lock(inner_->mutex);
  return inner_->requests;
}

int WebPage::requests_elsewhere() const {
  const MutexLock lock(inner_->mutex);
  return inner_->elsewhere;
}

std::vector<std::string> WebPage::SeenHeader(const std::string& name) const {
  const MutexLock lock(inner_->mutex);
  std::vector<std::string> out;
  const auto [begin, end] = inner_->seen.equal_range(name);
  for (auto it = begin; it != end; ++it) out.push_back(it->second);
  return out;
}

}  // namespace berth::testkit
