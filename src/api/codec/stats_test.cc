#include <gtest/gtest.h>

#include "api/codec/generator_test.h"
#include "api/codec/views.h"

namespace berth::codec {
namespace {

using namespace std::chrono_literals;

/// Each field there or not.
class Usages : public Generator {
 public:
  using Generator::Generator;

  template <class T>
  std::optional<T> Maybe(T value) {
    return Coin() ? std::optional(value) : std::nullopt;
  }
  std::int64_t Many() { return static_cast<std::int64_t>(Below(1'000'000'000'000)); }
  Stall OneStall() {
    return {.some = std::chrono::microseconds(Many()),
            .full = std::chrono::microseconds(Many()),
            .some_lately = static_cast<double>(Below(10'000)) / 100,
            .full_lately = static_cast<double>(Below(10'000)) / 100};
  }
  WallTime When() { return WallTime(std::chrono::microseconds(Many())); }
  GroupUsage Usage() {
    GroupUsage out;
    out.cpu = Maybe(std::chrono::nanoseconds(Many()));
    out.throttling = Maybe(Throttling{.periods = Below(100), .throttled = Below(100), .time = 7ns * Below(100)});
    out.memory = Maybe(Bytes{Many()});
    out.working_set = Maybe(Bytes{Many()});
    out.anonymous = Maybe(Bytes{Many()});
    out.swap = Maybe(Bytes{Many()});
    out.page_faults = Maybe(Below(1000));
    out.major_page_faults = Maybe(Below(1000));
    out.processes = Maybe(static_cast<std::int64_t>(Below(1000)));
    out.cpu_stall = Maybe(OneStall());
    out.memory_stall = Maybe(OneStall());
    out.io_stall = Maybe(OneStall());
    out.cores = Maybe(static_cast<double>(Below(100'000)) / 1000);
    if (Coin()) out.numa = {{NumaId{0}, Bytes{Many()}}, {NumaId{11}, Bytes{Many()}}};
    return out;
  }
  NamedUsage Named() { return {Word(), Maybe(When()), Usage(), Maybe(Bytes{Many()})}; }
};

TEST(StatsJsonTest, ASummaryComesBackAsItWas) {
  constexpr std::uint64_t kRounds = 300;
  for (std::uint64_t seed = 1; seed <= kRounds; ++seed) {
    Usages random(seed);
    StatsSummary summary{.at = random.When(), .node = random.Named(), .groups = {}, .pods = {}};
    if (random.Coin()) summary.groups.push_back(random.Named());
    if (random.Coin())
      summary.pods.push_back(
          {random.Word(), random.Word(), random.Word(), random.Maybe(random.When()), random.Usage(), {random.Named()}});
    if (random.Coin()) summary.numa[NumaId{3}] = {.total = Bytes{random.Many()}, .free = Bytes{random.Many()}};
    if (random.Coin())
      summary.cpus = {{CpuId{0}, {.time = 7ns * random.Below(100), .used = random.Maybe(0.25)}}, {CpuId{12}, {}}};
    const Json json = ToJson(summary);
    const auto back = StatsSummaryFromJson(*ParseJson(FormatJson(json), "summary"));
    ASSERT_TRUE(back) << seed << ": " << back.error().message;
    EXPECT_EQ(FormatJson(ToJson(*back)), FormatJson(json)) << seed;
  }
}

TEST(StatsJsonTest, ItHasTheKubeletsShape) {
  GroupUsage used;
  used.cpu = 2s;
  used.cores = 0.25;
  used.memory = Bytes{4096};
  used.working_set = Bytes{4000};
  used.processes = 3;
  StatsSummary summary{.at = WallTime(9s), .node = {"n1", WallTime(1s), used, Bytes{5000}}, .groups = {}, .pods = {}};
  summary.groups.push_back({"pods", std::nullopt, GroupUsage(), std::nullopt});
  summary.pods.push_back({"default", "web", "u1", WallTime(5s), used, {{"app", WallTime(6s), used, std::nullopt}}});
  const std::string time = R"("time":"1970-01-01T00:00:09.000000Z")";
  const std::string cpu = R"("cpu":{)" + time + R"(,"usageNanoCores":250000000,"usageCoreNanoSeconds":2000000000})";
  const std::string memory = R"("usageBytes":4096,"workingSetBytes":4000},"process_stats":{"process_count":3})";
  const std::string wanted = R"({"node":{"nodeName":"n1","startTime":"1970-01-01T00:00:01.000000Z",)" + cpu +
                             R"(,"memory":{)" + time + R"(,"availableBytes":5000,)" + memory +
                             R"(,"systemContainers":[{"name":"pods","cpu":{)" + time + R"(},"memory":{)" + time +
                             R"(}}]},"pods":[{"podRef":{"name":"web","namespace":"default","uid":"u1"},)"
                             R"("startTime":"1970-01-01T00:00:05.000000Z","containers":[{"name":"app",)"
                             R"("startTime":"1970-01-01T00:00:06.000000Z",)" +
                             cpu + R"(,"memory":{)" + time + "," + memory + "}]," + cpu + R"(,"memory":{)" + time +
                             "," + memory + "}]}";
  EXPECT_EQ(ToJson(summary), Json::parse(wanted)) << FormatJson(ToJson(summary));
}

TEST(StatsJsonTest, WhatLacksItsFieldsIsNamed) {
  const auto read = StatsSummaryFromJson(Json::parse(R"({"node":{"nodeName":"n1","cpu":{},"memory":{}},"pods":[]})"));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("systemContainers"), std::string::npos) << read.error().message;
}

}  // namespace
}  // namespace berth::codec
