// Lines out of pieces of a stream, bounded. Internal to the component.
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_LINE_READER_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_LINE_READER_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace berth::kube {

class LineReader {
 public:
  /// Of longer lines nothing comes.
  explicit LineReader(std::size_t longest) : longest_(longest) {}

  /// visit(line) for each line that ends in `piece` and is not empty; false when it says so.
  bool Take(std::string_view piece, const std::function<bool(std::string_view)>& visit);
  std::size_t left_out() const { return left_out_; }

 private:
  std::size_t longest_;
  std::string begun_;
  bool skipping_ = false;
  std::size_t left_out_ = 0;
};

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_LINE_READER_H_
