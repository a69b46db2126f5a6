#include "api/local_api/pod_texts.h"

#include <utility>

#include "api/codec/views.h"

namespace berth::api {

std::string PodTexts::Of(const PodList& pods) {
  const MutexLock lock(mutex_);
  if (pods.shared != shared_) texts_.clear();
  shared_ = pods.shared;
  std::map<std::shared_ptr<const PodView>, std::string> now;
  std::string out = R"({"pods":[)";
  for (const std::shared_ptr<const PodView>& pod : pods.pods) {
    auto known = texts_.extract(pod);
    if (known.empty()) ++made_;
    const auto text = known.empty() ? now.emplace(pod, codec::FormatJson(codec::ToJson(*pod, shared_))).first
                                    : now.insert(std::move(known)).position;
    if (&pod != &pods.pods.front()) out += ',';
    out += text->second;
  }
  texts_ = std::move(now);
  return out + "]}\n";
}

std::uint64_t PodTexts::made() const {
  const MutexLock lock(mutex_);
  return made_;
}

}  // namespace berth::api
