// An NRI handler that changes nothing: the base of those that have to do with few of the calls.
#ifndef BERTH_FRONTEND_NRI_AGENT_PASSIVE_HANDLER_H_
#define BERTH_FRONTEND_NRI_AGENT_PASSIVE_HANDLER_H_

#include <optional>
#include <string>
#include <vector>

#include "rpc/nri/handler.h"

namespace berth::nri_agent {

class PassiveHandler : public nri::Handler {
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

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_PASSIVE_HANDLER_H_
