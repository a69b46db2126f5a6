// The live page: its files, the calls of the API it makes, and the stream of what changes. docs/design/web.md.
#ifndef BERTH_API_WEB_WEB_SERVER_H_
#define BERTH_API_WEB_WEB_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/local_api/backend.h"
#include "api/web/feed.h"
#include "api/web/gate.h"
#include "base/result.h"
#include "model/node_snapshot.h"
#include "rpc/http/call.h"
#include "rpc/http/http_server.h"
#include "rpc/http/listener.h"

namespace berth::web {

/// Where the page is served.
struct Place {
  std::string socket;  ///< path of a unix socket, for root and `group`; "": over TCP
  std::string group;
  std::string address;  ///< IPv4 or IPv6
  std::uint16_t port = 0;
  bool this_host_only = true;         ///< only programs of this host can connect there
  std::optional<http::TlsFiles> tls;  ///< nullopt: plain HTTP
};

struct Options {
  Place place;
  std::string token_file;  ///< "": nobody is asked for a token
  bool allow_changes = false;
  std::string node_name;
  std::function<std::shared_ptr<const NodeSnapshot>()> snapshot;  ///< as FeedOptions::snapshot
  http::LostSocketTeller on_lost_socket = nullptr;                ///< as http::ServerOptions has it
};

/// Whether the files the settings name are there and hold what they should. Errors: of ReadToken and of reading them.
Result<void> CheckFiles(const Options& options);

/// The headers of every answer: nothing but the page's own files is loaded or run, and no other page may show it.
const http::HeaderList& SafeHeaders();

/// What a browser may ask for. `backend`, `gate` and `feed` outlive them.
std::vector<http::Route> Routes(const Options& options, api::Backend& backend, Gate& gate, Feed& feed);

/// Serves on threads of its own as long as it lives.
class Page {
 public:
  /// `backend` outlives it. Errors: as CheckFiles; of listening, and of http::Server::Start.
  static Result<std::unique_ptr<Page>> Start(Options options, api::Backend& backend);

 private:
  Page(const Options& options, std::string token, api::Backend& backend);

  Gate gate_;
  Feed feed_;
  std::unique_ptr<http::Server> server_;  // its handlers use the above
};

}  // namespace berth::web

#endif  // BERTH_API_WEB_WEB_SERVER_H_
