#include "frontend/nri_agent/loop_handler.h"

#include <utility>

namespace berth::nri_agent {

void LoopHandler::Joined(const nri::Runtime& runtime) {
  loop_.Post("NRI", [&to = agent_, runtime] { to.Joined(runtime); });
}

void LoopHandler::Left(const std::string& why) {
  loop_.Post("NRI", [&to = agent_, why] { to.Left(why); });
}

/// What there is is looked at after the answer; calls that follow wait for that.
void LoopHandler::Synchronize(nri::Inventory inventory, nri::Answer<std::vector<nri::Update>> answer) {
  loop_.Post("NRI Synchronize",
             [&to = agent_, inventory = std::move(inventory)] mutable { to.Synchronize(std::move(inventory)); });
  answer.Give(std::vector<nri::Update>());
}

void LoopHandler::CreateContainer(nri::Pod pod, nri::Container container, nri::Answer<nri::Creation> answer) {
  loop_.Post("NRI CreateContainer", [&to = agent_, pod = std::move(pod), container = std::move(container),
                                     answer] mutable { to.Create(std::move(pod), std::move(container), answer); });
}

void LoopHandler::UpdateContainer(nri::Pod pod, nri::Container container, nri::Resources wanted,
                                  nri::Answer<std::vector<nri::Update>> answer) {
  loop_.Post("NRI UpdateContainer",
             [&to = agent_, pod = std::move(pod), container = std::move(container), wanted = std::move(wanted),
              answer] mutable { to.Update(std::move(pod), std::move(container), std::move(wanted), answer); });
}

void LoopHandler::StartContainer(nri::Pod pod, nri::Container container, nri::Answer<nri::Ready> answer) {
  loop_.Post("NRI StartContainer", [&to = agent_, pod = std::move(pod), container = std::move(container),
                                    answer] mutable { to.Start(std::move(pod), std::move(container), answer); });
}

void LoopHandler::StopContainer(nri::Pod pod, nri::Container container, nri::Answer<std::vector<nri::Update>> answer) {
  loop_.Post("NRI StopContainer", [&to = agent_, pod = std::move(pod), container = std::move(container)] mutable {
    to.Stop(std::move(pod), std::move(container));
  });
  answer.Give(std::vector<nri::Update>());  // its CPUs come back when its pod has gone
}

void LoopHandler::Happened(nri::Event event, nri::Pod pod, std::optional<nri::Container> container) {
  loop_.Post("NRI events", [&to = agent_, event, pod = std::move(pod), container = std::move(container)] mutable {
    to.Happened(event, std::move(pod), std::move(container));
  });
}

}  // namespace berth::nri_agent
