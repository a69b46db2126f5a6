// Daemon: the live page.
#include <utility>

#include "daemon/daemon.h"
#include "daemon/web_options.h"

namespace berth::daemon {

/// Who only wants to look does not keep pods from running: without its page berthd goes on.
void Daemon::OpenWeb() {
  if (!settings_.berth.web) return;
  web::Options options = WebOptionsOf(settings_);
  options.snapshot = [this] { return NewestSnapshot(); };
  options.on_lost_socket = LostSocketTeller();
  auto page = web::Page::Start(std::move(options), *api_);
  const std::string node = "node/" + settings_.berth.node_name;
  if (!page) {
    events_->Warning("WebUnavailable", node, "the live page is not served: " + page.error().message);
    return;
  }
  web_ = *std::move(page);
  log_.Info("live page: " + settings_.berth.web->address);
}

}  // namespace berth::daemon
