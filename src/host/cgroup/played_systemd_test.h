// systemd played in memory for tests: units as directories and processes of a kernel that is played too.
#ifndef BERTH_HOST_CGROUP_PLAYED_SYSTEMD_TEST_H_
#define BERTH_HOST_CGROUP_PLAYED_SYSTEMD_TEST_H_

#include <cerrno>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "host/cgroup/cgroup_names.h"
#include "host/cgroup/systemd_bus.h"
#include "host/cgroup/systemd_units.h"
#include "testing/fake_cgroups.h"
#include "testing/memory_fs.h"

namespace berth::cgroup {

/// Units as directories and processes; properties become files, rounded as systemd rounds.
class PlayedSystemd final : public Systemd {
 public:
  struct World {
    World() : kernel(fs, {.v2 = true}) {}
    testkit::MemoryFs fs;
    testkit::FakeCgroups kernel;
    std::map<std::string, std::string> units;  ///< unit -> path
    std::vector<std::string> calls;
    int dying = 0;  ///< so often a scope of the name asked for is on its way out
    int fail_at = -1;
    Error failure{Code::kTimeout, ETIMEDOUT, "systemd did not answer"};
  };
  explicit PlayedSystemd(World& world) : world_(world) {}

  Result<bool> StartTransient(const std::string& unit, const std::vector<Property>& properties) override {
    BERTH_RETURN_IF_ERROR(Called("new " + unit));
    if ((world_.dying > 0 && IsScope(unit)) || world_.units.contains(unit)) return false;
    const std::string path = PathOfUnit(unit, properties);
    BERTH_RETURN_IF_ERROR(world_.fs.MakeDir("sys/fs/cgroup/" + path));
    world_.units[unit] = path;
    for (const Property& p : properties)
      if (p.name == "PIDs") {
        const auto pids = std::get<std::vector<std::uint32_t>>(p.value);
        BERTH_RETURN_IF_ERROR(world_.kernel.AddProcess(path, static_cast<int>(pids.front())));
      }
    return true;
  }
  Result<void> Start(const std::string& unit) override { return Called("start " + unit); }
  Result<void> Set(const std::string& unit, const std::vector<Property>& properties) override {
    std::string said = "set " + unit;
    for (const Property& p : properties) said += " " + p.name;
    BERTH_RETURN_IF_ERROR(Called(said));
    if (!world_.units.contains(unit)) return Fail(Code::kNotFound, "unit " + unit + " is not loaded");
    for (const Property& p : properties) BERTH_RETURN_IF_ERROR(Apply(world_.units[unit], p, properties));
    return {};
  }
  Result<void> Attach(const std::string& unit, int pid) override {
    BERTH_RETURN_IF_ERROR(Called("attach " + unit));
    if (world_.dying > 0 && world_.dying-- > 0) return Fail(Code::kInvalid, "unit is not active, refusing");
    return world_.kernel.AddProcess(world_.units[unit], pid);
  }
  Result<void> Stop(const std::string& unit) override {
    BERTH_RETURN_IF_ERROR(Called("stop " + unit));
    world_.units.erase(unit);
    return {};
  }

 private:
  Result<void> Called(const std::string& what) {
    if (world_.fail_at >= 0 && world_.fail_at-- == 0) return std::unexpected(world_.failure);
    world_.calls.push_back(what);
    return {};
  }
  std::string PathOfUnit(const std::string& unit, const std::vector<Property>& properties) {
    std::string slice;
    for (const Property& p : properties)
      if (p.name == "Slice") slice = std::get<std::string>(p.value);
    if (slice == "-.slice") return unit;
    if (!slice.empty()) return world_.units[slice] + "/" + unit;
    const auto components = ComponentsOf(Driver::kSystemd, unit);
    return PathOf(Driver::kSystemd, components)->substr(1);
  }
  template <class Set, class Id>
  static Set IdsOf(const Property& p) {
    Set out;
    const auto bits = std::get<std::vector<std::uint8_t>>(p.value);
    for (std::uint32_t i = 0; i < bits.size() * 8; ++i)
      if ((bits[i / 8] >> i % 8 & 1) != 0) out.Insert(Id{i});
    return out;
  }
  Result<void> Apply(const std::string& path, const Property& p, const std::vector<Property>& all) {
    const std::string dir = "sys/fs/cgroup/" + path + "/";
    const auto number = [&](std::string_view name) -> std::uint64_t {
      for (const Property& other : all)
        if (other.name == name) return std::get<std::uint64_t>(other.value);
      return 0;
    };
    if (p.name == "AllowedCPUs") return world_.fs.Write(dir + "cpuset.cpus", FormatIds(IdsOf<CpuSet, CpuId>(p)));
    if (p.name == "AllowedMemoryNodes")
      return world_.fs.Write(dir + "cpuset.mems", FormatIds(IdsOf<NodeSet, NumaId>(p)));
    if (p.name == "CPUWeight") return world_.fs.Write(dir + "cpu.weight", std::to_string(number("CPUWeight")));
    if (p.name == "MemoryMax") return world_.fs.Write(dir + "memory.max", std::to_string(number("MemoryMax")));
    if (p.name == "CPUQuotaPerSecUSec") {
      const std::uint64_t period = number("CPUQuotaPeriodUSec");
      const std::uint64_t quota = number("CPUQuotaPerSecUSec") * period / 1'000'000;
      return world_.fs.Write(dir + "cpu.max", std::to_string(quota) + " " + std::to_string(period));
    }
    return {};
  }

  World& world_;
};

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_PLAYED_SYSTEMD_TEST_H_
