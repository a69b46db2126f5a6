#include "daemon/tree_status.h"

#include <string>
#include <utility>

#include "daemon/host_groups.h"

namespace berth::daemon {

codec::Json TreeStatus(const PodManager& manager) {
  using codec::Json;
  Json groups = Json::array();
  for (const GroupState& group : manager.InspectGroups()) {
    Json values = Json::array();
    for (const cgroup::ValueLine& line : group.values)
      values.push_back({{"file", line.file},
                        {"wanted", line.wanted},
                        {"found", line.found},
                        {"same", line.Same()},
                        {"why", line.why}});
    groups.push_back({{"path", group.plan.path},
                      {"what", group.plan.what},
                      {"problem", group.problem},
                      {"values", std::move(values)}});
  }
  Json host = Json::array();
  for (const HostGroup& group : LookAt(manager.options().host_groups, manager.tree().layout()))
    host.push_back({{"setting", group.setting},
                    {"path", group.path},
                    {"processes", group.processes},
                    {"memory", group.memory ? Json(group.memory->v) : Json(nullptr)},
                    {"problem", group.problem}});
  const cgroup::Names& names = manager.groups().names();
  return Json{{"cgroupVersion", std::string(cgroup::Name(manager.tree().layout().version))},
              {"driver", std::string(cgroup::Name(names.driver()))},
              {"root", names.root()},
              {"hostGroups", std::move(host)},
              {"groups", std::move(groups)}};
}

}  // namespace berth::daemon
