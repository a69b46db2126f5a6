#include "rpc/http/exchange.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "rpc/http/route.h"

namespace berth::http {
namespace {

constexpr std::size_t kPiece = std::size_t{16} << 10;

bool Is(std::string_view a, std::string_view b) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// The headers that decide how a call is read, and all of them for its handler.
struct Headers {
  std::map<std::string, std::string>* all = nullptr;
  int lengths = 0;
  int encodings = 0;  // Transfer-Encoding
  bool chunked = false;
  bool content_encoding = false;
  bool expects = false;
  bool expects_else = false;
  std::optional<std::uint64_t> length;
};

MHD_Result TakeHeader(void* to, MHD_ValueKind /*kind*/, const char* key, std::size_t key_size, const char* text,
                      std::size_t size) {
  auto& headers = *static_cast<Headers*>(to);
  const std::string_view name(key, key_size);
  const std::string_view value = text == nullptr ? std::string_view() : std::string_view(text, size);
  std::string lower;
  for (const unsigned char c : name) lower += static_cast<char>(std::tolower(c));
  std::string& kept = (*headers.all)[lower];
  kept += (kept.empty() ? "" : ", ") + std::string(value);
  if (Is(name, "Content-Length")) {
    ++headers.lengths;
    headers.length = ParseDecimal<std::uint64_t>(value);
  } else if (Is(name, "Transfer-Encoding")) {
    ++headers.encodings;
    headers.chunked = Is(value, "chunked");
  } else if (Is(name, "Content-Encoding")) {
    headers.content_encoding = true;
  } else if (Is(name, "Expect")) {
    (Is(value, "100-continue") ? headers.expects : headers.expects_else) = true;
  }
  return MHD_YES;
}

struct Query {
  std::map<std::string, std::string>* values;
  bool wrong = false;
};

MHD_Result TakeParameter(void* to, MHD_ValueKind /*kind*/, const char* key, std::size_t key_size, const char* text,
                         std::size_t size) {
  auto& query = *static_cast<Query*>(to);
  auto name = DecodePercent({key, key_size});
  auto value = DecodePercent(text == nullptr ? std::string_view() : std::string_view(text, size));
  if (name && value) {
    query.values->try_emplace(*std::move(name), *std::move(value));
  } else {
    query.wrong = true;
  }
  return MHD_YES;
}

Opening Refuse(int status, std::string why) { return {.status = status, .why = std::move(why)}; }

Opening CheckHeaders(const Headers& headers, std::size_t size, const Limits& limits) {
  if (size > kMostRequestHeaderBytes) return Refuse(431, "the request's headers are larger than 32 KiB");
  if (headers.content_encoding) return Refuse(415, "bodies are taken as they are, without a Content-Encoding");
  if (headers.expects_else) return Refuse(417, "nothing but 100-continue can be expected");
  if (headers.lengths + headers.encodings > 1 || (headers.lengths == 1 && !headers.length))
    return Refuse(400, "bad HTTP request: the length of the body is not clear");
  if (headers.encodings == 1 && !headers.chunked) return Refuse(501, "no Transfer-Encoding but chunked is known");
  if (headers.length.value_or(0) > limits.body) return Refuse(413, TooLarge(limits.body));
  return {};
}

Opening FindRoute(Exchange& exchange, const ServerOptions& options, const std::string& url, const std::string& method) {
  const auto path = SplitPath(url);
  if (!path) return Refuse(400, "bad HTTP request: a '%' in the path is not followed by the code of a character");
  Query query{.values = &exchange.request.query};
  MHD_get_connection_values_n(exchange.connection, MHD_GET_ARGUMENT_KIND, &TakeParameter, &query);
  if (query.wrong)
    return Refuse(400, "bad HTTP request: a '%' in the query is not followed by the code of a character");
  for (const Route& route : options.routes) {
    if (route.method != method) continue;
    auto parts = MatchPath(route.pattern, *path);
    if (!parts) continue;
    exchange.route = &route;
    exchange.request.method = method;
    exchange.request.parts = *std::move(parts);
    return {};
  }
  return Refuse(404, "no call " + Printable(method) + " " + Printable(url));
}

/// Fills `out` from the stream; called by the library on the server's thread.
ssize_t TakePiece(void* of, std::uint64_t /*position*/, char* out, std::size_t room) {
  auto& exchange = *static_cast<Exchange*>(of);
  if (exchange.gone) return MHD_CONTENT_READER_END_WITH_ERROR;
  if (exchange.sent == exchange.piece.size()) {
    auto next = exchange.answer->stream->Next();
    if (!next) {
      std::string().swap(exchange.piece);
      exchange.sent = 0;
      exchange.stage = Exchange::Stage::kPause;
      MHD_suspend_connection(exchange.connection);
      return 0;
    }
    if (next->empty()) return MHD_CONTENT_READER_END_OF_STREAM;
    exchange.piece = *std::move(next);
    exchange.sent = 0;
  }
  const std::size_t size = std::min(room, exchange.piece.size() - exchange.sent);
  std::copy_n(exchange.piece.data() + exchange.sent, size, out);
  exchange.sent += size;
  return static_cast<ssize_t>(size);
}

}  // namespace

std::size_t MostBody(const Exchange& exchange, const Limits& limits) {
  return std::min(limits.body, exchange.route == nullptr ? limits.body : exchange.route->body.value_or(limits.body));
}

std::string TooLarge(std::size_t most) { return "request body is larger than " + std::to_string(most) + " bytes"; }

Opening Open(Exchange& exchange, const ServerOptions& options, const std::string& url, const std::string& method) {
  Headers headers{.all = &exchange.request.headers};
  MHD_get_connection_values_n(exchange.connection, MHD_HEADER_KIND, &TakeHeader, &headers);
  const MHD_ConnectionInfo* const size =
      MHD_get_connection_info(exchange.connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  Opening opening = CheckHeaders(headers, size == nullptr ? 0 : size->header_size, options.limits);
  if (opening.status == 0) opening = FindRoute(exchange, options, url, method);
  opening.length = headers.length.value_or(0);
  if (const std::size_t most = MostBody(exchange, options.limits); opening.status == 0 && opening.length > most)
    opening = Refuse(413, TooLarge(most));
  opening.has_body = headers.lengths + headers.encodings > 0;
  return opening;
}

MHD_Result Send(Exchange& exchange, const HeaderList& of_all) {
  Answer& answer = *exchange.answer;
  MHD_Response* const response =
      answer.stream != nullptr
          ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kPiece, &TakePiece, &exchange, nullptr)
          : MHD_create_response_from_buffer(answer.body.size(), answer.body.data(), MHD_RESPMEM_PERSISTENT);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  const auto add = [&](const HeaderList& list) {
    for (const auto& [name, value] : list) MHD_add_response_header(response, name.c_str(), value.c_str());
  };
  add(of_all);
  add(answer.headers);
  const MHD_Result queued = MHD_queue_response(exchange.connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  exchange.stage = Exchange::Stage::kAnswer;
  return queued;
}

}  // namespace berth::http
