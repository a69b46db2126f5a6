// Spreading over nodes takes no more steps than its bound, whatever is taken is what was asked for and free, and on few
// nodes it is what the slow twin takes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "allocator/cpu_selection/spread_search.h"
#include "allocator/cpu_selection/take.h"
#include "allocator/testing/builders.h"
#include "allocator/testing/take_twin.h"
#include "base/result.h"
#include "model/kubelet_rules.h"

namespace {

using namespace berth;
using namespace berth::allocator;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  int Below(int n) {
    if (left_ == 0) return 0;
    --left_;
    return *data_++ % n;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

void CheckSpread(Input& in) {
  SpreadRequest request;
  request.group = 1 + in.Below(3);
  int groups = 0;
  for (int nodes = 1 + in.Below(64); nodes > 0; --nodes) {
    request.free.push_back(1 + in.Below(64));
    groups += request.free.back() / request.group;
  }
  request.num = request.group * (1 + in.Below(255)) % (request.group * std::max(1, groups));
  const auto k = static_cast<std::size_t>(1 + in.Below(64));
  if (request.num < static_cast<int>(k) * request.group) return;
  std::int64_t steps = 0;
  const SpreadChoice choice = BestSpread(request, k, &steps);
  if (request.free.size() > kExactSpreadNodes) BERTH_CHECK(steps <= kMostSpreadSteps + 64 * 64);
  if (k > request.free.size() || choice.nodes.empty()) return;
  const std::set<std::size_t> nodes(choice.nodes.begin(), choice.nodes.end());
  BERTH_CHECK(nodes.size() == k && *nodes.rbegin() < request.free.size());
}

constexpr std::size_t kMostTwinNodes = 6;

void CheckTake(Input& in) {
  testing::Shape shape;
  shape.sockets = 1 + in.Below(4);
  shape.nodes_per_socket = 1 + in.Below(8);
  shape.cores_per_node = 1 + in.Below(6);
  shape.threads = 1 + in.Below(2);
  shape.cores_per_uncore = in.Below(4);
  const Machine machine = testing::MakeMachine(shape);
  const auto topology = CpuTopology::Make(machine);
  BERTH_CHECK(topology.has_value());
  TakeRequest request;
  request.distributed = in.Below(2) == 0;
  request.spread = in.Below(2) == 0;
  request.group = 1 + in.Below(shape.threads);
  request.uncore = in.Below(2) == 0;
  const int busy = 1 + in.Below(5);
  for (CpuId cpu : machine.online)
    if (in.Below(busy + 1) != 0) request.available.Insert(cpu);
  request.num = in.Below(1 + request.available.Count());
  request.rules =
      KubeletRulesOf(kKubeletVersions[static_cast<std::size_t>(in.Below(static_cast<int>(kKubeletVersions.size())))]);
  request.by_socket = in.Below(2) == 0;
  request.hinted_nodes = in.Below(8);
  const auto taken = TakeCpus(*topology, request);
  if (taken) BERTH_CHECK(taken->Count() == request.num && taken->IsSubsetOf(request.available));
  if (machine.nodes.size() > kMostTwinNodes) return;
  const auto twin = testing::TakeTwin(machine, request).Run();
  BERTH_CHECK(twin.has_value() == taken.has_value());
  if (twin) BERTH_CHECK(*taken == *twin);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  CheckSpread(in);
  CheckTake(in);
  return 0;
}
