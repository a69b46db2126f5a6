// cgroup v1: one hierarchy per controller (or a few co-mounted ones).
#include <algorithm>
#include <cerrno>
#include <limits>

#include "host/cgroup/control_files.h"
#include "host/cgroup/hierarchy.h"
#include "host/cgroup/pod_cgroup_values.h"

namespace berth::cgroup {
namespace {

using std::chrono::microseconds;

/// -1 (no limit) as the largest amount, to compare limits.
std::int64_t Height(Bytes limit) { return limit.v < 0 ? std::numeric_limits<std::int64_t>::max() : limit.v; }

class V1Hierarchy final : public Hierarchy {
 public:
  using Hierarchy::Hierarchy;
  bool v2() const override { return false; }
  Result<void> Create(std::string_view path) override;
  Result<void> Write(std::string_view path, std::size_t owned, const CgroupValues& values) override;
  Result<std::optional<CpuSet>> ReadCpus(std::string_view path) override {
    return ReadSet<CpuSet>(Dir(path), "cpuset.effective_cpus", "cpuset.cpus");
  }
  Result<std::optional<NodeSet>> ReadMems(std::string_view path) override {
    return ReadSet<NodeSet>(Dir(path), "cpuset.effective_mems", "cpuset.mems");
  }
  Result<void> Read(std::string_view path, CgroupValues& out) override;

