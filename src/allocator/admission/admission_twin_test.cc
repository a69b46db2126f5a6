// Random pods on random nodes: the engine against the slow second reading of the rules.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/testing/random_node.h"
#include "allocator/testing/slow_admission.h"

namespace berth::allocator {
namespace {

using testing::Given;
using testing::Ids;
using testing::PropertySteps;
using testing::RandomNode;
using testing::SlowAdmission;
using testing::SlowNodeMemory;
using testing::Text;
using testing::ToIds;

/// What the engine says, in the twin's words.
std::map<std::string, Given> GivenBy(const PodRecord& record) {
  std::map<std::string, Given> out;
  for (const Placement& p : record.placements) {
    Given& given = out[p.container];
    if (p.hint)
      given["hint"] =
          SlowAdmission::HintText({!p.hint->nodes, p.hint->nodes ? ToIds(*p.hint->nodes) : Ids(), p.hint->preferred});
    if (p.cpus) given["cpu"] = FormatIds(*p.cpus);
    for (const MemoryBlock& b : p.memory.value_or(std::vector<MemoryBlock>()))
      given["memory"] += Text(ToIds(b.nodes)) + " " + b.type + " " + std::to_string(b.size.v) + "; ";
    for (const DeviceAssignment& d : p.devices)
      for (const std::string& id : d.ids) given[d.resource] += id + " ";
  }
  return out;
}

std::string Show(const std::map<std::string, Given>& given) {
  std::ostringstream out;
  for (const auto& [container, what] : given)
    for (const auto& [key, value] : what)
      if (!value.empty()) out << container << "." << key << "=" << value << "\n";
  return out.str();
}

std::string ShowMemory(const Ledger& ledger) {
  std::ostringstream out;
  for (const auto& [id, state] : ledger.memory) {
    out << Raw(id) << ": " << state.assignments << " " << Text(ToIds(state.cells));
    for (const auto& [type, table] : state.types) out << " " << type << " " << table.free.v << "/" << table.reserved.v;
    out << "\n";
  }
  return out.str();
}
std::string ShowMemory(const std::map<unsigned, SlowNodeMemory>& memory) {
  std::ostringstream out;
  for (const auto& [id, m] : memory) {
    out << id << ": " << m.assignments << " " << Text(m.cells);
    for (const auto& [type, free] : m.free) out << " " << type << " " << free << "/" << m.reserved.find(type)->second;
    out << "\n";
  }
  return out.str();
}

std::string PodText(const Pod& pod) {
  std::ostringstream out;
  ForEachContainer(pod, [&](const Container& c, ContainerKind kind) {
    out << c.name << " (" << Name(kind) << ")";
    for (const auto& [name, amount] : c.resources.limits) out << " " << name << "=" << amount.ToString();
    out << "; ";
  });
  return out.str();
}

/// The kubelet admits a pod that takes the last shared CPU; Berth does not (docs/differences.md).
bool LastSharedCpu(const Reject& reject) { return reject.message.contains("would leave no CPU for the shared pool"); }

struct Count {
  int admitted = 0;
  int rejected = 0;
};

/// Admits random pods on one node and compares each answer. False: the settings did not fit the machine.
bool CompareOnOneNode(std::uint64_t seed, Count& count) {
  RandomNode random(seed);
  const auto node = random.MakeRegularNode();
  if (!node) return false;
  Inputs inputs = random.MakeInputs(*node);
  Ledger ledger = node->EmptyLedger();
  for (int i = 0; i < 6; ++i) {
    random.ChangeDevices(inputs);
    const Pod pod = random.MakePodOfAnyKind();
    SlowAdmission slow(*node, ledger, pod, inputs);
    const std::string expected = slow.Run();
    const Decision decision = Decide(*node, ledger, pod, inputs, nullptr);
    const std::string where = "seed " + std::to_string(seed) + ", pod " + std::to_string(i) + ": " + PodText(pod);
    if (const auto* reject = std::get_if<Reject>(&decision)) {
      if (LastSharedCpu(*reject)) continue;
      EXPECT_EQ(expected, reject->reason + ": " + reject->message) << where;
      ++count.rejected;
    } else {
      EXPECT_EQ(expected, "") << where;
      const LedgerDelta& delta = std::get<Admit>(decision).delta;
      Apply(ledger, delta);
      EXPECT_EQ(Show(slow.given()), Show(GivenBy(*delta.put))) << where;
      EXPECT_EQ(FormatIds(slow.shared()), FormatIds(ledger.shared)) << where;
      EXPECT_EQ(ShowMemory(slow.memory()), ShowMemory(ledger)) << where;
      ++count.admitted;
    }
    if (::testing::Test::HasFailure()) return true;
    if (random.OneIn(3) && !ledger.pods.empty())
      Apply(ledger, Release(*node, ledger, std::string(ledger.pods.begin()->first), nullptr));
  }
  return true;
}

TEST(AdmissionTwinTest, ASecondReadingOfTheRulesGivesTheSameAnswers) {
  const int nodes = PropertySteps(30000) / 60;
  Count count;
  int done = 0;
  for (std::uint64_t seed = 1; done < nodes && !HasFailure(); ++seed)
    if (CompareOnOneNode(seed, count)) ++done;
  EXPECT_GT(count.admitted, nodes / 2);
  EXPECT_GT(count.rejected, nodes / 2);
}

}  // namespace
}  // namespace berth::allocator
