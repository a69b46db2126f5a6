// The real `berth` and `berth-conformance`, run as a user would.
#ifndef BERTH_TESTS_CLI_RUN_BERTH_H_
#define BERTH_TESTS_CLI_RUN_BERTH_H_

#include <string>
#include <vector>

#include "cli/run_program.h"

namespace berth {

/// Wait for the end. `input` is standard input. A program that a signal ends is a test failure.
Ran RunBerth(const std::vector<std::string>& arguments, const std::string& input = {});
Ran RunConformance(const std::vector<std::string>& arguments, const std::string& input = {});

/// Output, errors and "(exit status N)", fit to be stored: paths of the checkout are relative to it.
std::string Shown(const Ran& ran);

/// Lines without their ends; nothing after the last newline.
std::vector<std::string> Lines(const std::string& text);

/// Path of a file of tests/golden/simulate.
std::string SimulateInput(const std::string& name);

/// Writes a file; a test failure when it cannot.
void WriteText(const std::string& path, const std::string& text);
/// The same, gzipped.
void WriteGzip(const std::string& path, const std::string& text);
/// Lines of a gzipped file; a test failure when it cannot be read.
std::vector<std::string> GzipLines(const std::string& path);

}  // namespace berth

#endif  // BERTH_TESTS_CLI_RUN_BERTH_H_
