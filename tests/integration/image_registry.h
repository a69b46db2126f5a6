// A registry on the loopback with the images of tools/make_image, and the answers of one that refuses.
#ifndef BERTH_TESTS_INTEGRATION_IMAGE_REGISTRY_H_
#define BERTH_TESTS_INTEGRATION_IMAGE_REGISTRY_H_

#include <memory>
#include <string>

namespace berth::testkit {

/// Thread: any. Ends with the object.
class ImageRegistry {
 public:
  /// `archive`: as tools/make_image writes it; unpacked into `folder`, which is made.
  ImageRegistry(const std::string& archive, const std::string& folder);
  ~ImageRegistry();
  ImageRegistry(const ImageRegistry&) = delete;
  ImageRegistry& operator=(const ImageRegistry&) = delete;

  /// Name of an image here: "localhost:PORT/NAME".
  std::string Name(const std::string& name) const;
  /// From now on every request is answered with this status; 200: as it should be.
  void Answer(int status);
  /// From now on only who shows this name and password is served.
  void Require(const std::string& user, const std::string& password);
  int manifests_served() const;

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTS_INTEGRATION_IMAGE_REGISTRY_H_
