#include "host/cgroup/memory_moves.h"

namespace berth::cgroup {

std::unexpected<Error> MemoryMoves::Busy(const std::string& what) const {
  return Fail(Code::kBusy, what + ": memory of cgroup " + moving_ + " is being migrated");
}

Result<void> MemoryMoves::Move(const std::string& group, const NodeSet& nodes, Job job) {
  if (under_way()) return Busy("move memory of cgroup " + group);
  if (const auto failed = std::exchange(failed_, std::nullopt);
      failed && failed->group == group && failed->nodes == nodes)
    return std::unexpected(failed->error);
  moving_ = group;
  nodes_ = nodes;
  tasks_->Submit<void>("memory moves", std::move(job), [this](Result<void> moved) {
    if (!moved && moved.error().code != Code::kNotFound)
      failed_ = Failed{.group = moving_, .nodes = nodes_, .error = std::move(moved).error()};
    moving_.clear();
    moved_();
  });
  return Busy("move memory of cgroup " + group);
}

}  // namespace berth::cgroup
