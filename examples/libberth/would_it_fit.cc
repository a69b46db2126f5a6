// Asks libberth where a pod would go: would_it_fit MACHINE POD.yaml
// MACHINE is anything `berth machine --from` takes, for example "pack:2 numa:1 core:8 pu:2".
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>

#include "engine/engine.h"
#include "machine/load.h"
#include "manifest/manifest.h"

namespace {

int Complain(const berth::Error& error) {
  std::fprintf(stderr, "would_it_fit: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: would_it_fit MACHINE POD.yaml\n"), 2;
  auto machine = berth::machine::Load(argv[1]);
  if (!machine) return Complain(machine.error());

  berth::KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.topology_manager_policy = "single-numa-node";
  config.reserved_system_cpus = "0";
  auto node = berth::engine::Node::Make(*std::move(machine), config);
  if (!node) return Complain(node.error());

  std::ifstream file(argv[2]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto parsed = berth::manifest::ParsePods(text, argv[2]);
  if (!parsed) return Complain(parsed.error());

  berth::Ledger ledger = node->EmptyLedger();
  for (const berth::Pod& pod : parsed->pods) {
    berth::Pod named = pod;
    if (named.uid.empty()) named.uid = named.name;
    const berth::Decision decision = berth::engine::Decide(*node, ledger, named, {}, nullptr);
    if (const auto* no = std::get_if<berth::Reject>(&decision)) {
      std::printf("%s: %s: %s\n", pod.name.c_str(), no->reason.c_str(), no->message.c_str());
      continue;
    }
    const berth::LedgerDelta& delta = std::get<berth::Admit>(decision).delta;
    for (const berth::Placement& placement : delta.put->placements)
      std::printf("%s/%s: CPUs %s\n", pod.name.c_str(), placement.container.c_str(),
                  placement.cpus ? berth::FormatIds(*placement.cpus).c_str() : "shared");
    berth::Apply(ledger, delta);
  }
  return 0;
}
