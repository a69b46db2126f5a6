// Decision trace: the reasons for a decision, step by step; a sink the engine writes to. A null sink costs nothing.
#ifndef BERTH_MODEL_TRACE_H_
#define BERTH_MODEL_TRACE_H_

#include <string>
#include <utility>
#include <vector>

namespace berth {

struct TraceStep {
  std::string stage;      ///< "qos", "cpu", "memory", "device", "hints", "merge", "allocate", "reject", "release"
  std::string container;  ///< empty: the whole pod
  std::string resource;   ///< "cpu", "memory", "hugepages-2Mi", "vendor.com/gpu"; may be empty
  std::string text;       ///< one sentence in an operator's words
  friend bool operator==(const TraceStep&, const TraceStep&) = default;
};

class Trace {
 public:
  void Add(std::string stage, std::string container, std::string resource, std::string text) {
    steps_.push_back({std::move(stage), std::move(container), std::move(resource), std::move(text)});
  }
  const std::vector<TraceStep>& steps() const { return steps_; }

 private:
  std::vector<TraceStep> steps_;
};

}  // namespace berth

#endif  // BERTH_MODEL_TRACE_H_
