#include "kubernetes/kube_client/line_reader.h"

#include "base/text.h"

namespace berth::kube {

bool LineReader::Take(std::string_view piece, const std::function<bool(std::string_view)>& visit) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    if (!skipping_ && begun_.size() + part.size() > longest_) {
      skipping_ = true;
      ++left_out_;
      begun_ = {};
    }
    if (!skipping_) begun_ += part;
    if (end == std::string_view::npos) return true;
    piece.remove_prefix(end + 1);
    const bool go_on = skipping_ || Trim(begun_).empty() || visit(begun_);
    skipping_ = false;
    begun_.clear();
    if (!go_on) return false;
  }
  return true;
}

}  // namespace berth::kube
