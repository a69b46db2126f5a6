#include "beside/door.h"

#include <utility>

namespace berth::beside {

void Door::Joined(const nri::Runtime& runtime) {
  loop_.Post("NRI", [&to = attendant_, runtime] { to.Joined(runtime); });
}

void Door::Left(const std::string& why) {
  loop_.Post("NRI", [&to = attendant_, why] { to.Left(why); });
}

/// What there is is looked at after the answer; calls that follow wait for that.
void Door::Synchronize(nri::Inventory inventory, nri::Answer<std::vector<nri::Update>> answer) {
  loop_.Post("NRI Synchronize",
             [&to = attendant_, inventory = std::move(inventory)] mutable { to.Synchronize(std::move(inventory)); });
  answer.Give(std::vector<nri::Update>());
}

void Door::CreateContainer(nri::Pod pod, nri::Container container, nri::Answer<nri::Creation> answer) {
  loop_.Post("NRI CreateContainer", [&to = attendant_, pod = std::move(pod), container = std::move(container),
                                     answer] mutable { to.Create(std::move(pod), std::move(container), answer); });
}

void Door::UpdateContainer(nri::Pod pod, nri::Container container, nri::Resources wanted,
                           nri::Answer<std::vector<nri::Update>> answer) {
  loop_.Post("NRI UpdateContainer",
             [&to = attendant_, pod = std::move(pod), container = std::move(container), wanted = std::move(wanted),
              answer] mutable { to.Update(std::move(pod), std::move(container), std::move(wanted), answer); });
}

void Door::StartContainer(nri::Pod pod, nri::Container container, nri::Answer<nri::Ready> answer) {
  loop_.Post("NRI StartContainer", [&to = attendant_, pod = std::move(pod), container = std::move(container),
                                    answer] mutable { to.Start(std::move(pod), std::move(container), answer); });
}

void Door::StopContainer(nri::Pod pod, nri::Container container, nri::Answer<std::vector<nri::Update>> answer) {
  loop_.Post("NRI StopContainer", [&to = attendant_, pod = std::move(pod), container = std::move(container)] mutable {
    to.Stop(std::move(pod), std::move(container));
  });
  answer.Give(std::vector<nri::Update>());  // its CPUs come back when its pod has gone
}

void Door::Happened(nri::Event event, nri::Pod pod, std::optional<nri::Container> container) {
  loop_.Post("NRI events", [&to = attendant_, event, pod = std::move(pod), container = std::move(container)] mutable {
    to.Happened(event, std::move(pod), std::move(container));
  });
}

}  // namespace berth::beside
