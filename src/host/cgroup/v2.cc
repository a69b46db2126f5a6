// cgroup v2: one hierarchy for all controllers.
#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/control_files.h"
#include "host/cgroup/hierarchy.h"
#include "host/cgroup/pod_cgroup_values.h"

namespace berth::cgroup {
namespace {

class V2Hierarchy final : public Hierarchy {
 public:
  using Hierarchy::Hierarchy;
  bool v2() const override { return true; }
  Result<void> Create(std::string_view path) override;
  Result<void> Write(std::string_view path, std::size_t owned, const CgroupValues& values) override;
  Result<std::optional<CpuSet>> ReadCpus(std::string_view path) override {
    return files().Parsed(Dir(path) + "/cpuset.cpus.effective", CpuSet::Parse);
  }
  Result<std::optional<NodeSet>> ReadMems(std::string_view path) override {
    return files().Parsed(Dir(path) + "/cpuset.mems.effective", NodeSet::Parse);
  }
  Result<void> Read(std::string_view path, CgroupValues& out) override;

 private:
  Result<void> EnableBelow(const std::string& parent);
  Result<void> WriteCpuset(std::string_view path, std::size_t owned, const CgroupValues& values);
  template <class Set>
  Result<void> WriteSet(std::string_view path, std::size_t owned, std::string_view file, const Set& wanted);
  template <class Set>
  Result<void> Widen(std::string_view path, std::size_t owned, std::string_view file, const Set& wanted);
  Result<void> WriteMemory(const std::string& dir, const CgroupValues& values);
  Result<void> WriteCpu(const std::string& dir, const CgroupValues& values);
};

Result<void> V2Hierarchy::Create(std::string_view path) {
  std::string parent = Dir("");
  for (const std::string& level : Levels(path)) {
    BERTH_RETURN_IF_ERROR(EnableBelow(parent));
    parent = Dir(level);
    BERTH_RETURN_IF_ERROR(files().fs().MakeDir(parent));
  }
  return {};
}

/// Hands the controllers Berth needs, and no other, down to the children of `parent`.
Result<void> V2Hierarchy::EnableBelow(const std::string& parent) {
  const std::string file = parent + "/cgroup.subtree_control";
  BERTH_TRY(const auto now, files().Read(file));
  if (!now) return files().Missing(file);
  const auto enabled = SplitWords(*now);
  BERTH_TRY(const auto offered, files().Read(parent + "/cgroup.controllers"));
  std::string missing;
  for (const std::string_view name : {"cpuset", "cpu", "memory", "pids", "hugetlb"}) {
    if (!Has(name) || std::find(enabled.begin(), enabled.end(), name) != enabled.end()) continue;
    const auto all = SplitWords(offered ? *offered : std::string_view());
    if (std::find(all.begin(), all.end(), name) == all.end()) {
      return Fail(Code::kUnsupported, "controller '" + std::string(name) + "' is not offered in " + parent +
                                          ": delegate it from the level above (systemd: Delegate=yes)");
    }
    missing += (missing.empty() ? "+" : " +") + std::string(name);
  }
  if (missing.empty()) return {};
  auto done = files().Write(file, missing);
  if (done || done.error().sys != EBUSY) return done;
  return Wrap(std::move(done).error(), "processes live in " + parent +
                                           ", so it cannot have children with controllers; move them to a cgroup of "
                                           "their own below it, or choose another cgroup root");
}

Result<void> V2Hierarchy::Write(std::string_view path, std::size_t owned, const CgroupValues& values) {
  const std::string dir = Dir(path);
  if (Has("pids") && values.pids_max) {
    const std::string text = FormatPidsMax(*values.pids_max);
    BERTH_TRY(const std::int64_t wanted, ParsePidsMax(text));
    BERTH_RETURN_IF_ERROR(files().Put(dir + "/pids.max", wanted, text, ParsePidsMax));
  }
  if (Has("memory")) BERTH_RETURN_IF_ERROR(WriteMemory(dir, values));
  if (Has("cpu")) BERTH_RETURN_IF_ERROR(WriteCpu(dir, values));
  if (Has("cpuset")) BERTH_RETURN_IF_ERROR(WriteCpuset(path, owned, values));
  return WriteHugePages(dir, "max", values);
}

Result<void> V2Hierarchy::WriteCpuset(std::string_view path, std::size_t owned, const CgroupValues& values) {
  if (values.mems) BERTH_RETURN_IF_ERROR(WriteSet(path, owned, "cpuset.mems", *values.mems));
  if (values.cpus) BERTH_RETURN_IF_ERROR(WriteSet(path, owned, "cpuset.cpus", *values.cpus));
  return {};
}

/// The kernel accepts sets the parent lacks and then uses the parent's: only the effective set tells. A part of what is
/// wanted is fine once our own levels give it all: the rest is offline, or not for this root.
template <class Set>
Result<void> V2Hierarchy::WriteSet(std::string_view path, std::size_t owned, std::string_view file, const Set& wanted) {
  const std::string name = Dir(path) + "/" + std::string(file);
  if (wanted.empty()) return Fail(Code::kInvalid, "set " + name + ": an empty set would mean the parent's whole set");
  BERTH_RETURN_IF_ERROR(files().Put(name, wanted, FormatIds(wanted), Set::Parse));
  BERTH_TRY(auto effective, files().Parsed(name + ".effective", Set::Parse));
  if (!effective || *effective == wanted) return {};
  BERTH_RETURN_IF_ERROR(Widen(path, owned, file, wanted));
  BERTH_TRY(effective, files().Parsed(name + ".effective", Set::Parse));
  if (!effective || (!effective->empty() && effective->IsSubsetOf(wanted))) return {};
  return Fail(Code::kInvalid, "set " + name + " to " + FormatIds(wanted) + ": its processes run on " +
                                  FormatIds(*effective) + ", because the cgroup above has none of these");
}

/// Gives the levels between Berth's root and `path` what they lack; those that inherit lack nothing.
template <class Set>
Result<void> V2Hierarchy::Widen(std::string_view path, std::size_t owned, std::string_view file, const Set& wanted) {
  for (const std::string& level : Levels(path)) {
    if (level.size() <= owned || level.size() == path.size()) continue;
    const std::string above = Dir(level) + "/" + std::string(file);
    BERTH_TRY(const auto now, files().Parsed(above, Set::Parse));
    if (!now || now->empty() || wanted.IsSubsetOf(*now)) continue;
    auto widened = files().Write(above, FormatIds(wanted | *now));
    if (!widened) return Wrap(std::move(widened).error(), "make room for " + FormatIds(wanted) + " in " + Dir(path));
  }
  return {};
}

Result<void> V2Hierarchy::WriteMemory(const std::string& dir, const CgroupValues& values) {
  const auto put = [&](std::string_view file, Bytes limit, bool optional) -> Result<void> {
    const std::string name = dir + "/" + std::string(file);
    const Bytes wanted{limit.v < 0 ? -1 : limit.v / PageSize() * PageSize()};
    BERTH_TRY(const auto now, files().Parsed(name, ParseLimit));
    if (!now) return optional ? Result<void>() : files().Missing(name);
    if (*now == wanted) return {};
    return files().Write(name, FormatLimit(wanted, true));
  };
  // What protects comes before what limits.
  if (values.memory_min) BERTH_RETURN_IF_ERROR(put("memory.min", *values.memory_min, false));
  if (values.memory_low) BERTH_RETURN_IF_ERROR(put("memory.low", *values.memory_low, false));
  if (values.oom_group) {
    const std::string name = dir + "/memory.oom.group";
    BERTH_TRY(const auto now, files().Parsed(name, ParseNumber));  // missing before Linux 4.19
    if (now && (*now != 0) != *values.oom_group)
      BERTH_RETURN_IF_ERROR(files().Write(name, *values.oom_group ? "1" : "0"));
  }
  if (values.memory_high) BERTH_RETURN_IF_ERROR(put("memory.high", *values.memory_high, false));
  if (values.memory_max) BERTH_RETURN_IF_ERROR(put("memory.max", *values.memory_max, false));
  if (values.swap_max) BERTH_RETURN_IF_ERROR(put("memory.swap.max", *values.swap_max, true));
  return {};
}

Result<void> V2Hierarchy::WriteCpu(const std::string& dir, const CgroupValues& values) {
  if (values.shares || values.weight) {
    const std::uint64_t weight = values.weight ? *values.weight : TierWeightOfShares(*values.shares);
    if (weight < 1 || weight > 10'000) {
      return Fail(Code::kInvalid,
                  "set " + dir + "/cpu.weight to " + std::to_string(weight) + ": outside of 1 to 10000");
    }
    const auto wanted = static_cast<std::int64_t>(weight);
    BERTH_RETURN_IF_ERROR(files().Put(dir + "/cpu.weight", wanted, std::to_string(wanted), ParseNumber));
  }
  if (values.cpu_max) {
    BERTH_RETURN_IF_ERROR(files().Put(dir + "/cpu.max", *values.cpu_max, FormatCpuMax(*values.cpu_max), ParseCpuMax));
  }
  return {};
}

Result<void> V2Hierarchy::Read(std::string_view path, CgroupValues& out) {
  const std::string dir = Dir(path);
  if (Has("cpuset")) {
    BERTH_TRY(out.cpus, ReadCpus(path));
    BERTH_TRY(out.mems, ReadMems(path));
  }
  if (Has("cpu")) {
    BERTH_TRY(const auto weight, files().Parsed(dir + "/cpu.weight", ParseNumber));
    if (weight) out.weight = static_cast<std::uint64_t>(*weight);
    BERTH_TRY(out.cpu_max, files().Parsed(dir + "/cpu.max", ParseCpuMax));
  }
  if (Has("memory")) {
    BERTH_TRY(out.memory_max, files().Parsed(dir + "/memory.max", ParseLimit));
    BERTH_TRY(out.swap_max, files().Parsed(dir + "/memory.swap.max", ParseLimit));
    BERTH_TRY(out.memory_min, files().Parsed(dir + "/memory.min", ParseLimit));
    BERTH_TRY(out.memory_low, files().Parsed(dir + "/memory.low", ParseLimit));
    BERTH_TRY(out.memory_high, files().Parsed(dir + "/memory.high", ParseLimit));
    BERTH_TRY(const auto group, files().Parsed(dir + "/memory.oom.group", ParseNumber));
    if (group) out.oom_group = *group != 0;
  }
  if (Has("pids")) {
    BERTH_TRY(out.pids_max, files().Parsed(dir + "/pids.max", ParsePidsMax));
  }
  return ReadHugePages(dir, "max", out);
}

}  // namespace

std::unique_ptr<Hierarchy> MakeV2Hierarchy(ControlFiles& files, std::string mount,
                                           std::vector<std::string> controllers) {
  return std::make_unique<V2Hierarchy>(files, std::move(mount), std::move(controllers));
}

}  // namespace berth::cgroup
