// The calls of docs/reference/api.md as routes of an HTTP server.
#ifndef BERTH_API_LOCAL_API_ROUTES_H_
#define BERTH_API_LOCAL_API_ROUTES_H_

#include <string>
#include <vector>

#include "api/local_api/backend.h"
#include "base/result.h"
#include "rpc/http/call.h"

namespace berth::api {

/// Of Backend::Metrics.
inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

/// All of them. `backend` must outlive them.
std::vector<http::Route> Routes(Backend& backend);
/// GET /metrics alone, likewise.
http::Route MetricsRoute(Backend& backend);

/// The answer with an error and its HTTP status.
http::Answer AnswerOf(const Error& error);
/// The answer to a call that reaches no handler: as ServerOptions::refuse of http.
http::Answer Refuse(int status, std::string why);

}  // namespace berth::api

#endif  // BERTH_API_LOCAL_API_ROUTES_H_
