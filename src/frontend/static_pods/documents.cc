#include "frontend/static_pods/documents.h"

#include <algorithm>

namespace berth::pods {

void DocumentBook::Set(ConfigDocuments documents) {
  const auto same = [](const auto& a, const auto& b) {
    return a.first == b.first && (a.second == b.second || *a.second == *b.second);
  };
  if (revision_ > 0 && std::ranges::equal(*all_, documents, same)) return;
  all_ = std::make_shared<const ConfigDocuments>(std::move(documents));
  ++revision_;
}

}  // namespace berth::pods
