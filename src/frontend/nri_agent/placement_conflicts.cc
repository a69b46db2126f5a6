#include "frontend/nri_agent/placement_conflicts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "frontend/nri_agent/placement_texts.h"
#include "host/os/fs.h"
#include "node/checkpoint/kubelet_files.h"

namespace berth::nri_agent {
namespace {

constexpr os::Millis kRemembered{600'000};

}  // namespace

KubeletPlaces ReadKubeletPlaces(const std::string& folder) {
  KubeletPlaces out;
  if (folder.empty()) return out;
  const auto fs = os::OpenFs(folder);
  const auto look = [&](std::string_view name, std::string_view gives, const auto& parse) {
    const auto text = fs ? (*fs)->Read(name) : Result<std::string>(std::unexpected(fs.error()));
    if (!text && text.error().code == Code::kNotFound) return;
    const std::string path = WithoutHostRoot(fmt::format("{}/{}", folder, name));
    if (!text) {
      out.problem = WithoutHostRoot(text.error().message);
      return out.unread.push_back(path);
    }
    const auto state = parse(*text);
    if (!state) {
      out.problem = path + ": " + state.error().message;
      out.unread.push_back(path);
      return;
    }
    const KubeletVersion writer = checkpoint::WriterOf(state->version);
    out.version = std::max(out.version.value_or(writer), writer);
    if (state->policy == gives) out.files.push_back(path);
  };
  look("cpu_manager_state", "static", [](const std::string& text) { return checkpoint::ParseKubeletCpuState(text); });
  look("memory_manager_state", "Static",
       [](const std::string& text) { return checkpoint::ParseKubeletMemoryState(text); });
  return out;
}

bool PlacementConflicts::Take(KubeletPlaces now) {
  now.version.reset();  // is no conflict
  for (const std::string& path : now.unread)
    if (std::ranges::find(kubelet_.files, path) != kubelet_.files.end()) now.files.push_back(path);
  std::ranges::sort(now.files);
  if (now == kubelet_) return false;
  kubelet_ = std::move(now);
  return true;
}

std::string PlacementConflicts::Problem() const {
  if (!kubelet_places())
    return kubelet_.problem.empty() ? "" : "whether the kubelet places containers is not known: " + kubelet_.problem;
  return fmt::format(
      "the kubelet places containers itself, {} says so; {}: set its cpuManagerPolicy to none and its "
      "memoryManagerPolicy to None, stop it, remove {} and start it",
      Join(kubelet_.files, " and "),
      step_aside_ ? "Berth leaves all containers alone until that is over"
                  : "both write the same cpusets, and one program alone may",
      kubelet_.files.size() > 1 ? "these files" : "that file");
}

void PlacementConflicts::Note(PlacementConflict how, std::string what, os::MonoTime now) {
  Noted& noted = noted_.at(static_cast<std::size_t>(how));
  ++noted.count;
  noted.last = std::move(what);
  noted.at = now;
}

const PlacementConflicts::Noted* PlacementConflicts::Lately(PlacementConflict how, os::MonoTime now) const {
  const Noted& noted = noted_.at(static_cast<std::size_t>(how));
  return noted.count > 0 && now < noted.at + kRemembered ? &noted : nullptr;
}

void PlacementConflicts::NoteRepaired(std::uint64_t count, os::MonoTime now) {
  if (count > repaired_) repaired_at_ = now;
  repaired_ = count;
}

std::vector<std::string> PlacementConflicts::Warnings(os::MonoTime now) const {
  std::vector<std::string> out;
  if (std::string problem = Problem(); !problem.empty()) out.push_back(std::move(problem));
  if (const Noted* const wanted = Lately(PlacementConflict::kWanted, now))
    out.push_back(
        fmt::format("somebody else gives containers CPUs through the runtime ({} times, last: {}); set the "
                    "kubelet's cpuManagerPolicy to none, and look for other NRI plug-ins",
                    wanted->count, wanted->last));
  if (const Noted* const not_made = Lately(PlacementConflict::kNotMade, now))
    out.push_back(fmt::format(
        "the runtime drops containers that have been told their places ({} times, last: {}); where two NRI "
        "plug-ins set CPUs or memory nodes no container can be made: the pods' events in Kubernetes name them",
        not_made->count, not_made->last));
  if (repaired_ > 0 && now < repaired_at_ + kRemembered)
    out.push_back(
        fmt::format("somebody else writes to cpusets in the kernel, {} of them were put right; berth events "
                    "has who, as CgroupRepaired",
                    repaired_));
  return out;
}

}  // namespace berth::nri_agent
