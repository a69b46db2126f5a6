// NRI handler of the attendant: each call of a runtime is handed to the loop, in the order in which they came.
#ifndef BERTH_BESIDE_DOOR_H_
#define BERTH_BESIDE_DOOR_H_

#include <string>
#include <vector>

#include "beside/attendant.h"
#include "loop/loop.h"
#include "nri/handler.h"

namespace berth::beside {

/// Thread: that of the plug-in.
class Door final : public nri::Handler {
 public:
  /// Both outlive it; the loop is closed before the attendant goes.
  Door(loop::Loop& loop, Attendant& attendant) : loop_(loop), attendant_(attendant) {}

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
  loop::Loop& loop_;
  Attendant& attendant_;
};

}  // namespace berth::beside

#endif  // BERTH_BESIDE_DOOR_H_
