// Pods in a line, with amounts as manifests write them.
#ifndef BERTH_TESTING_PODS_H_
#define BERTH_TESTING_PODS_H_

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "model/pod.h"

namespace berth::testkit {

/// Resource and amount; an amount of "" is left out.
using Pairs = std::initializer_list<std::pair<std::string, std::string>>;

inline ResourceList List(Pairs pairs) {
  ResourceList out;
  for (const auto& [name, text] : pairs) {
    if (text.empty()) continue;
    const Result<Quantity> amount = Quantity::Parse(text);
    EXPECT_TRUE(amount) << name << ": " << text;
    if (amount) out[name] = *amount;
  }
  return out;
}

inline Container Box(std::string name, Pairs requests = {}, Pairs limits = {}) {
  Container out;
  out.name = std::move(name);
  out.resources = {.requests = List(requests), .limits = List(limits)};
  return out;
}

/// A pod called "p".
inline Pod PodOf(std::vector<Container> containers, std::vector<Container> init = {}) {
  Pod out;
  out.name = "p";
  out.containers = std::move(containers);
  out.init_containers = std::move(init);
  return out;
}

}  // namespace berth::testkit

#endif  // BERTH_TESTING_PODS_H_
