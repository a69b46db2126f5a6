#include "conformance/replay_lines.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

namespace berth::conformance {
namespace {

constexpr unsigned kChunk = 1U << 16;

gzFile Gz(void* file) { return static_cast<gzFile>(file); }

/// zlib's "<fd:3>: " in front of a message says nothing to a reader.
std::string WithoutName(std::string_view message) {
  const std::size_t colon = message.find(": ");
  return std::string(colon == std::string_view::npos ? message : message.substr(colon + 2));
}

}  // namespace

void LineReader::Closer::operator()(void* file) const { gzclose_r(Gz(file)); }

Result<LineReader> LineReader::Open(const std::string& file) {
  const std::string name = file == "-" ? "standard input" : file;
  const int fd = file == "-" ? ::dup(STDIN_FILENO) : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FailErrno("open", name, errno);
  gzFile gz = gzdopen(fd, "rb");
  if (gz == nullptr) {
    ::close(fd);
    return Fail(Code::kExhausted, "open " + name + ": no memory");
  }
  gzbuffer(gz, 1U << 17);
  return LineReader(name, gz);
}

Result<bool> LineReader::Fill(const std::string& where) {
  if (failed_) return std::unexpected(*failed_);
  buffer_.resize(kChunk);
  at_ = 0;
  const int got = gzread(Gz(file_.get()), buffer_.data(), kChunk);
  const int error = errno;
  buffer_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  int code = Z_OK;
  const char* message = gzerror(Gz(file_.get()), &code);
  if (code == Z_ERRNO)
    failed_ = FailErrno("read", where, error).error();
  else if (code != Z_OK && code != Z_STREAM_END)
    failed_ = Error{Code::kCorrupt, 0, where + ": the gzip data are damaged or cut off: " + WithoutName(message)};
  if (buffer_.empty() && failed_) return std::unexpected(*failed_);
  return !buffer_.empty();
}

Result<std::optional<std::string>> LineReader::Next() {
  std::string out;
  ++line_;
  const std::string where = name_ + ":" + std::to_string(line_);
  for (;;) {
    const std::size_t end = buffer_.find('\n', at_);
    const std::size_t stop = std::min(end, buffer_.size());
    if (out.size() + (stop - at_) > kMaxLine) return Fail(Code::kInvalid, where + ": the line is longer than 64 MiB");
    out.append(buffer_, at_, stop - at_);
    at_ = stop;
    if (end != std::string::npos) {
      ++at_;
      return std::optional(std::move(out));
    }
    BERTH_TRY(const bool more, Fill(where));
    if (!more) break;
  }
  if (out.empty()) return std::optional<std::string>();
  return std::optional(std::move(out));
}

}  // namespace berth::conformance
