// A plug-in of NRI that gives every container the CPUs that its configuration file names, or its second argument.
//
//   nri_probe SOCKET CPUS    joins the runtime there until it is ended; without arguments it was started by a runtime
#include <poll.h>

#include <cstdio>
#include <cstdlib>

#include "rpc/nri/launch.h"
#include "rpc/nri/plugin.h"

namespace {

namespace n = berth::nri;

class NarrowingHandler final : public n::Handler {
 public:
  explicit NarrowingHandler(std::string cpus) : cpus_(std::move(cpus)) {}

 private:
  using Updates = n::Answer<std::vector<n::Update>>;
  void Joined(const n::Runtime& runtime) override {
    if (!runtime.config.empty()) cpus_ = runtime.config;
  }
  void Synchronize(n::Inventory, Updates answer) override { answer.Give({}); }
  void Left(const std::string&) override {}
  void CreateContainer(n::Pod, n::Container, n::Answer<n::Creation> answer) override {
    answer.Give(n::Creation{.adjustment = {.resources = {.cpus = cpus_}}});
  }
  void UpdateContainer(n::Pod, n::Container, n::Resources, Updates answer) override { answer.Give({}); }
  void StopContainer(n::Pod, n::Container, Updates answer) override { answer.Give({}); }
  void StartContainer(n::Pod, n::Container, n::Answer<n::Ready> answer) override { answer.Give(n::Ready{}); }
  void UpdatePod(n::Pod, n::Resources, n::Resources) override {}
  void Happened(n::Event, n::Pod, std::optional<n::Container>) override {}

  std::string cpus_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto launch = n::FindLaunch(&std::getenv);
  const bool launched = launch && *launch;
  if (!launched && argc != 3) return std::fprintf(stderr, "usage: nri_probe SOCKET CPUS\n"), 2;
  NarrowingHandler handler(launched ? "" : argv[2]);
  n::PluginOptions options;
  if (launched) {
    options.name = (*launch)->name;
    options.index = (*launch)->index;
    options.launched_socket = (*launch)->socket;
  } else {
    options.socket = argv[1];
  }
  const auto plugin = n::Plugin::Start(options, handler);
  if (!plugin) return 1;
  while (!(*plugin)->status().over) ::poll(nullptr, 0, 20);
  return 0;
}
