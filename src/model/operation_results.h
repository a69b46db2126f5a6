// Response values of berthd's operations: manifests stored and removed, restarted pods, log pages, images, results of
// commands (exec).
#ifndef BERTH_MODEL_OPERATION_RESULTS_H_
#define BERTH_MODEL_OPERATION_RESULTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

enum class StoreAction { kCreated, kConfigured, kUnchanged };
std::string_view Name(StoreAction action);  ///< "created", "configured", "unchanged"

/// A pod whose manifest was stored, or a ConfigMap or Secret beside it.
struct StoredPod {
  std::string namespace_;
  std::string name;  ///< of a pod as on the node: with the node's name appended
  std::string file;  ///< path
  StoreAction action = StoreAction::kUnchanged;
  std::string kind = "Pod";
  friend bool operator==(const StoredPod&, const StoredPod&) = default;
};
struct StoredPods {
  std::vector<StoredPod> results;
  std::vector<std::string> warnings;
  /// Of a dry run: why nothing would be stored. `results` has then what is fine.
  std::vector<std::string> problems{};
  friend bool operator==(const StoredPods&, const StoredPods&) = default;
};

/// A pod whose manifest was removed, or a ConfigMap or Secret.
struct DeletedPod {
  std::string namespace_;
  std::string name;
  std::string file;
  std::string kind = "Pod";
  friend bool operator==(const DeletedPod&, const DeletedPod&) = default;
};

/// A pod whose containers are ended and started again where they are.
struct RestartedPod {
  std::string namespace_;
  std::string name;
  std::vector<std::string> containers;
  friend bool operator==(const RestartedPod&, const RestartedPod&) = default;
};

/// One line of output, or a piece of one.
struct LogEntry {
  std::string time;      ///< RFC 3339 with nanoseconds, of its last piece
  std::string stream;    ///< "stdout" or "stderr"
  std::string text;      ///< without newline; any bytes
  bool partial = false;  ///< a piece: the line goes on in the next entry of this stream
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};
/// A part of a container's log.
struct LogPage {
  std::string path;               ///< of the log
  bool running = false;           ///< the container may write more
  std::vector<LogEntry> entries;  ///< oldest first
  std::string next;               ///< where the log goes on: what to ask for next
  bool more = false;              ///< there is more already
  bool gap = false;               ///< what followed the place asked for is gone
  friend bool operator==(const LogPage&, const LogPage&) = default;
};

/// How a command in a container ended.
struct CommandEnd {
  std::string out;  ///< any bytes
  std::string err;
  int exit_code = 0;    ///< the command's own, or what a shell would say
  std::string message;  ///< what is to be known beside; "": nothing
  friend bool operator==(const CommandEnd&, const CommandEnd&) = default;
};

struct ImageView {
  std::string id;
  std::vector<std::string> tags;
  std::vector<std::string> digests;
  std::uint64_t size = 0;  ///< bytes
  friend bool operator==(const ImageView&, const ImageView&) = default;
};
struct ImageList {
  std::string runtime;   ///< name and version
  std::string endpoint;  ///< its socket
  std::vector<ImageView> images;
  friend bool operator==(const ImageList&, const ImageList&) = default;
};
/// What an archive brought.
struct ImportedImages {
  std::vector<std::string> names;  ///< that are new, or mean another image than before
};

}  // namespace berth

#endif  // BERTH_MODEL_OPERATION_RESULTS_H_
