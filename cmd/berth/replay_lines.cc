#include "berth/replay_lines.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>

namespace berth::cli {
namespace {

gzFile Gz(void* file) { return static_cast<gzFile>(file); }

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

Result<std::optional<std::string>> LineReader::Next() {
  std::array<char, 1 << 16> buffer;
  std::string out;
  ++line_;
  const std::string where = name_ + ":" + std::to_string(line_);
  for (;;) {
    const char* part = gzgets(Gz(file_.get()), buffer.data(), static_cast<int>(buffer.size()));
    int code = Z_OK;
    const char* message = gzerror(Gz(file_.get()), &code);
    if (code == Z_ERRNO) return FailErrno("read", where, errno);
    if (code != Z_OK && code != Z_STREAM_END)
      return Fail(Code::kCorrupt, where + ": the gzip data are damaged or cut off: " + message);
    if (part == nullptr) break;
    out += part;
    if (out.ends_with('\n')) {
      out.pop_back();
      return std::optional(std::move(out));
    }
    if (out.size() > kMaxLine) return Fail(Code::kInvalid, where + ": the line is longer than 64 MiB");
  }
  if (out.empty()) return std::optional<std::string>();
  return std::optional(std::move(out));
}

}  // namespace berth::cli
