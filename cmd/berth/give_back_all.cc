#include "berth/give_back_all.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "api/codec/codec.h"
#include "berth/command_context.h"
#include "host/os/clock.h"
#include "host/os/foreground.h"
#include "host/os/fs.h"
#include "kubernetes/kube_client/access.h"

namespace berth::cli {
namespace {

constexpr std::chrono::minutes kGiveBackFor{4};  // Helm waits five for a hook
constexpr os::Millis kBetweenRolloutLooks{1'000};
constexpr const char* kStays = "stay";  ///< the container that the patch leaves in place of berthd's

struct Rollout {
  bool patched = false;
  std::int64_t wanted = 0;
  std::int64_t done = 0;
  bool all = false;
};

/// Errors: kInvalid when it is no DaemonSet.
Result<Rollout> RolloutOf(const std::string& text) {
  BERTH_TRY(const codec::Json set, codec::ParseJson(text, "the DaemonSet"));
  try {
    const codec::Json status = set.value("status", codec::Json::object());
    const auto count = [&](const char* name) { return status.value(name, std::int64_t{0}); };
    Rollout out;
    out.patched = set.at("spec").at("template").at("spec").at("containers").at(0).value("name", "") == kStays;
    out.wanted = count("desiredNumberScheduled");
    const bool seen = count("observedGeneration") >= set.at("metadata").value("generation", std::int64_t{0});
    out.done = seen ? std::min(count("updatedNumberScheduled"), count("numberAvailable")) : 0;
    out.all = out.patched && seen && out.done >= out.wanted;
    return out;
  } catch (const codec::Json::exception& error) {
    return Fail(Code::kInvalid, std::string("the DaemonSet makes no sense: ") + error.what());
  }
}

bool MayPass(Code code) { return code != Code::kPermission && code != Code::kInvalid; }

Result<void> AsPodAccount(const GiveBackAllOptions& options, std::ostream& out) {
  BERTH_TRY(const auto root, os::OpenFs("/"));
  BERTH_TRY(kube::Access access, kube::LoadOwnAccess(*root, ""));
  BERTH_TRY(const auto client, kube::Client::Make(std::move(access)));
  const os::HeldSignals signals;
  const auto end = std::chrono::steady_clock::now() + kGiveBackFor;
  return GiveBackAll(
      *client, options, [&] { return std::chrono::steady_clock::now() < end && !signals.Asked(kBetweenRolloutLooks); },
      out);
}

}  // namespace

Result<void> GiveBackAll(kube::Client& client, const GiveBackAllOptions& options, const std::function<bool()>& pause,
                         std::ostream& out) {
  const kube::Target target{.resource = {.group = "apps", .plural = "daemonsets"},
                            .namespace_ = options.namespace_,
                            .name = options.daemon_set,
                            .subresource = {}};
  std::string before;
  for (;;) {
    auto there = client.Get(target);
    if (!there && there.error().code == Code::kNotFound) return {};
    if (!there && !MayPass(there.error().code)) return std::unexpected<Error>(std::move(there).error());
    std::string left = there ? "" : there.error().message;
    if (there) {
      BERTH_TRY(const Rollout rollout, RolloutOf(there->json));
      if (rollout.all) return {};
      if (!rollout.patched) {
        const auto patched = client.JsonPatch(target, options.patch);
        if (!patched && !MayPass(patched.error().code)) return std::unexpected<Error>(patched.error());
      }
      left = fmt::format("{} of {} nodes are given back", rollout.patched ? rollout.done : 0, rollout.wanted);
      if (left != before) out << left << std::endl;
      before = left;
    }
    if (pause()) continue;
    return Fail(Code::kTimeout, fmt::format("{}; see kubectl -n {} logs daemonset/{} --all-containers, and try again",
                                            left, options.namespace_, options.daemon_set));
  }
}

int RunGiveBackAll(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  if (words.size() != 3) return kUsage;
  const auto done = AsPodAccount({.namespace_ = words[0], .daemon_set = words[1], .patch = words[2]}, out);
  if (!done) err << "berth: " << done.error().message << "\n";
  return done ? kOk : kFailed;
}

}  // namespace berth::cli
