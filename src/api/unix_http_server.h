// The HTTP library's server for a unix socket, with handlers that know the connection of their call.
#ifndef BERTH_API_UNIX_HTTP_SERVER_H_
#define BERTH_API_UNIX_HTTP_SERVER_H_

#include <httplib.h>

namespace berth::api {

/// One call a connection. Request::remote_port, which means nothing with unix sockets, is the connection's descriptor;
/// it stays open until the handler has returned.
class UnixHttpServer final : public httplib::Server {
 private:
  bool process_and_close_socket(socket_t connection) override;
};

}  // namespace berth::api

#endif  // BERTH_API_UNIX_HTTP_SERVER_H_
