#include "host/cgroup/value_lines.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "host/cgroup/control_files.h"

namespace berth::cgroup {
namespace {

const ControllerMount* Find(const Layout& layout, std::string_view controller) {
  const auto it =
      std::ranges::find_if(layout.controllers, [&](const ControllerMount& c) { return c.controller == controller; });
  return it == layout.controllers.end() ? nullptr : &*it;
}

class Lines {
 public:
  Lines(const Layout& layout, const Reasons& why, Bytes page) : layout_(layout), why_(why), page_(page) {}

  void Cpusets(const CgroupValues& wanted, const CgroupValues& found);
  void Cpu(const CgroupValues& wanted, const CgroupValues& found);
  void Memory(const CgroupValues& wanted, const CgroupValues& found);
  void Rest(const CgroupValues& wanted, const CgroupValues& found);
  std::vector<ValueLine> Take() && { return std::move(out_); }

 private:
  bool V2(std::string_view controller) const {
    const ControllerMount* mount = Find(layout_, controller);
    return mount != nullptr && mount->v2;
  }
  void Add(std::string_view name, std::string file, std::string wanted, std::string found) {
    const auto why = why_.find(name);
    out_.push_back({.file = std::move(file),
                    .wanted = std::move(wanted),
                    .found = std::move(found),
                    .why = why == why_.end() ? "" : why->second});
  }
  std::string Limit(Bytes limit, bool v2) const {
    return FormatLimit(Bytes{limit.v < 0 ? -1 : limit.v / page_.v * page_.v}, v2);
  }
  void Limits(std::string_view name, std::string_view file, const std::optional<Bytes>& wanted,
              const std::optional<Bytes>& found) {
    if (wanted && found) Add(name, std::string(file), Limit(*wanted, V2("memory")), Limit(*found, V2("memory")));
  }

  const Layout& layout_;
  const Reasons& why_;
  Bytes page_;
  std::vector<ValueLine> out_;
};

void Lines::Cpusets(const CgroupValues& wanted, const CgroupValues& found) {
  const bool v2 = V2("cpuset");
  if (wanted.cpus && found.cpus)
    Add("cpus", v2 ? "cpuset.cpus.effective" : "cpuset.cpus", FormatIds(*wanted.cpus), FormatIds(*found.cpus));
  if (wanted.mems && found.mems)
    Add("mems", v2 ? "cpuset.mems.effective" : "cpuset.mems", FormatIds(*wanted.mems), FormatIds(*found.mems));
}

void Lines::Cpu(const CgroupValues& wanted, const CgroupValues& found) {
  const bool v2 = V2("cpu");
  if (!v2 && wanted.shares && found.shares)
    Add("shares", "cpu.shares", std::to_string(*wanted.shares), std::to_string(*found.shares));
  if (v2 && (wanted.weight || wanted.shares) && found.weight) {
    const std::uint64_t weight = wanted.weight ? *wanted.weight : TierWeightOfShares(*wanted.shares);
    Add(wanted.weight ? "weight" : "shares", "cpu.weight", std::to_string(weight), std::to_string(*found.weight));
    // The kubelet's formula for the levels above containers, with its numbers.
    if (!wanted.weight)
      out_.back().why += " shares; weight 1 + (" + std::to_string(*wanted.shares) +
                         " - 2) × 9999 / 262142 = " + std::to_string(weight);
  }
  if (!wanted.cpu_max || !found.cpu_max) return;
  const auto text = [&](const CpuMax& max) {
    return v2 || max.quota ? FormatCpuMax(max) : "-1 " + std::to_string(max.period.count());
  };
  Add("cpu_max", v2 ? "cpu.max" : "cpu.cfs_quota_us", text(*wanted.cpu_max), text(*found.cpu_max));
}

void Lines::Memory(const CgroupValues& wanted, const CgroupValues& found) {
  const bool v2 = V2("memory");
  Limits("memory_min", "memory.min", wanted.memory_min, found.memory_min);
  Limits("memory_low", "memory.low", wanted.memory_low, found.memory_low);
  Limits("memory_high", "memory.high", wanted.memory_high, found.memory_high);
  Limits("memory_max", v2 ? "memory.max" : "memory.limit_in_bytes", wanted.memory_max, found.memory_max);
  if (wanted.swap_max && found.swap_max) {
    Bytes want = *wanted.swap_max, have = *found.swap_max;
    if (!v2 && wanted.memory_max && found.memory_max) {  // v1 counts memory and swap together
      want = want.v < 0 ? want : want + *wanted.memory_max;
      have = have.v < 0 ? have : have + *found.memory_max;
    }
    Add("swap_max", v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes", Limit(want, v2), Limit(have, v2));
  }
  if (wanted.oom_group && found.oom_group)
    Add("oom_group", "memory.oom.group", *wanted.oom_group ? "1" : "0", *found.oom_group ? "1" : "0");
}

void Lines::Rest(const CgroupValues& wanted, const CgroupValues& found) {
  if (wanted.pids_max && found.pids_max)
    Add("pids_max", "pids.max", FormatPidsMax(*wanted.pids_max), FormatPidsMax(*found.pids_max));
  if (!wanted.hugetlb || !found.hugetlb) return;
  const bool v2 = V2("hugetlb");
  for (const auto& [size, limit] : *found.hugetlb) {
    const auto asked = wanted.hugetlb->find(size);
    const Bytes want = asked == wanted.hugetlb->end() ? wanted.hugetlb_others : asked->second;
    Add("hugetlb", "hugetlb." + HugePageName(size) + (v2 ? ".max" : ".limit_in_bytes"),
        FormatLimit(Bytes{want.v / size.v * size.v}, v2), FormatLimit(limit, v2));
  }
}

}  // namespace

std::vector<ValueLine> Compare(const CgroupValues& wanted, const CgroupValues& found, const Layout& layout,
                               const Reasons& why, Bytes page) {
  Lines lines(layout, why, page);
  lines.Cpusets(wanted, found);
  lines.Cpu(wanted, found);
  lines.Memory(wanted, found);
  lines.Rest(wanted, found);
  return std::move(lines).Take();
}

CgroupValues WithControllersOf(const Layout& layout, CgroupValues values) {
  if (Find(layout, "cpuset") == nullptr) values.cpus.reset(), values.mems.reset();
  if (Find(layout, "cpu") == nullptr) values.shares.reset(), values.weight.reset(), values.cpu_max.reset();
  if (Find(layout, "memory") == nullptr) {
    values.memory_max.reset(), values.swap_max.reset(), values.memory_min.reset();
    values.memory_low.reset(), values.memory_high.reset(), values.oom_group.reset();
  }
  if (Find(layout, "pids") == nullptr) values.pids_max.reset();
  if (Find(layout, "hugetlb") == nullptr) values.hugetlb.reset();
  return values;
}

}  // namespace berth::cgroup
