// An NRI handler that changes nothing: the base of those that have to do with few of the calls.
#ifndef BERTH_BESIDE_BYSTANDER_H_
#define BERTH_BESIDE_BYSTANDER_H_

#include <optional>
#include <string>
#include <vector>

#include "nri/handler.h"

namespace berth::beside {

class Bystander : public nri::Handler {
 public:
  void Joined(const nri::Runtime&) override {}
  void Left(const std::string&) override {}
  void Synchronize(nri::Inventory, nri::Answer<std::vector<nri::Update>> answer) override { answer.Give({}); }
  void CreateContainer(nri::Pod, nri::Container, nri::Answer<nri::Creation> answer) override { answer.Give({}); }
  void UpdateContainer(nri::Pod, nri::Container, nri::Resources,
                       nri::Answer<std::vector<nri::Update>> answer) override {
    answer.Give({});
  }
  void StartContainer(nri::Pod, nri::Container, nri::Answer<nri::Ready> answer) override { answer.Give(nri::Ready()); }
  void StopContainer(nri::Pod, nri::Container, nri::Answer<std::vector<nri::Update>> answer) override {
    answer.Give({});
  }
  void UpdatePod(nri::Pod, nri::Resources, nri::Resources) override {}
  void Happened(nri::Event, nri::Pod, std::optional<nri::Container>) override {}
};

}  // namespace berth::beside

#endif  // BERTH_BESIDE_BYSTANDER_H_
