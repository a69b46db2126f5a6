#include "host/cgroup/visitors.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "host/cgroup/membership.h"
#include "host/cgroup/mounts.h"
#include "host/cgroup/movable_processes.h"
#include "host/os/path.h"
#include "host/os/pidfd.h"

namespace berth::cgroup {
namespace {

constexpr int kRounds = 20;  // who forks while he is moved leaves children behind

std::string ProcessDir(int pid) { return "proc/" + std::to_string(pid); }

/// Threads of a process; empty: it is gone.
std::vector<int> ThreadsOf(os::Fs& fs, int pid) {
  std::vector<int> out;
  for (const std::string& name : fs.List(ProcessDir(pid) + "/task").value_or(std::vector<std::string>()))
    if (const auto thread = ParseDecimal<int>(name)) out.push_back(*thread);
  return out;
}

std::optional<ControllerMount> MountShowing(const std::vector<Mount>& mounts, const Membership& group) {
  for (const Mount& mount : mounts) {
    const auto shown = std::ranges::find_if(mount.controllers, [&](const std::string& c) { return group.Has(c); });
    if (mount.v2 ? !group.v2() : shown == mount.controllers.end()) continue;
    return ControllerMount{.controller = mount.v2 ? "" : *shown,
                           .mount = mount.point,
                           .v2 = mount.v2,
                           .root = mount.root,
                           .read_only = mount.read_only};
  }
  return std::nullopt;
}

/// The directory of the group of a process in one hierarchy; nullopt: the mount does not show it.
std::optional<std::string> GroupDirOf(const ControllerMount& mount, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const auto group = ParseMembership(line);
    if (!group || !IsOf(*group, mount)) continue;
    const auto path = WithinMount(mount, group->path);
    if (!path) return std::nullopt;
    return mount.mount + (*path == "/" ? "" : std::string(*path));
  }
  return std::nullopt;
}

}  // namespace

bool IsInPod(std::string_view path, std::string_view uid) {
  std::string as_slice(uid);
  std::ranges::replace(as_slice, '-', '_');
  return path.contains(uid) || path.contains(as_slice);
}

bool SharesGroups(const std::vector<std::string>& lines, const std::vector<std::string>& of_other,
                  std::string_view uid) {
  std::size_t theirs = 0;
  for (const std::string& line : of_other) {
    const auto group = ParseMembership(line);
    if (!group || !IsInPod(group->path, uid)) continue;
    ++theirs;
    if (std::ranges::find(lines, line) == lines.end()) return false;
  }
  return theirs > 0;
}

