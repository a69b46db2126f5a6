// NRI handler of the NRI agent: each call of a runtime is handed to the loop, in the order in which they came.
#ifndef BERTH_FRONTEND_NRI_AGENT_LOOP_HANDLER_H_
#define BERTH_FRONTEND_NRI_AGENT_LOOP_HANDLER_H_

#include <string>
#include <vector>

#include "frontend/nri_agent/nri_allocator.h"
#include "host/event_loop/loop.h"
#include "rpc/nri/handler.h"

namespace berth::nri_agent {

/// Thread: that of the plug-in.
class LoopHandler final : public nri::Handler {
 public:
  /// Both outlive it; the loop is closed before the agent goes.
  LoopHandler(event_loop::Loop& loop, NriAllocator& agent) : loop_(loop), agent_(agent) {}

  void Joined(const nri::Runtime& runtime) override;
  void Synchronize(nri::Inventory inventory, nri::Answer<std::vector<nri::Update>> answer) override;
  void Left(const std::string& why) override;
  void CreateContainer(nri::Pod pod, nri::Container container, nri::Answer<nri::Creation> answer) override;
  void UpdateContainer(nri::Pod pod, nri::Container container, nri::Resources wanted,
                       nri::Answer<std::vector<nri::Update>> answer) override;
  void StartContainer(nri::Pod pod, nri::Container container, nri::Answer<nri::Ready> answer) override;
  void StopContainer(nri::Pod pod, nri::Container container, nri::Answer<std::vector<nri::Update>> answer) override;
  void UpdatePod(nri::Pod, nri::Resources, nri::Resources) override {}
  void Happened(nri::Event event, nri::Pod pod, std::optional<nri::Container> container) override;

 private:
  event_loop::Loop& loop_;
  NriAllocator& agent_;
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_LOOP_HANDLER_H_
