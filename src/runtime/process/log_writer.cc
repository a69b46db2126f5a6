#include "runtime/process/log_writer.h"

#include "base/time_text.h"

namespace berth::runtime {
namespace {

constexpr std::size_t kBatch = std::size_t{64} << 10;

}  // namespace

std::string_view Name(Stream stream) { return stream == Stream::kStdout ? "stdout" : "stderr"; }

void LogWriter::Write(Stream stream, std::string_view bytes, os::WallTime now) {
  std::string& open = open_lines_[stream == Stream::kStdout ? 0 : 1];
  while (!bytes.empty()) {
    const std::size_t room = kMaxLine - open.size();
    const std::size_t newline = bytes.substr(0, room + 1).find('\n');
    if (newline != std::string_view::npos) {
      open += bytes.substr(0, newline);
      bytes.remove_prefix(newline + 1);
      AddLine(stream, 'F', open, now);
      open.clear();
    } else if (bytes.size() > room) {  // more of this line is here already
      open += bytes.substr(0, room);
      bytes.remove_prefix(room);
      AddLine(stream, 'P', open, now);
      open.clear();
    } else {
      open += bytes;
      bytes = {};
    }
  }
  Flush(now);
}

void LogWriter::Finish(os::WallTime now) {
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    std::string& open = open_lines_[stream == Stream::kStdout ? 0 : 1];
    if (!open.empty()) AddLine(stream, 'P', open, now);
    open.clear();
  }
  Flush(now);
}

void LogWriter::AddLine(Stream stream, char tag, std::string_view text, os::WallTime now) {
  const std::size_t size = text.size() + 48;  // an upper bound of the entry
  const std::uint64_t in_file = file_ ? file_->size() : 0;
  const bool full = in_file + batch_.size() + size > options_.max_bytes && in_file + batch_.size() > 0;
  if (full || batch_.size() >= kBatch) Flush(now);
  if (full && file_ && file_->size() > 0) {
    file_.reset();
    if (Result<void> done = os::RotateFiles(options_.path, options_.max_files); !done) error_ = done.error().message;
  }
  batch_.append(FormatNanoTime(now)).append(" ").append(Name(stream)).append(" ").append(1, tag).append(" ");
  batch_.append(text).append("\n");
  batch_payload_ += text.size() + (tag == 'F' ? 1 : 0);
}

void LogWriter::Flush(os::WallTime now) {
  if (batch_.empty()) return;
  bool written = true;
  if (unreported_ > 0) {
    written = Append(FormatNanoTime(now) + " stderr F [berth: " + std::to_string(unreported_) +
                     " bytes of output are missing here: " + error_ + "]\n");
    if (written) unreported_ = 0;
  }
  if (!written || !Append(batch_)) {
    lost_ += batch_payload_;
    unreported_ += batch_payload_;
  }
  batch_.clear();
  batch_payload_ = 0;
}

bool LogWriter::Append(std::string_view entries) {
  if (!file_) {
    Result<os::AppendFile> opened = os::AppendFile::Open(options_.path);
    if (!opened) {
      error_ = opened.error().message;
      return false;
    }
    file_ = *std::move(opened);
  }
  Result<void> done = file_->Append(entries);
  if (!done) error_ = done.error().message;
  return done.has_value();
}

}  // namespace berth::runtime
