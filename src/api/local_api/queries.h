// Query parameters of local API requests, parsed by the server and written by its clients.
#ifndef BERTH_API_LOCAL_API_QUERIES_H_
#define BERTH_API_LOCAL_API_QUERIES_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace berth::api {

struct ApplyQuery {
  std::string manifests;
  bool templates = false;  ///< make pods of those of Deployments and other workloads
  bool dry_run = false;    ///< only say what would be done
  std::string file = "";   ///< where they are from, for names made of a generateName; "": of the text itself
};

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
  bool follow = false;    ///< whoever asks will go on reading
  // To go on reading: path and next of the last answer. Nothing but the names above counts beside them.
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

struct ExplainQuery {
  std::string manifest;  ///< of one pod
  // Of a node that is this one but for these settings, as the KubeletConfiguration names them; nullopt: its own.
  std::optional<std::string> topology_policy;
  std::optional<std::string> topology_scope;
  std::optional<std::map<std::string, std::string>> cpu_options;
};

}  // namespace berth::api

#endif  // BERTH_API_LOCAL_API_QUERIES_H_
