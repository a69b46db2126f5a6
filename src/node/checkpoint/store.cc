#include "node/checkpoint/store.h"

#include <zlib.h>

#include <charconv>

#include "api/codec/codec.h"
#include "base/text.h"
#include "host/os/lock_file.h"

namespace berth::checkpoint {
namespace {

constexpr std::string_view kMagic = "berth-ledger";
constexpr std::string_view kCurrent = "ledger";
constexpr std::string_view kPrevious = "ledger.prev";
constexpr os::Millis kLockPatience{1'000};
constexpr int kMostKept = 9;  ///< files of a kind that are kept aside; the last one gives way to newer ones

std::uint32_t Checksum(std::string_view covered_header, std::string_view body) {
  uLong crc = crc32_z(0, nullptr, 0);
  for (std::string_view part : {covered_header, body})
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
  return static_cast<std::uint32_t>(crc);
}

std::string CoveredHeader(int version, std::size_t length) {
  return std::string(kMagic) + " " + std::to_string(version) + " " + std::to_string(length);
}

std::string Hex(std::uint32_t value) {
  char text[8];
  for (int i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[(value >> (28 - 4 * i)) & 15];
  return std::string(text, sizeof text);
}

struct Header {
  int version = 0;
  std::string_view body;
};

/// Everything that can be known before the body is understood: magic, version, length, checksum.
Result<Header> CheckHeader(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos || !bytes.starts_with(kMagic))
    return Fail(Code::kCorrupt, "this is not a ledger file, or its first line is cut off");
  const std::vector<std::string_view> words = Split(bytes.substr(0, end), ' ');
  const auto version = words.size() == 4 ? ParseDecimal<int>(words[1]) : std::nullopt;
  const auto length = words.size() == 4 ? ParseDecimal<std::size_t>(words[2]) : std::nullopt;
  if (!version || !length || words[0] != kMagic) return Fail(Code::kCorrupt, "the first line is damaged");
  const std::string_view body = bytes.substr(end + 1);
  if (body.size() != *length)
    return Fail(Code::kCorrupt, "the file holds " + std::to_string(body.size()) + " bytes after its first line, " +
                                    std::to_string(*length) + " were written");
  if (words[3] != Hex(Checksum(CoveredHeader(*version, *length), body)))
    return Fail(Code::kCorrupt, "the checksum does not fit the content");
  return Header{.version = *version, .body = body};
}

Result<std::string> HeaderText(const codec::Json& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_string()) return Fail(Code::kCorrupt, std::string("field ") + name + " is missing");
  return it->get<std::string>();
}

/// A ledger file that was read but cannot be used.
struct Unusable {
  std::string name;
  std::string bytes;
  Error why;
};

class FsStore final : public Store {
 public:
  FsStore(std::unique_ptr<os::Fs> fs, std::string directory, std::optional<os::LockFile> lock)
      : fs_(std::move(fs)), directory_(std::move(directory)), lock_(std::move(lock)) {}

  Result<std::optional<Saved>> Load(std::vector<std::string>* warnings) override {
    std::vector<Unusable> unusable;
    for (std::string_view name : {kCurrent, kPrevious}) {
      auto bytes = fs_->Read(name);
      if (!bytes && bytes.error().code == Code::kNotFound) continue;
      if (!bytes) {  // it may be whole, cannot be kept aside, and the next saves would write over it
        bytes.error().message +=
            "; start again when it can be read, or move it away: then the last good copy is used, or what is running";
        return std::unexpected(std::move(bytes).error());
      }
      auto saved = DecodeSaved(*bytes);
      if (!saved) {
        unusable.push_back({std::string(name), *std::move(bytes), std::move(saved).error()});
        continue;
      }
      for (const Unusable& file : unusable) KeepAside(file, warnings);
      if (name == kPrevious) Restore(*bytes, warnings);
      return std::optional(*std::move(saved));
    }
    for (const Unusable& file : unusable) KeepAside(file, warnings);
    if (!unusable.empty()) Warn(warnings, kCurrent, "no copy can be used; starting from what is running on the node");
    return std::nullopt;
  }

