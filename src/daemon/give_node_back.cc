#include "daemon/give_node_back.h"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "beside/give_back.h"
#include "cgroup/systemd.h"
#include "os/remove_tree.h"
#include "state/store.h"

namespace berth::daemon {

Result<std::size_t> GiveNodeBack(const Settings& settings) {
  if (!BesideKubelet(settings))
    return Fail(Code::kInvalid, "there is nothing to give back: berthd is beside no kubelet (setting runtime: nri)");
  BERTH_TRY(std::unique_ptr<state::Store> store, state::Store::Open(settings.berth.state_dir));
  BERTH_TRY(const std::unique_ptr<os::Fs> root_fs, os::OpenFs("/"));
  BERTH_TRY(cgroup::Layout layout, cgroup::DiscoverLayout(*root_fs));
  BERTH_TRY(const cgroup::Names names, cgroup::Names::Make(cgroup::Driver::kCgroupfs, settings.cgroup_root, true));
  BERTH_TRY(std::unique_ptr<os::Fs> tree_fs, os::OpenFs("/"));
  BERTH_TRY(const std::unique_ptr<cgroup::Tree> tree,
            cgroup::OpenTree(cgroup::Driver::kCgroupfs, std::move(tree_fs), std::move(layout), names.root()));
  BERTH_TRY(const std::size_t count,
            beside::GiveBack(
                *tree, {.socket = settings.berth.nri_socket, .index = settings.berth.nri_index, .root = names.root()}));
  store.reset();
  for (const std::string& folder : {settings.berth.state_dir, settings.berth.run_dir}) {
    auto removed = os::RemoveTree(folder);
    if (!removed && removed.error().sys != EBUSY) return std::unexpected(std::move(removed).error());  // a mount: empty
  }
  return count;
}

}  // namespace berth::daemon
