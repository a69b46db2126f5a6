// The ConfigMaps and Secrets that sources have now.
#ifndef BERTH_FRONTEND_STATIC_PODS_DOCUMENTS_H_
#define BERTH_FRONTEND_STATIC_PODS_DOCUMENTS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "model/document.h"

namespace berth::pods {

/// Thread: the loop's only; what all() points to never changes.
class DocumentBook {
 public:
  void Set(ConfigDocuments documents);
  std::shared_ptr<const ConfigDocuments> all() const { return all_; }
  /// Grows whenever something in them changed. 0: nothing was ever set.
  std::uint64_t revision() const { return revision_; }

 private:
  std::shared_ptr<const ConfigDocuments> all_ = std::make_shared<const ConfigDocuments>();
  std::uint64_t revision_ = 0;
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_DOCUMENTS_H_
