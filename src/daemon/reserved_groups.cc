#include "daemon/reserved_groups.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/cgroup/systemd.h"
#include "host/cgroup/value_lines.h"
#include "host/os/fs.h"

namespace berth::daemon {
namespace {

/// A tree opened at a path would make it: first it must be there in every hierarchy.
Result<void> CheckExists(os::Fs& fs, const cgroup::Layout& layout, const std::string& path) {
  std::vector<std::string> missing;
  for (const cgroup::ControllerMount& mount : layout.controllers) {
    BERTH_TRY(const bool there, fs.Exists(mount.mount + path));
    if (!there && std::ranges::find(missing, mount.mount + path) == missing.end())
      missing.push_back(mount.mount + path);
  }
  if (missing.empty()) return {};
  return Fail(Code::kInvalid,
              fmt::format("cgroup {} has some missing paths: {}; make it before berthd starts, or take it out of "
                          "enforceNodeAllocatable",
                          path, Join(missing, ", ")));
}

std::vector<ValueLine> LinesOf(const cgroup::Layout& layout, const cgroup::ReservedGroup& group,
                               const CgroupValues& found) {
  const Bytes page{::sysconf(_SC_PAGESIZE)};
  return cgroup::Compare(cgroup::WithControllersOf(layout, group.values), found, layout, group.why, page);
}

Result<std::vector<ValueLine>> Enforce(const std::string& root, const cgroup::Layout& layout, cgroup::Driver driver,
                                       const cgroup::ReservedGroup& group) {
  BERTH_TRY(const std::string path, PathOfReserved(driver, group));
  BERTH_TRY(std::unique_ptr<os::Fs> fs, os::OpenFs(root));
  BERTH_RETURN_IF_ERROR(CheckExists(*fs, layout, path));
  BERTH_TRY(const std::unique_ptr<cgroup::Tree> tree, cgroup::OpenTree(driver, std::move(fs), layout, path));
  BERTH_TRY(const CgroupValues before, tree->Read(""));
  BERTH_TRY([[maybe_unused]] const int writes, tree->Write("", cgroup::WithControllersOf(layout, group.values)));
  std::vector<ValueLine> out = LinesOf(layout, group, before);
  std::erase_if(out, [](const ValueLine& line) { return line.Same(); });
  return out;
}

std::unexpected<Error> OfReserved(Error error, const cgroup::ReservedGroup& group) {
  return Wrap(std::move(error), fmt::format("Failed to enforce {} Cgroup Limits on \"{}\"", group.what, group.group));
}

}  // namespace

Result<void> CheckReserved(os::Fs& root, const cgroup::Layout& layout, cgroup::Driver driver,
                           const cgroup::ReservedGroup& group) {
  auto path = PathOfReserved(driver, group);
  auto found = path ? CheckExists(root, layout, *path) : std::unexpected(std::move(path).error());
  if (!found) return OfReserved(std::move(found).error(), group);
  return {};
}

Result<std::string> PathOfReserved(cgroup::Driver driver, const cgroup::ReservedGroup& group) {
  return cgroup::PathOf(driver, cgroup::ComponentsOf(driver, group.group));
}

Result<std::vector<ValueLine>> InspectReserved(const std::string& root, const cgroup::Layout& layout,
                                               cgroup::Driver driver, const cgroup::ReservedGroup& group) {
  BERTH_TRY(const std::string path, PathOfReserved(driver, group));
  BERTH_TRY(std::unique_ptr<os::Fs> fs, os::OpenFs(root));
  BERTH_TRY(const std::unique_ptr<cgroup::Tree> tree, cgroup::Tree::OpenToLook(std::move(fs), layout, path));
  BERTH_TRY(const CgroupValues found, tree->Read(""));
  return LinesOf(layout, group, found);
}

Result<std::vector<ValueLine>> EnforceReserved(const std::string& root, const cgroup::Layout& layout,
                                               cgroup::Driver driver, const cgroup::ReservedGroup& group) {
  auto done = Enforce(root, layout, driver, group);
  if (!done) return OfReserved(std::move(done).error(), group);
  return done;
}

}  // namespace berth::daemon
