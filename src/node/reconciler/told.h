// Problems that are told once, as long as they last.
#ifndef BERTH_NODE_RECONCILER_TOLD_H_
#define BERTH_NODE_RECONCILER_TOLD_H_

#include <map>
#include <set>
#include <string>

namespace berth::reconciler {

/// Thread: the loop's only.
class Told {
 public:
  /// Problems (path -> why) that were not told yet; those that are gone may be told again.
  std::map<std::string, std::string> Untold(const std::map<std::string, std::string>& problems) {
    std::erase_if(told_, [&](const std::string& path) { return !problems.contains(path); });
    std::map<std::string, std::string> out;
    for (const auto& problem : problems)
      if (told_.insert(problem.first).second) out.insert(problem);
    return out;
  }

 private:
  std::set<std::string> told_;
};

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_TOLD_H_