Result<Visitors> Visitors::Make(std::string_view uid) {
  BERTH_TRY(std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
  BERTH_TRY(const std::string mountinfo, fs->Read("proc/self/mountinfo"));
  BERTH_TRY(const std::vector<Mount> mounts, FindMounts(mountinfo));
  BERTH_TRY(const std::vector<std::string> lines, os::CgroupLinesOf(::getpid()));
  std::vector<Seat> seats;
  for (const std::string& line : lines) {
    const auto group = ParseMembership(line);
    if (!group || !IsInPod(group->path, uid)) continue;
    const auto mount = MountShowing(mounts, *group);
    const auto dir = mount ? GroupDirOf(*mount, {line}) : std::nullopt;
    if (dir) seats.push_back({.mount = *mount, .dir = *dir});
  }
  if (seats.empty())
    return Fail(Code::kNotFound, "process " + std::to_string(::getpid()) + " is in no cgroup of pod " + Printable(uid) +
                                     " that a mount shows");
  return Visitors(std::move(fs), std::move(seats));
}

Result<Visitors::Guest> Visitors::Remember(int pid) {
  BERTH_TRY(const std::vector<std::string> lines, os::CgroupLinesOf(pid));
  Guest guest;
  for (const Seat& seat : seats_) {
    const auto dir = GroupDirOf(seat.mount, lines);
    if (!dir)
      return Fail(Code::kUnsupported, "process " + std::to_string(pid) + " is in a cgroup that " + seat.mount.mount +
                                          " does not show: it could not be given back");
    guest.came_from.push_back(*dir);
  }
  for (const int thread : ThreadsOf(*fs_, pid))
    if (auto mask = os::AffinityOf(thread)) guest.affinities.emplace(thread, *std::move(mask));
  return guest;
}

Result<void> Visitors::MoveIn(int pid) {
  for (const Seat& seat : seats_)
    if (auto done = fs_->Write(seat.dir + "/cgroup.procs", std::to_string(pid)); !done)
      return Wrap(std::move(done).error(), "bring process " + std::to_string(pid) + " here");
  for (const int thread : ThreadsOf(*fs_, pid))
    if (auto done = os::SetAffinity(thread, os::AnyCpu()); !done && done.error().code != Code::kNotFound)
      return Wrap(std::move(done).error(), "let process " + std::to_string(pid) + " run on its CPUs");
  return {};
}

Result<void> Visitors::TakeIn(const ProcessId& process) {
  BERTH_TRY(const std::uint64_t ticks, os::StartTicksOf(process.pid));
  if (ticks != process.start_ticks)
    return Fail(Code::kNotFound, "process " + std::to_string(process.pid) + " is another one by now");
  for (int round = 0; round < kRounds; ++round) {
    bool found = false;
    for (const int pid : FamilyOf(*fs_, process.pid)) {
      if (guests_.contains(pid) || pid == ::getpid()) continue;
      auto guest = Remember(pid);
      auto done = guest ? MoveIn(pid) : Result<void>(std::unexpected(guest.error()));
      if (!done && !fs_->Exists(ProcessDir(pid)).value_or(false) && pid != process.pid) continue;  // ended meanwhile
      if (!done) return done;
      guests_.emplace(pid, *std::move(guest));
      found = true;
    }
    if (!found) return {};
  }
  return {};  // who forks faster than that: its children are born here by now
}

Result<std::set<int>> Visitors::Here() {
  std::set<int> out;
  for (const Seat& seat : seats_) {
    BERTH_TRY(const std::string text, fs_->Read(seat.dir + "/cgroup.procs"));
    for (const std::string_view line : Split(text, '\n'))
      if (const auto pid = ParseDecimal<int>(line); pid && *pid != ::getpid()) out.insert(*pid);
  }
  return out;
}

const Visitors::Guest* Visitors::HostOf(int pid) {
  const std::map<int, int> parents = ParentsOfAll(*fs_);
  for (int at = pid; at > 1;) {
    if (const auto guest = guests_.find(at); guest != guests_.end()) return &guest->second;
    const auto parent = parents.find(at);
    at = parent == parents.end() ? 0 : parent->second;
  }
  return guests_.empty() ? nullptr : &guests_.begin()->second;
}

std::string Visitors::Standing(std::size_t seat, std::string dir) {
  while (dir.size() > seats_[seat].mount.mount.size() && !fs_->Exists(dir).value_or(false)) dir = os::FolderOf(dir);
  return dir;
}

Result<void> Visitors::MoveBack(int pid, const Guest& guest) {
  for (std::size_t seat = 0; seat < seats_.size(); ++seat) {
    const std::string dir = Standing(seat, guest.came_from[seat]);
    if (auto done = fs_->Write(dir + "/cgroup.procs", std::to_string(pid)); !done)
      return Wrap(std::move(done).error(), "give process " + std::to_string(pid) + " back");
  }
  for (const auto& [thread, mask] : guest.affinities)
    if (auto done = os::SetAffinity(thread, mask); !done && done.error().code != Code::kNotFound)
      return Wrap(std::move(done).error(), "give process " + std::to_string(pid) + " its CPUs back");
  return {};
}

Result<void> Visitors::GiveBack() {
  std::optional<Error> first;
  for (int round = 0; round < kRounds; ++round) {
    BERTH_TRY(const std::set<int> here, Here());
    bool moved = false;
    for (const int pid : here) {
      const Guest* guest = HostOf(pid);
      if (guest == nullptr) continue;
      auto done = MoveBack(pid, *guest);
      moved = moved || done.has_value();
      if (!done && !first && fs_->Exists(ProcessDir(pid)).value_or(false)) first = done.error();
    }
    if (!moved) break;
  }
  if (first) return std::unexpected(*std::move(first));
  return {};
}

}  // namespace berth::cgroup
