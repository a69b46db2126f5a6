#include "base/problems.h"

#include <algorithm>

#include "base/text.h"

namespace berth {

void Problems::Add(const Error& error) {
  if (!first_) first_ = error;
  for (const std::string_view line : Split(error.message, '\n'))
    if (std::ranges::find(lines_, line) == lines_.end()) lines_.emplace_back(line);
}

Result<void> Problems::Done() const {
  if (!first_) return {};
  return std::unexpected(Error{.code = first_->code, .sys = first_->sys, .message = Join(lines_, "\n")});
}

}  // namespace berth