  Result<void> Save(const Saved& saved) override {
    const std::string bytes = EncodeSaved(saved);
    auto link = fs_->Link(kCurrent, kPrevious);
    if (!link && link.error().code != Code::kNotFound)
      return Wrap(std::move(link).error(), "keep the previous ledger in " + directory_);
    auto written = fs_->Replace(kCurrent, bytes);
    if (written) return {};
    // It may be in place without being durable. A decision that is refused must not come back with the next start.
    const auto undone = link ? fs_->Link(kPrevious, kCurrent) : fs_->RemoveFile(kCurrent);
    if (!undone) written.error().message += "; and the ledger before cannot be put back: " + undone.error().message;
    return Wrap(std::move(written).error(), "save the ledger in " + directory_);
  }

 private:
  void Warn(std::vector<std::string>* warnings, std::string_view name, std::string_view what) const {
    if (warnings != nullptr) warnings->push_back(directory_ + "/" + std::string(name) + ": " + std::string(what));
  }

  /// The last good copy becomes the current file again, so that the next save cannot push it out with a damaged one.
  void Restore(std::string_view bytes, std::vector<std::string>* warnings) {
    Warn(warnings, kPrevious, "using the last good copy; the newest decision may be missing");
    if (auto restored = fs_->Replace(kCurrent, bytes); !restored) Warn(warnings, kCurrent, restored.error().message);
  }

  /// A file that cannot be used is never overwritten silently: it is kept for people beside the new one.
  void KeepAside(const Unusable& file, std::vector<std::string>* warnings) {
    const bool newer = file.why.code == Code::kUnsupported;
    Warn(warnings, file.name, file.why.message + (newer ? "; the version of berthd that wrote it understands it" : ""));
    const std::string base = file.name + (newer ? ".newer" : ".damaged");
    for (int number = 0; number <= kMostKept; ++number) {
      const std::string aside = number == 0 ? base : base + "." + std::to_string(number);
      const auto there = fs_->Read(aside);
      if (there && *there == file.bytes) return;
      const bool taken = there || there.error().code != Code::kNotFound;  // whole, perhaps, though it cannot be read
      if (taken && number < kMostKept) continue;
      if (auto kept = fs_->Replace(aside, file.bytes); !kept) {
        Warn(warnings, aside, kept.error().message);
      } else {
        Warn(warnings, aside, "holds what could not be used");
      }
      return;
    }
  }

  std::unique_ptr<os::Fs> fs_;
  std::string directory_;
  std::optional<os::LockFile> lock_;
};

}  // namespace

std::string EncodeSaved(const Saved& saved) {
  codec::Json json;
  json["bootId"] = saved.boot_id;
  json["machine"] = saved.machine_fingerprint;
  json["ledger"] = codec::ToJson(saved.ledger);
  const std::string body = json.dump(-1, ' ', false, codec::Json::error_handler_t::replace) + "\n";
  const std::string covered = CoveredHeader(kLedgerVersion, body.size());
  return covered + " " + Hex(Checksum(covered, body)) + "\n" + body;
}

Result<Saved> DecodeSaved(std::string_view bytes) {
  BERTH_TRY(const Header header, CheckHeader(bytes));
  if (header.version != kLedgerVersion)
    return Fail(Code::kUnsupported, "written in format " + std::to_string(header.version) +
                                        ", this program reads format " + std::to_string(kLedgerVersion));
  BERTH_TRY(const codec::Json json, codec::ParseJson(header.body, "ledger"));
  if (!json.is_object() || !json.contains("ledger")) return Fail(Code::kCorrupt, "field ledger is missing");
  Saved out;
  BERTH_TRY(out.boot_id, HeaderText(json, "bootId"));
  BERTH_TRY(out.machine_fingerprint, HeaderText(json, "machine"));
  BERTH_TRY(out.ledger, codec::LedgerFromJson(json["ledger"]));
  return out;
}

Result<std::unique_ptr<Store>> Store::Open(const std::string& directory) {
  auto made = os::MakeDirs(directory, 0700);
  if (!made) return Wrap(std::move(made).error(), "open the state directory");
  auto lock = os::LockFile::Take(directory + "/lock", kLockPatience);
  if (!lock) return Wrap(std::move(lock).error(), "open the state directory");
  BERTH_TRY(std::unique_ptr<os::Fs> fs, os::OpenFs(directory));
  return std::unique_ptr<Store>(std::make_unique<FsStore>(std::move(fs), directory, *std::move(lock)));
}

std::unique_ptr<Store> Store::Make(std::unique_ptr<os::Fs> fs) {
  return std::make_unique<FsStore>(std::move(fs), "state", std::nullopt);
}

}  // namespace berth::checkpoint
