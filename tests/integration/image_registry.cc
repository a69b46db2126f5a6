#include "image_registry.h"

#include <gtest/gtest.h>
#include <strings.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>

#include "api/codec/codec.h"
#include "base/base64.h"
#include "containerd_fixture.h"
#include "testing/fixtures.h"
#include "testing/raw_server.h"

namespace berth::testkit {

struct ImageRegistry::Inner {
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

  static std::string Found(const RawRequest& request, const std::string& digest, const std::string& type,
                           const std::string& body) {
    if (body.empty()) return HttpText(404, "", "");
    const std::string text =
        HttpText(200, "Docker-Content-Digest: " + digest + "\r\nContent-Type: " + type + "\r\n", body);
    return request.method == "HEAD" ? text.substr(0, text.size() - body.size()) : text;
  }

  bool MayHave(const RawRequest& request) {
    const std::lock_guard lock(mutex);
    if (authorization.empty()) return true;
    return std::ranges::any_of(request.headers, [&](const auto& header) {
      return ::strcasecmp(header.first.c_str(), "authorization") == 0 && header.second == authorization;
    });
  }

  /// GET and HEAD of /v2/, /v2/NAME/manifests/REFERENCE and /v2/NAME/blobs/DIGEST.
  std::string Say(const RawRequest& request) {
    if (status != 200) return HttpText(status, "", "");
    if (!MayHave(request)) return HttpText(401, "WWW-Authenticate: Basic realm=\"test\"\r\n", "");
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (path == "/v2/") return HttpText(200, "", "");
    const std::size_t last = path.rfind('/');
    const std::size_t kind = last == 0 ? std::string::npos : path.rfind('/', last - 1);
    if (!path.starts_with("/v2/") || kind == std::string::npos || kind < 4) return HttpText(404, "", "");
    const std::string what = path.substr(kind, last - kind);
    std::string digest = path.substr(last + 1);
    if (what == "/blobs") return Found(request, digest, "application/octet-stream", Blob(digest));
    if (what != "/manifests") return HttpText(404, "", "");
    ++manifests;
    if (!digest.starts_with("sha256:")) digest = DigestOf(path.substr(4, kind - 4), digest);
    return Found(request, digest, "application/vnd.oci.image.manifest.v1+json", digest.empty() ? "" : Blob(digest));
  }

  std::string folder;
  std::mutex mutex;
  std::string authorization;  ///< under the mutex
  std::atomic<int> status = 200;
  std::atomic<int> manifests = 0;
  RawServer server{Answering([this](const RawRequest& request) { return Say(request); })};  // last: it uses the others
};

ImageRegistry::ImageRegistry(const std::string& archive, const std::string& folder)
    : inner_(std::make_unique<Inner>()) {
  std::filesystem::create_directories(folder);
  EXPECT_EQ(0, RunProgram({"tar", "-xf", archive, "-C", folder}, folder + "/tar.log"));
  inner_->folder = folder;
}

ImageRegistry::~ImageRegistry() = default;

std::string ImageRegistry::Name(const std::string& name) const {
  return "localhost:" + std::to_string(inner_->server.port()) + "/" + name;
}

void ImageRegistry::Answer(int status) { inner_->status = status; }

void ImageRegistry::Require(const std::string& user, const std::string& password) {
  const std::lock_guard lock(inner_->mutex);
  inner_->authorization = "Basic " + ToBase64(user + ":" + password);
}

int ImageRegistry::manifests_served() const { return inner_->manifests; }

}  // namespace berth::testkit
