#include "conformance/replay_recordings.h"

#include <utility>

#include "api/codec/codec.h"
#include "base/text.h"
#include "conformance/replay_case.h"
#include "conformance/replay_compare.h"
#include "conformance/replay_lines.h"
#include "conformance/replay_run.h"
#include "host/os/clock.h"

namespace berth::conformance {
namespace {

using codec::Json;

struct Line {
  ReplayCase replay;
  Json expect;  ///< null for a bare case
};

Result<Line> ParseLine(const std::string& text, KubeletVersion version) {
  BERTH_TRY(Json json, codec::ParseJson(text, "the line"));
  if (!json.is_object()) return Fail(Code::kInvalid, "expected an object");
  const bool bare = json.contains("kind");
  if (!bare && !json.contains("case"))
    return Fail(Code::kInvalid, "case: the field is missing (a line is a case, or {\"case\": …, \"expect\": …})");
  BERTH_TRY(ReplayCase replay, ParseReplayCase(bare ? json : json["case"], version));
  return Line{.replay = std::move(replay), .expect = !bare && json.contains("expect") ? json["expect"] : Json()};
}

class Replayer {
 public:
  Replayer(const ReplayOptions& options, std::ostream& out, std::ostream& err)
      : options_(options), out_(out), err_(err) {}

  /// Errors: as LineReader; what was read before was taken.
  Result<void> File(const std::string& file) {
    BERTH_TRY(LineReader lines, LineReader::Open(file));
    for (;;) {
      BERTH_TRY(const auto text, lines.Next());
      if (!text) return {};
      if (Trim(*text).empty()) continue;
      auto line = ParseLine(*text, options_.kubelet_version);
      if (line) {
        Case(*line);
      } else {
        ++failed_;
        err_ << "berth-conformance: " << (file == "-" ? "standard input" : file) << ":" << lines.line() << ": "
             << line.error().message << "\n";
      }
    }
  }

  /// What there is to say about all of it.
  void Finish() {
    if (!options_.check) return;
    if (promises_only_ > 0)
      out_ << "traces held to promises alone from some step on, where the record refuses its own state or breaks a "
           << "promise: " << promises_only_ << "\n";
    if (steps_ > 0) out_ << "own node: " << compared_on_own_node_ << " of " << steps_ << " steps compared\n";
    out_ << passed_ << " passed, " << failed_ << " failed\n";
  }

  int failed() const { return failed_; }

 private:
  void Case(const Line& line) {
    const TraceGuide guide = options_.check ? GuideOf(line.replay, line.expect) : TraceGuide();
    ReplayResult result = RunReplayCase(line.replay, options_.timings ? &os::SystemClock() : nullptr, guide);
    Verdict verdict;
    if (options_.check) {
      verdict = line.expect.is_null() ? Verdict{.difference = "expect: the field is missing: nothing to compare with"}
                                      : CheckReplay(line.replay, guide, result, line.expect);
      ++(verdict.difference ? failed_ : passed_);
      steps_ += verdict.steps;
      compared_on_own_node_ += verdict.compared_on_own_node;
      if (verdict.promises_only_from) {
        ++promises_only_;
        result.json["promisesOnlyFrom"] = *verdict.promises_only_from;
        result.json["promisesOnlyBecause"] = verdict.excuse;
      }
    }
    if (!options_.check || options_.timings) out_ << codec::FormatJson(result.json) << "\n";
    if (verdict.difference) out_ << line.replay.name << ": " << *verdict.difference << "\n";
  }

  const ReplayOptions& options_;
  std::ostream& out_;
  std::ostream& err_;
  int passed_ = 0;
  int failed_ = 0;  // malformed ones too
  int promises_only_ = 0;
  std::size_t steps_ = 0;
  std::size_t compared_on_own_node_ = 0;
};

}  // namespace

int RunReplay(const ReplayOptions& options, std::ostream& out, std::ostream& err) {
  Replayer replayer(options, out, err);
  bool unreadable = false;
  for (const std::string& file : options.files) {
    if (auto read = replayer.File(file); !read) {
      unreadable = true;
      err << "berth-conformance: " << read.error().message << "\n";
    }
  }
  replayer.Finish();
  return replayer.failed() > 0 || unreadable ? 1 : 0;
}

}  // namespace berth::conformance
