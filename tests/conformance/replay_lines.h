// Lines of plain or gzipped text, one at a time.
#ifndef BERTH_TESTS_CONFORMANCE_REPLAY_LINES_H_
#define BERTH_TESTS_CONFORMANCE_REPLAY_LINES_H_

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace berth::conformance {

/// Reads a file, or standard input for "-". What is not gzip is read as it is; a NUL byte is a character like any
/// other. Thread: one.
class LineReader {
 public:
  /// A longer line is an error: no case is that large.
  static constexpr std::size_t kMaxLine = std::size_t{64} << 20;

  /// Errors: as open(2); the message names the file.
  static Result<LineReader> Open(const std::string& file);

  /// The next line without its end; nullopt after the last. Errors: kCorrupt (damaged or truncated gzip data), kInvalid
  /// (line too long), kIo; nothing more can be read after one.
  Result<std::optional<std::string>> Next();

  /// Number of the line that Next gave last, from 1.
  int line() const { return line_; }

 private:
  struct Closer {
    void operator()(void* file) const;
  };
  /// Reads on into the empty buffer; false at the end. Errors: as Next, but for the long line.
  Result<bool> Fill(const std::string& where);

  LineReader(std::string name, void* file) : name_(std::move(name)), file_(file) {}

  std::string name_;
  std::unique_ptr<void, Closer> file_;  // gzFile, which zlib.h makes a pointer
  std::string buffer_;                  // text read and not yet given starts at `at_`
  std::size_t at_ = 0;
  std::optional<Error> failed_;  // given once the text read before it is
  int line_ = 0;
};

}  // namespace berth::conformance

#endif  // BERTH_TESTS_CONFORMANCE_REPLAY_LINES_H_
