#include "daemon/web_options.h"

#include "config/berth_config.h"

namespace berth::daemon {

web::Options WebOptionsOf(const Settings& settings) {
  const config::WebSettings& from = *settings.berth.web;
  web::Options out{
      .token_file = from.token_file, .allow_changes = from.allow_changes, .node_name = settings.berth.node_name};
  if (const auto tcp = config::ParseTcpAddress(from.address)) {
    out.place.address = tcp->address;
    out.place.port = tcp->port;
    out.place.this_host_only = config::IsLoopback(*tcp);
  } else {
    out.place.socket = from.address;
    out.place.group = settings.berth.socket_group;
  }
  if (!from.certificate.empty()) out.place.tls = {.certificate = from.certificate, .key = from.key};
  return out;
}

}  // namespace berth::daemon
