// Texts of `berth help TOPIC`, for subjects that belong to no single command.
#ifndef BERTH_CMD_BERTH_TOPICS_H_
#define BERTH_CMD_BERTH_TOPICS_H_

#include <string>
#include <vector>

namespace berth::cli {

struct Topic {
  std::string name;
  std::string summary;
  std::string text;  ///< lines as they are shown, none longer than 100 characters
};

/// All of them, by name.
const std::vector<Topic>& AllTopics();

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_TOPICS_H_
