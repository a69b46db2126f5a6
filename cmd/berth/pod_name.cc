#include "berth/pod_name.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "berth/nearest_word.h"

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
  std::vector<std::string> names;
  for (const Found& pod : found) names.push_back(FullName(*pod));
  return Fail(Code::kInvalid, "'" + Printable(given) + "' may be any of " + ListSome(names) +
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
  std::string nearest = Nearest(given, known);
  if (const std::size_t slash = given.rfind('/'); nearest.empty() && slash != std::string_view::npos)
    if (const auto like = PickPod(pods, given.substr(slash + 1), node_name)) nearest = FullName(**like);
  return Fail(Code::kNotFound, "no pod '" + Printable(given) + "' on this node" +
                                   (nearest.empty() ? "; 'berth pods' lists them" : ", did you mean " + nearest + "?"));
}

Result<Found> PickPodOf(const PodList& pods, std::string_view given, const std::string& namespace_,
                        std::string_view node_name) {
  PodList of_namespace = pods;
  std::erase_if(of_namespace.pods, [&](const Found& pod) { return pod->namespace_ != namespace_; });
  auto found = PickPod(of_namespace, given, node_name);
  if (found || found.error().code != Code::kNotFound) return found;
  const auto elsewhere = PickPod(pods, given, node_name);
  return Fail(Code::kNotFound, "no pod '" + Printable(given) + "' in namespace " + Printable(namespace_) +
                                   (elsewhere ? ", did you mean " + FullName(**elsewhere) + "?"
                                              : "; 'berth pods -n " + Printable(namespace_) + "' lists them"));
}

Result<Found> FindPod(const Session& session, const std::string& given, const std::string& namespace_) {
  BERTH_TRY(const PodList pods, session.berthd().Pods());
  BERTH_TRY(const DaemonStatus status, session.berthd().Status());
  return namespace_.empty() ? PickPod(pods, given, status.node_name)
                            : PickPodOf(pods, given, namespace_, status.node_name);
}

Result<PodToChange> ParsePodToChange(std::string_view given, std::string_view namespace_) {
  const std::size_t slash = given.find('/');
  PodToChange out{.namespace_ = std::string(namespace_.empty() ? "default" : namespace_), .name = std::string(given)};
  if (slash == std::string_view::npos) return out;
  out.namespace_ = given.substr(0, slash);
  out.name = given.substr(slash + 1);
  if (namespace_.empty() || namespace_ == out.namespace_) return out;
  return Fail(Code::kInvalid, "'" + Printable(given) + "' is not of namespace " + Printable(namespace_) +
                                  "; give either NAMESPACE/NAME or -n NAMESPACE");
}

Result<Found> PickPodToChange(const PodList& pods, const PodToChange& wanted, std::string_view node_name) {
  const auto named = [&](const std::string& name) -> Found {
    const auto is_it = [&](const Found& pod) { return pod->namespace_ == wanted.namespace_ && pod->name == name; };
    const auto found = std::ranges::find_if(pods.pods, is_it);
    return found == pods.pods.end() ? nullptr : *found;
  };
  const std::string suffix = "-" + std::string(node_name);
  const Found by_name = named(wanted.name);
  const Found by_manifest = named(wanted.name + suffix);
  if (by_name && by_manifest && !wanted.by_manifest) {
    if (!wanted.name.ends_with(suffix)) return by_name;  // no static pod: this is the only name it has
    return Fail(Code::kInvalid, "'" + wanted.name + "' is pod " + FullName(*by_name) +
                                    " and the manifest's name of pod " + FullName(*by_manifest) + "; name the one " +
                                    wanted.name.substr(0, wanted.name.size() - suffix.size()) + ", or the other " +
                                    by_manifest->name);
  }
  if (by_manifest) return by_manifest;
  const std::string full_name = wanted.namespace_ + "/" + wanted.name;
  if (by_name && wanted.by_manifest)
    return Fail(Code::kInvalid, "the manifest's pod " + full_name +
                                    " is not on this node; the pod of that name is of "
                                    "another manifest");
  if (by_name) return by_name;
  const auto like = PickPod(pods, full_name, node_name);
  const auto elsewhere = like ? like : PickPod(pods, wanted.name, node_name);
  if (!elsewhere) return Fail(Code::kNotFound, elsewhere.error().message);
  return Fail(Code::kNotFound, "no pod '" + Printable(wanted.name) + "' in namespace " + Printable(wanted.namespace_) +
                                   "; did you mean " + FullName(**elsewhere) +
                                   "? What changes a pod takes its whole "
                                   "name, of another namespace with -n");
}

Result<Found> FindPodToChange(const Session& session, const PodToChange& wanted) {
  BERTH_TRY(const PodList pods, session.berthd().Pods());
  BERTH_TRY(const DaemonStatus status, session.berthd().Status());
  return PickPodToChange(pods, wanted, status.node_name);
}

Result<Found> FindPodToChange(const Session& session, std::string_view given, std::string_view namespace_) {
  BERTH_TRY(const PodToChange wanted, ParsePodToChange(given, namespace_));
  return FindPodToChange(session, wanted);
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
