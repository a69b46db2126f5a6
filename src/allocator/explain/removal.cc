#include "allocator/explain/removal.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace berth::allocator {
namespace {

class RemovalSearch {
 public:
  RemovalSearch(const Attempt& attempt, const Pod& pod, std::vector<std::string> order)
      : attempt_(attempt), pod_(pod), uids_(std::move(order)) {}

  const std::vector<std::string>& uids() const { return uids_; }
  bool Exceeded() const { return attempt_.left() == 0; }

  /// Sets of exactly `size` of the first `end` pods, those without the later ones first.
  bool Find(std::size_t size, std::size_t end, std::vector<std::string>& chosen) {
    if (size == 0) return attempt_.AdmitsWithout(pod_, chosen);
    for (std::size_t i = size - 1; i < end && !Exceeded(); ++i) {
      chosen.push_back(uids_[i]);
      if (Find(size - 1, i, chosen)) return true;
      chosen.pop_back();
    }
    return false;
  }

  /// Everybody goes, then whoever need not go comes back, the last in the order first: no member of the result can be
  /// left out.
  std::vector<std::string> Minimal() const {
    std::vector<std::string> out = uids_;
    for (auto uid = uids_.rbegin(); uid != uids_.rend(); ++uid) {
      std::vector<std::string> fewer = out;
      std::erase(fewer, *uid);
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

std::vector<std::string> NewestFirst(const Ledger& ledger) {
  std::vector<std::string> out;
  for (const PodEntry* const entry : InOrderOfAdmission(ledger)) out.push_back(entry->first);
  std::ranges::reverse(out);
  return out;
}

std::optional<Removal> SmallestRemoval(const Attempt& attempt, const Pod& pod, std::vector<std::string> order) {
  RemovalSearch search(attempt, pod, std::move(order));
  if (search.uids().empty() || !attempt.AdmitsWithout(pod, search.uids())) return std::nullopt;
  const std::vector<std::string> minimal = search.Minimal();
  for (std::size_t size = 1; size < minimal.size() && !search.Exceeded(); ++size) {
    std::vector<std::string> chosen;
    if (search.Find(size, search.uids().size(), chosen)) return ToRemoval(attempt.ledger(), chosen, true);
  }
  return ToRemoval(attempt.ledger(), minimal, !search.Exceeded());
}

}  // namespace berth::allocator
