#include "berth/pod_name.h"

#include <vector>

#include "api/client.h"
#include "base/text.h"
#include "berth/suggest.h"

namespace berth::cli {
namespace {

using codec::Json;

/// The pods `fits` says yes to.
template <class Fits>
std::vector<const Json*> Matching(const Json& pods, const Fits& fits) {
  std::vector<const Json*> out;
  for (const Json& pod : pods)
    if (fits(Text(pod, "name")) || fits(FullName(pod))) out.push_back(&pod);
  return out;
}

std::unexpected<Error> Several(std::string_view given, const std::vector<const Json*>& found) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> names;
  for (const Json* pod : found) {
    if (names.size() == kShown) break;
    names.push_back(FullName(*pod));
  }
  if (found.size() > kShown) names.push_back("and " + std::to_string(found.size() - kShown) + " more");
  return Fail(Code::kInvalid, "'" + Printable(given) + "' may be any of " + Join(names, ", ") +
                                  "; give more of the name, or NAMESPACE/NAME");
}

}  // namespace

std::string FullName(const Json& pod) { return Text(pod, "namespace") + "/" + Text(pod, "name"); }

std::string PodPath(std::string_view what, const Json& pod) {
  return "/v1/" + std::string(what) + "/" + api::EncodeQuery(Text(pod, "namespace")) + "/" +
         api::EncodeQuery(Text(pod, "name"));
}

Result<Json> PickPod(const Json& pods, std::string_view given, std::string_view node_name) {
  const std::string on_node = std::string(given) + "-" + std::string(node_name);
  for (const std::string_view exact : {given, std::string_view(on_node)}) {
    const auto found = Matching(pods, [&](const std::string& name) { return name == exact; });
    if (found.size() == 1) return *found.front();
    if (found.size() > 1) return Several(given, found);
  }
  const auto found = Matching(pods, [&](const std::string& name) { return !given.empty() && name.starts_with(given); });
  if (found.size() == 1) return *found.front();
  if (found.size() > 1) return Several(given, found);
  std::vector<std::string> known;
  for (const Json& pod : pods) {
    const std::string name = Text(pod, "name");
    known.push_back(name);
    const std::string suffix = "-" + std::string(node_name);
    if (name.ends_with(suffix)) known.push_back(name.substr(0, name.size() - suffix.size()));
    known.push_back(FullName(pod));
  }
  const std::string nearest = Nearest(given, known);
  return Fail(Code::kNotFound, "no pod '" + Printable(given) + "' on this node" +
                                   (nearest.empty() ? "; 'berth pods' lists them" : ", did you mean " + nearest + "?"));
}

Result<Json> FindPod(const Session& session, const std::string& given) {
  BERTH_TRY(const Json answer, session.Get("/v1/pods"));
  BERTH_TRY(const Json status, session.Get("/v1/status"));
  return PickPod(Member(answer, "pods"), given, Text(status, "nodeName"));
}

Result<std::string> PickContainer(const Json& pod, const std::string& asked) {
  std::vector<std::string> all;
  std::vector<std::string> apps;
  for (const Json& container : Member(pod, "containers")) {
    all.push_back(Text(container, "name"));
    if (Text(container, "kind") == "app") apps.push_back(all.back());
    if (all.back() == asked) return asked;
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
