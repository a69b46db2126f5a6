// What the local API serves: the daemon implements it, the server only translates HTTP.
//
// Thread: every function is called from the server's own threads, several at a time.
#ifndef BERTH_API_BACKEND_H_
#define BERTH_API_BACKEND_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/codec.h"

namespace berth::api {

struct EventQuery {
  std::string since;                 ///< RFC 3339, or a duration back such as "10m"; "" for all
  std::string pod;                   ///< "name" or "namespace/name"; "" for all
  std::optional<std::size_t> limit;  ///< the newest so many
};

struct LogQuery {
  std::string namespace_;
  std::string pod;
  std::string container;  ///< "" when the pod has only one
  std::optional<std::size_t> tail;
  bool previous = false;  ///< of the attempt before the current one
  std::string since;      ///< as EventQuery::since
  // To go on reading: the answer's "path" and "next".
  bool follow = false;  ///< whoever asks will
  std::string log;
  std::string after;
};

struct ExecQuery {
  std::string namespace_;
  std::string pod;
  std::string container;  ///< "" when the pod has only one
  std::vector<std::string> command;
  std::chrono::seconds limit{60};
  /// Connection of whoever asked: when its other side closes it, nobody waits any more. -1: there is none.
  int caller_fd = -1;
};

/// Answers are the JSON documents of docs/reference/api.md. Errors become HTTP statuses by their code.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Result<codec::Json> Status() = 0;
  virtual Result<codec::Json> Machine() = 0;
  virtual Result<codec::Json> Node() = 0;
  virtual Result<codec::Json> Ledger() = 0;
  virtual Result<codec::Json> Pods() = 0;
  virtual Result<codec::Json> Tree() = 0;
  virtual Result<codec::Json> Pod(const std::string& namespace_, const std::string& name) = 0;
  virtual Result<codec::Json> ApplyPods(const std::string& manifests) = 0;
  virtual Result<codec::Json> DeletePod(const std::string& namespace_, const std::string& name) = 0;
  virtual Result<codec::Json> Explain(const std::string& manifest) = 0;
  virtual Result<codec::Json> Events(const EventQuery& query) = 0;
  virtual Result<codec::Json> Logs(const LogQuery& query) = 0;
  /// Takes as long as the command, which ends with its caller.
  virtual Result<codec::Json> Exec(const ExecQuery& query) = 0;
  virtual Result<codec::Json> Images() = 0;
};

}  // namespace berth::api

#endif  // BERTH_API_BACKEND_H_
