#include "api/local_api/pod_texts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/codec/views.h"
#include "api/local_api/api_errors.h"

namespace berth::api {
namespace {

std::shared_ptr<const PodView> ViewNamed(const std::string& name) {
  PodView view;
  view.namespace_ = "default";
  view.name = name;
  view.containers.push_back({.name = "a"});
  view.containers.back().place.emplace();
  return std::make_shared<const PodView>(std::move(view));
}

TEST(PodTextsTest, OfManyPodsOnlyThoseThatChangedAreMadeIntoTextAnew) {
  constexpr std::size_t kPods = 600;
  PodTexts texts;
  PodList list;
  list.shared = *CpuSet::Parse("0-3");
  EXPECT_EQ(texts.Of(list), FormatBody(codec::ToJson(list)));
  for (std::size_t i = 0; i < kPods; ++i) list.pods.push_back(ViewNamed("p" + std::to_string(i)));
  EXPECT_EQ(texts.Of(list), FormatBody(codec::ToJson(list)));
  EXPECT_EQ(texts.made(), kPods);
  texts.Of(list);
  EXPECT_EQ(texts.made(), kPods);
  list.pods[7] = ViewNamed("\xe9");
  list.pods.pop_back();
  EXPECT_EQ(texts.Of(list), FormatBody(codec::ToJson(list)));
  EXPECT_EQ(texts.made(), kPods + 1);
  list.shared = *CpuSet::Parse("1");
  EXPECT_EQ(texts.Of(list), FormatBody(codec::ToJson(list))) << "those in the shared pool run elsewhere now";
}

TEST(PodTextsTest, NothingIsKeptOfPodsThatAreGone) {
  PodTexts texts;
  auto view = ViewNamed("p");
  const std::weak_ptr<const PodView> kept = view;
  texts.Of({.pods = {std::move(view)}, .shared = {}});
  EXPECT_FALSE(kept.expired());
  texts.Of({});
  EXPECT_TRUE(kept.expired());
}

}  // namespace
}  // namespace berth::api