 private:
  Result<void> Inherit(const std::string& parent, const std::string& dir, std::string_view file);
  Result<void> UseHierarchy(const std::string& parent);
  template <class Set>
  Result<void> WriteSet(std::string_view path, std::size_t owned, std::string_view file, const Set& wanted);
  Result<void> WriteCpu(const std::string& dir, const CgroupValues& values);
  Result<void> WriteQuota(const std::string& dir, const CpuMax& wanted);
  Result<void> WriteMemory(const std::string& dir, const CgroupValues& values);
  Result<void> SetLimit(const std::string& dir, Bytes limit);
  template <class Set>
  Result<std::optional<Set>> ReadSet(const std::string& dir, std::string_view effective, std::string_view plain);
  Result<void> ReadCpu(const std::string& dir, CgroupValues& out);
};

Result<void> V1Hierarchy::Create(std::string_view path) {
  std::string parent = Dir("");
  for (const std::string& level : Levels(path)) {
    const std::string dir = Dir(level);
    if (Has("memory")) BERTH_RETURN_IF_ERROR(UseHierarchy(parent));
    BERTH_RETURN_IF_ERROR(files().fs().MakeDir(dir));
    if (Has("cpuset")) {  // new ones are empty, and an empty one takes no process
      BERTH_RETURN_IF_ERROR(Inherit(parent, dir, "cpuset.mems"));
      BERTH_RETURN_IF_ERROR(Inherit(parent, dir, "cpuset.cpus"));
    }
    parent = dir;
  }
  return {};
}

Result<void> V1Hierarchy::Inherit(const std::string& parent, const std::string& dir, std::string_view file) {
  const std::string name = dir + "/" + std::string(file);
  BERTH_TRY(const auto now, files().Parsed(name, CpuSet::Parse));
  if (!now) return files().Missing(name);
  if (!now->empty()) return {};
  const std::string from = parent + "/" + std::string(file);
  BERTH_TRY(const auto above, files().Parsed(from, CpuSet::Parse));
  if (!above) return files().Missing(from);
  if (above->empty()) return Fail(Code::kInvalid, "read " + from + ": it is empty, so nothing can run below it");
  return files().Write(name, FormatIds(*above));
}

/// Old kernels count the memory of children towards their parents only when told so before the first child.
Result<void> V1Hierarchy::UseHierarchy(const std::string& parent) {
  const std::string file = parent + "/memory.use_hierarchy";
  BERTH_TRY(const auto now, files().Parsed(file, ParseNumber));
  if (!now || *now != 0 || parent == Dir("")) return {};
  return files().Write(file, "1");
}

Result<void> V1Hierarchy::Write(std::string_view path, std::size_t owned, const CgroupValues& values) {
  const std::string dir = Dir(path);
  if (Has("cpuset")) {
    if (values.mems) BERTH_RETURN_IF_ERROR(WriteSet(path, owned, "cpuset.mems", *values.mems));
    if (values.cpus) BERTH_RETURN_IF_ERROR(WriteSet(path, owned, "cpuset.cpus", *values.cpus));
  }
  if (Has("memory")) BERTH_RETURN_IF_ERROR(WriteMemory(dir, values));
  if (Has("cpu")) BERTH_RETURN_IF_ERROR(WriteCpu(dir, values));
  if (Has("pids") && values.pids_max) {
    const std::string text = FormatPidsMax(*values.pids_max);
    BERTH_TRY(const std::int64_t wanted, ParsePidsMax(text));
    BERTH_RETURN_IF_ERROR(files().Put(dir + "/pids.max", wanted, text, ParsePidsMax));
  }
  return WriteHugePages(dir, "limit_in_bytes", values);
}

/// cpuset.cpus or cpuset.mems. When the kernel refuses because a parent is narrower (a CPU that went offline and came
/// back leaves all v1 cpusets below the root), Berth's own levels above are widened and the write is tried once more.
template <class Set>
Result<void> V1Hierarchy::WriteSet(std::string_view path, std::size_t owned, std::string_view file, const Set& wanted) {
  const std::string name = Dir(path) + "/" + std::string(file);
  if (wanted.empty()) return Fail(Code::kInvalid, "set " + name + ": an empty set would mean the parent's whole set");
  auto done = files().Put(name, wanted, FormatIds(wanted), Set::Parse);
  if (done || done.error().sys != EACCES) return done;
  std::string allowed;
  for (const std::string& level : Levels(path)) {
    if (level.size() == path.size()) break;
    const std::string above = Dir(level) + "/" + std::string(file);
    BERTH_TRY(const auto now, files().Parsed(above, Set::Parse));
    if (!now || wanted.IsSubsetOf(*now)) continue;
    allowed = "; " + Dir(level) + " only has " + FormatIds(*now);
    if (level.size() < owned) break;
    auto widened = files().Write(above, FormatIds(wanted | *now));
    if (!widened) return Wrap(std::move(widened).error(), "make room for " + FormatIds(wanted) + " in " + Dir(path));
  }
  done = files().Put(name, wanted, FormatIds(wanted), Set::Parse);
  if (!done && done.error().sys == EACCES) {
    Error error = std::move(done).error();
    error.message += allowed.empty() ? "; " + Dir("") + " does not have all of them" : allowed;
    return std::unexpected(std::move(error));
  }
  return done;
}

Result<void> V1Hierarchy::WriteCpu(const std::string& dir, const CgroupValues& values) {
  if (values.shares) {
    const auto wanted = static_cast<std::int64_t>(*values.shares);
    if (wanted < kMinShares || wanted > kMaxShares) {
      return Fail(Code::kInvalid,
                  "set " + dir + "/cpu.shares to " + std::to_string(*values.shares) + ": outside of 2 to 262144");
    }
    BERTH_RETURN_IF_ERROR(files().Put(dir + "/cpu.shares", wanted, std::to_string(wanted), ParseNumber));
  }
  return values.cpu_max ? WriteQuota(dir, *values.cpu_max) : Result<void>();
}

Result<void> V1Hierarchy::WriteQuota(const std::string& dir, const CpuMax& wanted) {
  const std::string quota_file = dir + "/cpu.cfs_quota_us";
  const std::string period_file = dir + "/cpu.cfs_period_us";
  const std::int64_t quota = wanted.quota ? wanted.quota->count() : -1;
  const std::int64_t period = wanted.period.count();
  const auto put_quota = [&] { return files().Put(quota_file, quota, std::to_string(quota), ParseNumber); };
  const auto put_period = [&] { return files().Put(period_file, period, std::to_string(period), ParseNumber); };
  if (!wanted.quota) {  // lifting the quota first frees the period of the parent's ratio
    BERTH_RETURN_IF_ERROR(put_quota());
    return put_period();
  }
  const auto first = put_period();
  if (!first && first.error().sys != EINVAL) return first;
  BERTH_RETURN_IF_ERROR(put_quota());
  return first ? Result<void>() : put_period();
}

Result<void> V1Hierarchy::WriteMemory(const std::string& dir, const CgroupValues& values) {
  if (!values.memory_max) return {};
  const std::string limit_file = dir + "/memory.limit_in_bytes";
  const std::string both_file = dir + "/memory.memsw.limit_in_bytes";
  const auto round = [](Bytes b) { return b.v < 0 ? Bytes{-1} : Bytes{b.v / PageSize() * PageSize()}; };
  const Bytes limit = round(*values.memory_max);
  BERTH_TRY(const auto limit_now, files().Parsed(limit_file, ParseLimit));
  if (!limit_now) return files().Missing(limit_file);
  BERTH_TRY(const auto both_now, files().Parsed(both_file, ParseLimit));

  // memory.memsw.limit_in_bytes counts memory and swap together and is never below memory.limit_in_bytes.
  Bytes both = both_now ? *both_now : Bytes{-1};
  if (values.swap_max) {
    std::int64_t sum = 0;
    const bool open =
        limit.v < 0 || values.swap_max->v < 0 || __builtin_add_overflow(limit.v, values.swap_max->v, &sum);
    both = open ? Bytes{-1} : round(Bytes{sum});
  } else if (Height(both) < Height(limit)) {
    both = limit;
  }
  const auto put_both = [&]() -> Result<void> {
    if (!both_now || *both_now == both) return {};
    return files().Write(both_file, FormatLimit(both, false));
  };
  const bool raise = both_now && Height(both) > Height(*both_now);
  if (raise) BERTH_RETURN_IF_ERROR(put_both());
  if (*limit_now != limit) BERTH_RETURN_IF_ERROR(SetLimit(dir, limit));
  return raise ? Result<void>() : put_both();
}

Result<void> V1Hierarchy::SetLimit(const std::string& dir, Bytes limit) {
  auto done = files().Write(dir + "/memory.limit_in_bytes", FormatLimit(limit, false));
  if (done || done.error().sys != EBUSY) return done;
  Error error = std::move(done).error();
  BERTH_TRY(const auto usage, files().Parsed(dir + "/memory.usage_in_bytes", ParseNumber));
  BERTH_TRY(const auto peak, files().Parsed(dir + "/memory.max_usage_in_bytes", ParseNumber));
  if (usage && peak) {
    error.message = "unable to set memory limit of " + dir + " to " + std::to_string(limit.v) +
                    " (current usage: " + std::to_string(*usage) + ", peak usage: " + std::to_string(*peak) + ")";
  }
  return std::unexpected(std::move(error));
}

template <class Set>
Result<std::optional<Set>> V1Hierarchy::ReadSet(const std::string& dir, std::string_view effective,
                                                std::string_view plain) {
  BERTH_TRY(auto set, files().Parsed(dir + "/" + std::string(effective), Set::Parse));
  if (set) return set;
  return files().Parsed(dir + "/" + std::string(plain), Set::Parse);  // before Linux 3.17
}

Result<void> V1Hierarchy::ReadCpu(const std::string& dir, CgroupValues& out) {
  BERTH_TRY(const auto shares, files().Parsed(dir + "/cpu.shares", ParseNumber));
  if (shares) out.shares = static_cast<std::uint64_t>(*shares);
  BERTH_TRY(const auto quota, files().Parsed(dir + "/cpu.cfs_quota_us", ParseNumber));
  BERTH_TRY(const auto period, files().Parsed(dir + "/cpu.cfs_period_us", ParseNumber));
  if (!quota || !period) return {};
  out.cpu_max = CpuMax{.quota = std::nullopt, .period = microseconds(*period)};
  if (*quota >= 0) out.cpu_max->quota = microseconds(*quota);
  return {};
}

Result<void> V1Hierarchy::Read(std::string_view path, CgroupValues& out) {
  const std::string dir = Dir(path);
  if (Has("cpuset")) {
    BERTH_TRY(out.cpus, ReadCpus(path));
    BERTH_TRY(out.mems, ReadMems(path));
  }
  if (Has("cpu")) BERTH_RETURN_IF_ERROR(ReadCpu(dir, out));
  if (Has("memory")) {
    BERTH_TRY(out.memory_max, files().Parsed(dir + "/memory.limit_in_bytes", ParseLimit));
    BERTH_TRY(const auto both, files().Parsed(dir + "/memory.memsw.limit_in_bytes", ParseLimit));
    if (both && out.memory_max) {
      out.swap_max = both->v < 0 || out.memory_max->v < 0 ? Bytes{-1} : *both - *out.memory_max;
    }
  }
  if (Has("pids")) {
    BERTH_TRY(out.pids_max, files().Parsed(dir + "/pids.max", ParsePidsMax));
  }
  return ReadHugePages(dir, "limit_in_bytes", out);
}

}  // namespace

std::unique_ptr<Hierarchy> MakeV1Hierarchy(ControlFiles& files, std::string mount,
                                           std::vector<std::string> controllers) {
  return std::make_unique<V1Hierarchy>(files, std::move(mount), std::move(controllers));
}

}  // namespace berth::cgroup
