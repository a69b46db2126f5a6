#include "image_registry.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "codec/codec.h"
#include "containerd_fixture.h"
#include "testing/fixtures.h"

namespace berth::testkit {

struct ImageRegistry::Inner {
  std::string folder;
  httplib::Server server;
  int port = 0;
  std::thread thread;
  std::atomic<int> status = 200;
  std::atomic<int> manifests = 0;

  std::string Blob(const std::string& digest) const {
    const std::string path = folder + "/blobs/sha256/" + digest.substr(digest.find(':') + 1);
    return std::filesystem::is_regular_file(path) ? ReadText(path) : "";
  }

  /// Digest of an image of the archive; "" when there is none of this name and tag.
  std::string DigestOf(const std::string& name, const std::string& tag) const {
    const codec::Json index = codec::Json::parse(ReadText(folder + "/index.json"));
    for (const codec::Json& manifest : index["manifests"])
      if (manifest["annotations"]["io.containerd.image.name"] == "localhost/" + name + ":" + tag)
        return manifest["digest"].get<std::string>();
    return "";
  }

  void Send(const std::string& digest, const std::string& type, httplib::Response& response) const {
    const std::string body = digest.empty() ? "" : Blob(digest);
    response.status = body.empty() ? 404 : 200;
    if (body.empty()) return;
    response.set_header("Docker-Content-Digest", digest);
    response.set_content(body, type.c_str());
  }

  void Serve() {
    server.set_pre_routing_handler([this](const httplib::Request&, httplib::Response& response) {
      if (status == 200) return httplib::Server::HandlerResponse::Unhandled;
      response.status = status;
      return httplib::Server::HandlerResponse::Handled;
    });
    server.Get("/v2/", [](const httplib::Request&, httplib::Response& response) { response.status = 200; });
    server.Get("/v2/(.+)/manifests/(.+)", [this](const httplib::Request& request, httplib::Response& response) {
      ++manifests;
      const std::string reference = request.matches[2].str();
      const std::string digest =
          reference.starts_with("sha256:") ? reference : DigestOf(request.matches[1].str(), reference);
      Send(digest, "application/vnd.oci.image.manifest.v1+json", response);
    });
    server.Get("/v2/(.+)/blobs/(.+)", [this](const httplib::Request& request, httplib::Response& response) {
      Send(request.matches[2].str(), "application/octet-stream", response);
    });
    port = server.bind_to_any_port("127.0.0.1");
    thread = std::thread([this] { server.listen_after_bind(); });
  }
};

ImageRegistry::ImageRegistry(const std::string& archive, const std::string& folder)
    : inner_(std::make_unique<Inner>()) {
  std::filesystem::create_directories(folder);
  EXPECT_EQ(0, RunProgram({"tar", "-xf", archive, "-C", folder}, folder + "/tar.log"));
  inner_->folder = folder;
  inner_->Serve();
}

ImageRegistry::~ImageRegistry() {
  while (!inner_->server.is_running()) std::this_thread::yield();  // stop() before that would be lost
  inner_->server.stop();
  inner_->thread.join();
}

std::string ImageRegistry::Name(const std::string& name) const {
  return "localhost:" + std::to_string(inner_->port) + "/" + name;
}

void ImageRegistry::Answer(int status) { inner_->status = status; }

int ImageRegistry::manifests_served() const { return inner_->manifests; }

}  // namespace berth::testkit
