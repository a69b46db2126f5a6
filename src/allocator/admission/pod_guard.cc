#include "allocator/admission/pod_guard.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "allocator/reason/failure.h"
#include "base/text.h"
#include "base/words.h"

namespace berth::allocator {
namespace {

Reject Forbidden(std::string message, std::string_view reason = kPodPolicy) {
  Reject out;
  out.reason = reason;
  out.message = std::move(message);
  return out;
}

/// "topology policy restricted, CPU options l3=strict"
std::string TextOf(const PodWishes& wishes) {
  std::string out;
  const auto add = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) out += (out.empty() ? "" : ", ") + std::string(what) + " " + value;
  };
  add("topology policy", wishes.topology_policy);
  add("scope", wishes.topology_scope);
  add("CPU options", Join(WordsOf(wishes.cpu), ", "));
  add("CPUs and memory of NUMA nodes", FormatIds(wishes.numa_nodes));
  if (!wishes.cpus.empty()) out += (out.empty() ? "" : ", ") + std::string("CPUs of its containers");
  return out;
}

}  // namespace

std::optional<Reject> CheckWishes(const PodBooks& books, const DecisionLog& log) {
  if (!books.rules.problem.empty()) return Forbidden(books.rules.problem);
  if (!books.rules.pool_problem.empty()) return Forbidden(books.rules.pool_problem, kCpuPool);
  if (log && books.rules.policy != nullptr)
    log.Add("policy", "", "",
            "has by annotation: " + TextOf(books.rules.wishes) + "; rule \"" + books.rules.policy->name +
                "\" of podPolicies lets it");
  return std::nullopt;
}

std::optional<Reject> CheckShare(const PodBooks& books) {
  const PodPolicy* const policy = books.rules.policy;
  if (policy == nullptr) return std::nullopt;
  const std::optional<std::int64_t> most = MostCpus(*books.tables, *policy);
  const int own = ExclusiveCpus(books.record).Count();
  if (!most || own == 0) return std::nullopt;
  std::int64_t given = 0;
  for (const auto& [uid, pod] : books.ledger->pods)
    if (uid != books.record.uid && pod.rule == policy->name) given += ExclusiveCpus(pod).Count();
  if (given + own <= *most) return std::nullopt;
  Reject out = Forbidden("rule \"" + policy->name + "\" of podPolicies allows " + Counted(*most, "exclusive CPU") +
                         " for all its pods together");
  out.details.push_back("cpu: " + Counted(own, "exclusive CPU") + " asked, " + std::to_string(given) + " of " +
                        std::to_string(*most) + " are given (" + Counted(given + own - *most, "CPU") + " over)");
  return out;
}

}  // namespace berth::allocator
