#include "host/os/work_notes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/os/fs.h"
#include "host/os/volatile_file.h"

namespace berth::os {
namespace {

constexpr const char* kWorkingOn = "/working-on";
constexpr const char* kSetAside = "/set-aside";
constexpr std::size_t kPlaceSize = WorkNotes::kLongestKey + 1;

/// FNV-1a: tells changed content from unchanged, no more is needed.
std::uint64_t HashOf(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// Keys that somebody was working on.
std::vector<std::string> KeysIn(std::string_view places) {
  std::vector<std::string> out;
  for (; places.size() >= kPlaceSize; places.remove_prefix(kPlaceSize)) {
    const std::string_view key = places.substr(0, std::min(places.find('\0'), kPlaceSize));
    if (!key.empty() && key == Printable(key, kPlaceSize)) out.emplace_back(key);
  }
  return out;
}

/// "COUNT KEY" per line; other lines are left out.
std::map<std::string, int> ParseCounts(std::string_view text) {
  std::map<std::string, int> out;
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos || out.size() == WorkNotes::kMostCounted) continue;
    if (const auto count = ParseDecimal<int>(line.substr(0, blank))) out.emplace(line.substr(blank + 1), *count);
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<WorkNotes>> WorkNotes::Open(const std::string& folder, std::vector<std::string>* warnings) {
  const std::string path = folder + kWorkingOn;
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return FailErrno("open", path, errno);
  std::unique_ptr<WorkNotes> out(new WorkNotes(std::move(fd), folder + kSetAside));
  BERTH_RETURN_IF_ERROR(out->TakeCounts(folder, warnings));
  return out;
}

Result<void> WorkNotes::TakeCounts(const std::string& folder, std::vector<std::string>* warnings) {
  const MutexLock lock(mutex_);
  BERTH_TRY(const std::unique_ptr<Fs> fs, OpenFs(folder));
  const auto text = fs->Read(kSetAside);
  if (text)
    deaths_ = ParseCounts(*text);
  else if (text.error().code != Code::kNotFound)
    warnings->push_back(text.error().message + "; what berthd ended at before is tried again");
  std::string places(kPlaces * kPlaceSize, '\0');
  const ssize_t n = ::pread(fd_.get(), places.data(), places.size(), 0);
  if (n < 0) return FailErrno("read", folder + kWorkingOn, errno);
  const std::vector<std::string> died_of = KeysIn(std::string_view(places).substr(0, static_cast<std::size_t>(n)));
  for (const std::string& key : died_of)
    if (deaths_.contains(key) || deaths_.size() < kMostCounted) ++deaths_[key];
  // First the counts: a process that dies between the two counts once more, none is lost.
  if (!died_of.empty()) BERTH_RETURN_IF_ERROR(SaveCounts());
  if (::ftruncate(fd_.get(), 0) != 0) return FailErrno("cut", folder + kWorkingOn, errno);
  return {};
}

Result<void> WorkNotes::SaveCounts() {
  std::string text;
  for (const auto& [key, count] : deaths_) text += std::to_string(count) + " " + key + "\n";
  return ReplaceVolatile(counts_path_, text);
}

std::string WorkNotes::KeyOf(std::string_view kind, std::string_view content, std::string_view place) {
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(HashOf(content)));
  return Printable(std::string(kind) + " " + hash + " " + std::string(place), kLongestKey - 3);  // "..." may follow
}

bool WorkNotes::IsSetAside(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto found = deaths_.find(key);
  return found != deaths_.end() && found->second >= kDeaths;
}

std::string WorkNotes::Explain(std::string_view change) const {
  return "set aside, because berthd ended " + std::to_string(kDeaths) +
         " times in a row while it worked on this; change " + std::string(change) + ", or remove " + counts_path_ +
         " and restart berthd to have it tried again";
}

bool WorkNotes::WritePlace(std::size_t place, std::string_view key) const {
  std::array<char, kPlaceSize> bytes{};
  key.copy(bytes.data(), kLongestKey);
  return ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(place * kPlaceSize)) ==
         static_cast<ssize_t>(bytes.size());
}

std::size_t WorkNotes::Note(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto place = static_cast<std::size_t>(std::ranges::find(taken_, false) - taken_.begin());
  if (place == kPlaces || !WritePlace(place, key)) return kPlaces;
  taken_[place] = true;
  return place;
}

void WorkNotes::Done(std::size_t place, const std::string& key) {
  const MutexLock lock(mutex_);
  if (place < kPlaces) taken_[place] = !WritePlace(place, "");  // one that cannot be wiped is not used again
  // Counts that cannot be saved now are saved with the next change.
  if (deaths_.erase(key) > 0) static_cast<void>(SaveCounts());
}

WorkNotes::Work::Work(WorkNotes* notes, std::string key) : notes_(notes), key_(std::move(key)) {
  if (notes_ != nullptr) place_ = notes_->Note(key_);
}

WorkNotes::Work::~Work() {
  if (notes_ != nullptr) notes_->Done(place_, key_);
}

}  // namespace berth::os
