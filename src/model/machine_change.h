// One machine, looked at twice while it runs: what came, what went, and what is only offline.
#ifndef BERTH_MODEL_MACHINE_CHANGE_H_
#define BERTH_MODEL_MACHINE_CHANGE_H_

#include <string>

#include "model/machine.h"

namespace berth {

/// Memory of the machine and of its nodes, huge pages of every size: the same on both. Nodes without any count as not
/// there.
bool SameMemory(const Machine& a, const Machine& b);

/// `now` with those CPUs of `before` that it does not have: a CPU that went offline may come back, and what was
/// promised on it stays promised. They count as online, in the cores and on the nodes where they were; a node that is
/// gone but for them is one without memory.
Machine WithCpusOf(Machine now, const Machine& before);

/// What a person is told.
struct MachineChange {
  std::string text;  ///< "CPUs 8-11 joined; node 1 has 6Gi of memory (was 4Gi)"; "": nothing of what decisions rest on
  bool loses = false;  ///< something is less than it was
};
MachineChange DescribeChange(const Machine& before, const Machine& after);

}  // namespace berth

#endif  // BERTH_MODEL_MACHINE_CHANGE_H_
