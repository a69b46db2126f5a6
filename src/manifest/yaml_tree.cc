// YAML text -> Documents. The only file that knows yaml-cpp. Its events are used and not its nodes, because the nodes
// forget duplicate keys, and because aliases must be bounded while they are expanded.
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <exception>
#include <istream>
#include <streambuf>
#include <utility>

#include "base/text.h"
#include "manifest/document_tree.h"
#include "manifest/tree_builder.h"

namespace berth::manifest {
namespace {

constexpr std::size_t kMaxBetweenEvents = std::size_t{256} << 10;
constexpr std::size_t kMaxBrackets = std::size_t{64} << 10;  // that open, likewise
constexpr std::string_view kQuoted = "!";
constexpr std::string_view kPlain = "?";
constexpr std::string_view kStringTag = "tag:yaml.org,2002:str";

bool OneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

/// Numbers of YAML 1.1 in all their notations; whoever reads them takes plain decimals only and refuses the rest.
bool LooksLikeNumber(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (OneOf(text, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"})) return true;
  if (text.starts_with("0x") || text.starts_with("0o") || text.starts_with("0b"))
    return text.size() > 2 && text.find_first_not_of("0123456789abcdefABCDEF_", 2) == std::string_view::npos;
  std::string_view mantissa = text;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view exponent = text.substr(e + 1);
    if (exponent.starts_with('-') || exponent.starts_with('+')) exponent.remove_prefix(1);
    if (exponent.empty() || exponent.find_first_not_of("0123456789") != std::string_view::npos) return false;
    mantissa = text.substr(0, e);
  }
  return mantissa.find_first_of("0123456789") != std::string_view::npos && !mantissa.starts_with('_') &&
         mantissa.find_first_not_of("0123456789._") == std::string_view::npos && std::ranges::count(mantissa, '.') <= 1;
}

/// What Kubernetes' YAML reader (YAML 1.1) takes a plain scalar for.
Node::Kind PlainKind(std::string_view text) {
  if (OneOf(text, {"", "~", "null", "Null", "NULL"})) return Node::Kind::kNull;
  if (OneOf(text, {"true", "True", "TRUE", "false", "False", "FALSE", "yes", "Yes", "YES", "no", "No",
                   "NO",   "on",   "On",   "ON",    "off",   "Off",   "OFF", "y",   "Y",   "n",  "N"}))
    return Node::Kind::kBool;
  return LooksLikeNumber(text) ? Node::Kind::kNumber : Node::Kind::kString;
}

std::string BoolText(std::string_view text) {
  return OneOf(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"}) ? "true" : "false";
}

/// Text for yaml-cpp, which keeps everything between two events in memory, up to 130 bytes for each byte and 240 for a
/// bracket: an open one may be a key until it is closed. So the text ends early when too much of it has brought no
/// event. `text` outlives this.
class BoundedText final : public std::streambuf {
 public:
  /// Without an end yaml-cpp closes an open quote at the end of the file silently.
  explicit BoundedText(std::string_view text) : text_(text), end_(text.ends_with('\n') ? "...\n" : "") {}
  /// An event came.
  void Progress() {
    seen_ = given_;
    brackets_ = 0;
  }
  bool cut() const { return cut_; }

 private:
  int_type underflow() override {
    cut_ = cut_ || given_ - seen_ > kMaxBetweenEvents || brackets_ > kMaxBrackets;
    if (cut_) return traits_type::eof();
    std::string_view next = text_.substr(given_, kChunk);
    if (next.empty()) next = std::exchange(end_, std::string_view());
    if (next.empty()) return traits_type::eof();
    given_ = std::min(given_ + next.size(), text_.size());
    brackets_ += static_cast<std::size_t>(std::ranges::count_if(next, [](char c) { return c == '[' || c == '{'; }));
    char* const begin = const_cast<char*>(next.data());  // nothing is put back
    setg(begin, begin, begin + next.size());
    return traits_type::to_int_type(*begin);
  }

  static constexpr std::size_t kChunk = 2048;
  std::string_view text_;
  std::string_view end_;  // what follows it
  std::size_t given_ = 0;
  std::size_t seen_ = 0;      // given_ at the last event
  std::size_t brackets_ = 0;  // given since then
  bool cut_ = false;
};

/// Ends yaml-cpp's reading after the first problem.
struct Stop : std::exception {};

class YamlEvents final : public YAML::EventHandler {
 public:
  YamlEvents(BoundedText& text, Budget* budget) : text_(text), builder_(budget) {}
  void OnDocumentStart(const YAML::Mark& mark) override { started_at_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Scalar(mark, "", kPlain, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Scalar(mark, value, tag, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAsKey();
    builder_.Alias(anchor);
    Note(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    RefuseAsKey();
    builder_.BeginList(anchor);
    Note(mark);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    RefuseAsKey();
    builder_.BeginMap(anchor);
    Note(mark);
  }
  void OnSequenceEnd() override {
    builder_.End();
    text_.Progress();
  }
  void OnMapEnd() override {
    builder_.End();
    text_.Progress();
  }

  TreeBuilder& builder() { return builder_; }
  const YAML::Mark& started_at() const { return started_at_; }
  const YAML::Mark& failed_at() const { return failed_at_; }

 private:
  void Scalar(const YAML::Mark& mark, const std::string& text, std::string_view tag, YAML::anchor_t anchor) {
    const bool plain = tag == kPlain || tag.empty();
    if (!plain && tag != kQuoted && tag != kStringTag) {
      builder_.Fail("a tag of this kind is not supported; remove it");
    } else if (builder_.WantsKey()) {
      builder_.Key(text, plain && text == "<<");
    } else {
      const Node::Kind kind = plain ? PlainKind(text) : Node::Kind::kString;
      builder_.Scalar(kind, kind == Node::Kind::kBool ? BoolText(text) : kind == Node::Kind::kNull ? "" : text, anchor);
    }
    Note(mark);
  }
  void RefuseAsKey() {
    if (builder_.WantsKey()) builder_.Fail("a key must be plain text");
  }
  void Note(const YAML::Mark& mark) {
    text_.Progress();
    if (builder_.error().empty()) return;
    failed_at_ = mark;
    throw Stop();
  }

  BoundedText& text_;
  TreeBuilder builder_;
  YAML::Mark started_at_ = YAML::Mark::null_mark();
  YAML::Mark failed_at_ = YAML::Mark::null_mark();
};

std::string Place(const YAML::Mark& mark, int first_line) {
  if (mark.is_null()) return "";
  return "line " + std::to_string(mark.line + first_line) + ", column " + std::to_string(mark.column + 1) + ": ";
}

/// What yaml-cpp says, with the cure where there is one, and nothing of the text, which may be a secret.
std::string InOurWords(const std::string& message) {
  if (message == YAML::ErrorMsg::END_OF_MAP_FLOW) return "a '{' is not closed; is a '}' or a comma missing?";
  if (message == YAML::ErrorMsg::END_OF_SEQ_FLOW) return "a '[' is not closed; is a ']' or a comma missing?";
  if (message == YAML::ErrorMsg::END_OF_MAP || message == YAML::ErrorMsg::END_OF_SEQ)
    return message + "; is this line indented as the ones above it?";
  if (message == "illegal map value") return message + "; put a value that holds ': ' in quotes";
  if (message.starts_with(YAML::ErrorMsg::UNKNOWN_ANCHOR)) return "an alias refers to nothing above it";
  return Printable(message, 200);
}

/// False: there is none.
bool HandleDocument(YAML::Parser& parser, YamlEvents& events) {
  try {
    return parser.HandleNextDocument(events);
  } catch (const Stop&) {
    return true;
  }
}

/// One document and nothing after it: yaml-cpp takes stray text for further documents, and a stray bracket for an
/// endless row of empty ones.
Result<Document> ReadOne(BoundedText& text, int first_line, Budget* budget) {
  std::istream in(&text);
  YAML::Parser parser(in);
  YamlEvents events(text, budget);
  if (!HandleDocument(parser, events)) return Document();
  if (!events.builder().error().empty())
    return Fail(Code::kInvalid, Place(events.failed_at(), first_line) + events.builder().error());
  if (YamlEvents more(text, budget); HandleDocument(parser, more))
    return Fail(Code::kInvalid, Place(more.started_at(), first_line) +
                                    "not valid YAML: unexpected text after the end of the document; is a bracket, a "
                                    "quote or a \"---\" line missing?");
  return events.builder().Take();
}

Result<Document> ReadBounded(BoundedText& text, int first_line, Budget* budget) {
  try {
    return ReadOne(text, first_line, budget);
  } catch (const YAML::DeepRecursion& e) {
    return Fail(Code::kInvalid, Place(e.mark, first_line) + "too many levels of nesting");
  } catch (const YAML::Exception& e) {
    return Fail(Code::kInvalid, Place(e.mark, first_line) + "not valid YAML: " + InOurWords(e.msg));
  } catch (const std::exception& e) {
    return Fail(Code::kInvalid, std::string("not valid YAML: ") + e.what());
  }
}

}  // namespace

Result<Document> ReadYaml(std::string_view text, int first_line, Budget* budget) {
  if (text.size() > kMaxTextBytes) return Fail(Code::kInvalid, "larger than 10 MiB");
  BoundedText bounded(text);
  Result<Document> out = ReadBounded(bounded, first_line, budget);
  if (bounded.cut())
    return Fail(Code::kInvalid,
                "one value or bracket takes more than 256 KiB of YAML, or holds more than 65536 brackets; split it, or "
                "write JSON");
  return out;
}

}  // namespace berth::manifest
