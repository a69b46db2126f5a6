// A program run to its end, as a shell would.
#ifndef BERTH_TESTS_CLI_RUN_PROGRAM_H_
#define BERTH_TESTS_CLI_RUN_PROGRAM_H_

#include <string>
#include <vector>

namespace berth {

struct Ran {
  int status = -1;  ///< exit status; -1: did not start or ended by a signal
  std::string out;
  std::string err;
};

struct RunOptions {
  std::vector<std::string> environment;  ///< "NAME=value", beside PATH
  std::string input;
};

/// Runs `program` (found in PATH unless it has a slash) and waits for its end.
Ran RunProgram(const std::string& program, const std::vector<std::string>& arguments, const RunOptions& options = {});
/// Runs the `berth` that was built.
Ran Berth(const std::vector<std::string>& arguments, const RunOptions& options = {});

/// Starts `program` without waiting; both outputs go to the file `log`. Gives its pid; -1: did not start.
int Spawn(const std::string& program, const std::vector<std::string>& arguments,
          const std::vector<std::string>& environment, const std::string& log);

}  // namespace berth

#endif  // BERTH_TESTS_CLI_RUN_PROGRAM_H_
