// Asks libberth which pods fit on a machine, where they would run, and why not: would_it_fit MACHINE SETTINGS PODS...
// MACHINE is anything `berth machine -m` takes, for example "pack:2 numa:1 core:8 pu:2"; SETTINGS a
// KubeletConfiguration; PODS are manifests, admitted in order.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "berth/berth.h"

namespace {

/// "" when it cannot be read: which the parsers then complain about.
std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int Complain(const berth::Error& error) {
  std::fprintf(stderr, "would_it_fit: %s\n", error.message.c_str());
  return 1;
}

berth::Result<berth::Node> MakeNode(const char* machine, const char* settings) {
  berth::NodeOptions options;
  BERTH_TRY(berth::Machine loaded, berth::LoadMachine(machine));
  BERTH_TRY(options.settings, berth::ParseSettings(ReadFile(settings), settings));
  return berth::Node::Make(std::move(loaded), std::move(options));
}

void Show(const berth::PodRecord& pod) {
  for (const berth::Placement& placement : pod.placements)
    std::printf("%s/%s: CPUs %s\n", berth::FullName(pod).c_str(), placement.container.c_str(),
                placement.cpus ? berth::FormatIds(*placement.cpus).c_str() : "shared");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: would_it_fit MACHINE SETTINGS PODS...\n"), 2;
  auto node = MakeNode(argv[1], argv[2]);
  if (!node) return Complain(node.error());

  for (int i = 3; i < argc; ++i) {
    auto pods = berth::ParsePods(ReadFile(argv[i]), argv[i]);
    if (!pods) return Complain(pods.error());
    for (const berth::Pod& pod : *pods) {
      // A decision that is no: nothing was taken, and Explain says what is short, who has it and what would help.
      if (std::holds_alternative<berth::Reject>(node->Admit(pod))) {
        std::printf("%s", node->Explain(pod).c_str());
        continue;
      }
      Show(*berth::FindPod(node->ledger(), berth::FullName(pod)));
    }
  }
  std::printf("shared pool: %s\n", berth::FormatIds(node->ledger().shared).c_str());

  // A node goes on where another one stopped: the ledger as text holds all that was decided.
  auto kept = berth::ParseLedger(berth::FormatLedger(node->ledger()), "the text of the ledger");
  if (!kept) return Complain(kept.error());
  auto later = MakeNode(argv[1], argv[2]);
  if (!later) return Complain(later.error());
  if (auto restored = later->Restore(*kept); !restored) return Complain(restored.error());

  // Pods go, and what they had comes back.
  for (const auto& [uid, pod] : kept->pods) later->Release(uid);
  std::printf("shared pool without them: %s (libberth %s)\n", berth::FormatIds(later->ledger().shared).c_str(),
              std::string(berth::RunningVersion()).c_str());
  return 0;
}
