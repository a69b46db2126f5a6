#include "engine/explanation/removal.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace berth::engine {
namespace {

class RemovalSearch {
 public:
  RemovalSearch(const Attempt& attempt, const Pod& pod) : attempt_(attempt), pod_(pod) {
    // Pods that were admitted last are tried first.
    std::vector<const PodRecord*> records;
    for (const auto& [uid, record] : attempt.ledger().pods) records.push_back(&record);
    std::sort(records.begin(), records.end(), [](const PodRecord* a, const PodRecord* b) {
      return a->sequence != b->sequence ? a->sequence > b->sequence : a->uid < b->uid;
    });
    for (const PodRecord* record : records) uids_.push_back(record->uid);
  }

  const std::vector<std::string>& uids() const { return uids_; }
  bool Exceeded() const { return attempt_.left() == 0; }

  /// Sets of exactly `size` pods.
  bool Find(std::size_t size, std::size_t start, std::vector<std::string>& chosen) {
    if (chosen.size() == size) return attempt_.AdmitsWithout(pod_, chosen);
    for (std::size_t i = start; i < uids_.size() && !Exceeded(); ++i) {
      chosen.push_back(uids_[i]);
      if (Find(size, i + 1, chosen)) return true;
      chosen.pop_back();
    }
    return false;
  }

  /// Everybody goes, then whoever need not go comes back: no member of the result can be left out.
  std::vector<std::string> Minimal() const {
    std::vector<std::string> out = uids_;
    for (const std::string& uid : uids_) {
      std::vector<std::string> fewer = out;
      std::erase(fewer, uid);
      if (attempt_.AdmitsWithout(pod_, fewer)) out = std::move(fewer);
    }
    return out;
  }

 private:
  const Attempt& attempt_;
  const Pod& pod_;
  std::vector<std::string> uids_;
};

Removal ToRemoval(const Ledger& ledger, const std::vector<std::string>& uids, bool smallest) {
  Removal out;
  out.smallest = smallest;
  for (const std::string& uid : uids) {
    const PodRecord& record = ledger.pods.find(uid)->second;
    out.pods.push_back({uid, FullName(record)});
  }
  return out;
}

}  // namespace

std::optional<Removal> SmallestRemoval(const Attempt& attempt, const Pod& pod) {
  RemovalSearch search(attempt, pod);
  if (search.uids().empty() || !attempt.AdmitsWithout(pod, search.uids())) return std::nullopt;
  const std::vector<std::string> minimal = search.Minimal();
  for (std::size_t size = 1; size < minimal.size() && !search.Exceeded(); ++size) {
    std::vector<std::string> chosen;
    if (search.Find(size, 0, chosen)) return ToRemoval(attempt.ledger(), chosen, true);
  }
  return ToRemoval(attempt.ledger(), minimal, !search.Exceeded());
}

}  // namespace berth::engine
