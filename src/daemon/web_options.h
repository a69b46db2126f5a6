// The settings of the live page as the component web takes them.
#ifndef BERTH_DAEMON_WEB_OPTIONS_H_
#define BERTH_DAEMON_WEB_OPTIONS_H_

#include "api/web/web_server.h"
#include "daemon/settings.h"

namespace berth::daemon {

/// Without the snapshot. Requires: `web` is set.
web::Options WebOptionsOf(const Settings& settings);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_WEB_OPTIONS_H_
