#include "daemon/give_node_back.h"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "frontend/nri_agent/give_back.h"
#include "host/cgroup/systemd.h"
#include "host/os/fs.h"
#include "host/os/remove_tree.h"
#include "node/checkpoint/store.h"

namespace berth::daemon {
namespace {

/// With all that is in it. In a container it is a mount, which stays, empty.
Result<void> RemoveFolder(os::Fs& root, const std::string& folder) {
  const auto names = root.List(folder);
  if (!names && names.error().code == Code::kNotFound) return {};
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) BERTH_RETURN_IF_ERROR(os::RemoveTree(folder + "/" + name));
  auto removed = root.RemoveDir(folder);
  if (removed || removed.error().sys == EBUSY || removed.error().sys == EROFS) return {};
  return removed;
}

}  // namespace

Result<std::size_t> GiveNodeBack(const Settings& settings) {
  if (!BesideKubelet(settings))
    return Fail(Code::kInvalid, "there is nothing to give back: berthd is beside no kubelet (setting runtime: nri)");
  BERTH_TRY(std::unique_ptr<checkpoint::Store> store, checkpoint::Store::Open(settings.berth.state_dir));
  BERTH_TRY(const std::unique_ptr<os::Fs> root_fs, os::OpenFs("/"));
  BERTH_TRY(std::string own_groups, root_fs->Read("proc/self/cgroup"));
  BERTH_TRY(cgroup::Layout layout, cgroup::DiscoverLayout(*root_fs));
  BERTH_TRY(const cgroup::Names names, cgroup::Names::Make(cgroup::Driver::kCgroupfs, settings.cgroup_root, true));
  BERTH_TRY(std::unique_ptr<os::Fs> tree_fs, os::OpenFs("/"));
  BERTH_TRY(const std::unique_ptr<cgroup::Tree> tree,
            cgroup::OpenTree(cgroup::Driver::kCgroupfs, std::move(tree_fs), std::move(layout), names.root()));
  BERTH_TRY(const std::size_t count, nri_agent::GiveBack(*tree, {.socket = settings.berth.nri_socket,
                                                                 .index = settings.berth.nri_index,
                                                                 .root = names.root(),
                                                                 .own_groups = std::move(own_groups)}));
  store.reset();
  for (const std::string& folder : {settings.berth.state_dir, settings.berth.run_dir})
    BERTH_RETURN_IF_ERROR(RemoveFolder(*root_fs, folder));
  return count;
}

}  // namespace berth::daemon
