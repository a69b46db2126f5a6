// Cache of the JSON text of each pod in the list of pods, made anew only for pods that changed.
#ifndef BERTH_API_LOCAL_API_POD_TEXTS_H_
#define BERTH_API_LOCAL_API_POD_TEXTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/id_set.h"
#include "base/mutex.h"
#include "model/pod_view.h"

namespace berth::api {

/// Keeps the text of each pod of the list before, as long as the view is the very same and so is the shared pool.
/// Thread: any.
class PodTexts {
 public:
  /// As FormatBody(codec::ToJson(pods)).
  std::string Of(const PodList& pods) BERTH_EXCLUDES(mutex_);
  /// Texts of single pods that were made so far.
  std::uint64_t made() const BERTH_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  CpuSet shared_ BERTH_GUARDED_BY(mutex_);
  std::map<std::shared_ptr<const PodView>, std::string> texts_ BERTH_GUARDED_BY(mutex_);
  std::uint64_t made_ BERTH_GUARDED_BY(mutex_) = 0;
};

}  // namespace berth::api

#endif  // BERTH_API_LOCAL_API_POD_TEXTS_H_
