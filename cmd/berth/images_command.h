// `berth images`: what the container runtime has, and bringing more without a registry.
#ifndef BERTH_CMD_BERTH_IMAGES_COMMAND_H_
#define BERTH_CMD_BERTH_IMAGES_COMMAND_H_

#include <string>

#include "berth/command_context.h"

namespace berth::cli {

struct ImagesOptions {
  std::string action = "list";  ///< list or import
  std::string file;             ///< archive to import
};
int RunImages(const ImagesOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_IMAGES_COMMAND_H_
