#include "berth/pod_name.h"

#include <vector>

#include "base/text.h"
#include "berth/suggest.h"

namespace berth::cli {
namespace {

using Found = std::shared_ptr<const PodView>;

/// The pods `fits` says yes to.
template <class Fits>
std::vector<Found> Matching(const PodList& pods, const Fits& fits) {
  std::vector<Found> out;
  for (const Found& pod : pods.pods)
    if (fits(pod->name) || fits(FullName(*pod))) out.push_back(pod);
  return out;
}

std::unexpected<Error> Several(std::string_view given, const std::vector<Found>& found) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> names;
  for (const Found& pod : found) {
    if (names.size() == kShown) break;
    names.push_back(FullName(*pod));
  }
  if (found.size() > kShown) names.push_back("and " + std::to_string(found.size() - kShown) + " more");
  return Fail(Code::kInvalid, "'" + Printable(given) + "' may be any of " + Join(names, ", ") +
                                  "; give more of the name, or NAMESPACE/NAME");
}

}  // namespace

Result<Found> PickNamedPod(const PodList& pods, std::string_view given, std::string_view node_name) {
  const std::string on_node = std::string(given) + "-" + std::string(node_name);
  for (const std::string_view exact : {given, std::string_view(on_node)}) {
    const auto found = Matching(pods, [&](const std::string& name) { return name == exact; });
    if (found.size() == 1) return found.front();
    if (found.size() > 1) return Several(given, found);
  }
  return Fail(Code::kNotFound, "no pod '" + Printable(given) + "' on this node");
}

Result<Found> PickPod(const PodList& pods, std::string_view given, std::string_view node_name) {
  if (auto named = PickNamedPod(pods, given, node_name); named || named.error().code != Code::kNotFound) return named;
  const auto found = Matching(pods, [&](const std::string& name) { return !given.empty() && name.starts_with(given); });
  if (found.size() == 1) return found.front();
  if (found.size() > 1) return Several(given, found);
  std::vector<std::string> known;
  for (const Found& pod : pods.pods) {
    known.push_back(pod->name);
    const std::string suffix = "-" + std::string(node_name);
    if (pod->name.ends_with(suffix)) known.push_back(pod->name.substr(0, pod->name.size() - suffix.size()));
    known.push_back(FullName(*pod));
  }
  const std::string nearest = Nearest(given, known);
  return Fail(Code::kNotFound, "no pod '" + Printable(given) + "' on this node" +
                                   (nearest.empty() ? "; 'berth pods' lists them" : ", did you mean " + nearest + "?"));
}

Result<Found> FindPod(const Session& session, const std::string& given) {
  BERTH_TRY(const PodList pods, session.berthd().Pods());
  BERTH_TRY(const DaemonStatus status, session.berthd().Status());
  return PickPod(pods, given, status.node_name);
}

Result<Found> FindNamedPod(const Session& session, const std::string& given) {
  BERTH_TRY(const PodList pods, session.berthd().Pods());
  BERTH_TRY(const DaemonStatus status, session.berthd().Status());
  return PickNamedPod(pods, given, status.node_name);
}

Result<std::string> PickContainer(const PodView& pod, const std::string& asked) {
  std::vector<std::string> all;
  std::vector<std::string> apps;
  for (const ContainerView& container : pod.containers) {
    all.push_back(container.name);
    if (container.kind == ContainerKind::kApp) apps.push_back(container.name);
    if (container.name == asked) return asked;
  }
  if (asked.empty() && apps.size() == 1) return apps.front();
  if (asked.empty())
    return Fail(Code::kInvalid,
                "pod " + FullName(pod) + " has several containers; name one with -c: " + Join(all, ", "));
  const std::string nearest = Nearest(asked, all);
  return Fail(Code::kNotFound,
              "pod " + FullName(pod) + " has no container '" + Printable(asked) + "'" +
                  (nearest.empty() ? "; it has " + Join(all, ", ") : ", did you mean " + nearest + "?"));
}

}  // namespace berth::cli
