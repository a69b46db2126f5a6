#include "testing/fake_cgroups.h"

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace berth::testkit {
namespace {

constexpr std::string_view kV1Unlimited = "9223372036854771712";
constexpr std::int64_t kPage = 4096;
constexpr std::string_view kV2Mount = "sys/fs/cgroup";

std::pair<std::string, std::string> SplitFile(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return {file.substr(0, slash), file.substr(slash + 1)};
}

std::unexpected<Error> Refuse(const std::string& file, int sys) { return FailErrno("write", "/" + file, sys); }

/// v1's -1 and v2's max as the largest number.
std::optional<std::int64_t> Amount(std::string_view text) {
  if (Trim(text) == "max" || Trim(text) == "-1") return std::numeric_limits<std::int64_t>::max();
  return ParseDecimal<std::int64_t>(Trim(text));
}

/// The text of such a file is a number, or "max".
bool TakesNumber(std::string_view name) {
  return name == "cpu.weight" || name == "cpu.shares" || name == "pids.max" || name.starts_with("memory.");
}

/// Quota and period; without a period the one before stays.
bool GoodCpuMax(std::string_view text) {
  constexpr std::int64_t kLeast = 1'000;
  constexpr std::int64_t kLongestPeriod = 1'000'000;
  const auto words = SplitWords(text);
  if (words.empty() || words.size() > 2) return false;
  const auto quota = Amount(words[0]);
  const auto period = words.size() == 2 ? ParseDecimal<std::int64_t>(words[1]) : std::optional(kLeast);
  return quota && *quota >= kLeast && period && *period >= kLeast && *period <= kLongestPeriod;
}

}  // namespace

FakeCgroups::FakeCgroups(MemoryFs& fs, Options options) : fs_(fs), options_(std::move(options)) {
  std::string info = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n";
  if (options_.v2) {
    for (const char* c : {"cpuset", "cpu", "memory", "pids"}) mounts_[c] = kV2Mount;
    info = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    fs_.AddFile(std::string(kV2Mount) + "/cgroup.controllers", "cpuset cpu io memory pids\n");
  } else {
    mounts_ = {{"cpuset", "sys/fs/cgroup/cpuset"},
               {"cpu", "sys/fs/cgroup/cpu,cpuacct"},
               {"memory", "sys/fs/cgroup/memory"},
               {"pids", "sys/fs/cgroup/pids"}};
    info +=
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
        "33 31 0:30 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
        "34 31 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "35 31 0:32 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n";
  }
  fs_.AddFile("proc/self/mountinfo", info);
  for (const auto& [controller, mount] : mounts_) {
    fs_.AddDir(mount);
    Populate(mount);
  }
  fs_.set_hooks({.before_write = [this](const std::string& f, std::string_view s) { return Check(f, s); },
                 .after_write = [this](const std::string& f) { Settle(f); },
                 .before_make_dir = {},
                 .after_make_dir = [this](const std::string& d) { Populate(d); },
                 .before_remove_dir = [this](const std::string& d) -> Result<void> {
                   if (!processes_[d].empty()) return FailErrno("rmdir", "/" + d, EBUSY);
                   processes_.erase(d), enabled_.erase(d);
                   return {};
                 },
                 .on_read = [this](const std::string& f) { return Computed(f); }});
}

std::string FakeCgroups::Dir(std::string_view controller, std::string_view path) const {
  const std::string& mount = mounts_.find(std::string(controller))->second;
  return path.empty() ? mount : mount + "/" + std::string(path);
}

std::string FakeCgroups::Value(std::string_view controller, std::string_view path, std::string_view file) {
  const auto text = fs_.Read(Dir(controller, path) + "/" + std::string(file));
  return text ? std::string(Trim(*text)) : "(none)";
}

Result<void> FakeCgroups::ForeignWrite(std::string_view controller, std::string_view path, std::string_view file,
                                       std::string_view value) {
  return fs_.Write(Dir(controller, path) + "/" + std::string(file), value);
}

Result<void> FakeCgroups::AddProcess(std::string_view path, int pid) {
  for (const auto& [controller, mount] : mounts_)
    BERTH_RETURN_IF_ERROR(ForeignWrite(controller, path, "cgroup.procs", std::to_string(pid)));
  return {};
}

void FakeCgroups::EndProcess(int pid) {
  for (auto& [dir, pids] : processes_) pids.erase(pid);
}

CpuSet FakeCgroups::EffectiveCpus(std::string_view path) { return Effective(Dir("cpuset", path), "cpuset.cpus"); }

std::string FakeCgroups::Text(const std::string& file) const { return fs_.Content(file).value_or(""); }

std::string FakeCgroups::MountOf(const std::string& dir) const {
  for (const auto& [controller, mount] : mounts_)
    if (dir == mount || dir.starts_with(mount + "/")) return mount;
  return "";
}

std::vector<std::string> FakeCgroups::Below(const std::string& dir) const {
  std::vector<std::string> out;
  for (const std::string& file : fs_.Files()) {
    if (!file.starts_with(dir + "/") || !file.ends_with("/cgroup.procs")) continue;
    std::string child = SplitFile(file).first;
    if (child != dir) out.push_back(std::move(child));
  }
  return out;
}

/// Control files of a new directory (or of a mount's root), or those that came with more controllers.
void FakeCgroups::Populate(const std::string& dir) {
  const std::string mount = MountOf(dir);
  if (mount.empty()) return;
  const bool root = dir == mount;
  const auto has = [&](const std::string& controller) {
    if (!mounts_.contains(controller) || mounts_[controller] != mount) return false;
    return !options_.v2 || root || enabled_[SplitFile(dir).first].find(controller) != std::string::npos;
  };
  const auto add = [&](const std::string& name, std::string_view text) {
    if (!fs_.Content(dir + "/" + name)) fs_.AddFile(dir + "/" + name, text);
  };
  add("cgroup.procs", "");
  if (options_.v2) {
    add("cgroup.subtree_control", "");
    if (!root) add("cgroup.controllers", ""), add("cgroup.kill", "");
    if (has("cpuset")) add("cpuset.cpus.effective", ""), add("cpuset.mems.effective", "");
    if (root) return;
    if (has("cpuset")) add("cpuset.cpus", "\n"), add("cpuset.mems", "\n");
    if (has("cpuset") && options_.partitions)
      add("cpuset.cpus.partition", "member\n"), add("cpuset.cpus.exclusive", "\n");
    if (has("cpu")) add("cpu.weight", "100\n"), add("cpu.max", "max 100000\n");
    if (has("memory")) add("memory.max", "max\n"), add("memory.high", "max\n"), add("memory.oom.group", "0\n");
    if (has("memory")) add("memory.min", "0\n"), add("memory.low", "0\n");
    if (has("memory") && options_.swap) add("memory.swap.max", "max\n");
    if (has("pids")) add("pids.max", "max\n");
    return;
  }
  if (has("cpuset")) {
    add("cpuset.cpus", (root ? options_.cpus : "") + "\n"), add("cpuset.mems", (root ? options_.mems : "") + "\n");
    add("cpuset.effective_cpus", ""), add("cpuset.effective_mems", ""), add("cpuset.memory_migrate", "0\n");
  }
  if (has("cpu")) add("cpu.shares", "1024\n"), add("cpu.cfs_period_us", "100000\n"), add("cpu.cfs_quota_us", "-1\n");
  if (has("memory")) {
    add("memory.use_hierarchy", "1\n"), add("memory.limit_in_bytes", std::string(kV1Unlimited) + "\n");
    add("memory.usage_in_bytes", "0\n"), add("memory.max_usage_in_bytes", "0\n");
    if (options_.swap) add("memory.memsw.limit_in_bytes", std::string(kV1Unlimited) + "\n");
  }
  if (has("pids") && !root) add("pids.max", "max\n");
}

CpuSet FakeCgroups::Effective(const std::string& dir, const std::string& name) {
  const bool root = dir == MountOf(dir);
  const auto own = CpuSet::Parse(Text(dir + "/" + name));
  if (root) return *CpuSet::Parse(name == "cpuset.cpus" ? options_.cpus : options_.mems);
  if (!options_.v2) return own ? *own : CpuSet();
  const CpuSet parent = Effective(SplitFile(dir).first, name);
  const CpuSet both = own ? *own & parent : CpuSet();
  return both.empty() ? parent : both;
}

/// Valid while each level above lists all its CPUs; a level that stops doing so ends it for good.
std::string FakeCgroups::Partition(const std::string& dir) {
  const std::string kind(Trim(Text(dir + "/cpuset.cpus.partition")));
  if (kind == "member") return kind;
  const auto own = CpuSet::Parse(Trim(Text(dir + "/cpuset.cpus.exclusive")));
  bool listed = own && !own->empty();
  for (std::string up = SplitFile(dir).first; listed && up != MountOf(dir); up = SplitFile(up).first) {
    const auto above = CpuSet::Parse(Trim(Text(up + "/cpuset.cpus.exclusive")));
    listed = above && own->IsSubsetOf(*above);
  }
  return listed ? kind : kind + " invalid (Invalid cpu list in cpuset.cpus.exclusive)";
}

std::optional<std::string> FakeCgroups::Computed(const std::string& file) {
  const auto [dir, name] = SplitFile(file);
  if (name == "cpuset.effective_cpus" || name == "cpuset.cpus.effective")
    return FormatIds(Effective(dir, "cpuset.cpus")) + "\n";
  if (name == "cpuset.effective_mems" || name == "cpuset.mems.effective")
    return FormatIds(Effective(dir, "cpuset.mems")) + "\n";
  if (name == "cpuset.cpus.partition") return Partition(dir) + "\n";
  if (name == "cgroup.subtree_control") return enabled_[dir] + "\n";
  if (name == "cgroup.controllers" && dir != MountOf(dir)) return enabled_[SplitFile(dir).first] + "\n";
  if (name != "cgroup.procs") return std::nullopt;
  std::string out;
  for (const int pid : processes_[dir]) out += std::to_string(pid) + "\n";
  return out;
}

Result<void> FakeCgroups::Check(const std::string& file, std::string_view text) {
  const auto [dir, name] = SplitFile(file);
  if (MountOf(dir).empty()) return {};
  if (name == "cpuset.cpus" || name == "cpuset.mems") return CheckSet(dir, name, text);
  if (name == "memory.limit_in_bytes" || name == "memory.memsw.limit_in_bytes") return CheckMemory(dir, name, text);
  if (name == "cpu.cfs_quota_us" || name == "cpu.cfs_period_us") return CheckQuota(dir, name, text);
  if (name == "cgroup.subtree_control") return CheckControllers(dir, text);
  if (name == "cpu.max") return GoodCpuMax(text) ? Result<void>() : Refuse(file, EINVAL);
  if (TakesNumber(name)) return Amount(text) ? Result<void>() : Refuse(file, EINVAL);
  if (name != "cgroup.procs") return {};
  if (options_.v2 && dir != MountOf(dir) && !enabled_[dir].empty()) return Refuse(file, EBUSY);
  const bool cpuset = fs_.Content(dir + "/cpuset.cpus").has_value();
  if (!options_.v2 && cpuset && (Effective(dir, "cpuset.cpus").empty() || Effective(dir, "cpuset.mems").empty()))
    return Refuse(file, ENOSPC);
  return {};
}

Result<void> FakeCgroups::CheckSet(const std::string& dir, const std::string& name, std::string_view text) {
  const std::string file = dir + "/" + name;
  const auto set = CpuSet::Parse(text);
  if (!set) return Refuse(file, EINVAL);
  const auto has_processes = [&](const std::string& at) { return !processes_[at].empty(); };
  // v2 counts who is anywhere below; on v1 the sets below hold nothing that this one does not.
  if (set->empty() && (has_processes(dir) || (options_.v2 && std::ranges::any_of(Below(dir), has_processes))))
    return Refuse(file, ENOSPC);
  if (options_.v2) return {};
  if (dir == MountOf(dir)) return Refuse(file, EACCES);
  if (!set->IsSubsetOf(Effective(MountOf(dir), name))) return Refuse(file, EINVAL);
  if (!set->IsSubsetOf(Effective(SplitFile(dir).first, name))) return Refuse(file, EACCES);
  for (const std::string& child : Below(dir))
    if (!Effective(child, name).IsSubsetOf(*set)) return Refuse(file, EBUSY);
  return {};
}

Result<void> FakeCgroups::CheckMemory(const std::string& dir, const std::string& name, std::string_view text) {
  const std::string file = dir + "/" + name;
  const auto amount = Amount(text);
  if (!amount) return Refuse(file, EINVAL);
  if (name == "memory.memsw.limit_in_bytes")
    return *amount < *Amount(Text(dir + "/memory.limit_in_bytes")) ? Refuse(file, EINVAL) : Result<void>();
  if (*amount < *Amount(Text(dir + "/memory.usage_in_bytes"))) return Refuse(file, EBUSY);
  if (options_.swap && *amount / kPage > *Amount(Text(dir + "/memory.memsw.limit_in_bytes")) / kPage)
    return Refuse(file, EINVAL);
  return {};
}

/// A child may not have a larger part of a CPU than its parent.
Result<void> FakeCgroups::CheckQuota(const std::string& dir, const std::string& name, std::string_view text) {
  const auto value = Amount(text);
  if (!value || *value < 1000) return Refuse(dir + "/" + name, EINVAL);
  const auto ratio = [&](const std::string& at, bool changed) -> double {
    const auto quota =
        *Amount(changed && name == "cpu.cfs_quota_us" ? std::string(text) : Text(at + "/cpu.cfs_quota_us"));
    const auto period =
        *Amount(changed && name == "cpu.cfs_period_us" ? std::string(text) : Text(at + "/cpu.cfs_period_us"));
    if (quota == std::numeric_limits<std::int64_t>::max()) return 1e18;
    return static_cast<double>(quota) / static_cast<double>(period);
  };
  const double own = ratio(dir, true);
  if (own >= 1e18) return {};
  if (dir != MountOf(dir) && ratio(SplitFile(dir).first, false) < own) return Refuse(dir + "/" + name, EINVAL);
  for (const std::string& child : Below(dir))
    if (const double below = ratio(child, false); below < 1e18 && below > own) return Refuse(dir + "/" + name, EINVAL);
  return {};
}

Result<void> FakeCgroups::CheckControllers(const std::string& dir, std::string_view text) {
  const auto offered =
      *Computed(dir + "/cgroup.controllers").or_else([&] { return std::optional(Text(dir + "/cgroup.controllers")); });
  for (const std::string_view word : SplitWords(text)) {
    const auto all = SplitWords(offered);
    if (std::find(all.begin(), all.end(), word.substr(1)) == all.end())
      return Refuse(dir + "/cgroup.subtree_control", ENOENT);
  }
  if (dir != MountOf(dir) && !processes_[dir].empty()) return Refuse(dir + "/cgroup.subtree_control", EBUSY);
  return {};
}

void FakeCgroups::MoveTo(const std::string& dir, int pid) {
  const std::string mount = MountOf(dir);
  for (auto& [other, pids] : processes_)
    if (MountOf(other) == mount) pids.erase(pid);
  processes_[dir].insert(pid);
}

/// What the kernel makes of an accepted text.
void FakeCgroups::Settle(const std::string& file) {
  const auto [dir, name] = SplitFile(file);
  if (MountOf(dir).empty()) return;
  const std::string text(Trim(Text(file)));
  std::string kept = text;
  if (name == "cgroup.procs") {
    if (const auto pid = ParseDecimal<int>(text)) MoveTo(dir, *pid);
    kept.clear();
  } else if (name == "cgroup.kill") {
    processes_[dir].clear();
    for (const std::string& child : Below(dir)) processes_[child].clear();
    kept.clear();
  } else if (name == "cgroup.subtree_control") {
    for (const std::string_view word : SplitWords(text))
      enabled_[dir] += (enabled_[dir].empty() ? "" : " ") + std::string(word.substr(1));
    for (const std::string& child : Below(dir))
      if (SplitFile(child).first == dir) Populate(child);
    kept.clear();
  } else if (name == "cpu.max") {
    const auto words = SplitWords(text);
    std::string& period = periods_.try_emplace(file, "100000").first->second;
    if (words.size() == 2) period = words[1];
    kept = std::string(words[0]) + " " + period;
  } else if (name.starts_with("cpuset.") && name != "cpuset.cpus.partition") {
    kept = FormatIds(*CpuSet::Parse(text));
  } else if ((name.ends_with(".max") || name.ends_with("limit_in_bytes")) && name.starts_with("memory.") &&
             text != "max") {
    const std::int64_t amount = *Amount(text);
    kept = text == "-1" ? std::string(kV1Unlimited) : std::to_string(amount / kPage * kPage);
  }
  fs_.AddFile(file, kept.empty() ? "\n" : kept + "\n");
  if (on_write) on_write(file, text);
}

}  // namespace berth::testkit
