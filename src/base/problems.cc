#include "base/problems.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace berth {

void Problems::Add(const Error& error) {
  if (!first_) first_ = error;
  std::size_t at = 0;
  for (const std::string_view line : Split(error.message, '\n')) {
    const std::size_t position = at++;
    if (std::ranges::find(lines_, line) != lines_.end()) continue;
    lines_.emplace_back(line);
    settings_.push_back(position < error.settings.size() ? error.settings[position] : "");
  }
}

void Problems::AddUntold(const Problems& others) {
  const std::vector<std::string> told = settings_;
  for (std::size_t i = 0; i < others.lines_.size(); ++i)
    if (others.settings_[i].empty() || std::ranges::find(told, others.settings_[i]) == told.end())
      Add({.code = others.first_->code,
           .sys = others.first_->sys,
           .message = others.lines_[i],
           .settings = {others.settings_[i]}});
}

Result<void> Problems::Done() const {
  if (!first_) return {};
  return std::unexpected(
      Error{.code = first_->code, .sys = first_->sys, .message = Join(lines_, "\n"), .settings = settings_});
}

std::unexpected<Error> BadSetting(std::string_view path, std::string_view what) {
  return std::unexpected(Error{.code = Code::kInvalid,
                               .sys = 0,
                               .message = std::string(path) + ": " + std::string(what),
                               .settings = {std::string(path.substr(0, path.find_first_of(".[, ")))}});
}

}  // namespace berth
